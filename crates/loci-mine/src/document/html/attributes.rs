//! Drops the attributes of tags that have too many. The tokenizer compares each attribute of a tag
//! with all earlier ones, so one long tag would take quadratic time.

use std::borrow::Cow;

/// How many attributes of a tag are kept. Pages written by people never have so many.
const MOST: usize = 256;
/// How many end tags may follow each other without a `>`.
const MOST_UNCLOSED: usize = 64;

/// Returns the page with at most [`MOST`] attributes in each tag.
pub(super) fn bounded(source: &str) -> Cow<'_, str> {
    let mut kept: Option<String> = None;
    let mut count = Count::default();
    // The end of the copied part, and the position from which to search.
    let (mut copied, mut at) = (0, 0);
    while let Some(open) = memchr::memchr(b'<', rest(source, at)).map(|found| at + found) {
        at = open + 1;
        if !begins_tag(rest(source, open)) {
            continue;
        }
        let tag = Tag::read(rest(source, at), count);
        count = tag.count;
        if let Some(full) = tag.full {
            let text = kept.get_or_insert_default();
            text.push_str(source.get(copied..at + full).unwrap_or_default());
            copied = at + tag.length;
        }
        at += tag.length;
    }
    match kept {
        None => Cow::Borrowed(source),
        Some(mut text) => {
            text.push_str(source.get(copied..).unwrap_or_default());
            Cow::Owned(text)
        }
    }
}

fn rest(source: &str, at: usize) -> &[u8] {
    source.as_bytes().get(at..).unwrap_or_default()
}

fn begins_tag(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
        _ => false,
    }
}

/// The part of a tag after its `<`.
struct Tag {
    /// The length up to the `>`. Scripts and comments contain no tags and may have no `>`; then the
    /// length is up to the next end tag.
    length: usize,
    /// The position of the first attribute that is dropped.
    full: Option<usize>,
    /// The counts that continue if the tag does not end before the next `<`.
    count: Count,
}

/// The counts since the last `>`.
#[derive(Clone, Copy, Default)]
struct Count {
    attributes: usize,
    /// The number of end tags.
    unclosed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The name of the tag or of an attribute, or a value without quotes.
    Word,
    /// Between attributes.
    Space,
    /// After `=`.
    Equals,
    Quoted(u8),
}

impl Tag {
    fn read(bytes: &[u8], mut count: Count) -> Self {
        let mut state = State::Word;
        let mut full = None;
        let name = usize::from(bytes.starts_with(b"/"));
        for (at, byte) in bytes.iter().copied().enumerate().skip(name) {
            let is_quoted = matches!(state, State::Quoted(_));
            state = match (state, byte) {
                (State::Quoted(quote), _) if byte == quote => State::Space,
                (State::Quoted(quote), _) => State::Quoted(quote),
                (_, b'>') => {
                    // This may be the end of a comment.
                    let comment = bytes.get(..at).is_some_and(|tag| tag.ends_with(b"--"));
                    let length = if comment { at - 2 } else { at };
                    return Self {
                        length,
                        full: full.filter(|full| *full < length),
                        count: Count::default(),
                    };
                }
                (State::Equals, b'"' | b'\'') => State::Quoted(byte),
                (State::Equals, _) if byte.is_ascii_whitespace() => State::Equals,
                (State::Word | State::Space, b'=') => State::Equals,
                (_, _) if is_gap(byte) => State::Space,
                (State::Equals | State::Word, _) => State::Word,
                (State::Space, _) => {
                    count.attributes += 1;
                    if count.attributes > MOST {
                        full.get_or_insert(at);
                    }
                    State::Word
                }
            };
            let ahead = bytes.get(at..).unwrap_or_default();
            if !is_quoted
                && count.unclosed < MOST_UNCLOSED
                && ahead.starts_with(b"</")
                && begins_tag(ahead)
            {
                count.unclosed += 1;
                return Self {
                    length: at,
                    full: full.filter(|full| *full < at),
                    count,
                };
            }
        }
        Self {
            length: bytes.len(),
            full,
            count: Count::default(),
        }
    }
}

fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'/'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tag(attributes: usize) -> String {
        let list: Vec<String> = (0..attributes).map(|n| format!(" a{n}='>'")).collect();
        format!("<p{}>", list.concat())
    }

    #[test]
    fn a_tag_keeps_its_first_attributes() {
        let long = format!("x{}y{}z", tag(300), tag(2));
        assert_eq!(
            bounded(&long),
            format!("x{} >y{}z", tag(256).trim_end_matches('>'), tag(2))
        );
        let bare = format!("<a/{}>text", "b/".repeat(1_000));
        assert_eq!(bounded(&bare), format!("<a/{}>text", "b/".repeat(256)));
        let open = format!("text<a {}", "b ".repeat(1_000));
        assert_eq!(bounded(&open), format!("text<a {}", "b ".repeat(256)));
    }

    #[test]
    fn a_long_value_is_one_attribute() {
        let image = format!("<img src=\"data:{}\" alt=x>", "a/b c ".repeat(1_000));
        assert_eq!(bounded(&image), image);
    }

    #[test]
    fn scripts_and_comments_end_where_they_end() {
        let kept = "c ".repeat(256);
        let script = format!("<script>i<b {}</script>text", "c ".repeat(1_000));
        assert_eq!(bounded(&script), format!("<script>i<b {kept}</script>text"));
        let comment = format!("<!-- <b {}--><p>text", "c ".repeat(1_000));
        assert_eq!(bounded(&comment), format!("<!-- <b {kept}--><p>text"));
    }

    #[test]
    fn an_end_tag_inside_of_a_tag_does_not_begin_the_count_again() {
        let part = |number: usize| format!("{}</p{number} ", "c ".repeat(200));
        let parts: Vec<String> = (0..1_000).map(part).collect();
        let page = format!("<p {}>text", parts.concat());
        let bounded = bounded(&page);
        assert!(bounded.len() < 2_000, "{}", bounded.len());
        assert!(bounded.ends_with(">text"));
    }

    proptest! {
        #[test]
        fn a_page_without_such_tags_stays_as_it_is(page in "[<>a/ ='\"!é-]{0,200}") {
            prop_assert!(matches!(bounded(&page), Cow::Borrowed(_)));
        }
    }
}
