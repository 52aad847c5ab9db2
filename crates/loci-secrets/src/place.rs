//! Finds where the value of a name begins: after an operator, in the next cell, or on the next
//! line.

use super::scan::Scan;

const MAX_TYPE: usize = 48;
/// The longest remark between a name and its colon: `password for the test server:`.
const MAX_REMARK: usize = 40;

/// The position of the value of a name.
pub(super) struct ValuePosition {
    pub(super) at: usize,
    pub(super) link: Link,
}

/// The separator between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// An operator, as in code and settings.
    Operator,
    /// An operator inside a list of settings separated by semicolons, as in a connection string.
    Listed,
    /// Only a blank: `IDENTIFIED WITH PASSWORD '…'`.
    Quote,
    /// The words and marks of a note: `**Password:**`, `the password is`, `token ->`. They also
    /// occur in ordinary prose, so the value must be strong.
    Phrase,
    /// The border of a table.
    Cell,
    /// Three quotes, as in TOML and Python.
    TripleQuote,
}

/// Returns where the value of a name begins, if something is assigned to it.
pub(super) fn find(scan: &Scan<'_>, name_start: usize, name_end: usize) -> Option<ValuePosition> {
    let mut at = scan.run(name_end, 4, |byte| byte == b'\\');
    if matches!(scan.at(at), b'"' | b'\'' | b'`') {
        at += 1;
        at = scan.run(at, 1, |byte| byte == b']');
    }
    if let Some(at) = paired(scan, name_start, at) {
        return Some(ValuePosition {
            at,
            link: Link::Operator,
        });
    }
    at = scan.run(at, 1, |byte| byte == b'?');
    let stars = scan.run(at, 3, |byte| byte == b'*');
    let mut bold = stars > at && scan.at(stars) == b':';
    if bold || (stars > at && scan.at(scan.blanks(stars)) == b'|') {
        at = stars;
    }
    let after = scan.blanks(at);
    let (after, remark) = remark_end(scan, name_end, after);
    let before = name_start.checked_sub(1).map_or(b'\n', |at| scan.at(at));
    let flag = scan.slice(name_start, name_end).contains("--");
    let rest = scan.bytes.get(after..).unwrap_or_default();
    let (operator, mut link) = match (scan.at(after), scan.at(after + 1)) {
        (b':', b':') => return None,
        (b':', b'=') | (b'=', b'>') => (2, Link::Operator),
        (b'-', b'>') => (2, Link::Phrase),
        (b'=', b'=') => (
            scan.run(after, 3, |byte| byte == b'=') - after,
            Link::Operator,
        ),
        (b'=' | b':', _) => (1, Link::Operator),
        (b'>', _) if before == b'<' && after == name_end => (1, Link::Operator),
        (b'|', _) if opens_cell(scan, name_start) => (1, Link::Cell),
        (b'\'', _) if after > name_end => (0, Link::Quote),
        _ if flag && after > name_end => (0, Link::Operator),
        _ if rest.starts_with("：".as_bytes()) || rest.starts_with("→".as_bytes()) => {
            (3, Link::Phrase)
        }
        _ => match verb(rest) {
            Some(length) if after > name_end => (length, Link::Phrase),
            _ => return None,
        },
    };
    if remark && !matches!(scan.at(after), b':' | 0xef) {
        return None;
    }
    let mut at = after + operator;
    let stars = scan.run(at, 3, |byte| byte == b'*');
    if scan.at(after) == b':' && stars > at && scan.at(stars) == b' ' {
        bold = true;
        at = stars;
    }
    if link == Link::Operator && (bold || remark) {
        link = Link::Phrase;
    }
    at = scan.blanks(at);
    if scan.at(after) == b':' && operator == 1 {
        at = after_type(scan, at);
        at = scalar_line(scan, at).unwrap_or(at);
    }
    if link == Link::Operator && scan.at(after) == b'=' {
        let lead = scan.run_back(name_start, 8, |byte| byte == b' ');
        if lead.checked_sub(1).is_some_and(|at| scan.at(at) == b';') {
            link = Link::Listed;
        }
    }
    let rest = scan.bytes.get(at..).unwrap_or_default();
    if link == Link::Operator && (rest.starts_with(b"\"\"\"") || rest.starts_with(b"'''")) {
        at = next_line(scan, at + 3).unwrap_or(at + 3);
        link = Link::TripleQuote;
    }
    Some(ValuePosition { at, link })
}

