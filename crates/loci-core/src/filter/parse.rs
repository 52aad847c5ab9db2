//! Parses JSON into a filter tree.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{DocumentFilter, Filter, KeyTest, Ordering};
use crate::error::{Error, Result};
use crate::json::parse_json;
use crate::metadata::MetaValue;
use crate::quote::quoted;

/// Deeper filters are refused, so that no input can overflow the stack.
const MAX_DEPTH: usize = 64;
/// Maximum length of a list in `$in`, `$nin`, `$and` and `$or`.
const MAX_OPERANDS: usize = 10_000;
/// Maximum number of regular expressions in a filter, and maximum bytes that one compiles to. A few
/// characters such as `\pL{100}` compile to megabytes.
const MAX_REGEXES: usize = 16;
const MAX_REGEX_BYTES: usize = 4 << 20;

impl Filter {
    /// Parses a `where` filter: one key per object, `$and` or `$or` for more.
    ///
    /// ```
    /// use loci_core::{Error, Filter};
    /// let filter = Filter::parse(&serde_json::json!({"wing": "alice"}))?;
    /// assert_eq!(filter, Filter::eq("wing", "alice"));
    /// let unknown = Filter::parse(&serde_json::json!({"$or": [{"n": 1}, {"n": {"$near": 2}}]}));
    /// assert!(matches!(unknown, Err(Error::UnsupportedFilter { operator, .. }) if operator == "$near"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn parse(value: &Value) -> Result<Self> {
        parse_where(value, 0, &Cell::new(0))
    }

    /// Parses a `where` filter from JSON text.
    pub fn parse_text(text: &str) -> Result<Self> {
        Self::parse(&parse_json("where", text)?)
    }
}

impl DocumentFilter {
    /// Parses a `where_document` filter.
    pub fn parse(value: &Value) -> Result<Self> {
        parse_document(value, 0, &Cell::new(0))
    }

    /// Parses a `where_document` filter from JSON text.
    pub fn parse_text(text: &str) -> Result<Self> {
        Self::parse(&parse_json("where_document", text)?)
    }
}

/// `regexes` counts the regular expressions of the whole filter.
fn parse_where(value: &Value, depth: usize, regexes: &Cell<usize>) -> Result<Filter> {
    let (key, operand) = single_entry(value, "where", depth)?;
    match key {
        "$and" => Ok(Filter::And(parse_parts(operand, "$and", |part| {
            parse_where(part, depth + 1, regexes)
        })?)),
        "$or" => Ok(Filter::Or(parse_parts(operand, "$or", |part| {
            parse_where(part, depth + 1, regexes)
        })?)),
        "#document" => Ok(Filter::Document(parse_document(
            operand,
            depth + 1,
            regexes,
        )?)),
        operator if operator.starts_with('$') => Err(Error::UnsupportedFilter {
            operator: operator.into(),
            place: "`where`".into(),
        }),
        key => Ok(Filter::Key {
            key: key.into(),
            test: parse_test(key, operand)?,
        }),
    }
}

fn parse_test(key: &str, operand: &Value) -> Result<KeyTest> {
    let Value::Object(map) = operand else {
        return Ok(KeyTest::Eq(scalar(key, operand)?));
    };
    let place = || format!("`where`, key {}", quoted(key));
    let (operator, operand) = only_entry(map, &place())?;
    let order = |ordering| match scalar(key, operand)? {
        number @ (MetaValue::Int(_) | MetaValue::Float(_)) => Ok(KeyTest::Order(ordering, number)),
        other => Err(Error::invalid(
            place(),
            format!("`{operator}` compares numbers, got a {}", other.type_name()),
        )),
    };
    match operator {
        "$eq" => Ok(KeyTest::Eq(scalar(key, operand)?)),
        "$ne" => Ok(KeyTest::Ne(scalar(key, operand)?)),
        "$gt" => order(Ordering::Greater),
        "$gte" => order(Ordering::GreaterOrEqual),
        "$lt" => order(Ordering::Less),
        "$lte" => order(Ordering::LessOrEqual),
        "$in" => Ok(KeyTest::In(scalars(key, operator, operand)?)),
        "$nin" => Ok(KeyTest::NotIn(scalars(key, operator, operand)?)),
        "$contains" => Ok(KeyTest::Contains(scalar(key, operand)?)),
        "$not_contains" => Ok(KeyTest::NotContains(scalar(key, operand)?)),
        "$starts_with" => match operand {
            Value::String(prefix) if !prefix.is_empty() => Ok(KeyTest::StartsWith(prefix.clone())),
            _ => Err(Error::invalid(
                place(),
                "`$starts_with` takes a non-empty string",
            )),
        },
        operator => Err(Error::UnsupportedFilter {
            operator: operator.into(),
            place: place(),
        }),
    }
}

