//! Recognises drawings as markup: `<svg>` inside Markdown, and XML that describes shapes or the
//! layout of windows.

use std::ops::Range;

use super::line::{Counts, each_word};
use super::{Noise, Span};

/// A smaller drawing in Markdown is an example.
const INLINE: usize = 200;
/// Text on the line of a drawing has at least this many words.
const BESIDE: usize = 3;
/// The fewest words that make XML a text.
const WORDS: usize = 5;
/// Smaller files are kept.
const SMALL: usize = 512;
/// How many bytes at the start of a file name its kind.
const HEAD: usize = 2_048;
const END: &str = "</svg>";

/// Finds the drawings in a Markdown text. Those in fences are examples.
pub(super) fn inline(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    if memchr::memmem::find(text.as_bytes(), b"<svg").is_none() {
        return spans;
    }
    let mut fence = None;
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.find('\n').unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or_default();
        let begin = line.trim_ascii_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| begin.starts_with(*mark));
        let mut next = at + length + 1;
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                if let Some(drawing) = drawing_from(text, at, line) {
                    let rest = text.get(drawing.end..).unwrap_or_default();
                    let end = drawing.end + rest.find('\n').unwrap_or(rest.len());
                    push(text, at..end, drawing, &mut spans);
                    next = end + 1;
                }
            }
        }
        at = next;
    }
    spans
}

/// Returns the drawings that begin in the line at `at`, up to the end of the last of them.
fn drawing_from(text: &str, at: usize, line: &str) -> Option<Range<usize>> {
    let open = line.find("<svg")?;
    let start = at + open;
    if !matches!(
        text.as_bytes().get(start + 4),
        Some(b' ' | b'\t' | b'\r' | b'\n' | b'>')
    ) {
        return None;
    }
    let mut end = start;
    loop {
        let rest = text.get(end..)?;
        let close = rest.find(END)? + END.len();
        end += close;
        let after = text.get(end..)?;
        let line = after.lines().next().unwrap_or_default();
        let again = line.find("<svg");
        if again.is_none_or(|again| visible_words(line.get(..again).unwrap_or_default()) >= BESIDE)
        {
            break;
        }
    }
    (end - start >= INLINE).then_some(start..end)
}

/// Adds the spans of a drawing on `lines`: whole lines, and a part of a line with text beside it.
fn push(text: &str, lines: Range<usize>, drawing: Range<usize>, spans: &mut Vec<Span>) {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let mut whole = lines.clone();
    let before = part(lines.start..drawing.start);
    let after = part(drawing.end..lines.end);
    let is_one_line = !part(drawing.clone()).contains('\n');
    let span = |bytes: Range<usize>| Span {
        bytes,
        kind: Noise::Drawing,
    };
    let text_before = visible_words(before) >= BESIDE;
    let text_after = visible_words(after) >= BESIDE;
    if is_one_line && (text_before || text_after) {
        let start = if text_before {
            drawing.start
        } else {
            lines.start
        };
        let end = if text_after { drawing.end } else { lines.end };
        spans.push(span(start..end));
        return;
    }
    if text_before {
        let first = part(drawing.clone()).find('\n').unwrap_or(drawing.len());
        spans.push(span(drawing.start..drawing.start + first));
        whole.start = drawing.start + first + 1;
    }
    let last = if text_after {
        let last = part(drawing.clone()).rfind('\n').unwrap_or(0);
        whole.end = drawing.start + last;
        Some(span(whole.end + 1..drawing.end))
    } else {
        None
    };
    if part(lines).ends_with('\r') && last.is_none() {
        whole.end -= 1;
    }
    if whole.start < whole.end {
        spans.push(span(whole));
    }
    spans.extend(last);
}

/// The number of words outside tags.
fn visible_words(part: &str) -> usize {
    let mut words = 0;
    let mut rest = part;
    while !rest.is_empty() {
        let open = rest.find('<').unwrap_or(rest.len());
        words += Counts::of(rest.get(..open).unwrap_or_default()).words;
        let tag = rest.get(open..).unwrap_or_default();
        rest = tag
            .find('>')
            .and_then(|close| tag.get(close + 1..))
            .unwrap_or_default();
    }
    words
}

/// Names that stand near the start of XML which describes shapes or windows.
const LAYOUTS: &[&str] = &[
    "http://schemas.android.com/apk/res/android",
    "com.apple.InterfaceBuilder",
    "<mxfile",
    "<mxGraphModel",
    "<glade-interface",
    "http://schemas.microsoft.com/winfx/2006/xaml/presentation",
];

/// The names of attributes whose values people read.
const TEXT_ATTRIBUTES: &[&str] = &[
    "text",
    "title",
    "label",
    "hint",
    "value",
    "tooltip",
    "toolTip",
    "description",
    "contentDescription",
    "Text",
    "Content",
    "Header",
];

/// Whether XML draws shapes or lays out windows, and has no text to read.
pub fn is_drawing(text: &str) -> bool {
    if text.len() < SMALL {
        return false;
    }
    let mut head = HEAD.min(text.len());
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let head = text.get(..head).unwrap_or_default();
    let is_layout = LAYOUTS.iter().any(|name| head.contains(name));
    let mut markup = Markup::default();
    markup.read(text);
    markup.words < WORDS && (is_layout || markup.drawn * 2 >= markup.bytes.max(1))
}

/// What XML consists of.
#[derive(Debug, Default)]
struct Markup {
    /// Words in elements and in attributes that are read.
    words: usize,
    /// Bytes of the values of attributes.
    bytes: usize,
    /// Bytes of values without a word, such as coordinates.
    drawn: usize,
}

impl Markup {
    fn read(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let open = rest.find('<').unwrap_or(rest.len());
            self.words += Counts::of(rest.get(..open).unwrap_or_default()).words;
            let tag = rest.get(open..).unwrap_or_default();
            let close = if tag.starts_with("<!--") {
                tag.find("-->").map(|close| close + 2)
            } else {
                tag_end(tag)
            };
            let close = close.unwrap_or(tag.len());
            if !tag.starts_with("<!") && !tag.starts_with("<?") {
                self.tag(tag.get(..close).unwrap_or_default());
            }
            rest = tag.get(close + 1..).unwrap_or_default();
        }
    }

    fn tag(&mut self, tag: &str) {
        let mut parts = tag.split(['"', '\'']);
        let mut name = parts.next().unwrap_or_default();
        while let Some(value) = parts.next() {
            // Names of schemas describe nothing.
            if !name.contains("xmlns") && !name.contains("schemaLocation") {
                self.value(name, value);
            }
            name = parts.next().unwrap_or_default();
        }
    }

    fn value(&mut self, name: &str, value: &str) {
        self.bytes += value.len();
        let mut words = 0;
        let mut word_bytes = 0;
        each_word(value, |word| {
            words += 1;
            word_bytes += word.len();
        });
        if word_bytes * 4 <= value.len() {
            self.drawn += value.len();
        }
        let name = name.trim_end_matches(['=', ' ', '\t', '\r', '\n']);
        let name = name
            .rsplit([' ', '\t', '\n', ':'])
            .next()
            .unwrap_or_default();
        // References to text elsewhere begin with `@` or `{`.
        let is_read =
            words > 0 && TEXT_ATTRIBUTES.contains(&name) && !value.starts_with(['@', '{']);
        let is_prose = words >= 4 && value.contains(' ') && !value.contains(';');
        if is_read || is_prose {
            self.words += words;
        }
    }
}

/// The position of the `>` that ends a tag, outside quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at),
            (Some(_) | None, _) => {}
        }
    }
    None
}
