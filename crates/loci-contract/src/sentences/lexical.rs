//! Chapter 10: search by words. Applies to backends with the capability `LexicalSearch`.

use std::sync::Arc;

use loci_core::{Batch, Capability, Collection, Selection};
use loci_recall::search_words;
use serde_json::json;

use crate::Fixture;
use crate::scene::{drawer, empty, lacks, matching, meta, warned, worded};

/// A collection of these texts with the ids `0`, `1`, …; `None` if the sentence does not apply.
fn texts(fixture: &dyn Fixture, texts: &[&str]) -> Option<Arc<dyn Collection>> {
    if lacks(fixture, Capability::LexicalSearch) {
        return None;
    }
    let collection = empty(fixture);
    let batch = Batch::new((0..texts.len()).map(|n| n.to_string()));
    collection
        .add(&batch.documents(texts.iter().copied()))
        .unwrap();
    Some(collection)
}

pub fn s10_1_a_hit_carries_id_text_and_metadata(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["zebra crossing"]) else {
        return;
    };
    let batch = drawer("a", "The quagga grazes.", &json!({"wing": "w"}));
    collection.add(&batch).unwrap();
    let found = search_words(&*collection, "quagga", 10, &Selection::all()).unwrap();
    assert_eq!(found.hits.len(), 1);
    assert_eq!(found.hits[0].id, "a");
    assert_eq!(found.hits[0].document, "The quagga grazes.");
    assert_eq!(found.hits[0].metadata, meta(&json!({"wing": "w"})));
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
}

pub fn s10_2_words_match_whatever_their_case(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["Quagga herd"]) else {
        return;
    };
    assert_eq!(worded(&*collection, "QUAGGA"), ["0"]);
    assert_eq!(worded(&*collection, "quagga"), ["0"]);
}

pub fn s10_3_one_shared_word_is_enough(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga herd", "okapi trail", "zebra"]) else {
        return;
    };
    let mut found = worded(&*collection, "okapi quagga");
    found.sort_unstable();
    assert_eq!(found, ["0", "1"]);
}

pub fn s10_4_more_shared_words_rank_higher(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga herd", "okapi herd", "quagga okapi"]) else {
        return;
    };
    assert_eq!(worded(&*collection, "okapi quagga")[0], "2");
}

pub fn s10_5_hits_come_best_first_and_a_larger_score_is_better(fixture: &dyn Fixture) {
    let Some(collection) = texts(
        fixture,
        &["quagga herd", "quagga okapi lemur", "okapi quagga"],
    ) else {
        return;
    };
    let found = search_words(&*collection, "okapi quagga lemur", 10, &Selection::all()).unwrap();
    assert_eq!(found.hits.len(), 3);
    assert!(found.hits.iter().all(|hit| hit.score.is_finite()));
    assert!(
        found.hits.is_sorted_by(|a, b| a.score >= b.score),
        "{found:?}"
    );
    assert!(found.hits[0].score > found.hits[2].score, "{found:?}");
}

pub fn s10_6_a_drawer_without_a_shared_word_is_no_hit(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga", "zebra"]) else {
        return;
    };
    assert_eq!(worded(&*collection, "okapi"), [""; 0]);
}

pub fn s10_7_any_text_is_valid_input(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga herd"]) else {
        return;
    };
    for odd in [
        "\"",
        "'",
        "quagga \"",
        "AND",
        "quagga AND",
        "NOT quagga",
        "NEAR(quagga",
        "quagga*",
        "*",
        "(quagga",
        "quagga)",
        "text:quagga",
        "-quagga",
        "^quagga",
        "{quagga}",
        "+",
        "a\0b",
        "\0",
        "quagga OR",
        "🦓",
        "\u{feff}",
        "%_",
        "--",
        "; DROP TABLE drawers",
        "\\",
        "{",
        "[quagga]:",
    ] {
        let found = search_words(&*collection, odd, 10, &Selection::all());
        assert!(found.is_ok(), "{odd:?} gave {found:?}");
    }
    let long = "quagga ".repeat(20_000);
    assert!(search_words(&*collection, &long, 10, &Selection::all()).is_ok());
    assert_eq!(worded(&*collection, "(quagga* OR \"nothing"), ["0"]);
}

