//! Target `secrets`: masking of secrets in text.

use loci_secrets::{Setting, mask};

use crate::input::Input;

/// The input is a setting and a text.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let setting = input.one_of(&[Setting::Plain, Setting::DotEnv]);
    let text = input.text();
    let masked = mask(&text, setting);
    let newlines = |text: &str| text.matches('\n').count();
    assert_eq!(newlines(&text), newlines(&masked.text), "lines are lost");
    assert_eq!(
        masked.found.is_empty(),
        masked.text == text,
        "the count and the text disagree"
    );
    let again = mask(&masked.text, setting);
    assert_eq!(
        again.text, masked.text,
        "a masked text changes when it is masked again"
    );
    assert!(again.found.is_empty());
}
