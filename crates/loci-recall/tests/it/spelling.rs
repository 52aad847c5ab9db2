//! Words that are spelled in another way than in the drawers.

use loci_core::Warning;
use serde_json::json;

use crate::ranking::{Scene, ids};

fn scene() -> Scene {
    Scene::new(&[
        ("grafana", "The Grafana board shows the queue.", json!({})),
        (
            "version",
            "We pinned libfoo to v2.3.1 after the outage.",
            json!({}),
        ),
        ("plain", "The upgrade to 4.5.6 broke the parser.", json!({})),
        ("colour", "Ana picked the colour of the door.", json!({})),
        ("slo", "Our SLO is 99.9 percent per quarter.", json!({})),
        ("other", "A walk in the woods on Sunday.", json!({})),
    ])
}

fn spelled<'w>(warnings: &'w [Warning]) -> Vec<(&'w str, &'w str)> {
    let pair = |warning: &'w Warning| match warning {
        Warning::Spelling { word, searched } => Some((word.as_str(), searched.as_str())),
        _ => None,
    };
    warnings.iter().filter_map(pair).collect()
}

#[test]
fn an_unknown_word_with_one_wrong_letter_finds_the_word_that_was_meant() {
    let scene = scene();
    for typed in ["Grafanna", "Grafna", "Garfana", "Grafama"] {
        let answer = scene.ask(&format!("where is the {typed} board"));
        assert_eq!(ids(&answer).first(), Some(&"grafana"), "{typed}");
        assert_eq!(spelled(&answer.warnings), [(typed, "grafana")]);
        let words = &answer.hits.first().map(|hit| hit.matched_words.clone());
        assert!(
            words
                .as_ref()
                .is_some_and(|words| words.contains(&typed.to_owned())),
            "{words:?}"
        );
    }
}

#[test]
fn a_word_that_a_drawer_contains_is_searched_as_it_is() {
    let scene = Scene::new(&[
        ("a", "The Grafana board shows the queue.", json!({})),
        ("b", "Grafanna is the name of Ana's cat.", json!({})),
    ]);
    let answer = scene.ask("Grafanna");
    assert_eq!(ids(&answer).first(), Some(&"b"));
    assert_eq!(spelled(&answer.warnings), []);
}

#[test]
fn a_correct_word_that_no_drawer_contains_is_not_replaced() {
    // `door` and `walks` are words; `wools` would be one letter away from `woods`.
    let answer = scene().ask("a poor idea about words");
    assert_eq!(spelled(&answer.warnings), []);
}

#[test]
fn a_version_is_found_with_and_without_its_v() {
    let scene = scene();
    assert_eq!(ids(&scene.ask("2.3.1")).first(), Some(&"version"));
    assert_eq!(ids(&scene.ask("v4.5.6")).first(), Some(&"plain"));
}

#[test]
fn british_and_american_spellings_find_each_other() {
    assert_eq!(ids(&scene().ask("color")).first(), Some(&"colour"));
}

#[test]
fn the_initials_of_words_are_found() {
    let answer = scene().ask("What is the service level objective?");
    assert_eq!(ids(&answer).first(), Some(&"slo"));
    let best = answer.hits.first();
    let words = best.map(|hit| hit.matched_words.clone());
    assert_eq!(words, Some(vec!["service level objective".to_owned()]));
}
