//! Keys that their issuer gave a prefix and a length, as a table.

use super::scan::Scan;
use super::value;

/// What may follow the prefix.
#[derive(Clone, Copy)]
enum Body {
    /// Lower-case hexadecimal digits.
    Hex,
    /// Capital letters and digits.
    Upper,
    Alphanumeric,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
}

impl Body {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

struct Shape {
    kind: &'static str,
    prefix: &'static str,
    body: Body,
    min: usize,
    max: usize,
}

const fn shape(
    kind: &'static str,
    prefix: &'static str,
    body: Body,
    min: usize,
    max: usize,
) -> Shape {
    Shape {
        kind,
        prefix,
        body,
        min,
        max,
    }
}

/// A longer prefix stands before a shorter one that it begins with.
const SHAPES: [Shape; 35] = [
    shape("AWS access key", "AKIA", Body::Upper, 16, 16),
    shape("AWS access key", "ASIA", Body::Upper, 16, 16),
    shape("GitHub token", "github_pat_", Body::Word, 36, 255),
    shape("GitHub token", "ghp_", Body::Alphanumeric, 36, 255),
    shape("GitHub token", "gho_", Body::Alphanumeric, 36, 255),
    shape("GitHub token", "ghu_", Body::Alphanumeric, 36, 255),
    shape("GitHub token", "ghs_", Body::Alphanumeric, 36, 255),
    shape("GitHub token", "ghr_", Body::Alphanumeric, 36, 255),
    shape("GitLab token", "glpat-", Body::Dotted, 20, 300),
    shape("GitLab token", "gldt-", Body::Dotted, 20, 300),
    shape("GitLab token", "glrt-", Body::Dotted, 20, 300),
    shape("Slack token", "xoxa-", Body::Url, 20, 255),
    shape("Slack token", "xoxb-", Body::Url, 20, 255),
    shape("Slack token", "xoxc-", Body::Url, 20, 255),
    shape("Slack token", "xoxd-", Body::Url, 20, 255),
    shape("Slack token", "xoxe-", Body::Url, 20, 255),
    shape("Slack token", "xoxo-", Body::Url, 20, 255),
    shape("Slack token", "xoxp-", Body::Url, 20, 255),
    shape("Slack token", "xoxr-", Body::Url, 20, 255),
    shape("Slack token", "xoxs-", Body::Url, 20, 255),
    shape("Slack token", "xapp-", Body::Url, 30, 255),
    shape("Stripe key", "sk_live_", Body::Alphanumeric, 16, 255),
    shape("Stripe key", "rk_live_", Body::Alphanumeric, 16, 255),
    shape("Anthropic key", "sk-ant-", Body::Url, 20, 255),
    shape("OpenAI key", "sk-proj-", Body::Url, 20, 255),
    shape("OpenAI key", "sk-", Body::Url, 20, 255),
    shape("Google API key", "AIza", Body::Url, 35, 35),
    shape("Google client secret", "GOCSPX-", Body::Url, 28, 28),
    shape("npm token", "npm_", Body::Alphanumeric, 36, 36),
    shape("PyPI token", "pypi-", Body::Url, 50, 512),
    shape("Hugging Face token", "hf_", Body::Alphanumeric, 30, 40),
    shape("DigitalOcean token", "dop_v1_", Body::Hex, 64, 64),
    shape("SendGrid key", "SG.", Body::Dotted, 50, 80),
    shape("Twilio key", "SK", Body::Hex, 32, 32),
    shape("Linear key", "lin_api_", Body::Alphanumeric, 32, 64),
];

/// The prefixes to look for. `SK` alone would be in half of all words, so it comes with the digit after it.
pub(super) fn prefixes() -> impl Iterator<Item = String> {
    let twilio = "0123456789abcdef".chars().map(|digit| format!("SK{digit}"));
    SHAPES
        .iter()
        .filter(|shape| shape.prefix != "SK")
        .map(|shape| shape.prefix.to_owned())
        .chain(twilio)
}

/// Examines a prefix, in whatever case, at `start`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize) {
    if !scan.opens(start) {
        return;
    }
    let rest = scan.bytes.get(start..).unwrap_or_default();
    for shape in SHAPES
        .iter()
        .filter(|shape| rest.starts_with(shape.prefix.as_bytes()))
    {
        if let Some(end) = end_of(scan, shape, start) {
            scan.certain(shape.kind, start, end);
            return;
        }
    }
}

fn end_of(scan: &Scan<'_>, shape: &Shape, start: usize) -> Option<usize> {
    let from = start + shape.prefix.len();
    let mut end = scan.run(from, shape.max + 1, |byte| shape.body.holds(byte));
    // A full stop ends a sentence.
    while end > from && scan.at(end - 1) == b'.' {
        end -= 1;
    }
    let after = scan.at(end);
    if after.is_ascii_alphanumeric() || after == b'_' {
        return None;
    }
    let body = scan.slice(from, end);
    let fits = (shape.min..=shape.max).contains(&body.len()) && !value::is_sample_key(body);
    (fits && is_issued(shape, body)).then_some(end)
}

/// What the prefix and the length alone do not tell.
fn is_issued(shape: &Shape, body: &str) -> bool {
    match shape.prefix {
        // Names of style classes begin so too.
        "sk-" => value::is_random(body, 20),
        "SG." => body
            .split_once('.')
            .is_some_and(|(id, key)| id.len() >= 16 && key.len() >= 32 && !key.contains('.')),
        _ => true,
    }
}

/// Examines the `:AA` at `colon` of a Telegram bot token: digits before it, 33 characters after it.
pub(super) fn examine_telegram(scan: &mut Scan<'_>, colon: usize) {
    let start = scan.run_back(colon, 11, |byte| byte.is_ascii_digit());
    let end = scan.run(colon + 1, 36, |byte| Body::Url.holds(byte));
    let sized = (8..=10).contains(&(colon - start)) && end - colon - 1 == 35;
    let key = scan.slice(colon + 1, end);
    // Addresses of the service write `/bot` before it.
    let opens = scan.opens(start)
        || scan
            .bytes
            .get(..start)
            .unwrap_or_default()
            .ends_with(b"/bot");
    if sized && opens && key.starts_with("AA") && !value::is_sample_key(key) {
        scan.certain("Telegram bot token", start, end);
    }
}

/// Examines the base64 after `AccountKey=` or `SharedAccessKey=`, from `start`.
pub(super) fn examine_azure(scan: &mut Scan<'_>, start: usize) {
    let body = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let end = scan.run(start, 128, body);
    let key = scan.slice(start, end);
    if key.len() >= 40 && !value::is_sample_key(key) {
        let end = scan.run(end, 2, |byte| byte == b'=');
        scan.certain("Azure key", start, end);
    }
}
