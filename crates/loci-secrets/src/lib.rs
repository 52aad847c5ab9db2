//! Finds secrets in text and replaces each by the name of its kind.
//!
//! This crate defines what a secret looks like and what only resembles one. Text outside a match
//! stays byte for byte, the number of lines stays the same, and masking a masked text changes
//! nothing. A secret must never reach a log, an error or a count; only its kind does.
//!
//! [`mask`] masks a text, and [`mask_value`] masks a value whose name is known. [`Policy`] is the
//! owner's choice, and [`Tally`] is the report.
#![forbid(unsafe_code)]

mod armour;
mod assignment;
mod base64;
mod extent;
mod header;
mod jwt;
mod name;
mod place;
mod policy;
mod scan;
mod setting;
mod settings_line;
mod shape;
mod trigger;
mod url;
mod value;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use policy::{Policy, Tally, describe};
pub use setting::{Setting, setting_of};

use scan::{Scan, Span};

/// The beginning of every replacement.
const MARK: &str = "[masked";

const MAX_PASSES: usize = 4;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text. It is borrowed if nothing was found.
    pub text: Cow<'a, str>,
    /// How many secrets of each kind were found, such as `AWS access key` or `private key block`.
    pub found: BTreeMap<&'static str, u32>,
}

/// Replaces each secret by `[masked: <kind>]`, and each inner line of a private key block by
/// `[masked]`.
///
/// It takes linear time, keeps the number of lines, and is idempotent.
///
/// ```
/// use loci_secrets::{Setting, mask};
/// let masked = mask("USER=app\nDB_PASSWORD=sesame\n", Setting::DotEnv);
/// assert_eq!(masked.text, "USER=app\nDB_PASSWORD=[masked: password]\n");
/// assert_eq!(masked.found.get("password"), Some(&1));
/// ```
pub fn mask(text: &str, setting: Setting) -> Masked<'_> {
    let mut masked = Masked {
        text: Cow::Borrowed(text),
        found: BTreeMap::new(),
    };
    // A replacement is a boundary where its secret was none, so it can expose a secret beside it.
    // Another pass masks that one. Texts without secrets, which are nearly all, take one pass.
    for _ in 0..MAX_PASSES {
        let spans = find(&masked.text, setting);
        if spans.is_empty() {
            break;
        }
        for span in spans.iter().filter(|span| span.counts) {
            *masked.found.entry(span.kind).or_insert(0) += 1;
        }
        masked.text = Cow::Owned(replace(&masked.text, &spans));
    }
    masked
}

/// Masks a value that has a name, as in `{"api_key": "…"}`. The name counts as the left side of an
/// assignment, and the value as a quoted right side.
///
/// ```
/// use loci_secrets::mask_value;
/// assert_eq!(mask_value("db_password", "s3same!x").text, "[masked: password]");
/// assert_eq!(mask_value("topic", "s3same!x").text, "s3same!x");
/// ```
pub fn mask_value<'a>(name: &str, value: &'a str) -> Masked<'a> {
    match assignment::kind_of_value(name, value) {
        Some(kind) => Masked {
            text: Cow::Owned(format!("{MARK}: {kind}]")),
            found: BTreeMap::from([(kind, 1)]),
        },
        None => mask(value, Setting::Plain),
    }
}

fn find(text: &str, setting: Setting) -> Vec<Span> {
    let mut scan = Scan::new(text, setting);
    trigger::run(&mut scan);
    if setting == Setting::DotEnv {
        settings_line::run(&mut scan);
    }
    scan.into_spans()
}

/// Replaces the spans, which must be in order and must not overlap.
fn replace(text: &str, spans: &[Span]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        masked.push_str(text.get(from..span.start).unwrap_or_default());
        masked.push_str(MARK);
        if !span.bare {
            masked.push_str(": ");
            masked.push_str(span.kind);
        }
        masked.push(']');
        from = span.end;
    }
    masked.push_str(text.get(from..).unwrap_or_default());
    masked
}
