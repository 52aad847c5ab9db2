//! Accessors for JSON objects of unknown shape.

use super::clock;
use super::scalar::Scalar;
use serde_json::Value;

/// The string under a key; empty if there is none.
pub(super) fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The string under a key, if it is not empty.
pub(super) fn fact(value: &Value, key: &str) -> Option<String> {
    Some(word(value, key).to_owned()).filter(|word| !word.is_empty())
}

/// The list under a key; empty if there is none.
pub(super) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The value under a key, `null` if there is none.
pub(super) fn inner<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

/// The time under a key, as text or number.
pub(super) fn time(value: &Value, key: &str) -> Option<String> {
    clock::time(&match inner(value, key) {
        Value::Number(number) => Scalar::Number(number.as_f64()?),
        Value::String(text) => Scalar::Text(text.as_str().into()),
        _ => Scalar::Other,
    })
}
