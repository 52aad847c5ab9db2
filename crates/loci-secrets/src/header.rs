//! Credentials in requests: `Authorization: Bearer …`, `Basic …`, a bearer token on its own,
//! cookies, and the account of `curl -u`.

use super::base64;
use super::scan::Scan;
use super::value;

const BEARER: &str = "bearer token";
const BASIC: &str = "basic credentials";
const MAX_VALUE: usize = 4_096;
const MAX_COMMAND: usize = 200;

/// Examines the text after the word `Authorization`, which ends at `end`.
pub(super) fn examine_authorization(scan: &mut Scan<'_>, end: usize) {
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']');
    let mut at = scan.blanks(scan.run(end, 4, is_quote));
    let operator = scan.run(at, 2, |byte| matches!(byte, b':' | b'=' | b',' | b'>'));
    if operator == at {
        return;
    }
    at = scan.blanks(operator);
    at = scan.run(at, 4, is_quote);
    let word_end = scan.run(at, 12, |byte| byte.is_ascii_alphabetic());
    let scheme = scan.slice(at, word_end).to_ascii_lowercase();
    let start = scan.blanks(word_end);
    if start == word_end {
        return;
    }
    let Some(end) = value_end(scan, start) else {
        return;
    };
    let credentials = scan.slice(start, end);
    match scheme.as_str() {
        "basic" if is_pair(credentials) => scan.named(BASIC, start, end),
        "bearer" | "token" | "apikey" | "key" if is_token(credentials) => {
            scan.named(BEARER, start, end);
        }
        _ => {}
    }
}

/// Examines the text after `Bearer ` anywhere, from `start`.
pub(super) fn examine_bearer(scan: &mut Scan<'_>, start: usize) {
    let Some(end) = value_end(scan, start) else {
        return;
    };
    let token = scan.slice(start, end);
    if value::is_random(token, 20) && !value::is_stand_in(token) {
        scan.named(BEARER, start, end);
    }
}

/// Examines the pairs of a `Cookie:` or `Set-Cookie:` header, whose name ends at `end`.
pub(super) fn examine_cookies(scan: &mut Scan<'_>, end: usize) {
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b'\\');
    let colon = scan.blanks(scan.run(end, 4, is_quote));
    if end < scan.cookies_end || scan.at(colon) != b':' {
        return;
    }
    let mut at = scan.run(scan.blanks(colon + 1), 4, is_quote);
    let stop = scan.run(at, MAX_VALUE, |byte| byte != b'\n' && !is_quote(byte));
    scan.cookies_end = stop;
    while at < stop {
        let pair_end = scan.run(at, stop - at, |byte| byte != b';');
        if let Some((name, value)) = scan.slice(at, pair_end).split_once('=') {
            let from = at + name.len() + 1;
            let value = value.trim_end();
            let whole = !value.contains(char::is_whitespace);
            if whole && value::is_random(value, 16) && !value::is_stand_in(value) {
                scan.named("cookie", from, from + value.len());
            }
        }
        at = scan.blanks(pair_end + 1);
    }
}

/// Examines the account after `-u ` or `--user `, from `start`, if the command is curl.
pub(super) fn examine_account(scan: &mut Scan<'_>, start: usize) {
    let line = scan.run_back(start, MAX_COMMAND, |byte| byte != b'\n');
    if !scan.slice(line, start).contains("curl ") {
        return;
    }
    let from = scan.run(start, 2, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let end = scan.run(from, MAX_COMMAND, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\')
    });
    let Some((user, password)) = scan.slice(from, end).split_once(':') else {
        return;
    };
    let is_secret = value::is_password(password) || value::is_random(password, 8);
    if is_secret && user != password && !value::is_stand_in(password) {
        scan.named("password", end - password.len(), end);
    }
}

/// Returns the end of the value. `None` if a replacement mark follows, because the value was judged
/// in an earlier pass.
fn value_end(scan: &Scan<'_>, start: usize) -> Option<usize> {
    let body = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'-')
    };
    let mut end = scan.run(start, MAX_VALUE, body);
    while end > start && scan.at(end - 1) == b'.' {
        end -= 1;
    }
    let end = scan.run(end, 2, |byte| byte == b'=');
    (scan.at(end) != b'[').then_some(end)
}

/// Whether the text is base64 of `user:password`.
fn is_pair(credentials: &str) -> bool {
    credentials.len() >= 8
        && base64::decode(credentials)
            .and_then(|pair| String::from_utf8(pair).ok())
            .is_some_and(|pair| pair.contains(':') && !pair.contains(char::is_control))
}

fn is_token(token: &str) -> bool {
    let mixed = token.bytes().any(|byte| byte.is_ascii_digit())
        && token.bytes().any(|byte| byte.is_ascii_alphabetic());
    mixed && token.len() >= 12 && !value::is_stand_in(token) && !value::is_words(token)
}
