//! Private key blocks: the lines between BEGIN and END.
//!
//! A line belongs to a block if it contains one run of base64, whatever quotes, marks or line
//! numbers are around it. A block without END ends where its base64 ends, and a block without BEGIN
//! begins where its base64 begins. A block with only short lines is an illustration.

use super::scan::Scan;

const KIND: &str = "private key block";
/// A block has at least one line with this much base64.
const MIN_LINE: usize = 40;
/// Without an END, a last line shorter than this may be a word of the following text.
const MIN_LAST: usize = 16;
/// The longest quote or number before an END.
const MAX_LEAD: usize = 64;
/// The longest name between BEGIN and PRIVATE KEY.
const MAX_NAME: usize = 24;

/// Examines the words `PRIVATE KEY` at `start..end`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize, end: usize) {
    let name = scan.run_back(start, MAX_NAME, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let begins = scan.slice(name, start).starts_with("BEGIN ")
        && scan
            .bytes
            .get(..name)
            .unwrap_or_default()
            .ends_with(b"-----");
    let rest = scan.bytes.get(end..).unwrap_or_default();
    let tail = ["-----", " BLOCK-----"]
        .iter()
        .find(|tail| rest.starts_with(tail.as_bytes()));
    let ends = scan.slice(name, start).starts_with("END ") && tail.is_some();
    if ends {
        return tail_lines(scan, name);
    }
    let (true, Some(tail)) = (begins, tail) else {
        return;
    };
    let body = end + tail.len();
    // The search ends at the next dashes, so that a line with many BEGINs is read once.
    let rest = scan.slice(body, scan.bytes.len());
    let stop = rest
        .find("-----")
        .map_or(scan.bytes.len(), |dashes| body + dashes);
    let line_end = scan.run(body, stop - body, |byte| !matches!(byte, b'\n' | b'\r'));
    if line_end < stop || stop == scan.bytes.len() {
        let shown = scan.slice(body, line_end);
        if shown.contains(super::MARK) {
            return;
        }
        if shown.len() < MIN_LINE || shown.trim_matches(is_decoration).len() < MIN_LINE {
            return lines(scan, line_end);
        }
    }
    one_line(scan, body, line_end);
}

/// Examines a block on one line, with its line ends written as `\n`.
fn one_line(scan: &mut Scan<'_>, start: usize, line_end: usize) {
    let line = scan.slice(start, line_end);
    let stop = line
        .find(|other: char| {
            !is_base64(other) && !matches!(other, '\\' | ' ' | ':' | ',' | '-' | '\t')
        })
        .unwrap_or(line.len());
    let stop = stop.min(line.trim_end().len());
    let body = line.get(..stop).unwrap_or_default();
    let longest = body
        .split(|other: char| !is_base64(other))
        .map(str::len)
        .max();
    if longest.unwrap_or(0) >= MIN_LINE {
        // The line end written after BEGIN and before END is kept.
        let lead = body.len()
            - body
                .trim_start_matches("\\r")
                .trim_start_matches("\\n")
                .len();
        let body = body.trim_end_matches("\\n").trim_end_matches("\\r");
        scan.certain(KIND, start + lead, start + body.len().max(lead));
    }
}

fn lines(scan: &mut Scan<'_>, first_end: usize) {
    let mut cores = Vec::new();
    let (mut longest, mut ended) = (0, false);
    let mut at = first_end + 1;
    while at < scan.bytes.len() {
        let end = line_end(scan, at);
        let line = scan.slice(at, end);
        let core = core_of(line);
        if core.chars().all(is_base64) {
            longest = longest.max(core.len());
        } else if !is_field(core) {
            ended = line.contains("-----END ") || core.starts_with("Private-MAC:");
            scan.block_end = end;
            break;
        }
        if !core.is_empty() {
            let start = at + (core.as_ptr().addr() - line.as_ptr().addr());
            cores.push((start, start + core.len()));
        }
        at = end + 1;
    }
    if at >= scan.bytes.len() {
        scan.block_end = scan.bytes.len();
    }
    while !ended
        && cores
            .pop_if(|(start, end)| *end - *start < MIN_LAST)
            .is_some()
    {}
    if longest >= MIN_LINE {
        for (place, (start, end)) in cores.into_iter().enumerate() {
            scan.line(KIND, start, end, place == 0);
        }
    }
}

