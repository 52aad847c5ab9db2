//! A table of keys with a prefix and length defined by their issuer.
//!
//! A distinctive prefix is enough: its key is masked whatever is beside it, up to the end of the
//! run of its characters. A key with any other prefix needs a length in the table and a boundary
//! after it, and the text before it is considered.

use super::scan::{Edge, Scan};
use super::value::{self, AWS_SECRET};

/// The number of alphabets in [`Body`].
pub(super) const ALPHABETS: usize = 8;

/// The characters that may follow the prefix.
#[derive(Clone, Copy)]
pub(super) enum Body {
    /// Lower-case hexadecimal digits.
    Hex,
    /// Hexadecimal digits in either case.
    AnyHex,
    /// Capital letters and digits.
    Upper,
    Alphanumeric,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Base64 in either alphabet, with its padding.
    Base64,
}

impl Body {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::AnyHex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=')
            }
        }
    }
}

/// Where else a prefix occurs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// Nowhere else, with such a body after it.
    Distinctive,
    /// In long runs of base64.
    InBase64,
    /// In words: `disk-`, `shelf_`. A key needs a boundary before it.
    InWords,
}

struct Shape {
    kind: &'static str,
    prefix: &'static str,
    body: Body,
    min: usize,
    max: usize,
    strength: Strength,
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
        strength: Strength::Distinctive,
    }
}

impl Shape {
    const fn in_base64(self) -> Self {
        Self {
            strength: Strength::InBase64,
            ..self
        }
    }

    const fn in_words(self) -> Self {
        Self {
            strength: Strength::InWords,
            ..self
        }
    }
}

const TAILSCALE: &str = "tskey-";
const AWS: &str = "AWS access key";
/// How far from its id an AWS secret is searched for, on the line of the id and the next one.
const AWS_REACH: usize = 256;
/// The longest run before a prefix that is a name rather than base64.
const MAX_LEAD: usize = 16;
/// How much of a body is examined.
const MAX_HEAD: usize = 256;

/// A longer prefix comes before a shorter one that it begins with.
const SHAPES: [Shape; 63] = [
    shape(AWS, "AKIA", Body::Upper, 16, 16).in_base64(),
    shape(AWS, "ASIA", Body::Upper, 16, 16).in_base64(),
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
    shape("OpenAI key", "sk-", Body::Url, 20, 255).in_words(),
    shape("Google API key", "AIza", Body::Url, 35, 35).in_base64(),
    shape("Google client secret", "GOCSPX-", Body::Url, 28, 28),
    shape("npm token", "npm_", Body::Alphanumeric, 36, 36),
    shape("PyPI token", "pypi-", Body::Url, 50, 512),
    shape("Hugging Face token", "hf_", Body::Alphanumeric, 30, 40).in_words(),
    shape("DigitalOcean token", "dop_v1_", Body::Hex, 64, 64),
    shape("SendGrid key", "SG.", Body::Dotted, 50, 80).in_words(),
    shape("Twilio key", "SK", Body::Hex, 32, 32).in_words(),
    shape("Linear key", "lin_api_", Body::Alphanumeric, 32, 64),
    shape("Vault token", "hvs.", Body::Url, 24, 300),
    shape("Vault token", "hvb.", Body::Url, 24, 300),
    shape("Tailscale key", TAILSCALE, Body::Url, 20, 120),
    shape("Docker token", "dckr_pat_", Body::Url, 24, 64),
    shape("Docker token", "dckr_oat_", Body::Url, 24, 64),
    shape("Databricks token", "dapi", Body::Hex, 32, 32),
    shape("Pulumi token", "pul-", Body::Hex, 40, 40),
    shape("PlanetScale key", "pscale_tkn_", Body::Dotted, 32, 64),
    shape("PlanetScale key", "pscale_pw_", Body::Dotted, 32, 64),
    shape("PlanetScale key", "pscale_oauth_", Body::Dotted, 32, 64),
    shape("Fly token", "fm2_", Body::Base64, 80, 4096).in_base64(),
    shape("Doppler token", "dp.pt.", Body::Alphanumeric, 40, 44),
    shape("age key", "AGE-SECRET-KEY-1", Body::Upper, 58, 58),
    shape("Shopify token", "shpat_", Body::AnyHex, 32, 32),
    shape("Shopify token", "shpca_", Body::AnyHex, 32, 32),
    shape("Shopify token", "shppa_", Body::AnyHex, 32, 32),
    shape("Shopify token", "shpss_", Body::AnyHex, 32, 32),
    shape("Notion token", "ntn_", Body::Alphanumeric, 40, 64),
    shape("Atlassian token", "ATATT3x", Body::Base64, 60, 400),
    shape("Supabase token", "sbp_", Body::Hex, 40, 40),
    shape("Sentry token", "sntrys_", Body::Base64, 60, 400),
    shape("Sentry token", "sntryu_", Body::Hex, 64, 64),
    shape("Figma token", "figd_", Body::Url, 36, 64),
    shape("Groq key", "gsk_", Body::Alphanumeric, 40, 64),
    shape("xAI key", "xai-", Body::Alphanumeric, 60, 100),
    shape("Perplexity key", "pplx-", Body::Alphanumeric, 40, 64),
    shape("Replicate token", "r8_", Body::Alphanumeric, 37, 37).in_words(),
    shape("Google access token", "ya29.", Body::Url, 40, 2048),
];

