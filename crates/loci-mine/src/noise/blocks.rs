//! Finds noise over several lines: encoded data in lines of one length, tables of numbers and of
//! code points, hexadecimal dumps, and drawings in Markdown. Long lines are examined one by one.

use std::ops::Range;

use super::drawing;
use super::line::Counts;
use super::runs::{self, LONG_LINE, Mix, Runs};
use super::{Noise, Search, Span};
use crate::document::Format;

/// The fewest lines of encoded data, and of a hexadecimal dump. A shorter dump explains a format.
const TOKEN_LINES: usize = 5;
const DUMP_LINES: usize = 16;
/// The fewest lines of a table of code points.
const CODE_POINT_LINES: usize = 100;
/// The fewest bytes of numbers. People keep tables in text and Markdown, and lists with dates.
const NUMBERS_IN_CODE: usize = 2_000;
const NUMBERS_IN_MARKDOWN: usize = 4_000;
const NUMBERS_IN_TEXT: usize = 16_000;
const DATED_NUMBERS: usize = 64_000;
/// The lengths of lines of encoded data.
const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 40..=240;
/// Lines between noise that have fewer words go with it, up to a number of lines.
const STRAY_WORDS: usize = 3;
const STRAY_LINES: usize = 8;

/// Finds all noise of a text.
pub(super) fn find(text: &str, format: &Format, search: Search) -> Vec<Span> {
    let drawings = if matches!(format, Format::Markdown) {
        drawing::inline(text)
    } else {
        Vec::new()
    };
    let mut finder = Finder {
        text,
        least_numbers: least_numbers(format),
        format: *format,
        minified: Vec::new(),
        group: None,
        spans: Vec::new(),
    };
    let mut drawings = drawings.into_iter().peekable();
    let mut start = 0;
    while start < text.len() {
        let rest = text.as_bytes().get(start..).unwrap_or_default();
        let newline = memchr::memchr(b'\n', rest).map_or(text.len(), |length| start + length);
        if let Some(drawing) = drawings.next_if(|drawing| drawing.bytes.start < newline) {
            finder.close();
            // A drawing ends at the end of a line, unless text follows it there.
            start = drawing.bytes.end.max(newline);
            finder.spans.push(drawing);
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            start += memchr::memchr(b'\n', rest).unwrap_or(rest.len()) + 1;
            continue;
        }
        let end = if newline > start && text.as_bytes().get(newline - 1) == Some(&b'\r') {
            newline - 1
        } else {
            newline
        };
        finder.line(start..end);
        start = newline + 1;
    }
    finder.close();
    finder.add_minified();
    finder.spans.retain(|span| search.finds(span.kind));
    absorb(text, finder.spans)
}

fn least_numbers(format: &Format) -> usize {
    match format {
        Format::Code(_) | Format::Json => NUMBERS_IN_CODE,
        Format::Markdown | Format::Rst | Format::Notebook => NUMBERS_IN_MARKDOWN,
        Format::Text
        | Format::JsonLines
        | Format::Yaml
        | Format::Toml
        | Format::Html
        | Format::Svg
        | Format::Pdf
        | Format::Docx => NUMBERS_IN_TEXT,
    }
}

/// The length of the shortest line of minified code: in a text that mostly consists of it, and alone.
/// Tables and patterns in code are long lines too, and so are logs and records.
fn least_minified(format: &Format) -> (usize, usize) {
    match format {
        Format::Code(_) => (400, 2_000),
        Format::Json => (1_000, 2_000),
        Format::Markdown | Format::Rst | Format::Notebook | Format::Html => (2_000, 2_000),
        Format::Text
        | Format::JsonLines
        | Format::Yaml
        | Format::Toml
        | Format::Svg
        | Format::Pdf
        | Format::Docx => (5_000, 5_000),
    }
}

/// The kind of a line, as far as lines of one kind make noise together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Encoded data of this many bytes.
    Token(usize),
    Dump,
    CodePoint,
    Number,
}

/// Lines of one kind that follow each other.
#[derive(Debug)]
struct Group {
    kind: Kind,
    bytes: Range<usize>,
    lines: usize,
    /// Lines with a date.
    dated: usize,
    mix: Mix,
    /// Whether a shorter line ended the encoded data.
    ended: bool,
}

struct Finder<'a> {
    text: &'a str,
    least_numbers: usize,
    format: Format,
    /// Lines that are minified if most of the text is.
    minified: Vec<Span>,
    group: Option<Group>,
    spans: Vec<Span>,
}

