//! Secrets in URLs: the password before the host, and the path of a webhook.

use super::scan::Scan;
use super::value;

const MAX_AUTHORITY: usize = 512;
const MAX_PATH: usize = 256;

/// Examines the `://` at `at`.
pub(super) fn examine_password(scan: &mut Scan<'_>, at: usize) {
    if at == 0 || !scan.at(at - 1).is_ascii_alphanumeric() {
        return;
    }
    let start = at + 3;
    // `[` ends it, so that a replacement is not read again.
    let end = scan.run(start, MAX_AUTHORITY, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(
                byte,
                b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\'
            )
            && !matches!(byte, b'(' | b')' | b'[' | b']' | b',' | b'|')
    });
    let authority = scan.slice(start, end);
    let Some((account, host)) = authority.rsplit_once('@') else {
        return;
    };
    let Some((user, password)) = account.split_once(':') else {
        return;
    };
    let is_secret = if scan.lenient {
        !password.is_empty() && !value::is_reference(password)
    } else {
        !value::is_stand_in(password) && !is_usual(user, password)
    };
    if is_secret && host.starts_with(|first: char| first.is_alphanumeric() || first == '{') {
        let from = start + user.len() + 1;
        scan.named("password in URL", from, from + password.len());
    }
}

/// Whether these are the credentials of manuals and local services.
fn is_usual(user: &str, password: &str) -> bool {
    const USUAL: [&str; 8] = [
        "pass", "pwd", "pw", "p", "secret", "token", "root", "postgres",
    ];
    user == password || USUAL.contains(&password.to_ascii_lowercase().as_str())
}

/// Examines the path of a Slack or Discord webhook from `start`, the first byte after its fixed
/// part.
pub(super) fn examine_webhook(scan: &mut Scan<'_>, kind: &'static str, start: usize) {
    let end = scan.run(start, MAX_PATH, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-')
    });
    let path = scan.slice(start, end);
    let longest = path.split('/').map(str::len).max().unwrap_or(0);
    if path.contains('/') && longest >= 20 && !value::is_sample_key(path) {
        scan.certain(kind, start, end);
    }
}