/// Returns the prefixes to search for. `SK` alone would be in half of all words, so it comes with
/// the digit after it.
pub(super) fn prefixes() -> impl Iterator<Item = String> {
    let twilio = "0123456789abcdef".chars().map(|digit| format!("SK{digit}"));
    SHAPES
        .iter()
        .filter(|shape| shape.prefix != "SK")
        .map(|shape| shape.prefix.to_owned())
        .chain(twilio)
}

/// Examines a prefix, in any case, at `start`.
pub(super) fn examine(scan: &mut Scan<'_>, start: usize) {
    // One key can follow another directly.
    let edge = if start > 0 && start <= scan.key_end {
        Edge::Open
    } else {
        scan.edge(start)
    };
    for shape in shapes_at(scan.bytes, start) {
        if edge == Edge::Glued && !can_be_glued(scan, shape, start) {
            continue;
        }
        if let Some(end) = end_of(scan, shape, start, edge) {
            scan.certain(shape.kind, start, end);
            scan.key_end = scan.key_end.max(end);
            if shape.kind == AWS {
                examine_aws_secret(scan, start, end);
            }
            return;
        }
    }
}

/// Whether a key can begin at `start`, directly after a letter or a digit.
fn can_be_glued(scan: &Scan<'_>, shape: &Shape, start: usize) -> bool {
    match shape.strength {
        Strength::Distinctive => true,
        Strength::InBase64 => {
            let lead = scan.run_back(start, MAX_LEAD + 1, |byte| Body::Base64.holds(byte));
            // A key before it will be replaced, so it is not part of the run.
            start - lead.max(scan.key_end) <= MAX_LEAD
        }
        Strength::InWords => false,
    }
}

/// Returns the shapes whose prefix is at `at`.
fn shapes_at(bytes: &[u8], at: usize) -> impl Iterator<Item = &'static Shape> {
    let rest = bytes.get(at..).unwrap_or_default();
    SHAPES
        .iter()
        .filter(move |shape| rest.starts_with(shape.prefix.as_bytes()))
}

/// Examines the text beside an AWS id at `start..end`. A run of 40 characters is its secret. A hash
/// has no capitals, so it does not count.
fn examine_aws_secret(scan: &mut Scan<'_>, start: usize, end: usize) {
    let line = scan.run_back(start, AWS_REACH, |byte| byte != b'\n');
    let this = scan.run(end, AWS_REACH, |byte| byte != b'\n');
    let next = scan.run(this + 1, AWS_REACH, |byte| byte != b'\n');
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut at = line;
    while at < next {
        let stop = scan.run(at, AWS_SECRET + 1, in_key);
        let whole = stop - at == AWS_SECRET
            && at
                .checked_sub(1)
                .is_none_or(|before| !in_key(scan.at(before)));
        let key = scan.slice(at, stop);
        if whole && value::is_aws_secret(key) {
            scan.named("AWS secret key", at, stop);
        }
        at = scan.run(stop, AWS_REACH, in_key).max(at) + 1;
    }
}

