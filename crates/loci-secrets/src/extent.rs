//! Finds the start and end of a value.

use super::scan::Scan;

pub(super) const MAX_VALUE: usize = 1_024;
/// The longest password with marks. A small limit keeps the time linear, because each name of
/// `a=a=a=` reads the text that follows it.
const MAX_WIDE: usize = 160;

/// A value without its quotes.
pub(super) struct Extent {
    pub(super) quoted: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Returns the value that begins at `at`.
pub(super) fn of_value(scan: &Scan<'_>, at: usize) -> Extent {
    let letters = scan.run(at, 2, |byte| {
        matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'f' | b'u' | b'@')
    });
    let opening = scan.run(letters, 4, |byte| byte == b'\\');
    let quote = scan.at(opening);
    if matches!(quote, b'"' | b'\'' | b'`') {
        let start = opening + 1;
        let escaped = opening > letters;
        let end = quoted_end(scan, start, quote, escaped);
        let quoted = scan.at(end) == quote || escaped;
        return Extent {
            quoted,
            start,
            end: if quoted { end } else { start },
        };
    }
    let body = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'-' | b'+' | b'/' | b'.' | b'~' | b'!' | b'$' | b'%' | b'^' | b'*'
            )
    };
    let mut end = scan.run(at, MAX_VALUE, body);
    while end > at && matches!(scan.at(end - 1), b'.' | b'!') {
        end -= 1;
    }
    // Only padding may contain `=`. Inside a run it would let each name of `a=a=a=` read all that
    // follows.
    let padded = scan.run(end, 2, |byte| byte == b'=');
    let end = if body(scan.at(padded)) { end } else { padded };
    Extent {
        quoted: false,
        start: at,
        end,
    }
}

/// Returns the text from `at` up to a double quote or the end of the line.
pub(super) fn of_line(scan: &Scan<'_>, at: usize) -> Extent {
    let end = scan.run(at, MAX_VALUE, |byte| !matches!(byte, b'\n' | b'\r' | b'"'));
    let end = at + scan.slice(at, end).trim_end().len();
    Extent {
        quoted: true,
        start: at,
        end,
    }
}

/// Returns the text of the table cell that begins at `at`. It is empty if the cell has no end.
pub(super) fn of_cell(scan: &Scan<'_>, at: usize) -> Extent {
    let is_decoration = |mark: char| matches!(mark, ' ' | '\t' | '*' | '`' | '"' | '\'');
    let border = scan.run(at, MAX_VALUE, |byte| !matches!(byte, b'\n' | b'|'));
    let cell = scan.slice(at, border);
    let start = at + cell.len() - cell.trim_start_matches(is_decoration).len();
    let closed = scan.at(border) == b'|';
    let end = at + cell.trim_end_matches(is_decoration).len();
    Extent {
        quoted: true,
        start,
        end: if closed { end.max(start) } else { start },
    }
}

/// Returns the end of an unquoted value with any marks: a blank, a quote, a tag or the next name.
pub(super) fn widest(scan: &Scan<'_>, start: usize, listed: bool) -> usize {
    let end = scan.run(start, MAX_WIDE + 1, |byte| {
        byte.is_ascii_graphic()
            && !matches!(byte, b'"' | b'\'' | b'`' | b'\\')
            && !(listed && byte == b';')
    });
    if end - start > MAX_WIDE {
        return start;
    }
    let text = scan.slice(start, end);
    let tag = ["</", "<br"].iter().filter_map(|tag| text.find(tag)).min();
    let text = text.get(..tag.unwrap_or(text.len())).unwrap_or_default();
    let text = text.get(..next_name(text)).unwrap_or_default();
    let closers = [
        ',', ';', '.', ':', '!', '?', ')', ']', '}', '>', '*', '|', '_',
    ];
    start + text.trim_end_matches(closers).len()
}

/// Returns where the next setting of a list begins: `&user=…`, `,user=…`.
fn next_name(text: &str) -> usize {
    let marks = text.match_indices(['&', ',', ';']);
    let mut names = marks.filter(|(at, mark)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let after = rest.trim_start_matches(|letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
        });
        after.len() < rest.len()
            && (after.starts_with('=') || (*mark == "," && after.starts_with(':')))
    });
    names.next().map_or(text.len(), |(at, _)| at)
}

fn quoted_end(scan: &Scan<'_>, start: usize, quote: u8, escaped: bool) -> usize {
    let mut at = start;
    loop {
        at = scan.run(at, MAX_VALUE, |byte| {
            byte != quote && byte != b'\n' && byte != b'\\'
        });
        if scan.at(at) != b'\\' || at - start > MAX_VALUE || escaped {
            return at;
        }
        at += if matches!(scan.at(at + 1), b'\n' | b'\r') {
            return at;
        } else {
            2
        };
    }
}
