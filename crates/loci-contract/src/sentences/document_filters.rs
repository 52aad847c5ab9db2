//! Chapter 9: filters on the text.

use loci_core::{Batch, DocumentFilter, Error, Filter, Phrase, Selection};
use serde_json::{Value, json};

use crate::Fixture;
use crate::scene::{empty, holding, ids, matching, refused};

/// The ids of the drawers whose text a filter selects. Ids are positions in `texts`; `None` has no
/// text.
fn selected(fixture: &dyn Fixture, texts: &[Option<&str>], filter: &Value) -> Vec<String> {
    let collection = empty(fixture);
    let mut batch = Batch::new((0..texts.len()).map(|n| n.to_string()));
    batch.documents = Some(texts.iter().map(|text| text.map(Into::into)).collect());
    collection.add(&batch).unwrap();
    let found = ids(&*collection, holding(filter));
    let inside_where = matching(&json!({"#document": filter}));
    assert_eq!(ids(&*collection, inside_where), found, "{filter}");
    found
}

pub fn s9_1_contains_finds_a_string_anywhere_and_minds_case(fixture: &dyn Fixture) {
    let texts = [
        Some("The Quick fox"),
        Some("the quick fox"),
        Some("Quickly"),
        None,
    ];
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "Quick"})),
        ["0", "2"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "ick f"})),
        ["0", "1"]
    );
}

pub fn s9_2_contains_takes_its_string_literally(fixture: &dyn Fixture) {
    let texts = [
        Some("100% a_b"),
        Some("100x aXb"),
        Some("a.b*"),
        Some("quote \"' end"),
    ];
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "0%"})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "a_b"})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "a.b*"})),
        ["2"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "\"'"})),
        ["3"]
    );
}

pub fn s9_3_contains_compares_bytes_of_any_script(fixture: &dyn Fixture) {
    let texts = [
        Some("größe"),
        Some("gro\u{308}ße"),
        Some("GRÖSSE"),
        Some("日本語です"),
        Some("x\0y"),
    ];
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "größe"})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "本語"})),
        ["3"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$contains": "\0y"})),
        ["4"]
    );
}

pub fn s9_4_not_contains_matches_drawers_without_text(fixture: &dyn Fixture) {
    let texts = [Some("red"), Some("blue"), None];
    assert_eq!(
        selected(fixture, &texts, &json!({"$not_contains": "red"})),
        ["1", "2"]
    );
}

pub fn s9_5_regex_is_searched_anywhere_in_the_text(fixture: &dyn Fixture) {
    let texts = [
        Some("call 555-1234 now"),
        Some("no number"),
        Some("555"),
        None,
    ];
    assert_eq!(
        selected(fixture, &texts, &json!({"$regex": r"\d{3}-\d{4}"})),
        ["0"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$regex": r"^\d+$"})),
        ["2"]
    );
    assert_eq!(
        selected(fixture, &texts, &json!({"$regex": "(?i)NUMBER"})),
        ["1"]
    );
}

pub fn s9_6_not_regex_matches_drawers_without_text(fixture: &dyn Fixture) {
    let texts = [Some("red"), Some("blue"), None];
    assert_eq!(
        selected(fixture, &texts, &json!({"$not_regex": "^r"})),
        ["1", "2"]
    );
}

pub fn s9_7_conditions_on_text_combine(fixture: &dyn Fixture) {
    let texts = [Some("red fox"), Some("red owl"), Some("grey owl"), None];
    let both = json!({"$and": [{"$contains": "red"}, {"$not_contains": "fox"}]});
    assert_eq!(selected(fixture, &texts, &both), ["1"]);
    let either = json!({"$or": [{"$contains": "fox"}, {"$regex": "^grey"}]});
    assert_eq!(selected(fixture, &texts, &either), ["0", "2"]);
}

pub fn s9_8_a_text_condition_may_stand_inside_where(fixture: &dyn Fixture) {
    let collection = empty(fixture);
    let batch = crate::scene::tagged([("a", json!({"n": 1})), ("b", json!({"n": 1}))]);
    collection.add(&batch.documents(["red", "blue"])).unwrap();
    let filter = json!({"$and": [{"n": 1}, {"#document": {"$contains": "red"}}]});
    assert_eq!(ids(&*collection, matching(&filter)), ["a"]);
}

pub fn s9_9_a_malformed_text_condition_is_refused(_fixture: &dyn Fixture) {
    for filter in [
        json!({"$contains": ""}),
        json!({"$contains": 1}),
        json!({"$regex": "("}),
        json!({"$not_regex": ""}),
        json!({}),
        json!({"$and": []}),
        json!("text"),
        json!({"$contains": "a", "$regex": "b"}),
    ] {
        refused!(DocumentFilter::parse(&filter), Error::InvalidInput { .. });
    }
    refused!(
        DocumentFilter::parse(&json!({"$or": [{"$startswith": "a"}]})),
        Error::UnsupportedFilter { .. }
    );
}

pub fn s9_10_a_phrase_is_found_between_words_in_any_case_and_spacing(fixture: &dyn Fixture) {
    let texts = [
        Some("We cap requests at 10 s."),
        Some("we CAP\n  Requests"),
        Some("we recap requests"),
        Some("cap the requests"),
        Some("the cap's requests"),
        None,
    ];
    let collection = empty(fixture);
    let mut batch = Batch::new((0..texts.len()).map(|n| n.to_string()));
    batch.documents = Some(texts.iter().map(|text| text.map(Into::into)).collect());
    collection.add(&batch).unwrap();
    let phrase = |text: &str| Phrase::new(text).expect("a phrase of the suite has words");
    let found = |document: DocumentFilter| {
        let selection = Selection {
            document: Some(document.clone()),
            ..Selection::default()
        };
        let found = ids(&*collection, selection);
        let inside_where = Selection::matching(Filter::Document(document));
        assert_eq!(ids(&*collection, inside_where), found);
        found
    };
    let with = |text: &str| DocumentFilter::Phrase(phrase(text));
    let without = |text: &str| DocumentFilter::NotPhrase(phrase(text));
    assert_eq!(found(with("cap  Requests")), ["0", "1"]);
    assert_eq!(found(with("cap")), ["0", "1", "3", "4"]);
    assert_eq!(found(with("s")), ["0"]);
    assert_eq!(found(without("cap requests")), ["2", "3", "4", "5"]);
    let both = DocumentFilter::And(vec![with("requests"), without("cap")]);
    assert_eq!(found(both), ["2"]);
    let only_without = DocumentFilter::And(vec![without("cap"), without("recap")]);
    assert_eq!(found(only_without), ["5"]);
    let mixed = DocumentFilter::And(vec![with("cap"), DocumentFilter::Contains("We".into())]);
    assert_eq!(found(mixed), ["0"]);
}
