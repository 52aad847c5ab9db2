//! Tags as Obsidian writes them: `#tag` and `#tag/nested`.

/// The longest tag, in bytes.
pub(super) const LONGEST: usize = 100;

/// Calls `each` with the tags of a line without code.
pub(super) fn each(line: &str, mut each: impl FnMut(String)) {
    let mut before = ' ';
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        if first == '#' && before.is_whitespace() {
            let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
            let (name, left) = after.split_at(end);
            if !left.starts_with(['<', '[', '(', '{', '=', '#', '"', '\'', '\\', '&', '@', '$'])
                && let Some(tag) = tag(name)
            {
                each(tag);
            }
        }
        before = first;
        rest = after;
    }
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric()
        || matches!(letter, '_' | '-' | '/')
        // Marks and emoji. Punctuation of other scripts ends a tag.
        || (!letter.is_ascii()
            && !letter.is_whitespace()
            && !matches!(letter,
                '\u{a1}' | '\u{ab}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
                | '\u{2010}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{301f}'
                | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}'
                | '\u{ff5b}'..='\u{ff65}'))
}

fn tag(name: &str) -> Option<String> {
    let name = name.trim_end_matches(['/', '-']);
    let is_number = !name
        .chars()
        .any(|letter| !letter.is_ascii_digit() && !matches!(letter, '_' | '-' | '/'));
    let is_colour =
        matches!(name.len(), 3 | 4 | 6 | 8) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let fits = !name.is_empty() && name.len() <= LONGEST && !name.starts_with('/');
    (fits && !is_number && !is_colour).then(|| name.to_lowercase())
}
