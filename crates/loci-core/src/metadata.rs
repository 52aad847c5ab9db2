//! Metadata is a flat map from keys to typed values. This module owns its patch form, which
//! `update` and `upsert` merge, and the conversion from and to JSON. Null is never stored.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::quote::quoted;

/// Metadata of one drawer. Keys are sorted, so equal metadata has one serialised form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Metadata(pub BTreeMap<String, MetaValue>);

/// A change to metadata: `None` removes the key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetadataPatch(pub BTreeMap<String, Option<MetaValue>>);

/// One metadata value. Integers and floats compare with each other; booleans are their own type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MetaValue {
    /// A boolean.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// A string.
    Str(String),
    /// A list of scalars of one type.
    List(Vec<MetaValue>),
}

/// Written by hand, because the derived one tries each variant and formats an error for each that
/// does not fit. That cost more than the rest of reading a drawer.
impl<'de> Deserialize<'de> for MetaValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(MetaValueVisitor)
    }
}

struct MetaValueVisitor;

impl<'de> Visitor<'de> for MetaValueVisitor {
    type Value = MetaValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a boolean, a number, a string or a list of them")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<MetaValue, E> {
        Ok(MetaValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<MetaValue, E> {
        Ok(MetaValue::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<MetaValue, E> {
        Ok(i64::try_from(value).map_or(MetaValue::Float(value as f64), MetaValue::Int))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<MetaValue, E> {
        Ok(MetaValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<MetaValue, E> {
        Ok(MetaValue::Str(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<MetaValue, E> {
        Ok(MetaValue::Str(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut items: A,
    ) -> std::result::Result<MetaValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(MetaValue::List(list))
    }
}

impl MetaValue {
    /// Name of the value's type for error messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::Float(_) => "number",
            Self::Str(_) => "string",
            Self::List(_) => "list",
        }
    }

    fn from_json(key: &str, value: &Value) -> Result<Option<Self>> {
        Ok(Some(match value {
            Value::Null => return Ok(None),
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(n) => match (n.as_i64(), n.as_f64()) {
                (Some(i), _) => Self::Int(i),
                (None, Some(f)) if f.is_finite() && !n.is_u64() => Self::Float(f),
                _ => {
                    return Err(Error::invalid(
                        format!("metadata key {}", quoted(key)),
                        format!(
                            "number {n} does not fit a 64-bit integer or float; pass it as a string"
                        ),
                    ));
                }
            },
            Value::String(s) => Self::Str(s.clone()),
            Value::Array(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    match Self::from_json(key, item)? {
                        Some(scalar) => list.push(scalar),
                        None => {
                            return Err(Error::invalid(
                                format!("metadata key {}", quoted(key)),
                                "a list may not contain null",
                            ));
                        }
                    }
                }
                Self::List(list)
            }
            Value::Object(_) => {
                return Err(Error::invalid(
                    format!("metadata key {}", quoted(key)),
                    "nested objects are not supported; use flat keys or a string",
                ));
            }
        }))
    }

    /// Refuses values that no backend can store: non-finite floats, nested lists, lists of mixed
    /// types.
    pub fn validate(&self, key: &str) -> Result<()> {
        let refuse = |problem: &str| {
            Err(Error::invalid(
                format!("metadata key {}", quoted(key)),
                problem,
            ))
        };
        match self {
            Self::Float(f) if !f.is_finite() => refuse("a number must be finite"),
            Self::List(items) => {
                let mut types = items.iter().map(MetaValue::type_name);
                let first = types.next();
                if items.iter().any(|item| matches!(item, Self::List(_))) {
                    return refuse("a list may not contain lists");
                }
                if types.any(|name| Some(name) != first) {
                    return refuse("a list must contain values of one type");
                }
                items.iter().try_for_each(|item| item.validate(key))
            }
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Str(_) => Ok(()),
        }
    }
}

/// Keys that hold the date of a text. The first key that is present counts.
const DATE_KEYS: [&str; 3] = ["authored_at", "date", "timestamp"];

/// Keys in which MemPalace and other programs store when a record was added. The first key that is
/// present counts.
const ADDED_KEYS: [&str; 2] = ["filed_at", "created_at"];

impl Metadata {
    /// When the text was said or written, in milliseconds since 1970: the first readable date among
    /// `authored_at`, `date` and `timestamp`.
    pub fn authored_at(&self) -> Option<i64> {
        DATE_KEYS.iter().find_map(|key| self.moment(key))
    }

    /// When another program added it, in milliseconds since 1970: the first readable date among
    /// `filed_at` and `created_at`.
    pub fn added_at(&self) -> Option<i64> {
        ADDED_KEYS.iter().find_map(|key| self.moment(key))
    }

    /// The date in a key, in milliseconds since 1970.
    pub fn moment(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            MetaValue::Str(text) => loci_text::when::authored(text),
            MetaValue::Int(number) => loci_text::when::authored(&number.to_string()),
            MetaValue::Float(number) => loci_text::when::authored(&format!("{number:.0}")),
            MetaValue::Bool(_) | MetaValue::List(_) => None,
        }
    }

    /// Parses a JSON object. Null values are ignored.
    pub fn from_json(value: &Value) -> Result<Self> {
        let patch = MetadataPatch::from_json(value)?;
        Ok(Self::default().merged(&patch))
    }

    /// The canonical JSON text: keys sorted, no white space.
    pub fn to_json_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".into())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&MetaValue> {
        self.0.get(key)
    }

    /// The value of a key if it is a string.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        match self.0.get(key) {
            Some(MetaValue::Str(s)) => Some(s),
            _ => None,
        }
    }

    /// This metadata with a patch applied: new values replace old ones, null removes a key, other
    /// keys stay.
    #[must_use]
    pub fn merged(&self, patch: &MetadataPatch) -> Self {
        let mut merged = self.clone();
        for (key, change) in &patch.0 {
            match change {
                Some(value) => merged.0.insert(key.clone(), value.clone()),
                None => merged.0.remove(key),
            };
        }
        merged
    }
}

impl MetadataPatch {
    /// Parses a JSON object. Null values remove keys.
    pub fn from_json(value: &Value) -> Result<Self> {
        let Value::Object(map) = value else {
            return Err(Error::invalid("metadata", "must be a JSON object"));
        };
        let mut patch = BTreeMap::new();
        for (key, value) in map {
            patch.insert(key.clone(), MetaValue::from_json(key, value)?);
        }
        Ok(Self(patch))
    }
}

impl From<Metadata> for MetadataPatch {
    fn from(metadata: Metadata) -> Self {
        Self(
            metadata
                .0
                .into_iter()
                .map(|(key, value)| (key, Some(value)))
                .collect(),
        )
    }
}

impl From<&str> for MetaValue {
    fn from(value: &str) -> Self {
        Self::Str(value.into())
    }
}
impl From<i64> for MetaValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
impl From<f64> for MetaValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
impl From<bool> for MetaValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_floats_keep_their_type_through_text() {
        let metadata =
            Metadata::from_json(&json!({"a": 1, "b": 1.0, "c": [1.5], "d": true})).unwrap();
        let text = metadata.to_json_text();
        assert_eq!(text, r#"{"a":1,"b":1.0,"c":[1.5],"d":true}"#);
        assert_eq!(serde_json::from_str::<Metadata>(&text).unwrap(), metadata);
    }

    #[test]
    fn null_removes_a_key_and_the_rest_stays() {
        let old = Metadata::from_json(&json!({"a": 1, "b": 2})).unwrap();
        let patch = MetadataPatch::from_json(&json!({"a": null, "c": "x"})).unwrap();
        assert_eq!(
            old.merged(&patch),
            Metadata::from_json(&json!({"b": 2, "c": "x"})).unwrap()
        );
    }

    #[test]
    fn nested_mixed_and_oversized_values_are_refused_by_key() {
        for bad in [
            json!({"k": {"x": 1}}),
            json!({"k": [null]}),
            json!({"k": 18_446_744_073_709_551_615_u64}),
        ] {
            assert!(
                Metadata::from_json(&bad)
                    .unwrap_err()
                    .to_string()
                    .contains("`k`")
            );
        }
        let mixed = Metadata::from_json(&json!({"k": [1, "a"]})).unwrap();
        assert!(mixed.get("k").unwrap().validate("k").is_err());
    }

    #[test]
    fn a_stored_value_is_read_as_its_own_type() {
        let read = |json: &str| serde_json::from_str::<MetaValue>(json).ok();
        let float = |number: f64| Some(MetaValue::Float(number));
        for (json, value) in [
            ("true", Some(MetaValue::Bool(true))),
            ("-3", Some(MetaValue::Int(-3))),
            ("9223372036854775807", Some(MetaValue::Int(i64::MAX))),
            ("9223372036854775808", float(9_223_372_036_854_775_808.0)),
            ("1.0", float(1.0)),
            (r#""a\nb""#, Some(MetaValue::Str("a\nb".into()))),
            ("[]", Some(MetaValue::List(Vec::new()))),
            ("[1]", Some(MetaValue::List(vec![MetaValue::Int(1)]))),
            ("null", None),
            ("{}", None),
            ("[null]", None),
        ] {
            assert_eq!(read(json), value, "{json}");
        }
    }
}