impl Finder<'_> {
    fn line(&mut self, range: Range<usize>) {
        let line = self.text.get(range.clone()).unwrap_or_default();
        let trimmed = line.trim_ascii();
        if trimmed.is_empty() {
            return;
        }
        let counts = Counts::of(trimmed);
        if counts.is_neutral()
            && self
                .group
                .as_ref()
                .is_some_and(|group| group.kind == Kind::Number)
        {
            return;
        }
        if line.len() >= LONG_LINE && self.long_line(line, range.start, &counts) {
            return;
        }
        if self.ends_token(trimmed, &range) {
            return;
        }
        match kind(trimmed, &counts) {
            Some(kind) => self.add(kind, trimmed, range),
            None => self.close(),
        }
    }

    /// Whether a line is the last one of encoded data, which may be short.
    fn ends_token(&mut self, line: &str, range: &Range<usize>) -> bool {
        let Some(group) = &mut self.group else {
            return false;
        };
        let Kind::Token(length) = group.kind else {
            return false;
        };
        let between = self.text.get(group.bytes.end..range.start);
        let fits = !group.ended
            && line.len() < length.min(*TOKEN_BYTES.start())
            && between.is_some_and(|between| matches!(between, "\n" | "\r\n"))
            && line.bytes().all(runs::is_encoding);
        if fits {
            group.ended = true;
            group.lines += 1;
            group.bytes.end = range.end;
        }
        fits
    }

    /// Examines a line that may be noise by itself. Returns `false` if it is not.
    fn long_line(&mut self, line: &str, start: usize, counts: &Counts) -> bool {
        let mut noise = match runs::find(line) {
            Runs::Whole(kind) => vec![Span {
                bytes: 0..line.len(),
                kind,
            }],
            Runs::Parts(parts) => parts,
            Runs::None => {
                let (least, lone) = least_minified(&self.format);
                let is_code = matches!(self.format, Format::Code(_));
                // Documentation that is exported as JSON holds pages of HTML.
                let is_page = matches!(self.format, Format::Json) && line.contains("</");
                if line.len() < least || is_page || !counts.is_minified(line, is_code) {
                    return false;
                }
                let span = Span {
                    bytes: 0..line.len(),
                    kind: Noise::Minified,
                };
                if line.len() < lone {
                    self.close();
                    self.minified.push(Span {
                        bytes: start..start + line.len(),
                        ..span
                    });
                    return true;
                }
                vec![span]
            }
        };
        for span in &mut noise {
            span.bytes = start + span.bytes.start..start + span.bytes.end;
        }
        self.close();
        self.spans.extend(noise);
        true
    }

    fn add(&mut self, kind: Kind, line: &str, range: Range<usize>) {
        let fits = self
            .group
            .as_ref()
            .is_some_and(|group| match (group.kind, kind) {
                (Kind::Token(first), Kind::Token(length)) => !group.ended && length <= first,
                (one, other) => one == other,
            });
        if !fits {
            self.close();
        }
        let group = self.group.get_or_insert_with(|| Group {
            kind,
            bytes: range.clone(),
            lines: 0,
            dated: 0,
            mix: Mix::default(),
            ended: false,
        });
        group.bytes.end = range.end;
        group.lines += 1;
        match kind {
            Kind::Token(length) => {
                group.ended = group.kind != Kind::Token(length);
                group.mix.add(&Mix::of(line.as_bytes()));
            }
            Kind::Number => group.dated += usize::from(is_dated(line)),
            Kind::Dump | Kind::CodePoint => {}
        }
    }

    /// Adds the lines that are minified only if most of the text is.
    fn add_minified(&mut self) {
        let bytes = |spans: &[Span]| -> usize { spans.iter().map(|span| span.bytes.len()).sum() };
        let lone = self
            .spans
            .iter()
            .filter(|span| span.kind == Noise::Minified);
        let lone: usize = lone.map(|span| span.bytes.len()).sum();
        if (bytes(&self.minified) + lone) * 2 >= self.text.len() {
            self.spans.append(&mut self.minified);
            self.spans.sort_by_key(|span| span.bytes.start);
        }
    }

    /// Ends the group. It becomes a span if it is large enough.
    fn close(&mut self) {
        let Some(group) = self.group.take() else {
            return;
        };
        let bytes = group.bytes.len();
        let (is_noise, kind) = match group.kind {
            Kind::Token(_) => (
                group.lines >= TOKEN_LINES && group.mix.is_random() && !group.mix.is_path(),
                Noise::Encoded,
            ),
            Kind::Dump => (group.lines >= DUMP_LINES, Noise::Encoded),
            Kind::CodePoint => (group.lines >= CODE_POINT_LINES, Noise::Numbers),
            Kind::Number => {
                let is_dated = group.dated * 2 > group.lines;
                let least = if is_dated {
                    DATED_NUMBERS
                } else {
                    self.least_numbers
                };
                (bytes >= least, Noise::Numbers)
            }
        };
        if is_noise {
            self.spans.push(Span {
                bytes: group.bytes,
                kind,
            });
        }
    }
}

fn kind(line: &str, counts: &Counts) -> Option<Kind> {
    if counts.high > 0 {
        return None;
    }
    if is_code_point(line) {
        return Some(Kind::CodePoint);
    }
    if is_dump(line) {
        return Some(Kind::Dump);
    }
    let is_pattern = || line.contains("(?") || line.contains("\\d");
    if counts.is_numeric() && !is_pattern() {
        return Some(Kind::Number);
    }
    token(line).map(Kind::Token)
}

