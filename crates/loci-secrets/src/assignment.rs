//! Recognises secrets by the name before them: `password = "…"`, `"api_key": "…"`, `--token …`.
//!
//! Outside settings files a name alone is never enough: the value must look random, or look like a
//! password that a person chose.

use super::extent::{self, Extent};
use super::name::{self, Sort};
use super::place::{self, Link};
use super::scan::Scan;
use super::setting::Setting;
use super::value;

const MAX_NAME: usize = 64;
/// The most items of a list that are read.
const MAX_ITEMS: usize = 64;
/// The shortest random value: quoted, with marks, and unquoted.
const MIN_QUOTED: usize = 8;
const MIN_WILD: usize = 12;
const MIN_OPEN: usize = 16;
const MIN_OPEN_PASSWORD: usize = 8;
/// The name of a temporary AWS token, and the length of such a token.
const AWS_SESSION: &str = "aws_session_token";
const MIN_SESSION: usize = 100;
const MAX_SESSION: usize = 4_096;

/// The form in which a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Quoted,
    /// Between semicolons, as in a connection string.
    Listed,
    Open,
    /// After the words of a note.
    Phrased,
}

/// Examines the name around a secret word at `start..end`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize, end: usize) {
    if start < scan.name_end {
        return;
    }
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let mut name_end = scan.run(end, MAX_NAME, in_name);
    // The arrow of `token->` is not part of the name.
    if scan.at(name_end) == b'>' && scan.at(name_end - 1) == b'-' {
        name_end = (name_end - 1).max(end);
    }
    scan.name_end = name_end;
    let name_start = scan.run_back(start, MAX_NAME, in_name);
    // This is the user of a URL, and the rule for URLs reads its password.
    let address = scan.bytes.get(..name_start).unwrap_or_default();
    if address.ends_with(b"://") {
        return;
    }
    let name = scan.slice(name_start, name_end);
    let Some(place) = place::find(scan, name_start, name_end) else {
        return examine_argument(scan, name, name_end);
    };
    if place.link == Link::Quote {
        examine_argument(scan, name, name_end);
    }
    if scan.at(place.at) == b'[' && place.link == Link::Operator {
        if let Some(sort) = name::sort_of_list(name) {
            items(scan, sort, place.at + 1);
        }
        return;
    }
    if let Some(sort) = name::sort_of(name) {
        judge(scan, sort, place.at, place.link);
    }
}

/// Examines the word after the name of an AWS secret, as in
/// `aws configure set aws_secret_access_key …`. Prose has words there too, so only the exact form
/// counts.
fn examine_argument(scan: &mut Scan<'_>, name: &str, name_end: usize) {
    let blanks = scan.blanks(name_end);
    if blanks == name_end {
        return;
    }
    let start = scan.run(blanks, 2, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let end = scan.run(start, MAX_SESSION, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
    });
    if end - start < value::AWS_SECRET {
        return;
    }
    let key = scan.slice(start, end);
    let padded = scan.run(end, 2, |byte| byte == b'=');
    match name::sort_of(name) {
        Some(Sort::AwsSecret) if value::is_aws_secret(key) && padded == end => {
            scan.named(Sort::AwsSecret.kind(), start, end);
        }
        Some(Sort::Token) if name.to_ascii_lowercase().ends_with(AWS_SESSION) => {
            let fits = value::is_random(key, MIN_SESSION) && value::has_both_cases(key);
            if fits && !value::is_sample_key(key) {
                scan.named(Sort::Token.kind(), start, padded);
            }
        }
        _ => {}
    }
}

/// Examines a word for a password in another language, which ends at `end`.
pub(super) fn examine_foreign(scan: &mut Scan<'_>, start: usize, end: usize) {
    if let Some(place) = place::find(scan, start, end)
        && place.link != Link::Quote
    {
        let link = match place.link {
            Link::Operator => Link::Phrase,
            other => other,
        };
        judge(scan, Sort::Password, place.at, link);
    }
}

