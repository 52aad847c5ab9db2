//! The later of two statements about one thing: which one a prompt gets, and what a search marks.
//!
//! A proposal to cap retries at 30 s was added to prompts, although the same conversation decided on
//! 10 s an hour later.

use serde_json::Value;

use super::{Scene, exchange};
use crate::mine::put;

const PROPOSAL: &str = "I propose exponential backoff with a cap of 30 s.";
const DECISION: &str = "Decision: cap 10 s, the bank drops connections after 12 s.";

/// A conversation with a proposal, and a decision later.
fn decided() -> Scene {
    let scene = Scene::new();
    let folder = scene.project();
    let talk = [
        exchange(
            &folder,
            1,
            "How should we retry calls to the bank?",
            PROPOSAL,
        ),
        exchange(
            &folder,
            5,
            "Hmm, let me ask Marta about the bank's limits.",
            "Sure. In the meantime I write the tests.",
        ),
        exchange(
            &folder,
            60,
            DECISION,
            "Done. The backoff is capped at 10 s now.",
        ),
    ];
    let talk = put(&scene.dir, "talks/retries.jsonl", talk.concat());
    scene.dir.run(&["mine", talk.to_str().unwrap()]).ok();
    scene
}

fn hit_with<'a>(answer: &'a Value, text: &str) -> &'a Value {
    let hits = answer["hits"].as_array().unwrap();
    let found = hits
        .iter()
        .find(|hit| hit["text"].as_str().unwrap().contains(text));
    found.unwrap_or_else(|| panic!("no hit with {text}: {answer}"))
}

#[test]
fn a_prompt_gets_the_later_decision_before_the_proposal_which_names_it() {
    let scene = decided();
    for (session, prompt) in [
        "what is the cap of the backoff for the bank?",
        "which cap does the backoff have?",
        "how should we retry calls to the bank?",
    ]
    .into_iter()
    .enumerate()
    {
        let added = scene.prompt(&session.to_string(), prompt);
        let added = added.unwrap_or_else(|| panic!("nothing for {prompt}"));
        let decision = added.find(DECISION);
        let decision = decision.unwrap_or_else(|| panic!("no decision for {prompt}: {added}"));
        let Some(proposal) = added.find(PROPOSAL) else {
            continue;
        };
        assert!(decision < proposal, "{prompt}: {added}");
        let headers = added
            .lines()
            .filter(|line| line.contains("; later: drawer "));
        assert!(headers.count() >= 1, "{prompt}: {added}");
    }
}

#[test]
fn a_search_marks_the_statement_that_a_later_one_replaces() {
    let scene = decided();
    let question = ["search", "what is the cap of the backoff for the bank?"];
    let answer = scene.dir.json(0, &question);
    let (proposal, decision) = (hit_with(&answer, PROPOSAL), hit_with(&answer, DECISION));
    assert_eq!(proposal["later"], decision["id"], "{answer}");
    assert_eq!(decision["later"], Value::Null, "{answer}");
    let text = scene.dir.run(&question).ok();
    let id = decision["id"].as_str().unwrap();
    assert!(text.stdout.contains(&format!("   later: {id}")), "{text:?}");
}

#[test]
fn notes_of_another_wing_and_files_replace_nothing() {
    let scene = decided();
    let add = |wing: &str, text: &str| {
        scene.dir.run(&["add", text, "--wing", wing]).ok();
    };
    add(
        "mill",
        "The cap of the backoff is 45 s, decided for the mill.",
    );
    let file = scene.project().join("retries.md");
    std::fs::write(
        &file,
        "# Retries\n\nDecision: the cap of the backoff is 90 s.\n",
    )
    .unwrap();
    scene.dir.run(&["mine", file.to_str().unwrap()]).ok();
    let answer = scene.dir.json(
        0,
        &["search", "what is the cap of the backoff for the bank?"],
    );
    let decision = hit_with(&answer, DECISION);
    assert_eq!(decision["later"], Value::Null, "{answer}");
    let file = hit_with(&answer, "90 s");
    assert_eq!(file["later"], Value::Null, "{answer}");
}