pub fn s10_8_a_query_without_words_answers_empty_with_a_warning(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga ..."]) else {
        return;
    };
    for query in ["", "   ", "...", "?!", "\n\t", "\"\""] {
        let found = search_words(&*collection, query, 10, &Selection::all()).unwrap();
        assert!(found.hits.is_empty(), "{query:?}");
        assert!(warned(&found.warnings, "empty_query"), "{query:?}");
    }
}

pub fn s10_9_a_query_of_stop_words_alone_is_still_searched(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["to be or not to be", "quagga"]) else {
        return;
    };
    assert_eq!(worded(&*collection, "to be or not to be"), ["0"]);
    assert_eq!(worded(&*collection, "not"), ["0"]);
}

pub fn s10_10_filters_apply_inside_the_search(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga okapi"; 50]) else {
        return;
    };
    let text = "one quagga in a long and otherwise different text";
    let rare = drawer("rare", text, &json!({"wing": "rare"}));
    collection.add(&rare).unwrap();
    let selection = matching(&json!({"wing": "rare"}));
    let found = search_words(&*collection, "quagga okapi", 1, &selection).unwrap();
    assert_eq!(found.hits.len(), 1);
    assert_eq!(found.hits[0].id, "rare");
    let by_id = search_words(&*collection, "quagga", 5, &Selection::ids(["7", "rare"])).unwrap();
    assert_eq!(by_id.hits.len(), 2);
}

pub fn s10_11_a_filter_that_excludes_everything_warns_with_the_number_of_drawers(
    fixture: &dyn Fixture,
) {
    let Some(collection) = texts(fixture, &["quagga"; 7]) else {
        return;
    };
    let selection = matching(&json!({"wing": "none"}));
    let found = search_words(&*collection, "quagga", 10, &selection).unwrap();
    assert!(found.hits.is_empty());
    let warning = found
        .warnings
        .iter()
        .find(|warning| warning.code() == "filter_excludes_all");
    assert!(warning.unwrap().message().contains('7'), "{warning:?}");
}

pub fn s10_12_at_most_k_hits_come_back_and_k_if_there_are(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga herd"; 20]) else {
        return;
    };
    for k in [1, 5, 20, 100] {
        let found = search_words(&*collection, "quagga", k, &Selection::all()).unwrap();
        assert_eq!(found.hits.len(), k.min(20));
    }
}

pub fn s10_13_a_changed_text_is_found_by_its_new_words_only(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["quagga"]) else {
        return;
    };
    collection
        .update(&Batch::new(["0"]).documents(["okapi"]))
        .unwrap();
    assert_eq!(worded(&*collection, "quagga"), [""; 0]);
    assert_eq!(worded(&*collection, "okapi"), ["0"]);
    collection.delete(&Selection::ids(["0"])).unwrap();
    assert_eq!(worded(&*collection, "okapi"), [""; 0]);
}

pub fn s10_14_a_drawer_without_text_is_no_hit(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &[]) else {
        return;
    };
    let tagged = crate::scene::tagged([("quagga", json!({"wing": "quagga"}))]);
    collection.add(&tagged).unwrap();
    assert_eq!(worded(&*collection, "quagga"), [""; 0]);
}

pub fn s10_15_words_of_other_scripts_are_found(fixture: &dyn Fixture) {
    let Some(collection) = texts(fixture, &["Größe zählt", "мир и война", "שלום עולם"])
    else {
        return;
    };
    assert_eq!(worded(&*collection, "größe"), ["0"]);
    assert_eq!(worded(&*collection, "война"), ["1"]);
    assert_eq!(worded(&*collection, "עולם"), ["2"]);
}
