//! Chapter 8: filters on metadata.

mod built;

use loci_core::{Batch, Capability, Collection, Error, Filter, Include, Query, Selection};
use loci_recall::search_words;
use serde_json::{Value, json};

use crate::Fixture;
use crate::scene::{empty, everything, ids, lacks, matching, patch, refused, tagged};

/// The ids of the drawers that a filter selects. Ids are positions in `metadatas`.
fn selected(fixture: &dyn Fixture, metadatas: &[Value], filter: &Value) -> Vec<String> {
    let collection = empty(fixture);
    let names = (0..metadatas.len()).map(|n| n.to_string());
    let batch = Batch::new(names).metadatas(metadatas.iter().map(patch));
    collection.add(&batch).unwrap();
    ids(&*collection, matching(filter))
}

pub fn s8_1_a_bare_value_means_equal(fixture: &dyn Fixture) {
    let drawers = [json!({"wing": "x"}), json!({"wing": "y"}), json!({})];
    assert_eq!(selected(fixture, &drawers, &json!({"wing": "x"})), ["0"]);
    assert_eq!(
        selected(fixture, &drawers, &json!({"wing": {"$eq": "x"}})),
        ["0"]
    );
}

pub fn s8_2_strings_are_equal_byte_by_byte(fixture: &dyn Fixture) {
    let drawers = ["a", "A", "a ", "ä", "a\u{308}", "", "1"].map(|text| json!({"k": text}));
    for (at, text) in ["a", "A", "a ", "ä", "a\u{308}", "", "1"]
        .iter()
        .enumerate()
    {
        assert_eq!(
            selected(fixture, &drawers, &json!({"k": text})),
            [at.to_string()]
        );
    }
    assert_eq!(selected(fixture, &drawers, &json!({"k": 1})), [""; 0]);
}

pub fn s8_3_numbers_compare_across_int_and_float(fixture: &dyn Fixture) {
    let drawers = [
        json!({"n": 1}),
        json!({"n": 1.0}),
        json!({"n": 1.5}),
        json!({"n": 2}),
    ];
    assert_eq!(selected(fixture, &drawers, &json!({"n": 1})), ["0", "1"]);
    assert_eq!(selected(fixture, &drawers, &json!({"n": 1.0})), ["0", "1"]);
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$gt": 1}})),
        ["2", "3"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$lte": 1.5}})),
        ["0", "1", "2"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$in": [2.0, 1.5]}})),
        ["2", "3"]
    );
}

pub fn s8_4_large_integers_compare_exactly(fixture: &dyn Fixture) {
    let big = 9_007_199_254_740_992_i64;
    let drawers = [
        json!({"n": big}),
        json!({"n": big + 1}),
        json!({"n": i64::MAX}),
    ];
    assert_eq!(selected(fixture, &drawers, &json!({"n": big + 1})), ["1"]);
    let float = json!({"n": {"$gt": 9_007_199_254_740_992.0}});
    assert_eq!(selected(fixture, &drawers, &float), ["1", "2"]);
    let above_all = json!({"n": {"$lt": 9_223_372_036_854_775_808.0}});
    assert_eq!(selected(fixture, &drawers, &above_all), ["0", "1", "2"]);
}

pub fn s8_5_booleans_are_no_numbers(fixture: &dyn Fixture) {
    let drawers = [
        json!({"b": true}),
        json!({"b": 1}),
        json!({"b": false}),
        json!({"b": 0}),
    ];
    assert_eq!(selected(fixture, &drawers, &json!({"b": true})), ["0"]);
    assert_eq!(selected(fixture, &drawers, &json!({"b": 1})), ["1"]);
    assert_eq!(
        selected(fixture, &drawers, &json!({"b": {"$gte": 0}})),
        ["1", "3"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"b": {"$ne": false}})),
        ["0", "1", "3"]
    );
}

pub fn s8_6_order_operators_compare_numbers_only(fixture: &dyn Fixture) {
    let drawers = [
        json!({"n": 2}),
        json!({"n": "2"}),
        json!({"n": true}),
        json!({"n": [2]}),
        json!({}),
        json!({"n": -1}),
    ];
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$gt": 1}})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$gte": 2}})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$lt": 2}})),
        ["5"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"n": {"$lte": 2}})),
        ["0", "5"]
    );
    for operand in [json!("2"), json!(true)] {
        let filter = json!({"n": {"$gt": operand}});
        refused!(Filter::parse(&filter), Error::InvalidInput { .. });
    }
}

pub fn s8_7_in_matches_any_of_the_values(fixture: &dyn Fixture) {
    let drawers = [
        json!({"k": "a"}),
        json!({"k": "b"}),
        json!({"k": "c"}),
        json!({}),
    ];
    let filter = json!({"k": {"$in": ["a", "c", "z"]}});
    assert_eq!(selected(fixture, &drawers, &filter), ["0", "2"]);
    let filter = json!({"k": {"$nin": ["a", "c", "z"]}});
    assert_eq!(selected(fixture, &drawers, &filter), ["1", "3"]);
}

