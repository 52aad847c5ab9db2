//! `loci demo`: a project memory that answers, explains itself and survives the loss of its index.

use crate::support::{Dir, texts};

/// Runs the demo with a directory for temporary files that must be empty afterwards.
fn demo(dir: &Dir, arguments: &[&str]) -> String {
    let output = dir.command().arg("demo").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let temporary = dir.path("temporary");
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
    assert!(!dir.palace().exists());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_demo_answers_five_questions_and_says_why_another_drawer_is_not_the_answer() {
    let dir = Dir::new();
    let answer: serde_json::Value = serde_json::from_str(&demo(&dir, &["--json"])).unwrap();
    let answers = texts(&answer["questions"], "answer");
    let parts = ["12", "Marta", "Kafka", "passkeys", "Naxos"];
    assert_eq!(answers.len(), parts.len());
    for (answer, part) in answers.iter().zip(parts) {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    assert_eq!(answer["why_not"]["id"], "timeout-old", "{answer:#}");
    assert_eq!(answer["why_not"]["stage"], "fusion", "{answer:#}");
    let human = demo(&dir, &[]);
    for answer in answers {
        assert!(human.contains(&answer[..30]), "{human}");
    }
    assert!(human.contains("timeout-old"), "{human}");
}

#[test]
fn the_demo_gives_the_same_hits_without_its_index_and_leaves_nothing() {
    let dir = Dir::new();
    let human = demo(&dir, &[]);
    assert_eq!(human.matches("the same hits").count(), 2, "{human}");
    assert!(human.contains("everything is consistent"), "{human}");
    let answer: serde_json::Value = serde_json::from_str(&demo(&dir, &["--json"])).unwrap();
    for promise in ["same_without_index", "same_with_new_index", "verified"] {
        assert_eq!(answer[promise], true, "{promise}");
    }
    assert!(answer["passages"].as_u64().unwrap() >= 20);
    assert_eq!(answer["deleted_index"].as_array().unwrap().len(), 1);
    assert_eq!(answer["rebuilt_index"].as_array().unwrap().len(), 1);
    assert_ne!(answer["deleted_index"], answer["rebuilt_index"]);
}