fn parse_document(value: &Value, depth: usize, regexes: &Cell<usize>) -> Result<DocumentFilter> {
    let (operator, operand) = single_entry(value, "where_document", depth)?;
    let text = || match operand {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        _ => Err(Error::invalid(
            "where_document",
            format!("`{operator}` takes a non-empty string"),
        )),
    };
    let regex = || {
        regexes.set(regexes.get() + 1);
        if regexes.get() > MAX_REGEXES {
            return Err(Error::invalid(
                "where_document",
                format!("has more than {MAX_REGEXES} regular expressions"),
            ));
        }
        regex::RegexBuilder::new(&text()?)
            .size_limit(MAX_REGEX_BYTES)
            .build()
            .map_err(|error| {
                Error::invalid(
                    "where_document",
                    format!("`{operator}` is not a valid regular expression: {error}"),
                )
            })
    };
    match operator {
        "$and" => Ok(DocumentFilter::And(parse_parts(operand, "$and", |part| {
            parse_document(part, depth + 1, regexes)
        })?)),
        "$or" => Ok(DocumentFilter::Or(parse_parts(operand, "$or", |part| {
            parse_document(part, depth + 1, regexes)
        })?)),
        "$contains" => Ok(DocumentFilter::Contains(text()?)),
        "$not_contains" => Ok(DocumentFilter::NotContains(text()?)),
        "$regex" => Ok(DocumentFilter::Regex(regex()?)),
        "$not_regex" => Ok(DocumentFilter::NotRegex(regex()?)),
        operator => Err(Error::UnsupportedFilter {
            operator: operator.into(),
            place: "`where_document`".into(),
        }),
    }
}

fn parse_parts<T>(
    operand: &Value,
    operator: &str,
    parse: impl Fn(&Value) -> Result<T>,
) -> Result<Vec<T>> {
    match operand {
        Value::Array(parts) if !parts.is_empty() && parts.len() <= MAX_OPERANDS => {
            parts.iter().map(parse).collect()
        }
        _ => Err(Error::invalid(
            "filter",
            format!("`{operator}` takes a list of 1 to {MAX_OPERANDS} filters"),
        )),
    }
}

fn single_entry<'a>(value: &'a Value, place: &str, depth: usize) -> Result<(&'a str, &'a Value)> {
    if depth > MAX_DEPTH {
        return Err(Error::invalid(
            place,
            format!("nested deeper than {MAX_DEPTH} levels"),
        ));
    }
    match value {
        Value::Object(map) => only_entry(map, place),
        _ => Err(Error::invalid(
            place,
            "must be a JSON object such as {\"wing\": \"alice\"}",
        )),
    }
}

fn only_entry<'a>(map: &'a Map<String, Value>, place: &str) -> Result<(&'a str, &'a Value)> {
    let mut entries = map.iter();
    match (entries.next(), entries.next()) {
        (Some((key, value)), None) => Ok((key, value)),
        (None, _) => Err(Error::invalid(place, "is empty; leave it out instead")),
        (Some(_), Some(_)) => Err(Error::invalid(
            place,
            "takes exactly one key; combine conditions with `$and`",
        )),
    }
}

fn scalar(key: &str, value: &Value) -> Result<MetaValue> {
    match value {
        Value::Bool(b) => Ok(MetaValue::Bool(*b)),
        Value::String(s) => Ok(MetaValue::Str(s.clone())),
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(i), _) => Ok(MetaValue::Int(i)),
            (None, Some(f)) if !n.is_u64() => Ok(MetaValue::Float(f)),
            (None, _) => Err(Error::invalid(
                format!("`where`, key {}", quoted(key)),
                format!("number {n} does not fit a 64-bit integer or float; pass it as a string"),
            )),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => Err(Error::invalid(
            format!("`where`, key {}", quoted(key)),
            "compares with a string, number or boolean",
        )),
    }
}

