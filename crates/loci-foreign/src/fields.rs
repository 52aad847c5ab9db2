//! Fills metadata with values from other programs.

use loci_core::{MetaValue, Metadata};
use serde_json::Value;

use crate::palace::ReadSummary;

/// The maximum length of a key in bytes.
const LONGEST_KEY: usize = 256;
/// The maximum number of characters of a key in a report.
const SHOWN: usize = 64;

/// Sets a key. A key that no palace can hold is counted as unmapped.
pub(crate) fn put(metadata: &mut Metadata, key: &str, value: MetaValue, summary: &mut ReadSummary) {
    let kept = !key.is_empty()
        && key.len() <= LONGEST_KEY
        && !key.starts_with(['$', '#'])
        && !key.contains('\0')
        && value.validate(key).is_ok();
    if kept {
        metadata.0.insert(key.to_owned(), value);
    } else {
        let excerpt: String = key.chars().take(SHOWN).collect();
        summary.leave(&format!("metadata key `{}`", excerpt.escape_debug()));
    }
}

/// Sets a key to a text.
pub(crate) fn put_text(metadata: &mut Metadata, key: &str, text: Option<String>) {
    if let Some(text) = text {
        metadata.0.insert(key.to_owned(), MetaValue::Str(text));
    }
}

/// Sets a key to a JSON value. A value of a type that metadata lacks is kept as its JSON text.
pub(crate) fn put_json(
    metadata: &mut Metadata,
    key: &str,
    value: &Value,
    summary: &mut ReadSummary,
) {
    if value.is_null() {
        return;
    }
    let typed = typed(value).filter(|typed| typed.validate(key).is_ok());
    let typed = typed.unwrap_or_else(|| MetaValue::Str(value.to_string()));
    put(metadata, key, typed, summary);
}

fn typed(value: &Value) -> Option<MetaValue> {
    match value {
        Value::Bool(value) => Some(MetaValue::Bool(*value)),
        Value::Number(number) => number
            .as_i64()
            .map(MetaValue::Int)
            .or_else(|| number.as_f64().map(MetaValue::Float)),
        Value::String(text) => Some(MetaValue::Str(text.clone())),
        Value::Array(items) => items
            .iter()
            .map(typed)
            .collect::<Option<Vec<_>>>()
            .map(MetaValue::List),
        Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_no_type_is_kept_as_its_text() {
        let (mut metadata, mut summary) = (Metadata::default(), ReadSummary::default());
        put_json(&mut metadata, "nested", &json!({"a": [1]}), &mut summary);
        put_json(&mut metadata, "mixed", &json!([1, "b"]), &mut summary);
        put_json(&mut metadata, "list", &json!(["a", "b"]), &mut summary);
        put_json(&mut metadata, "none", &json!(null), &mut summary);
        assert_eq!(
            metadata.to_json_text(),
            r#"{"list":["a","b"],"mixed":"[1,\"b\"]","nested":"{\"a\":[1]}"}"#
        );
        assert!(summary.unmapped.is_empty());
    }

    #[test]
    fn a_key_that_cannot_be_held_is_counted() {
        let (mut metadata, mut summary) = (Metadata::default(), ReadSummary::default());
        put(&mut metadata, "$and", MetaValue::Int(1), &mut summary);
        put(&mut metadata, "", MetaValue::Int(1), &mut summary);
        assert!(metadata.0.is_empty());
        assert_eq!(summary.unmapped.len(), 2);
    }
}
