//! Finds encoded data and long lists of numbers inside one long line.

use std::ops::Range;

use super::line::{Class, Counts, class, each_word, is_word};
use super::{Noise, Span};

/// A shorter line has no runs.
pub(super) const LONG_LINE: usize = 256;
/// The shortest run of encoded data.
const ENCODED: usize = 256;
/// A run of this length is no word and no name, whatever it consists of.
const ENDLESS: usize = 1024;
/// The shortest run of numbers.
const NUMBERS: usize = 400;
/// A line of text keeps up to this many bytes of noise.
const TOLERATED: usize = 500;
/// What is left of a line is text from this many words on.
const TEXT_WORDS: usize = 4;
/// An alternative text of an image has at least this many words.
const ALT_WORDS: usize = 2;

/// What a long line consists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Text.
    None,
    /// All of it is noise.
    Whole(Noise),
    /// There is text between these parts. The positions are relative to the line.
    Parts(Vec<Span>),
}

/// Examines a line of at least [`LONG_LINE`] bytes.
pub(super) fn find(line: &str) -> Runs {
    let mut spans = Vec::new();
    data_uris(line, &mut spans);
    encoded(line, &mut spans);
    numbers(line, &mut spans);
    let spans = merged(line, spans);
    let Some(largest) = spans.iter().max_by_key(|span| span.bytes.len()) else {
        return Runs::None;
    };
    let kind = largest.kind;
    let noise: usize = spans.iter().map(|span| span.bytes.len()).sum();
    let mut words = 0;
    let mut alternative = false;
    each_gap(line, &spans, |gap| {
        words += text_words(gap);
        alternative |= alt_words(gap) >= ALT_WORDS;
    });
    if words < TEXT_WORDS && !alternative {
        return Runs::Whole(kind);
    }
    if noise < TOLERATED {
        return Runs::None;
    }
    // A part without text of its own goes with the noise beside it.
    let mut parts: Vec<Span> = Vec::new();
    let mut end = 0;
    for span in spans {
        let gap = line.get(end..span.bytes.start).unwrap_or_default();
        end = span.bytes.end;
        let is_text = has_text(gap);
        match parts.last_mut() {
            Some(last) if !is_text => last.bytes.end = span.bytes.end,
            None if !is_text => parts.push(Span {
                bytes: 0..span.bytes.end,
                ..span
            }),
            Some(_) | None => parts.push(span),
        }
    }
    if let Some(last) = parts.last_mut()
        && !has_text(line.get(end..).unwrap_or_default())
    {
        last.bytes.end = line.len();
    }
    if let [only] = parts.as_slice()
        && only.bytes == (0..line.len())
    {
        return Runs::Whole(kind);
    }
    Runs::Parts(parts)
}

fn has_text(part: &str) -> bool {
    text_words(part) >= TEXT_WORDS || alt_words(part) >= ALT_WORDS
}

/// The number of words that are not names of markup.
fn text_words(part: &str) -> usize {
    let mut words = 0;
    each_word(part, |word| {
        let is_name = MARKUP
            .binary_search_by(|name| {
                name.bytes()
                    .cmp(word.bytes().map(|byte| byte.to_ascii_lowercase()))
            })
            .is_ok();
        words += usize::from(!is_name);
    });
    words
}

/// The number of words in the last alternative text of an image.
fn alt_words(part: &str) -> usize {
    let text = if let Some((_, text)) = part.rsplit_once("![") {
        text.split(']').next()
    } else if let Some((_, text)) = part.rsplit_once("alt=\"") {
        text.split('"').next()
    } else {
        None
    };
    text.map_or(0, |text| Counts::of(text).words)
}

/// Calls `each` with the parts of a line between the spans.
fn each_gap<'a>(line: &'a str, spans: &[Span], mut each: impl FnMut(&'a str)) {
    let mut end = 0;
    for span in spans {
        each(line.get(end..span.bytes.start).unwrap_or_default());
        end = span.bytes.end;
    }
    each(line.get(end..).unwrap_or_default());
}

/// Sorts spans, and joins those with no word between them.
fn merged(line: &str, mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.bytes.start);
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last)
                if span.bytes.start <= last.bytes.end
                    || line
                        .get(last.bytes.end..span.bytes.start)
                        .is_some_and(|gap| text_words(gap) == 0) =>
            {
                last.bytes.end = last.bytes.end.max(span.bytes.end);
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// Finds `data:` URIs.
fn data_uris(line: &str, spans: &mut Vec<Span>) {
    let bytes = line.as_bytes();
    let mut from = 0;
    while let Some(at) = bytes
        .get(from..)
        .and_then(|rest| memchr::memmem::find(rest, b"data:"))
        .map(|at| from + at)
    {
        from = at + 5;
        let Some(rest) = bytes.get(from..) else {
            break;
        };
        // A media type comes before the comma, such as `image/png;base64`.
        let head = rest.iter().take(100).position(|byte| *byte == b',');
        let Some(comma) =
            head.filter(|comma| rest.get(..*comma).is_some_and(|head| head.contains(&b'/')))
        else {
            continue;
        };
        let close = match at.checked_sub(1).and_then(|before| bytes.get(before)) {
            Some(quote @ (b'"' | b'\'' | b'`')) => Some(*quote),
            _ => None,
        };
        let is_end = |byte: &u8| match close {
            Some(close) => *byte == close,
            None => byte.is_ascii_whitespace() || matches!(byte, b')' | b'"' | b'\'' | b'>' | b'<'),
        };
        let length = rest
            .iter()
            .skip(comma)
            .position(is_end)
            .map_or(rest.len(), |length| comma + length);
        if length >= ENCODED {
            spans.push(Span {
                bytes: at..from + length,
                kind: Noise::Encoded,
            });
        }
        from += length;
    }
}

/// Finds runs of the alphabets of base64 and hexadecimal numbers. Line breaks that are escaped, as in
/// JSON, do not end them.
fn encoded(line: &str, spans: &mut Vec<Span>) {
    let bytes = line.as_bytes();
    let mut start = 0;
    let mut at = 0;
    while at <= bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b' ');
        if is_encoding(byte) {
            at += 1;
        } else if byte == b'\\'
            && matches!(bytes.get(at + 1), Some(b'n' | b'r' | b'/'))
            && at > start
        {
            at += 2;
        } else {
            if at - start >= ENCODED
                && let Some(run) = bytes.get(start..at)
                && is_encoded(run)
            {
                spans.push(Span {
                    bytes: start..at,
                    kind: Noise::Encoded,
                });
            }
            at += 1;
            start = at;
        }
    }
}

