//! Finds characters that a person does not see but a model reads: tags, overrides of the reading
//! direction, and runs of zero-width characters. Characters that scripts and emoji need are not
//! reported.

use std::ops::Range;

/// Longer runs of zero-width characters count as hidden text; emoji and scripts need two or three.
const MOST_MARKS: usize = 6;

/// Maximum number of tags after a black flag: those of a region's flag, and the end tag.
const MOST_FLAG: usize = 7;

/// The positions of hidden characters.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    // All of them begin with one of these bytes; nearly every text returns here.
    if !text.bytes().any(|byte| matches!(byte, 0xe2 | 0xef | 0xf3)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut run = Run::default();
    for (at, character) in text.char_indices() {
        let kind = Kind::of(character);
        if kind != run.kind {
            found.extend(run.finished(at));
            run = Run {
                kind,
                start: at,
                length: 0,
                in_flag: run.ends_with_flag,
                ends_with_flag: false,
            };
        }
        run.length += 1;
        run.ends_with_flag = character == '\u{1f3f4}';
    }
    found.extend(run.finished(text.len()));
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Kind {
    #[default]
    Seen,
    Tag,
    Override,
    Mark,
}

impl Kind {
    fn of(character: char) -> Self {
        if is_tag(character) {
            Self::Tag
        } else if is_override(character) {
            Self::Override
        } else if is_mark(character) {
            Self::Mark
        } else {
            Self::Seen
        }
    }
}

/// Characters of one kind in a row.
#[derive(Default)]
struct Run {
    kind: Kind,
    start: usize,
    length: usize,
    in_flag: bool,
    ends_with_flag: bool,
}

impl Run {
    fn finished(&self, end: usize) -> Option<Range<usize>> {
        let hidden = match self.kind {
            Kind::Seen => false,
            Kind::Tag => !(self.in_flag && self.length <= MOST_FLAG),
            Kind::Override => true,
            Kind::Mark => self.length > MOST_MARKS,
        };
        hidden.then_some(self.start..end)
    }
}

fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}

fn is_override(character: char) -> bool {
    matches!(character, '\u{202d}' | '\u{202e}')
}

/// Zero-width characters, and variation selectors, which can encode bytes.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_that_nobody_sees_is_found() {
        let tags: String = "obey"
            .chars()
            .filter_map(|letter| char::from_u32(0xe0000 + u32::from(letter)))
            .collect();
        for text in [
            format!("hi {tags}"),
            format!("\u{1f3f4}{tags}{tags}"),
            "a\u{202e}b".into(),
            format!("a{}b", "\u{200b}\u{200c}".repeat(8)),
            format!("a{}b", "\u{e0100}".repeat(8)),
        ] {
            assert_eq!(find(&text).len(), 1, "{}", text.escape_unicode());
        }
    }

    #[test]
    fn flags_families_and_scripts_with_joiners_are_ordinary() {
        for text in [
            "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} Scotland",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466} \u{2764}\u{fe0f}",
            "می\u{200c}خواهم \u{feff}start",
            "\u{2067}עברית\u{2069} – “quoted” …",
        ] {
            assert!(find(text).is_empty(), "{}", text.escape_unicode());
        }
    }
}
