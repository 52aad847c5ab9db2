//! The owner's choice of what happens to secrets, and the report of masked secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Masked, Setting, mask, mask_value};

/// How many secrets of each kind were masked.
pub type Tally = BTreeMap<String, u64>;

/// What happens to secrets in text that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Each secret is replaced by the name of its kind.
    #[default]
    Mask,
    /// Text is kept as it is.
    Keep,
}

impl Policy {
    /// Reads the name that configuration files use: `mask` or `keep`.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "mask" => Some(Self::Mask),
            "keep" => Some(Self::Keep),
            _ => None,
        }
    }

    /// Masks a text in place and counts the secrets.
    ///
    /// ```
    /// use loci_secrets::{Policy, Tally};
    /// let mut text = ["password = ", "\"s3same!x\""].concat();
    /// let mut tally = Tally::new();
    /// Policy::Keep.apply(&mut text, &mut tally);
    /// assert!(tally.is_empty());
    /// Policy::Mask.apply(&mut text, &mut tally);
    /// assert_eq!(text, "password = \"[masked: password]\"");
    /// assert_eq!(tally.get("password"), Some(&1));
    /// ```
    pub fn apply(self, text: &mut String, tally: &mut Tally) {
        if self == Self::Mask {
            replace(text, tally, |text| mask(text, Setting::Plain));
        }
    }

    /// Masks a value with a name in place and counts the secret.
    pub fn apply_to_value(self, name: &str, value: &mut String, tally: &mut Tally) {
        if self == Self::Mask {
            replace(value, tally, |value| mask_value(name, value));
        }
    }
}

fn replace(text: &mut String, tally: &mut Tally, masked: impl Fn(&str) -> Masked<'_>) {
    let Masked { text: clean, found } = masked(text);
    for (kind, count) in found {
        *tally.entry(kind.to_owned()).or_default() += u64::from(count);
    }
    if let std::borrow::Cow::Owned(clean) = clean {
        *text = clean;
    }
}

/// Returns the report in one line, such as `masked 2 secrets: GitHub token 1, password 1`. `None`
/// if no secret was masked.
///
/// ```
/// use loci_secrets::{Tally, describe};
/// let tally = Tally::from([("GitHub token".to_owned(), 1)]);
/// assert_eq!(describe(&tally).as_deref(), Some("masked 1 secret: GitHub token 1"));
/// assert_eq!(describe(&Tally::new()), None);
/// ```
pub fn describe(tally: &Tally) -> Option<String> {
    let total: u64 = tally.values().sum();
    if total == 0 {
        return None;
    }
    let noun = if total == 1 { "secret" } else { "secrets" };
    let mut line = format!("masked {total} {noun}:");
    for (at, (kind, count)) in tally.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(line, "{comma} {kind} {count}");
    }
    Some(line)
}
