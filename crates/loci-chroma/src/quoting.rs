//! Quotes paths in commands that people copy.

use std::path::Path;

/// The path as a shell argument, quoted only if necessary.
pub fn shell_quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    // A leading dash would be parsed as an option.
    if path.starts_with('-') {
        return shell_quoted(&Path::new(".").join(path.as_ref()));
    }
    if !path.is_empty() && path.chars().all(plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_a_quoted_path_as_it_is() {
        let cases = [
            ("/home/me/.mempalace", "/home/me/.mempalace"),
            ("with space", "'with space'"),
            ("with space 'q", r"'with space '\''q'"),
            ("$HOME/`x`", "'$HOME/`x`'"),
            ("-n", "./-n"),
            ("", "''"),
        ];
        for (path, quoted) in cases {
            assert_eq!(shell_quoted(Path::new(path)), quoted);
        }
    }
}
