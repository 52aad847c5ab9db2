//! Reads the remotes of a repository from git's `config` file. It supports a small part of git's
//! syntax: sections, quoted subsections, and `key = value` with quotes, escapes, comments and
//! continuation lines. `include` is not followed, because the file comes with a project and may
//! name any path. Invalid lines are ignored.

use std::io::Read;
use std::path::Path;

use loci_files::allowed::AllowedRoots;

/// The most bytes of a config file that are read. Real ones have a few kilobytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Returns the URL of `origin`, or else of the only remote.
pub(super) fn remote_url(config: &Path, allowed: &AllowedRoots) -> Option<String> {
    // A named pipe must not be opened, because opening would block until a writer comes.
    if !allowed.metadata(config).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    allowed
        .open(config)
        .ok()?
        .take(MAX_CONFIG_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    url_of(&remotes(&String::from_utf8_lossy(&bytes)))
}

fn url_of(remotes: &[(String, String)]) -> Option<String> {
    let origin = remotes.iter().find(|(name, _)| name == "origin");
    let only = || match remotes {
        [first, rest @ ..] if rest.iter().all(|(name, _)| *name == first.0) => Some(first),
        _ => None,
    };
    origin.or_else(only).map(|(_, url)| url.clone())
}

/// Returns the name and URL of every remote that has one, in file order.
fn remotes(text: &str) -> Vec<(String, String)> {
    let mut remotes = Vec::new();
    let mut remote: Option<String> = None;
    let mut lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start();
        if line.starts_with('[') {
            let Some((name, rest)) = section(line) else {
                // The keys of an invalid section must not count for the section before it.
                remote = None;
                continue;
            };
            remote = name;
            line = rest.trim_start();
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = value_of(value, &mut lines);
        if let Some(name) = remote.as_ref()
            && key.trim().eq_ignore_ascii_case("url")
            && !value.is_empty()
        {
            remotes.push((name.clone(), value));
        }
    }
    remotes
}

/// Returns the remote that a section describes, if any, and the text after the section header.
fn section(line: &str) -> Option<(Option<String>, &str)> {
    let inside = line.strip_prefix('[')?;
    let name_end = inside
        .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '.')?;
    let (name, rest) = inside.split_at(name_end);
    let rest = rest.trim_start_matches([' ', '\t']);
    let Some(quoted) = rest.strip_prefix('"') else {
        return Some((None, rest.strip_prefix(']')?));
    };
    let mut subsection = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => subsection.push(letters.next()?.1),
            '"' => {
                let rest = quoted.get(at + 1..)?.strip_prefix(']')?;
                let remote = name.eq_ignore_ascii_case("remote").then_some(subsection);
                return Some((remote, rest));
            }
            _ => subsection.push(letter),
        }
    }
    None
}

/// Returns a value without quotes, escapes and comment. A value that ends with a backslash
/// continues on the next line.
fn value_of<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut value = String::new();
    // The length without trailing white space that is not quoted.
    let mut kept = 0;
    let mut quoted = false;
    let mut line = first.trim_start();
    loop {
        let mut letters = line.chars();
        let mut goes_on = false;
        while let Some(letter) = letters.next() {
            match letter {
                '"' => quoted = !quoted,
                '#' | ';' if !quoted => break,
                '\\' => match letters.next() {
                    None => goes_on = true,
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(other) => value.push(other),
                },
                _ => value.push(letter),
            }
            if quoted || !letter.is_whitespace() {
                kept = value.len();
            }
        }
        let next = if goes_on { lines.next() } else { None };
        match next {
            Some(next) => line = next,
            None => break,
        }
    }
    value.truncate(kept);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Option<String> {
        url_of(&remotes(text))
    }

    #[test]
    fn the_url_of_origin_counts_else_that_of_the_only_remote() {
        for (text, expected) in [
            (
                "[remote \"origin\"]\n\turl = https://h/o/r.git\n\tfetch = x\n",
                Some("https://h/o/r.git"),
            ),
            (
                "[remote \"up\"]\nurl=a\n[remote \"origin\"]\nurl=b\n",
                Some("b"),
            ),
            ("[remote \"up\"]\nurl=a\n", Some("a")),
            ("[remote \"up\"]\nurl=a\n[remote \"down\"]\nurl=b\n", None),
            ("[remote \"origin\"]\nurl=a\nurl=b\n", Some("a")),
            ("[REMOTE \"origin\"] URL = \"a b\" ; note\n", Some("a b")),
            ("[remote \"or\\\"igin\"]\nurl = a\\\nb # note\n", Some("ab")),
            (
                "\u{feff}[core]\r\n\tbare = false\r\n[remote \"origin\"]\r\n\turl = x\r\n",
                Some("x"),
            ),
            ("[remote \"origin\"]\npushurl = p\n", None),
            ("[url \"x\"]\nurl = y\n[branch \"origin\"]\nurl = z\n", None),
        ] {
            assert_eq!(url(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_hostile_config_gives_nothing_wrong() {
        for text in [
            "[remote \"origin\"\nurl = a\n",
            "[remote \"origin]\nurl = a\n",
            "[include]\npath = /etc/passwd\n",
            "[remote \"origin\"]\n[broken\nurl = a\n",
            "url = a\n",
            "[remote \"origin\"]\nurl\n",
            "[remote \"origin\"]\nurl =\n",
            "[",
            "[remote \"",
            "[remote \"\\",
            "\0\0\0",
        ] {
            assert_eq!(url(text), None, "{text:?}");
        }
        assert_eq!(url("[remote \"origin\"]\nurl = a\\"), Some("a".into()));
        assert_eq!(url("[remote \"origin\"]\nurl = \"a\n"), Some("a".into()));
    }

    proptest! {
        #[test]
        fn no_config_makes_it_panic(text in "\\PC{0,80}|(\\[|\\]|remote|\"|origin|\n|url|=|\\\\|#|;| |é){0,60}") {
            let _ = url(&text);
        }
    }
}
