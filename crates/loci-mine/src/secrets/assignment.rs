//! A secret that is one because of the name before it: `password = "…"`, `"api_key": "…"`, `--token …`.
//!
//! A name alone is never enough outside a file of settings: the value must look random, or be quoted and look chosen.

use super::name::{self, Sort};
use super::scan::Scan;
use super::value;

const MAX_NAME: usize = 64;
const MAX_VALUE: usize = 1_024;
const MAX_TYPE: usize = 48;
/// Shortest random value, quoted and not.
const MIN_QUOTED: usize = 8;
const MIN_OPEN: usize = 16;
const MIN_OPEN_PASSWORD: usize = 10;

/// How a value stands in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Quoted,
    /// Between semicolons, as in a connection string.
    Listed,
    Open,
}

/// Examines the name around a telling word, which is at `start..end`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize, end: usize) {
    if start < scan.name_end {
        return;
    }
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name_end = scan.run(end, MAX_NAME, in_name);
    scan.name_end = name_end;
    let name_start = scan.run_back(start, MAX_NAME, in_name);
    let Some(place) = value_start(scan, name_start, name_end) else {
        return;
    };
    let Some(sort) = name::sort_of(scan.slice(name_start, name_end)) else {
        return;
    };
    if place.quote_only && (sort != Sort::Password || scan.at(place.at) != b'\'') {
        return;
    }
    let (form, from, to) = extent(scan, place.at);
    let form = if form == Form::Open && place.listed {
        Form::Listed
    } else {
        form
    };
    let text = scan.slice(from, to);
    if told(scan, sort, form, text, to) {
        let kind = if sort == Sort::AwsSecret && text.len() != 40 {
            Sort::Key.kind()
        } else {
            sort.kind()
        };
        scan.named(kind, from, to);
    }
}

struct Place {
    at: usize,
    /// No operator stands between: `IDENTIFIED WITH PASSWORD '…'`.
    quote_only: bool,
    listed: bool,
}

/// Where the value of a name begins, if something is assigned to it.
fn value_start(scan: &Scan<'_>, name_start: usize, name_end: usize) -> Option<Place> {
    let mut at = scan.run(name_end, 4, |byte| byte == b'\\');
    if matches!(scan.at(at), b'"' | b'\'' | b'`') {
        at += 1;
        at = scan.run(at, 1, |byte| byte == b']');
    }
    at = scan.run(at, 1, |byte| byte == b'?');
    let after = scan.blanks(at);
    let before = name_start.checked_sub(1).map_or(b'\n', |at| scan.at(at));
    let flag = scan.slice(name_start, name_end).contains("--");
    let operator = match (scan.at(after), scan.at(after + 1)) {
        (b':', b':') => return None,
        (b':', b'=') | (b'=', b'>') => 2,
        (b'=', b'=') => scan.run(after, 3, |byte| byte == b'=') - after,
        (b'=' | b':', _) => 1,
        (b'>', _) if before == b'<' && after == name_end => 1,
        (b'\'', _) if after > name_end => 0,
        _ if flag && after > name_end => 0,
        _ => return None,
    };
    let at = scan.blanks(after + operator);
    let at = if scan.at(after) == b':' && operator == 1 {
        after_type(scan, at)
    } else {
        at
    };
    let lead = scan.run_back(name_start, 8, |byte| byte == b' ');
    let listed =
        scan.at(after) == b'=' && lead.checked_sub(1).is_some_and(|at| scan.at(at) == b';');
    Some(Place {
        at,
        quote_only: operator == 0 && !flag,
        listed,
    })
}

/// Where the value begins if a type stands first: `password: &str = "…"`.
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

/// The value that begins at `at`, without its quotes.
fn extent(scan: &Scan<'_>, at: usize) -> (Form, usize, usize) {
    let letters = scan.run(at, 2, |byte| {
        matches!(byte.to_ascii_lowercase(), b'r' | b'b' | b'f' | b'u' | b'@')
    });
    let opening = scan.run(letters, 4, |byte| byte == b'\\');
    let quote = scan.at(opening);
    if matches!(quote, b'"' | b'\'' | b'`') {
        let start = opening + 1;
        let escaped = opening > letters;
        let end = quoted_end(scan, start, quote, escaped);
        if scan.at(end) == quote || escaped {
            return (Form::Quoted, start, end);
        }
        return (Form::Open, start, start);
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
    // Only padding: inside a run `=` would let each name of `a=a=a=` read all that follows.
    let padded = scan.run(end, 2, |byte| byte == b'=');
    let end = if body(scan.at(padded)) { end } else { padded };
    (Form::Open, at, end)
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

fn told(scan: &Scan<'_>, sort: Sort, form: Form, text: &str, end: usize) -> bool {
    if text.len() >= MAX_VALUE {
        return false;
    }
    if scan.lenient && form == Form::Quoted {
        return !value::is_reference(text) && !is_switch(text);
    }
    if value::is_stand_in(text) || text.contains(char::is_whitespace) {
        return false;
    }
    // A path, a call or an index is code. A mark begins as an index does.
    let code = matches!(scan.at(end), b'(' | b'[' | b'{')
        || (scan.at(end) == b':' && scan.at(end + 1) == b':');
    match (sort, form) {
        (_, Form::Open | Form::Listed) if code => false,
        (Sort::Password, Form::Quoted | Form::Listed) => {
            value::is_password(text) || value::is_random(text, MIN_QUOTED)
        }
        (_, Form::Quoted) => value::is_random(text, MIN_QUOTED),
        (Sort::Password, Form::Open) => value::is_random(text, MIN_OPEN_PASSWORD),
        (_, Form::Open | Form::Listed) => value::is_random(text, MIN_OPEN),
    }
}

/// Whether it is a word for yes, no or nothing.
pub(super) fn is_switch(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none"
    )
}
