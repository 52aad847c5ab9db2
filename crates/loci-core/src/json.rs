//! Parses JSON without silent loss. Usual parsers keep only the last of two equal keys and turn
//! large integers into floats; this module refuses both.

mod integers;

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

pub use self::integers::{LargeInteger, large_integer, refuse_large_integers};
use crate::error::{Error, Result};

/// Parses JSON text. `what` names it in errors.
pub fn parse_json(what: &str, text: &str) -> Result<Value> {
    refuse_large_integers(what, text, None)?;
    serde_json::from_str::<Strict>(text)
        .map(|strict| strict.0)
        .map_err(|error| Error::invalid(what, format!("not valid JSON: {error}")))
}

/// For serde's `deserialize_with`: a value without duplicate keys.
pub fn deserialize_strict<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Value, D::Error> {
    deserializer.deserialize_any(StrictVisitor)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("key `{key}` appears twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        let error = parse_json("where", r#"{"$and": [{"a": 1}, {"b": 1, "b": 2}]}"#).unwrap_err();
        assert!(error.to_string().contains("`b` appears twice"), "{error}");
    }

    #[test]
    fn other_json_reads_as_usual() {
        let text = r#"{"a": [1, -2, 3.5, "x", null, true, {"b": {}}], "c": 18446744073709551615}"#;
        let expected = json!({"a": [1, -2, 3.5, "x", null, true, {"b": {}}], "c": 18_446_744_073_709_551_615_u64});
        assert_eq!(parse_json("x", text).unwrap(), expected);
        assert!(parse_json("x", "{").is_err());
    }
}