/// Returns the end of the line of `at`, without its line end.
fn line_end(scan: &Scan<'_>, at: usize) -> usize {
    scan.run(at, usize::MAX, |byte| !matches!(byte, b'\n' | b'\r'))
}

/// Returns the content of a line without quotes, marks and its number.
fn core_of(line: &str) -> &str {
    let line = line
        .trim_end()
        .trim_end_matches(" +")
        .trim_matches(is_decoration);
    unnumbered(line)
        .trim_matches(is_decoration)
        .trim_end_matches("\\n")
        .trim_end_matches("\\r")
        .trim_end_matches('\\')
}

/// Returns the line without the number that `cat -n`, `grep -n` and editors put before it: `12: `,
/// `12→`, `key.pem:12:`.
fn unnumbered(line: &str) -> &str {
    let rest = numbered(line).or_else(|| {
        let (file, rest) = line.split_once([':', '-'])?;
        (!file.contains(char::is_whitespace)).then_some(())?;
        numbered(rest)
    });
    rest.unwrap_or(line)
}

fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < line.len()).then_some(())?;
    rest.strip_prefix(['→', '\t', ':', '|', '-', '│', ' '])
}

/// Examines the lines above an END at `end`, if no BEGIN did.
fn tail_lines(scan: &mut Scan<'_>, end: usize) {
    let is_end = |byte: u8| matches!(byte, b'\n' | b'\r');
    let mut at = scan.run_back(end, MAX_LEAD, |byte| !is_end(byte));
    if end < scan.block_end || !core_of(scan.slice(at, end)).is_empty() {
        return;
    }
    let (mut cores, mut longest) = (Vec::new(), 0);
    while at > scan.block_end {
        let stop = scan.run_back(at, 2, is_end);
        let start = scan.run_back(stop, usize::MAX, |byte| !is_end(byte));
        let line = scan.slice(start, stop);
        let core = core_of(line);
        if stop == at || core.is_empty() || !core.chars().all(is_base64) {
            break;
        }
        longest = longest.max(core.len());
        let from = start + (core.as_ptr().addr() - line.as_ptr().addr());
        cores.push((from, from + core.len()));
        at = start;
    }
    scan.block_end = end;
    // A short line at the top is a word of the text before.
    while cores
        .pop_if(|(start, end)| *end - *start < MIN_LAST)
        .is_some()
    {}
    if longest >= MIN_LINE {
        for (place, (start, end)) in cores.into_iter().rev().enumerate() {
            scan.line(KIND, start, end, place == 0);
        }
    }
}

/// Examines the lines after `Private-Lines:` of a PuTTY key; the words end at `end`.
pub(super) fn examine_putty(scan: &mut Scan<'_>, end: usize) {
    let number = scan.blanks(end);
    let number_end = scan.run(number, 4, |byte| byte.is_ascii_digit());
    if number_end > number && matches!(scan.at(number_end), b'\n' | b'\r') {
        lines(scan, number_end);
    }
}

/// Whether quotes, comments, lists or diffs put this mark around a line.
fn is_decoration(mark: char) -> bool {
    mark.is_whitespace()
        || matches!(
            mark,
            '"' | '\'' | '`' | '>' | '#' | '*' | '|' | '│' | ',' | ';' | '(' | ')' | '-'
        )
}

fn is_base64(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '=')
}

/// Whether the line is a field before the base64, such as `Proc-Type: 4,ENCRYPTED`.
fn is_field(line: &str) -> bool {
    const FIELDS: [&str; 6] = [
        "Proc-Type:",
        "DEK-Info:",
        "Version:",
        "Comment:",
        "Charset:",
        "Hash:",
    ];
    FIELDS.iter().any(|field| line.starts_with(field))
}
