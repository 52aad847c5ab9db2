//! Target `filters`: filters, metadata and strict JSON.

use loci_core::{DocumentFilter, Filter, MetaValue, Metadata, parse_json, validate_metadata};
use serde_json::Value;

use crate::input::Input;

/// The input is a filter on the first line, metadata on the second, then the document.
pub fn run(data: &[u8]) {
    let text = Input(data).text();
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (filter, metadata, document) = (line(), line(), line());
    let [filter_json, metadata_json] = [filter, metadata].map(strict);

    let metadata = metadata_json.as_ref().and_then(stored).unwrap_or_default();
    if let Ok(parsed) = Filter::parse_text(filter) {
        let json = filter_json.as_ref().expect("a filter is JSON");
        for document in [None, Some(document)] {
            let holds = parsed.matches(&metadata, document);
            assert_eq!(holds, model(json, &metadata, document), "{filter}");
            let both = Filter::And(vec![parsed.clone(), parsed.clone()]);
            assert_eq!(both.matches(&metadata, document), holds);
        }
    }
    if let Ok(parsed) = DocumentFilter::parse_text(filter) {
        let json = filter_json.as_ref().expect("a filter is JSON");
        for document in [None, Some(document)] {
            assert_eq!(
                parsed.matches(document),
                document_model(json, document),
                "{filter}"
            );
        }
    }
}

/// Checks that the strict parser gives the same result as the usual one, or refuses.
fn strict(text: &str) -> Option<Value> {
    let usual = serde_json::from_str::<Value>(text);
    match parse_json("input", text) {
        Ok(value) => {
            assert_eq!(Some(&value), usual.as_ref().ok(), "{text}");
            let written = value.to_string();
            assert_eq!(parse_json("input", &written).ok(), Some(value), "{text}");
        }
        Err(error) => {
            let twice = error.to_string().contains("appears twice");
            assert!(usual.is_err() || twice, "{text}: {error}");
            return None;
        }
    }
    usual.ok()
}

/// Checks that metadata that can be stored is the same after it is written and read.
fn stored(json: &Value) -> Option<Metadata> {
    let metadata = Metadata::from_json(json).ok()?;
    let mut values = metadata.0.iter();
    if validate_metadata("a", &metadata).is_err()
        || values.any(|(key, value)| value.validate(key).is_err())
    {
        return None;
    }
    let text = metadata.to_json_text();
    let again: Metadata = serde_json::from_str(&text).expect("metadata is read back");
    assert_eq!(again, metadata, "{text}");
    assert_eq!(again.to_json_text(), text);
    metadata.authored_at();
    Some(metadata)
}

/// Evaluates a filter on its JSON, without the parser.
fn model(filter: &Value, metadata: &Metadata, document: Option<&str>) -> bool {
    let (key, operand) = only(filter);
    match key {
        "$and" => parts(operand).all(|part| model(part, metadata, document)),
        "$or" => parts(operand).any(|part| model(part, metadata, document)),
        "#document" => document_model(operand, document),
        key => key_model(metadata.get(key), operand),
    }
}

fn key_model(value: Option<&MetaValue>, test: &Value) -> bool {
    if !test.is_object() {
        return value.is_some_and(|value| equal(value, test));
    }
    let (operator, operand) = only(test);
    let negated = match operator {
        "$ne" => Some("$eq"),
        "$nin" => Some("$in"),
        "$not_contains" => Some("$contains"),
        _ => None,
    };
    if let Some(positive) = negated {
        return !key_model(value, &serde_json::json!({ positive: operand }));
    }
    let Some(value) = value else { return false };
    match operator {
        "$eq" => equal(value, operand),
        "$in" => parts(operand).any(|operand| equal(value, operand)),
        "$contains" => match value {
            MetaValue::List(items) => items.iter().any(|item| equal(item, operand)),
            _ => false,
        },
        "$starts_with" => match value {
            MetaValue::Str(text) => text.starts_with(operand.as_str().unwrap()),
            _ => false,
        },
        _ => {
            let order = number(value)
                .zip(number_of(operand))
                .and_then(|(value, operand)| value.compare(operand));
            order.is_some_and(|order| match operator {
                "$gt" => order.is_gt(),
                "$gte" => order.is_ge(),
                "$lt" => order.is_lt(),
                "$lte" => order.is_le(),
                _ => panic!("an unknown operator was accepted: {operator}"),
            })
        }
    }
}

fn document_model(filter: &Value, document: Option<&str>) -> bool {
    let (operator, operand) = only(filter);
    let found = |document: &str| match operator {
        "$contains" | "$not_contains" => document.contains(operand.as_str().unwrap()),
        _ => regex::Regex::new(operand.as_str().unwrap())
            .unwrap()
            .is_match(document),
    };
    match operator {
        "$and" => parts(operand).all(|part| document_model(part, document)),
        "$or" => parts(operand).any(|part| document_model(part, document)),
        "$contains" | "$regex" => document.is_some_and(found),
        _ => !document.is_some_and(found),
    }
}

fn only(value: &Value) -> (&str, &Value) {
    let object = value.as_object().expect("an object was accepted");
    assert_eq!(object.len(), 1, "an object of several keys was accepted");
    let (key, value) = object.iter().next().unwrap();
    (key, value)
}

fn parts(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list was accepted").iter()
}

fn equal(value: &MetaValue, operand: &Value) -> bool {
    match (value, operand) {
        (MetaValue::Str(value), Value::String(operand)) => value == operand,
        (MetaValue::Bool(value), Value::Bool(operand)) => value == operand,
        _ => number(value)
            .zip(number_of(operand))
            .and_then(|(value, operand)| value.compare(operand))
            .is_some_and(std::cmp::Ordering::is_eq),
    }
}

/// A number of JSON or of metadata.
#[derive(Debug, Clone, Copy)]
enum Number {
    Whole(i64),
    Float(f64),
}

impl Number {
    /// The mathematical order of the numbers. A float of 2^63 or more is beyond every 64-bit
    /// integer.
    fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        let split = |number| match number {
            Self::Whole(whole) => (i128::from(whole), 0.0),
            // Clamping is safe: no 64-bit integer is farther from zero than 2^64.
            Self::Float(float) => {
                let float = float.clamp(-1.0e30, 1.0e30);
                (float.floor() as i128, float - float.floor())
            }
        };
        if let (Self::Float(one), Self::Float(two)) = (self, other) {
            return one.partial_cmp(&two);
        }
        split(self).partial_cmp(&split(other))
    }
}

fn number(value: &MetaValue) -> Option<Number> {
    match value {
        MetaValue::Int(whole) => Some(Number::Whole(*whole)),
        MetaValue::Float(float) => Some(Number::Float(*float)),
        _ => None,
    }
}

fn number_of(operand: &Value) -> Option<Number> {
    match operand {
        Value::Number(number) => number
            .as_i64()
            .map(Number::Whole)
            .or_else(|| number.as_f64().map(Number::Float)),
        _ => None,
    }
}
