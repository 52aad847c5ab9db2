//! Evaluates a filter on one drawer without an index. Backends are tested against this code.

use std::cmp;

use super::{DocumentFilter, Filter, KeyTest, Ordering};
use crate::metadata::{MetaValue, Metadata};

impl Filter {
    /// Whether a drawer with this metadata and text satisfies the filter.
    pub fn matches(&self, metadata: &Metadata, document: Option<&str>) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.matches(metadata, document)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(metadata, document)),
            Self::Key { key, test } => test.matches(metadata.get(key)),
            Self::Document(filter) => filter.matches(document),
        }
    }
}

impl KeyTest {
    /// Whether a key with this value (or without one) satisfies the test.
    pub fn matches(&self, value: Option<&MetaValue>) -> bool {
        let equal = |operand: &MetaValue| value.is_some_and(|value| scalar_eq(value, operand));
        let holds = |operand: &MetaValue| match value {
            Some(MetaValue::List(items)) => items.iter().any(|item| scalar_eq(item, operand)),
            _ => false,
        };
        match self {
            Self::Eq(operand) => equal(operand),
            Self::Ne(operand) => !equal(operand),
            Self::In(operands) => operands.iter().any(equal),
            Self::NotIn(operands) => !operands.iter().any(equal),
            Self::Contains(operand) => holds(operand),
            Self::NotContains(operand) => !holds(operand),
            Self::StartsWith(prefix) => {
                matches!(value, Some(MetaValue::Str(text)) if text.starts_with(prefix.as_str()))
            }
            Self::Includes(part) => includes(value, part),
            Self::NotIncludes(part) => !includes(value, part),
            Self::Order(ordering, operand) => value
                .and_then(|value| compare(value, operand))
                .is_some_and(|order| match ordering {
                    Ordering::Greater => order.is_gt(),
                    Ordering::GreaterOrEqual => order.is_ge(),
                    Ordering::Less => order.is_lt(),
                    Ordering::LessOrEqual => order.is_le(),
                }),
        }
    }
}

impl DocumentFilter {
    /// Whether this text (or its absence) satisfies the filter.
    pub fn matches(&self, document: Option<&str>) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.matches(document)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(document)),
            Self::Contains(text) => {
                document.is_some_and(|document| document.contains(text.as_str()))
            }
            Self::NotContains(text) => {
                !document.is_some_and(|document| document.contains(text.as_str()))
            }
            Self::Regex(regex) => document.is_some_and(|document| regex.is_match(document)),
            Self::NotRegex(regex) => !document.is_some_and(|document| regex.is_match(document)),
            Self::Phrase(phrase) => document.is_some_and(|document| phrase.is_in(document)),
            Self::NotPhrase(phrase) => !document.is_some_and(|document| phrase.is_in(document)),
        }
    }
}

fn includes(value: Option<&MetaValue>, part: &str) -> bool {
    let Some(MetaValue::Str(text)) = value else {
        return false;
    };
    let (text, part) = (text.as_bytes(), part.as_bytes());
    part.is_empty()
        || text
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
}

fn scalar_eq(a: &MetaValue, b: &MetaValue) -> bool {
    match (a, b) {
        (MetaValue::Str(a), MetaValue::Str(b)) => a == b,
        (MetaValue::Bool(a), MetaValue::Bool(b)) => a == b,
        _ => compare(a, b).is_some_and(cmp::Ordering::is_eq),
    }
}

/// Compares numbers by value, whatever their type; `None` for other values.
fn compare(a: &MetaValue, b: &MetaValue) -> Option<cmp::Ordering> {
    match (a, b) {
        (MetaValue::Int(a), MetaValue::Int(b)) => Some(a.cmp(b)),
        (MetaValue::Float(a), MetaValue::Float(b)) => a.partial_cmp(b),
        (MetaValue::Int(a), MetaValue::Float(b)) => compare_int_float(*a, *b),
        (MetaValue::Float(a), MetaValue::Int(b)) => {
            compare_int_float(*b, *a).map(cmp::Ordering::reverse)
        }
        _ => None,
    }
}

/// The comparison is exact. Converting the integer to a float first would round above 2^53.
fn compare_int_float(int: i64, float: f64) -> Option<cmp::Ordering> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= LIMIT {
        Some(cmp::Ordering::Less)
    } else if float < -LIMIT {
        Some(cmp::Ordering::Greater)
    } else {
        let whole = float.trunc();
        Some(int.cmp(&(whole as i64)).then_with(|| {
            0.0_f64
                .partial_cmp(&(float - whole))
                .unwrap_or(cmp::Ordering::Equal)
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(filter: &serde_json::Value, metadata: &serde_json::Value) -> bool {
        Filter::parse(filter).unwrap().matches(
            &Metadata::from_json(metadata).unwrap(),
            Some("The Quick fox"),
        )
    }

    #[test]
    fn numbers_compare_across_int_and_float_and_bool_is_separate() {
        assert!(check(&json!({"n": 1.0}), &json!({"n": 1})));
        assert!(check(&json!({"n": {"$lt": 1.5}}), &json!({"n": 1})));
        assert!(!check(&json!({"n": true}), &json!({"n": 1})));
        assert!(!check(&json!({"n": {"$gte": 0}}), &json!({"n": true})));
        let above = 9_007_199_254_740_993_i64;
        assert!(check(
            &json!({"n": {"$gt": 9_007_199_254_740_992.0}}),
            &json!({"n": above})
        ));
        assert!(check(&json!({"n": {"$lt": -0.5}}), &json!({"n": -1})));
        assert!(check(&json!({"n": {"$gt": -1.5}}), &json!({"n": -1})));
    }

    #[test]
    fn negations_match_records_lacking_the_key() {
        for filter in [
            json!({"k": {"$ne": 1}}),
            json!({"k": {"$nin": [1]}}),
            json!({"k": {"$not_contains": 1}}),
        ] {
            assert!(check(&filter, &json!({"other": 1})), "{filter}");
        }
        assert!(!check(&json!({"k": {"$ne": 1}}), &json!({"k": 1.0})));
    }

    #[test]
    fn contains_on_metadata_looks_into_lists_only() {
        assert!(check(
            &json!({"k": {"$contains": "a"}}),
            &json!({"k": ["a", "b"]})
        ));
        assert!(!check(
            &json!({"k": {"$contains": "a"}}),
            &json!({"k": "a"})
        ));
    }

    #[test]
    fn document_contains_is_case_sensitive_and_literal() {
        assert!(check(
            &json!({"#document": {"$contains": "Quick"}}),
            &json!({})
        ));
        assert!(!check(
            &json!({"#document": {"$contains": "quick"}}),
            &json!({})
        ));
        assert!(!check(
            &json!({"#document": {"$contains": "Q%k"}}),
            &json!({})
        ));
        assert!(check(&json!({"#document": {"$regex": "Q.*k"}}), &json!({})));
        let not = DocumentFilter::parse(&json!({"$not_regex": "x"})).unwrap();
        assert!(not.matches(None));
    }
}