/// Returns the position of the value if the name is itself a value: `name: DB_PASSWORD`, then
/// `value: …`.
fn paired(scan: &Scan<'_>, name_start: usize, at: usize) -> Option<usize> {
    let lead = scan.run_back(name_start, 4, |byte| {
        matches!(byte, b'"' | b'\'' | b' ' | b'\\')
    });
    let before = scan.bytes.get(..lead)?.strip_suffix(b":")?;
    let before = before.strip_suffix(b"\"").unwrap_or(before);
    if ![&b"name"[..], b"Name", b"key", b"Key"]
        .iter()
        .any(|word| before.ends_with(word))
    {
        return None;
    }
    let comma = scan.run(scan.blanks(at), 1, |byte| byte == b',');
    let start = next_line(scan, comma).unwrap_or_else(|| scan.blanks(comma));
    let start = scan.run(start, 1, |byte| byte == b'"');
    let word = scan.slice(start, start + 5);
    if start == at || !word.eq_ignore_ascii_case("value") {
        return None;
    }
    let colon = scan.blanks(scan.run(start + 5, 1, |byte| byte == b'"'));
    (scan.at(colon) == b':').then(|| scan.blanks(colon + 1))
}

/// Returns the first byte of text on the next line, if only blanks are left on this one.
fn next_line(scan: &Scan<'_>, at: usize) -> Option<usize> {
    let end = scan.run(scan.blanks(at), 1, |byte| byte == b'\r');
    (scan.bytes.get(end) == Some(&b'\n')).then(|| scan.blanks(end + 1))
}

/// Returns the line below a YAML block scalar: `secret: |` or `secret: >-`.
fn scalar_line(scan: &Scan<'_>, at: usize) -> Option<usize> {
    if !matches!(scan.at(at), b'|' | b'>') {
        return None;
    }
    next_line(
        scan,
        scan.run(at + 1, 2, |byte| matches!(byte, b'+' | b'-' | b'0'..=b'9')),
    )
}

/// Returns the end of a remark between the name and its colon, and whether there is one:
/// `password (prod):`, `password for prod:`.
fn remark_end(scan: &Scan<'_>, name_end: usize, after: usize) -> (usize, bool) {
    let rest = scan.bytes.get(after..).unwrap_or_default();
    let end = if after == name_end {
        after
    } else if rest.starts_with(b"(") {
        let end = scan.run(after + 1, MAX_REMARK, |byte| {
            byte != b')' && byte != b'\n' && byte != b'('
        });
        if scan.at(end) == b')' { end + 1 } else { after }
    } else if [&b"for "[..], b"of ", b"on ", b"von ", b"f\xc3\xbcr "]
        .iter()
        .any(|word| rest.starts_with(word))
    {
        scan.run(after, MAX_REMARK, |byte| {
            byte.is_ascii_alphanumeric() || byte >= 0x80 || b" _.-/`".contains(&byte)
        })
    } else {
        after
    };
    let colon = scan.at(end) == b':' && scan.at(end + 1) != b':';
    if end > after && colon {
        (end, true)
    } else {
        (after, false)
    }
}

/// Returns the length of a verb with its colon: `is: `, `is `, `ist `.
fn verb(rest: &[u8]) -> Option<usize> {
    [&b"is: "[..], b"is ", b"was: ", b"was ", b"ist: ", b"ist "]
        .iter()
        .find(|verb| rest.starts_with(verb))
        .map(|verb| verb.len())
}

/// Whether the name is the first text of a cell.
fn opens_cell(scan: &Scan<'_>, name_start: usize) -> bool {
    let lead = scan.run_back(name_start, 16, |byte| matches!(byte, b' ' | b'*' | b'`'));
    lead.checked_sub(1).is_some_and(|at| scan.at(at) == b'|')
}

/// Returns where the value begins if a type comes first: `password: &str = "…"`.
fn after_type(scan: &Scan<'_>, at: usize) -> usize {
    let end = scan.run(at, MAX_TYPE, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b' ' | b'<' | b'>' | b'[' | b']' | b'&' | b'\'' | b'|' | b'.' | b'?'
            )
    });
    let value = scan.blanks(end + 1);
    let typed = end > at && scan.at(end) == b'=' && matches!(scan.at(value), b'"' | b'\'');
    if typed { value } else { at }
}
