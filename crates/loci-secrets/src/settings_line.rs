//! The lines of a settings file: `NAME=value`, `name: value`, `machine … password value`,
//! `host:port:db:user:password`.

use super::assignment::is_switch;
use super::name::{self, Sort};
use super::scan::Scan;
use super::value;

const PASSWORD: &str = Sort::Password.kind();

/// Examines every line.
pub(super) fn run(scan: &mut Scan<'_>) {
    let text = scan.text;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches(['\n', '\r']);
        let comment = body.trim_start().starts_with(['#', ';']) && !is_disabled_setting(body);
        // A line that contains a mark was judged when it was masked.
        if !comment && !body.contains(super::MARK) {
            assignment_line(scan, at, body);
            pgpass_line(scan, at, body);
            netrc_line(scan, at, body);
        }
        at += line.len();
    }
}

/// Whether a comment is a disabled setting: `#NAME=value`. Prose has blanks there.
fn is_disabled_setting(line: &str) -> bool {
    let setting =
        line.trim_matches(|mark: char| mark.is_whitespace() || mark == '#' || mark == ';');
    setting.contains('=') && !setting.contains(char::is_whitespace)
}

/// Examines `NAME=value`, or else `name: value`.
fn assignment_line(scan: &mut Scan<'_>, at: usize, line: &str) {
    let Some((left, right)) = line.split_once('=').or_else(|| line.split_once(':')) else {
        return;
    };
    let left =
        left.trim_end_matches(|mark: char| mark.is_whitespace() || mark == '"' || mark == '\'');
    let name = left
        .rsplit(|mark: char| !(mark.is_ascii_alphanumeric() || matches!(mark, '_' | '-' | '.')))
        .next()
        .unwrap_or_default();
    let Some(sort) = name::sort_in_settings(name) else {
        return;
    };
    let text = unquoted(right);
    if value::is_reference(text) || is_switch(text) {
        return;
    }
    let start = at + (text.as_ptr().addr() - line.as_ptr().addr());
    scan.named(sort.kind(), start, start + text.len());
}

/// Returns the value without quotes, comma and comment.
fn unquoted(right: &str) -> &str {
    let right = right.trim();
    for quote in ['"', '\''] {
        if let Some((inner, _)) = right
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote))
        {
            return inner;
        }
    }
    let right = right.split_once(" #").map_or(right, |(value, _)| value);
    right
        .trim_end()
        .trim_end_matches([',', ';'])
        .trim_matches(['"', '\''])
}

/// Examines a line of `.pgpass`.
fn pgpass_line(scan: &mut Scan<'_>, at: usize, line: &str) {
    let fields: Vec<&str> = line.splitn(5, ':').collect();
    let [host, port, _, _, password] = fields.as_slice() else {
        return;
    };
    let host_fits = !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'*' | b'_'));
    let port_fits =
        *port == "*" || (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    if host_fits && port_fits && !value::is_reference(password) {
        let end = at + line.len();
        scan.named(PASSWORD, end - password.len(), end);
    }
}

/// Examines a line of `.netrc`.
fn netrc_line(scan: &mut Scan<'_>, at: usize, line: &str) {
    let words = line.split_ascii_whitespace();
    let opens = ["machine", "default", "login", "account", "password"];
    if !line
        .split_ascii_whitespace()
        .next()
        .is_some_and(|first| opens.contains(&first))
    {
        return;
    }
    let Some(text) = words
        .skip_while(|word| *word != "password")
        .nth(1)
        .filter(|text| !value::is_reference(text) && !matches!(*text, "=" | ":"))
    else {
        return;
    };
    let start = at + (text.as_ptr().addr() - line.as_ptr().addr());
    scan.named(PASSWORD, start, start + text.len());
}