pub(super) fn is_encoding(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-')
}

/// Whether a long run without white space is encoded data and not a path or a name.
fn is_encoded(run: &[u8]) -> bool {
    let mix = Mix::of(run);
    (mix.is_random() && !mix.is_path())
        || mix.is_hexadecimal(run)
        || (run.len() >= ENDLESS && mix.symbols * 10 <= run.len())
}

/// How the letters of a run alternate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mix {
    length: usize,
    upper: usize,
    lower: usize,
    digits: usize,
    symbols: usize,
    /// How often the class changes from one byte to the next.
    changes: usize,
}

impl Mix {
    pub(super) fn of(run: &[u8]) -> Self {
        let mut mix = Self {
            length: run.len(),
            ..Self::default()
        };
        let mut before = None;
        for byte in run {
            let class = class(*byte);
            match class {
                Class::Upper => mix.upper += 1,
                Class::Lower => mix.lower += 1,
                Class::Digit => mix.digits += 1,
                Class::Space | Class::Code | Class::Other | Class::High => mix.symbols += 1,
            }
            mix.changes += usize::from(before.is_some_and(|before| before != class));
            before = Some(class);
        }
        mix
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.length += other.length;
        self.upper += other.upper;
        self.lower += other.lower;
        self.digits += other.digits;
        self.symbols += other.symbols;
        self.changes += other.changes;
    }

    /// Whether upper case, lower case and digits alternate as no language and no name does. Random
    /// base64 changes its class at two of three bytes, a name in camel case at one of four.
    pub(super) fn is_random(&self) -> bool {
        let is_part = |count: usize| count * 20 >= self.length;
        is_part(self.upper)
            && is_part(self.lower)
            && self.digits > 0
            && self.changes * 10 >= self.length * 3
    }

    /// Whether there are too many symbols for encoded data.
    pub(super) fn is_path(&self) -> bool {
        self.symbols * 8 > self.length
    }

    fn is_hexadecimal(&self, run: &[u8]) -> bool {
        self.digits * 4 >= self.length && run.iter().all(u8::is_ascii_hexdigit)
    }
}

/// Finds long lists of numbers, such as coordinates, path data and arrays of bytes.
fn numbers(line: &str, spans: &mut Vec<Span>) {
    let bytes = line.as_bytes();
    let mut start = 0;
    let mut letters = None;
    for at in 0..=bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b' ');
        if byte.is_ascii_alphabetic() || !byte.is_ascii() {
            letters.get_or_insert(at);
            continue;
        }
        if let Some(first) = letters.take()
            && is_word(bytes, first, at)
        {
            list(bytes, start..first, spans);
            start = at;
        }
    }
    list(bytes, start..bytes.len(), spans);
}

fn list(bytes: &[u8], range: Range<usize>, spans: &mut Vec<Span>) {
    if range.len() < NUMBERS {
        return;
    }
    let Some(run) = bytes.get(range.clone()) else {
        return;
    };
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits * 4 >= run.len() {
        spans.push(Span {
            bytes: range,
            kind: Noise::Numbers,
        });
    }
}

/// Names of elements, attributes, media types and keywords beside encoded data, sorted.
const MARKUP: &[&str] = &[
    "alt",
    "application",
    "aria",
    "base",
    "bin",
    "charset",
    "circle",
    "class",
    "clip",
    "const",
    "content",
    "currentcolor",
    "data",
    "defs",
    "div",
    "encoding",
    "export",
    "false",
    "fill",
    "font",
    "format",
    "gif",
    "height",
    "hidden",
    "href",
    "http",
    "https",
    "icon",
    "image",
    "img",
    "jpeg",
    "jpg",
    "json",
    "let",
    "line",
    "linecap",
    "linejoin",
    "matrix",
    "none",
    "null",
    "octet",
    "opacity",
    "org",
    "path",
    "plain",
    "png",
    "points",
    "polygon",
    "polyline",
    "rect",
    "return",
    "role",
    "round",
    "rule",
    "span",
    "src",
    "static",
    "stream",
    "string",
    "stroke",
    "style",
    "svg",
    "text",
    "transform",
    "translate",
    "true",
    "type",
    "url",
    "use",
    "utf",
    "var",
    "version",
    "viewbox",
    "webp",
    "width",
    "woff",
    "www",
    "xlink",
    "xml",
    "xmlns",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_markup_are_sorted() {
        assert!(MARKUP.is_sorted());
    }
}