fn scalars(key: &str, operator: &str, operand: &Value) -> Result<Vec<MetaValue>> {
    let refuse = |problem: String| {
        Err(Error::invalid(
            format!("`where`, key {}", quoted(key)),
            problem,
        ))
    };
    let Value::Array(items) = operand else {
        return refuse(format!("`{operator}` takes a list"));
    };
    if items.is_empty() || items.len() > MAX_OPERANDS {
        return refuse(format!("`{operator}` takes 1 to {MAX_OPERANDS} values"));
    }
    let values = items
        .iter()
        .map(|item| scalar(key, item))
        .collect::<Result<Vec<_>>>()?;
    if values
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.type_name() != b.type_name()))
    {
        return refuse(format!("`{operator}` takes values of one type"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The help of an unknown operator left `$starts_with` out.
    #[test]
    fn the_help_for_an_unknown_operator_names_every_operator_that_is_accepted() {
        let unknown = Filter::parse(&json!({"a": {"$like": "x"}})).unwrap_err();
        let help = unknown.help().unwrap();
        let named: Vec<&str> = help
            .split([' ', ','])
            .filter(|word| word.starts_with('$'))
            .collect();
        for operator in [
            "$eq",
            "$ne",
            "$gt",
            "$gte",
            "$lt",
            "$lte",
            "$in",
            "$nin",
            "$contains",
            "$not_contains",
            "$starts_with",
        ] {
            let operands = [json!(1), json!("x"), json!(["x"])];
            let accepted = operands
                .iter()
                .any(|operand| Filter::parse(&json!({"a": {operator: operand}})).is_ok());
            assert!(accepted, "{operator}");
            assert!(named.contains(&operator), "{operator}: {help}");
        }
        for operator in ["$and", "$or", "$regex", "$not_regex"] {
            assert!(named.contains(&operator), "{operator}: {help}");
        }
    }

    #[test]
    fn an_unknown_operator_at_any_depth_is_named() {
        for (filter, operator) in [
            (json!({"a": {"$like": "x"}}), "$like"),
            (json!({"$not": {"a": 1}}), "$not"),
            (
                json!({"$and": [{"a": 1}, {"$or": [{"b": 2}, {"c": {"$regex": "x"}}]}]}),
                "$regex",
            ),
            (
                json!({"#document": {"$or": [{"$contains": "a"}, {"$startswith": "b"}]}}),
                "$startswith",
            ),
        ] {
            match Filter::parse(&filter) {
                Err(Error::UnsupportedFilter {
                    operator: found, ..
                }) => assert_eq!(found, operator),
                other => panic!("{filter} gave {other:?}"),
            }
        }
    }

    #[test]
    fn malformed_filters_are_refused_not_guessed() {
        for filter in [
            json!({}),
            json!([]),
            json!({"a": 1, "b": 2}),
            json!({"a": {"$gt": 1, "$lt": 3}}),
            json!({"a": {"$in": []}}),
            json!({"a": {"$in": [1, "x"]}}),
            json!({"a": {"$gt": "x"}}),
            json!({"a": null}),
            json!({"a": [1]}),
            json!({"$and": []}),
            json!({"$and": {"a": 1}}),
            json!({"#document": {"$contains": ""}}),
            json!({"#document": {"$regex": "("}}),
        ] {
            assert!(
                matches!(Filter::parse(&filter), Err(Error::InvalidInput { .. })),
                "{filter} gave {:?}",
                Filter::parse(&filter)
            );
        }
    }

    #[test]
    fn regular_expressions_that_would_fill_memory_are_refused() {
        let many = |count: usize| {
            let one = json!({"#document": {"$regex": "a"}});
            json!({"$or": [{"$and": vec![one.clone(); count - 1]}, one]})
        };
        assert!(Filter::parse(&many(16)).is_ok());
        let error = Filter::parse(&many(17)).unwrap_err().to_string();
        assert!(error.contains("more than 16"), "{error}");
        let document = json!({"$and": vec![json!({"$not_regex": "a"}); 17]});
        assert!(DocumentFilter::parse(&document).is_err());
        // Compiles to 8 MB.
        let large = json!({"$regex": "\\pL{400}"});
        let error = DocumentFilter::parse(&large).unwrap_err().to_string();
        assert!(error.contains("size limit"), "{error}");
        assert!(DocumentFilter::parse(&json!({"$regex": r"\w{20}-\pL+"})).is_ok());
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_overflowing_the_stack() {
        let mut filter = json!({"a": 1});
        for _ in 0..200 {
            filter = json!({"$and": [filter]});
        }
        assert!(
            Filter::parse(&filter)
                .unwrap_err()
                .to_string()
                .contains("nested deeper")
        );
    }
}