fn judge(scan: &mut Scan<'_>, sort: Sort, at: usize, link: Link) {
    if link == Link::Quote && (sort != Sort::Password || scan.at(at) != b'\'') {
        return;
    }
    let found = match link {
        Link::TripleQuote => extent::of_line(scan, at),
        Link::Cell => extent::of_cell(scan, at),
        _ => extent::of_value(scan, at),
    };
    let form = match (link, found.quoted) {
        (Link::Phrase | Link::Cell, _) => Form::Phrased,
        (Link::Listed, false) => Form::Listed,
        (_, true) => Form::Quoted,
        (_, false) => Form::Open,
    };
    let Extent { start, end, .. } = found;
    let text = scan.slice(start, end);
    let narrow = is_secret(scan, sort, form, text, end);
    if !found.quoted && matches!(link, Link::Operator | Link::Listed | Link::Phrase) {
        let wide = extent::widest(scan, start, link == Link::Listed);
        // Tokens have no such marks, so the text after a complete token is something else.
        let open = !narrow || sort == Sort::Password;
        if wide > end && open && is_marked(sort, scan.slice(start, wide)) {
            return scan.named(sort.kind(), start, wide);
        }
    }
    if narrow {
        scan.named(kind(sort, text), start, end);
    }
}

/// Examines the quoted items of a list: `"tokens": ["…", "…"]`.
fn items(scan: &mut Scan<'_>, sort: Sort, mut at: usize) {
    for _ in 0..MAX_ITEMS {
        at = scan.run(at, 256, |byte| byte.is_ascii_whitespace() || byte == b',');
        let item = extent::of_value(scan, at);
        if !item.quoted {
            return;
        }
        let text = scan.slice(item.start, item.end);
        if is_secret(scan, sort, Form::Quoted, text, item.end) {
            scan.named(kind(sort, text), item.start, item.end);
        }
        at = item.end + 1;
    }
}

/// Returns the kind of secret of a value under this name, if it is one. The value is complete, as
/// in a JSON object, so it counts as quoted. A plural name is that of a list which contains the
/// value.
pub(super) fn kind_of_value(name: &str, value: &str) -> Option<&'static str> {
    let sort = name::sort_of_list(name)?;
    let scan = Scan::new(value, Setting::Plain);
    is_secret(&scan, sort, Form::Quoted, value, value.len()).then(|| kind(sort, value))
}

fn kind(sort: Sort, value: &str) -> &'static str {
    if sort == Sort::AwsSecret && value.len() != 40 {
        Sort::Key.kind()
    } else {
        sort.kind()
    }
}

/// Whether an unquoted value with marks is a secret and not code.
fn is_marked(sort: Sort, text: &str) -> bool {
    if value::is_stand_in(text) || value::is_code(text) {
        return false;
    }
    match sort {
        Sort::Password => value::is_marked_password(text),
        _ => value::is_marked_random(text),
    }
}

/// Whether a value that ends at `end` is a secret.
fn is_secret(scan: &Scan<'_>, sort: Sort, form: Form, text: &str, end: usize) -> bool {
    if text.len() >= extent::MAX_VALUE {
        return false;
    }
    if scan.lenient && form == Form::Quoted {
        return !value::is_reference(text) && !is_switch(text);
    }
    if value::is_stand_in(text) || text.contains(char::is_whitespace) {
        return false;
    }
    // A path, a call or an index is code. A replacement mark begins like an index.
    let code = matches!(scan.at(end), b'(' | b'[' | b'{')
        || (scan.at(end) == b':' && scan.at(end + 1) == b':');
    match (sort, form) {
        (_, Form::Open | Form::Listed | Form::Phrased) if code => false,
        (Sort::Password, Form::Quoted | Form::Listed) => {
            value::is_password(text) || value::is_random(text, MIN_QUOTED)
        }
        (_, Form::Quoted) => value::is_random(text, MIN_QUOTED) || value::is_wild(text, MIN_WILD),
        (Sort::Password, Form::Open) => {
            value::is_random(text, MIN_OPEN_PASSWORD) || value::is_strong_password(text)
        }
        (_, Form::Phrased) => {
            value::is_random(text, MIN_QUOTED)
                || (sort == Sort::Password
                    && (value::is_strong_password(text)
                        || (!value::is_code(text) && value::is_marked_password(text))))
        }
        (_, Form::Open | Form::Listed) => value::is_random(text, MIN_OPEN),
    }
}

/// Whether the text is a word for yes, no or nothing.
pub(super) fn is_switch(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none"
    )
}
