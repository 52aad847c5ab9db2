//! Prevents imports from adding forgotten texts again.

use std::borrow::Cow;

use loci_core::{Collection, Result, TextPlace};
use loci_secrets::{Setting, mask};

/// Whether most of a text was forgotten in a collection, with its secrets or with their masks: a
/// text that was forgotten in one form must not come back in the other. With `allow_again` nothing
/// counts as forgotten, and the record of the forgotten text is removed.
pub(crate) fn mostly_forgotten(
    collection: &dyn Collection,
    text: &str,
    allow_again: bool,
) -> Result<bool> {
    if mostly_forgotten_as_given(collection, text, allow_again)? {
        return Ok(true);
    }
    match mask(text, Setting::Plain).text {
        Cow::Owned(masked) => mostly_forgotten_as_given(collection, &masked, allow_again),
        Cow::Borrowed(_) => Ok(false),
    }
}

fn mostly_forgotten_as_given(
    collection: &dyn Collection,
    text: &str,
    allow_again: bool,
) -> Result<bool> {
    let Some(ledger) = collection.ledger() else {
        return Ok(false);
    };
    if !ledger.has_forgotten()? {
        return Ok(false);
    }
    let forgotten = ledger.forgotten_lines(text, TextPlace::Unknown)?;
    if allow_again {
        if !forgotten.is_empty() {
            ledger.allow_again(text, TextPlace::Unknown)?;
        }
        return Ok(false);
    }
    let (mut nonblank, mut gone) = (0_u64, 0_u64);
    for (line, number) in text.lines().zip(1..) {
        let within = forgotten
            .iter()
            .any(|(start, end)| (*start..=*end).contains(&number));
        let words = u64::from(!line.trim().is_empty());
        nonblank += words;
        gone += words * u64::from(within);
    }
    Ok(gone > 0 && gone * 2 >= nonblank)
}
