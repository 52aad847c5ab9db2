//! Finds front matter: the settings at the beginning of a Markdown file.

/// The byte after the front matter at the start of a text: YAML between `---` lines, or TOML between
/// `+++` lines. `None` if there is none, or if it does not end.
pub fn front_matter_end(text: &str) -> Option<usize> {
    let ends: &[&str] = match text.get(..3)? {
        "---" => &["---", "..."],
        "+++" => &["+++"],
        _ => return None,
    };
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        end += line.len();
        let line = line.trim_end();
        if number == 0 {
            if line.len() != 3 {
                return None;
            }
        } else if ends.contains(&line) {
            return Some(end);
        }
    }
    None
}