pub fn s8_8_negations_match_drawers_lacking_the_key(fixture: &dyn Fixture) {
    let drawers = [
        json!({"k": 1}),
        json!({"k": 2}),
        json!({"other": 1}),
        json!({"k": [1]}),
    ];
    for (filter, expected) in [
        (json!({"k": {"$ne": 1}}), vec!["1", "2", "3"]),
        (json!({"k": {"$nin": [1]}}), vec!["1", "2", "3"]),
        (json!({"k": {"$not_contains": 1}}), vec!["0", "1", "2"]),
    ] {
        assert_eq!(selected(fixture, &drawers, &filter), expected, "{filter}");
    }
}

pub fn s8_9_contains_looks_into_lists_only(fixture: &dyn Fixture) {
    let drawers = [
        json!({"k": ["a", "b"]}),
        json!({"k": "a"}),
        json!({"k": []}),
        json!({"k": ["ab"]}),
        json!({"k": [1, 2]}),
        json!({"k": [true]}),
    ];
    assert_eq!(
        selected(fixture, &drawers, &json!({"k": {"$contains": "a"}})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"k": {"$contains": 1.0}})),
        ["4"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"k": {"$contains": true}})),
        ["5"]
    );
}

pub fn s8_10_equality_does_not_look_into_lists(fixture: &dyn Fixture) {
    let drawers = [json!({"k": ["a"]}), json!({"k": "a"})];
    assert_eq!(selected(fixture, &drawers, &json!({"k": "a"})), ["1"]);
    assert_eq!(
        selected(fixture, &drawers, &json!({"k": {"$ne": "a"}})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &drawers, &json!({"k": {"$in": ["a"]}})),
        ["1"]
    );
}

pub fn s8_11_and_needs_all_or_needs_one(fixture: &dyn Fixture) {
    let drawers = [
        json!({"a": 1, "b": 1}),
        json!({"a": 1, "b": 2}),
        json!({"a": 2, "b": 1}),
        json!({}),
    ];
    let both = json!({"$and": [{"a": 1}, {"b": 1}]});
    assert_eq!(selected(fixture, &drawers, &both), ["0"]);
    let either = json!({"$or": [{"a": 1}, {"b": 1}]});
    assert_eq!(selected(fixture, &drawers, &either), ["0", "1", "2"]);
    let nested = json!({"$or": [{"$and": [{"a": 1}, {"b": 2}]}, {"b": {"$ne": 1}}]});
    assert_eq!(selected(fixture, &drawers, &nested), ["1", "3"]);
    assert_eq!(
        selected(fixture, &drawers, &json!({"$and": [{"a": 2}]})),
        ["2"]
    );
}

pub fn s8_12_an_unknown_operator_at_any_depth_is_named(_fixture: &dyn Fixture) {
    for (filter, unknown) in [
        (json!({"a": {"$near": 1}}), "$near"),
        (json!({"$not": {"a": 1}}), "$not"),
        (
            json!({"$or": [{"a": 1}, {"$and": [{"b": {"$exists": true}}]}]}),
            "$exists",
        ),
        (json!({"$and": [{"#document": {"$like": "x"}}]}), "$like"),
    ] {
        match Filter::parse(&filter) {
            Err(Error::UnsupportedFilter { operator, .. }) => assert_eq!(operator, unknown),
            other => panic!("{filter} gave {other:?}"),
        }
    }
}

pub fn s8_13_regex_on_metadata_is_unsupported(_fixture: &dyn Fixture) {
    for operator in ["$regex", "$not_regex"] {
        let filter = json!({"wing": {operator: "x.*"}});
        refused!(Filter::parse(&filter), Error::UnsupportedFilter { .. });
    }
}

pub fn s8_14_a_malformed_filter_is_refused_not_guessed(_fixture: &dyn Fixture) {
    let mut deep = json!({"a": 1});
    for _ in 0..200 {
        deep = json!({"$or": [deep]});
    }
    for filter in [
        json!({}),
        json!("a"),
        json!({"a": 1, "b": 2}),
        json!({"a": {"$gt": 1, "$lt": 2}}),
        json!({"a": {}}),
        json!({"a": null}),
        json!({"a": [1]}),
        json!({"a": {"$in": []}}),
        json!({"a": {"$in": 1}}),
        json!({"a": {"$in": [1, "a"]}}),
        json!({"$and": []}),
        json!({"$or": {"a": 1}}),
        deep,
    ] {
        refused!(Filter::parse(&filter), Error::InvalidInput { .. });
    }
}

pub fn s8_15_keys_and_values_are_taken_literally(fixture: &dyn Fixture) {
    for odd in [
        "a.b",
        "a b",
        "a'b",
        "a\"b",
        "%",
        "_",
        "a[0]",
        "größe",
        "日本",
        "; DROP TABLE",
        "\\",
        "a\nb",
    ] {
        let drawers = [
            json!({odd: odd}),
            json!({"a": odd}),
            json!({odd: "a"}),
            json!({}),
        ];
        assert_eq!(
            selected(fixture, &drawers, &json!({odd: odd})),
            ["0"],
            "{odd}"
        );
    }
}