fn end_of(scan: &mut Scan<'_>, shape: &Shape, start: usize, edge: Edge) -> Option<usize> {
    let from = start + shape.prefix.len();
    let mut end = run_end(scan, shape.body, from);
    let weak = shape.strength != Strength::Distinctive;
    if weak && shape.min == shape.max {
        end = end.min(from + shape.max);
    }
    // A full stop ends a sentence.
    while end > from && scan.at(end - 1) == b'.' {
        end -= 1;
    }
    let length = end - from;
    if length < shape.min || (weak && (length > shape.max || !closes(scan, end))) {
        return None;
    }
    let head = scan.slice(from, end.min(from + shape.max.min(MAX_HEAD)));
    let issued = !is_sample(shape, head)
        && is_issued(shape, head, edge)
        && (edge == Edge::Open || is_issued_inside(scan, shape, head, start, edge));
    issued.then_some(end)
}

/// Whether the body is an example. An example word after a complete key is not part of it.
fn is_sample(shape: &Shape, body: &str) -> bool {
    value::sample_word(body).is_some_and(|at| {
        let key = body.get(..at).unwrap_or_default();
        shape.strength != Strength::Distinctive || !value::is_random(key, shape.min)
    })
}

/// Returns where the bytes from `from` stop being of the alphabet.
pub(super) fn run_end(scan: &mut Scan<'_>, body: Body, from: usize) -> usize {
    if let Some((start, end)) = scan.runs.get(body as usize).copied()
        && (start..=end).contains(&from)
    {
        return end;
    }
    let end = scan.run(from, usize::MAX, |byte| body.holds(byte));
    if let Some(run) = scan.runs.get_mut(body as usize) {
        *run = (from, end);
    }
    end
}

/// Whether a key of a fixed length can end at `end`.
fn closes(scan: &Scan<'_>, end: usize) -> bool {
    !scan.at(end).is_ascii_alphanumeric() || shapes_at(scan.bytes, end).next().is_some()
}

/// Applies the checks beyond prefix and length.
fn is_issued(shape: &Shape, body: &str, edge: Edge) -> bool {
    match shape.prefix {
        // Style classes have the same prefix, and `main-sk-9f86d081884c7d659a2f.js` is a
        // translation.
        "sk-" => value::is_random(body, 20) && (edge == Edge::Open || value::has_both_cases(body)),
        TAILSCALE => body.split('-').any(|part| value::is_random(part, 16)),
        "hvs." | "hvb." | "ya29." | "figd_" | "dckr_pat_" | "dckr_oat_" => {
            value::is_random(body, 24)
        }
        "SG." => body
            .split_once('.')
            .is_some_and(|(id, key)| id.len() >= 16 && key.len() >= 32 && !key.contains('.')),
        _ => true,
    }
}

/// Whether a key that is joined to the text before it is not part of a name: `task-ant-colony`,
/// `network_live_status`.
fn is_issued_inside(scan: &Scan<'_>, shape: &Shape, body: &str, start: usize, edge: Edge) -> bool {
    let word = edge == Edge::Glued
        && start
            .checked_sub(1)
            .is_some_and(|before| scan.at(before).is_ascii_lowercase());
    match shape.prefix {
        "sk-ant-" | "sk-proj-" | "sk_live_" | "rk_live_" if word => {
            value::is_random(body, shape.min) && value::has_both_cases(body)
        }
        // Base64 of zeros is `AAAA`, and `ASIA` is a word.
        "AKIA" if edge == Edge::Joined => value::is_varied(body),
        "AKIA" | "ASIA" => value::is_varied(body) && body.bytes().any(|byte| byte.is_ascii_digit()),
        _ => match shape.body {
            Body::Hex | Body::AnyHex | Body::Upper => true,
            _ => !value::is_slug(body),
        },
    }
}

/// Examines the `:AA` at `colon` of a Telegram bot token, with digits before it and 33 characters
/// after it.
pub(super) fn examine_telegram(scan: &mut Scan<'_>, colon: usize) {
    let digits = scan.run_back(colon, 13, |byte| byte.is_ascii_digit());
    // The digits of `%20` do not belong to the token.
    let encoded = digits.checked_sub(1).is_some_and(|at| scan.at(at) == b'%');
    let start = if encoded { digits + 2 } else { digits };
    let end = scan.run(colon + 1, 35, |byte| Body::Url.holds(byte));
    let sized = (8..=10).contains(&colon.saturating_sub(start)) && end - colon - 1 == 35;
    let key = scan.slice(colon + 1, end);
    // URLs of the service have `/bot` before it.
    let opens = scan.edge(start) != Edge::Glued
        || scan
            .bytes
            .get(..start)
            .unwrap_or_default()
            .ends_with(b"/bot");
    let fits = sized && opens && closes(scan, end);
    if fits && key.starts_with("AA") && !value::is_sample_key(key) {
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