/// Returns the length of the encoded data that is all of a line, but for quotes and the like.
fn token(line: &str) -> Option<usize> {
    let is_quoted =
        line.starts_with(['"', '\'']) || line.starts_with("b\"") || line.starts_with("b'");
    let inner = if is_quoted {
        let inner = line.strip_prefix('b').unwrap_or(line);
        inner.trim_matches(['"', '\'', ' ', ',', ';', '+', '\\', '(', ')'])
    } else {
        line.trim_end_matches([' ', ',', ';', '\\'])
    };
    let inner = inner.strip_suffix("\\n").unwrap_or(inner);
    let is_token = TOKEN_BYTES.contains(&inner.len()) && inner.bytes().all(runs::is_encoding);
    is_token.then_some(inner.len())
}

/// Whether a line is a row of a table of code points, such as `0041;LATIN CAPITAL LETTER A;Lu`.
fn is_code_point(line: &str) -> bool {
    let rest = line
        .trim_start_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, 'A'..='F'));
    let digits = line.len() - rest.len();
    (4..=6).contains(&digits) && (rest.trim_start().starts_with(';') || rest.starts_with(".."))
}

/// Whether a line is a row of a hexadecimal dump: an address or not, and at least eight bytes in
/// groups.
fn is_dump(line: &str) -> bool {
    let mut groups = line
        .split([' ', '\t', ':', '|'])
        .filter(|group| !group.is_empty())
        .peekable();
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_address = groups
        .next_if(|group| group.len() >= 4 && is_hex(group))
        .is_some();
    let dumped = groups.take_while(|group| matches!(group.len(), 2 | 4 | 8) && is_hex(group));
    let (mut count, mut bytes) = (0, 0);
    for group in dumped {
        count += 1;
        bytes += group.len() / 2;
    }
    let has_letter = line.bytes().any(|byte| byte.is_ascii_alphabetic());
    has_letter && bytes >= 8 && (count >= 10 || (has_address && count >= 2))
}

/// Whether a line begins with a date.
fn is_dated(line: &str) -> bool {
    let begin = line.get(..24.min(line.len())).unwrap_or_default();
    let mut numbers = begin
        .trim_start_matches(|letter: char| !letter.is_ascii_digit())
        .splitn(3, ['-', '/', '.'])
        .map(|number| number.bytes().take_while(u8::is_ascii_digit).count());
    let (one, two, three) = (numbers.next(), numbers.next(), numbers.next());
    matches!(
        (one, two, three),
        (Some(4), Some(2), Some(2)) | (Some(1 | 2), Some(1 | 2), Some(2 | 4))
    ) && (one == Some(4) || three == Some(4) || begin.contains('/'))
}

/// Joins spans of whole lines with the few lines between them that have hardly a word, such as
/// brackets and the marks around a certificate.
fn absorb(text: &str, spans: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for mut span in spans {
        if !is_whole(text, &span.bytes) {
            joined.push(span);
            continue;
        }
        if let Some(last) = joined.last_mut().filter(|last| is_whole(text, &last.bytes)) {
            let gap = text
                .get(last.bytes.end..span.bytes.start)
                .unwrap_or_default();
            if is_stray(gap) {
                if last.kind == span.kind {
                    last.bytes.end = span.bytes.end;
                    continue;
                }
                last.bytes.end = span.bytes.start - 1;
            }
        }
        let before = before_marker(text, span.bytes.start);
        span.bytes.start = before.max(joined.last().map_or(0, |last| last.bytes.end));
        span.bytes.end = after_marker(text, span.bytes.end);
        joined.push(span);
    }
    joined
}

fn is_whole(text: &str, span: &Range<usize>) -> bool {
    let begins = span.start == 0 || text.as_bytes().get(span.start - 1) == Some(&b'\n');
    begins && matches!(text.as_bytes().get(span.end), None | Some(b'\n' | b'\r'))
}

fn is_stray(gap: &str) -> bool {
    let lines = memchr::memchr_iter(b'\n', gap.as_bytes())
        .take(STRAY_LINES + 2)
        .count();
    lines <= STRAY_LINES + 1 && Counts::of(gap).words < STRAY_WORDS
}

const MARKER: &str = "-----";

/// Returns the start of the line `-----BEGIN …-----` directly before `start`.
fn before_marker(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or_default().trim_ascii_end();
    let from = before.rfind('\n').map_or(0, |newline| newline + 1);
    let is_marker = before
        .get(from..)
        .is_some_and(|line| line.trim_ascii().starts_with("-----BEGIN ") && line.ends_with(MARKER));
    if is_marker { from } else { start }
}

/// Returns the end of the line `-----END …-----` directly after `end`.
fn after_marker(text: &str, end: usize) -> usize {
    let after = text.get(end..).unwrap_or_default();
    let line = after.trim_ascii_start();
    let from = text.len() - line.len();
    let line = line.lines().next().unwrap_or_default();
    if line.starts_with("-----END ") && line.trim_ascii_end().ends_with(MARKER) {
        from + line.trim_ascii_end().len()
    } else {
        end
    }
}