pub fn s8_16_a_filter_means_the_same_in_every_call(fixture: &dyn Fixture) {
    let filter = json!({"$or": [{"n": {"$gte": 2}}, {"n": {"$ne": 1}}]});
    let collection = empty(fixture);
    let batch = tagged([
        ("a", json!({"n": 1})),
        ("b", json!({"n": 2.5})),
        ("c", json!({"n": "1"})),
        ("d", json!({})),
    ]);
    let batch = batch
        .documents(["same words"; 4])
        .embeddings([(); 4].map(|()| vec![1.0, 0.0]));
    collection.add(&batch).unwrap();
    let selection = matching(&filter);
    let expected = ["b", "c", "d"];
    assert_eq!(ids(&*collection, selection.clone()), expected);
    let query = Query::vector(vec![1.0, 0.0]).selection(selection.clone());
    assert_eq!(collection.query(&query).unwrap().ids, [expected]);
    if !lacks(fixture, Capability::LexicalSearch) {
        let found = search_words(&*collection, "words", 10, &selection).unwrap();
        let mut found: Vec<_> = found.hits.into_iter().map(|hit| hit.id).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    if !lacks(fixture, Capability::RecencyOrder) {
        let found = collection
            .get_recent(10, &selection, Include::NONE)
            .unwrap();
        assert_eq!(found.ids, ["d", "c", "b"]);
    }
    if !lacks(fixture, Capability::MetadataFacets) {
        let counts = collection.facet_counts("n", &selection, 10).unwrap();
        assert_eq!((counts.values.len(), counts.missing), (2, 1));
    }
    assert_eq!(collection.delete(&selection).unwrap().deleted, 3);
    assert_eq!(ids(&*collection, Selection::all()), ["a"]);
}

pub fn s8_17_a_filter_built_in_code_means_what_matches_says(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let metadatas = [
        json!({}),
        json!({"k": "a"}),
        json!({"k": 1}),
        json!({"k": 1.0}),
        json!({"k": 2}),
        json!({"k": true}),
        json!({"k": ["a"]}),
        json!({"k": [1, 2]}),
        json!({"k": [1.0]}),
        json!({"k": []}),
        json!({"k": ""}),
    ];
    let batch = Batch::new((0..metadatas.len()).map(|n| n.to_string()));
    let mut batch = batch.metadatas(metadatas.iter().map(patch));
    batch.documents = Some(
        (0..metadatas.len())
            .map(|n| (n > 0).then(String::new))
            .collect(),
    );
    collection.add(&batch).unwrap();
    for filter in built::filters() {
        assert_agrees(&*collection, &batch, &filter);
    }
}

pub fn s8_19_starts_with_looks_at_the_beginning_of_strings(fixture: &dyn Fixture) {
    let long = format!("/home/{}", "deep/".repeat(80));
    let drawers = [
        json!({"k": "/home/alice/notes.md"}),
        json!({"k": "/home/alicia/notes.md"}),
        json!({"k": "/home/alice"}),
        json!({"k": format!("{long}a.md")}),
        json!({"k": format!("{long}b.md")}),
        json!({"k": ["/home/alice/x"]}),
        json!({"k": 7}),
        json!({"k": "/Home/alice/x"}),
        json!({"k": "été/a"}),
        json!({}),
    ];
    for (prefix, expected) in [
        ("/home/alice/".to_owned(), vec!["0"]),
        ("/home/alic".to_owned(), vec!["0", "1", "2"]),
        ("/home/".to_owned(), vec!["0", "1", "2", "3", "4"]),
        (long.clone(), vec!["3", "4"]),
        (format!("{long}a"), vec!["3"]),
        ("ét".to_owned(), vec!["8"]),
        ("z".to_owned(), vec![]),
    ] {
        let filter = json!({"k": {"$starts_with": prefix}});
        assert_eq!(selected(fixture, &drawers, &filter), expected, "{filter}");
    }
    for operand in [json!(""), json!(1), json!(["a"]), json!(null)] {
        let filter = json!({"k": {"$starts_with": operand}});
        refused!(Filter::parse(&filter), Error::InvalidInput { .. });
    }
}

fn assert_agrees(collection: &dyn Collection, batch: &Batch, filter: &Filter) {
    let content = everything(collection);
    let expected: Vec<String> = content
        .ids
        .into_iter()
        .zip(content.metadatas)
        .enumerate()
        .filter(|(at, (_, metadata))| filter.matches(metadata, batch.document(*at)))
        .map(|(_, (id, _))| id)
        .collect();
    let found = ids(collection, Selection::matching(filter.clone()));
    assert_eq!(found, expected, "{filter:?}");
}
