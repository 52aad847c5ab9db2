//! Filters that are built in code instead of parsed.

use loci_core::{DocumentFilter, Filter, KeyTest, MetaValue, Ordering};

/// Ordinary filters, and filters that only code can build.
pub(super) fn filters() -> Vec<Filter> {
    let operands: [MetaValue; 7] = [
        "a".into(),
        1.into(),
        1.0.into(),
        1.5.into(),
        true.into(),
        MetaValue::List(vec!["a".into()]),
        f64::NAN.into(),
    ];
    let key = |test| Filter::Key {
        key: "k".into(),
        test,
    };
    let mut filters = vec![
        Filter::And(vec![]),
        Filter::Or(vec![]),
        key(KeyTest::In(vec![])),
        key(KeyTest::NotIn(vec![])),
        key(KeyTest::StartsWith("a".into())),
        key(KeyTest::StartsWith(String::new())),
        key(KeyTest::Includes("A".into())),
        key(KeyTest::Includes(String::new())),
        key(KeyTest::NotIncludes("A".into())),
        key(KeyTest::In(operands.to_vec())),
        key(KeyTest::NotIn(operands.to_vec())),
        Filter::Document(DocumentFilter::And(vec![])),
        Filter::Document(DocumentFilter::Or(vec![])),
        Filter::Document(DocumentFilter::Contains(String::new())),
        Filter::Document(DocumentFilter::NotContains(String::new())),
    ];
    for operand in operands {
        for test in [
            KeyTest::Eq,
            KeyTest::Ne,
            KeyTest::Contains,
            KeyTest::NotContains,
        ] {
            filters.push(key(test(operand.clone())));
        }
        for order in [
            Ordering::Greater,
            Ordering::GreaterOrEqual,
            Ordering::Less,
            Ordering::LessOrEqual,
        ] {
            filters.push(key(KeyTest::Order(order, operand.clone())));
        }
    }
    filters
}
