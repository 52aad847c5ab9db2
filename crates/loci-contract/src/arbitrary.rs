//! Strategies for property tests. Keys, values and words come from small sets, so that filters
//! often match something.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Keys that metadata and filters share.
const KEYS: [&str; 4] = ["wing", "n", "tags", "o'dd.key"];
/// Words that texts and filters share.
const WORDS: [&str; 6] = ["fox", "Fox", "owl", "100%", "größe", "a_b"];

/// A text of a few words, or none.
pub fn document() -> impl Strategy<Value = Option<String>> {
    let words = prop::collection::vec(word(), 0..5);
    prop::option::weighted(0.8, words.prop_map(|words| words.join(" ")))
}

/// Metadata as a JSON object.
pub fn metadata() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(key(), value(), 0..4)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

/// A valid `where` filter as JSON, nested up to three levels.
pub fn filter() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => (key(), test()).prop_map(|(key, test)| json!({key: test})),
        1 => document_filter().prop_map(|test| json!({"#document": test})),
    ];
    combined(leaf.boxed())
}

/// A valid `where_document` filter as JSON.
pub fn document_filter() -> impl Strategy<Value = Value> {
    let contains = (
        prop::sample::select(&["$contains", "$not_contains"][..]),
        word(),
    );
    let regex = (
        prop::sample::select(&["$regex", "$not_regex"][..]),
        prop::sample::select(&["^fox", "(?i)fox", "o.l$", r"\d+%"][..]).prop_map(String::from),
    );
    let leaf = prop_oneof![contains, regex].prop_map(|(operator, text)| json!({operator: text}));
    combined(leaf.boxed())
}

fn combined(leaf: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(3, 12, 3, |inner| {
        let operator = prop::sample::select(&["$and", "$or"][..]);
        (operator, prop::collection::vec(inner, 1..4))
            .prop_map(|(operator, parts)| json!({operator: parts}))
    })
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(&KEYS[..]).prop_map(String::from)
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(&WORDS[..]).prop_map(String::from)
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-2_i64..3).prop_map(|n| json!(n)),
        3 => (-4_i32..6).prop_map(|n| json!(f64::from(n) / 2.0)),
        1 => prop::sample::select(&[i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1][..])
            .prop_map(|n| json!(n)),
        1 => prop::sample::select(&[9_007_199_254_740_992.0, 1e300, -1e300, -0.0, 9.3e18][..])
            .prop_map(|n: f64| json!(n)),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(&["", "a", "A", "a b", "1", "größe", "日本"][..]).prop_map(|s| json!(s))
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![number(), text(), any::<bool>().prop_map(|b| json!(b))].boxed()
}

/// Lists of values of one type, for metadata and `$in`.
fn list(least: usize) -> BoxedStrategy<Value> {
    let of = move |item: BoxedStrategy<Value>| prop::collection::vec(item, least..4);
    let bools = any::<bool>().prop_map(|b| json!(b)).boxed();
    prop_oneof![of(number().boxed()), of(text().boxed()), of(bools)]
        .prop_map(Value::Array)
        .boxed()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => scalar(), 1 => list(0)]
}

fn test() -> impl Strategy<Value = Value> {
    let with = |operators: &'static [&'static str], operand: BoxedStrategy<Value>| {
        (prop::sample::select(operators), operand)
            .prop_map(|(operator, operand)| json!({operator: operand}))
            .boxed()
    };
    prop_oneof![
        scalar(),
        with(&["$eq", "$ne", "$contains", "$not_contains"], scalar()),
        with(&["$gt", "$gte", "$lt", "$lte"], number().boxed()),
        with(&["$in", "$nin"], list(1)),
    ]
}
