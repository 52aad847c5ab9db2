//! LongMemEval through real palaces.

use serde_json::json;

use loci_bench::{Options, run};

use crate::{assert_narrow, data, run_with_details};

#[test]
fn every_question_has_a_palace_of_its_own_and_finds_its_answer() {
    let (report, lines) = run_with_details("longmemeval.json", None);
    assert_eq!((report.questions, report.cost.palaces), (3, 3));
    assert_eq!((report.cost.drawers, report.cost.undated_drawers), (9, 0));
    assert_eq!(lines[0]["turns"][0]["id"], "answer_1:1");
    assert_eq!(lines[0]["evidence"]["turns"], json!(["answer_1:1"]));
    assert_eq!(
        lines[1]["evidence"]["sessions"],
        json!(["answer_2a", "answer_2b"])
    );
    assert_eq!(report.session.fraction.ten.to_string(), "1");
    assert_eq!(report.turn.all.ten.to_string(), "1");
    assert!(report.mempalace_locomo.is_none());
}

#[test]
fn abstentions_are_left_out_of_the_figures() {
    let (report, lines) = run_with_details("longmemeval.json", None);
    assert_eq!((report.session.questions, report.turn.questions), (2, 2));
    assert_eq!(report.by_category["single-session-user"].count, 1);
    assert_eq!(report.by_category["multi-session"].count, 1);
    assert_eq!(lines[2]["unanswerable"], true);
}

#[test]
fn the_halves_are_fixed_by_the_question_id() {
    let (report, lines) = run_with_details("longmemeval.json", None);
    let halves: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["half"].as_str())
        .collect();
    assert_eq!(halves, ["tuning", "reporting", "tuning"]);
    assert_eq!(
        (report.tuning.questions, report.reporting.questions),
        (2, 1)
    );
    assert!(report.split.contains("XXH3-64"));
}

#[test]
fn the_text_is_narrow_and_says_nothing_of_mempalace() {
    let text = run_with_details("longmemeval.json", None).0.to_text();
    assert_narrow(&text);
    assert!(!text.contains("MemPalace"), "{text}");
}

#[test]
fn together_all_questions_are_asked_of_one_palace_beside_plain_bm25() {
    let directory = tempfile::tempdir().unwrap();
    let distractors = directory.path().join("distractors.jsonl");
    let lines = "{\"text\": \"The moon has no atmosphere.\", \"source\": \"moon.txt\"}\n\n\
                 {\"text\": \"Granite is a hard rock.\", \"role\": \"user\"}\n";
    std::fs::write(&distractors, lines).unwrap();
    let options = Options {
        embedder: Some("static".into()),
        together: true,
        distractors: Some(distractors),
        baseline: true,
        ..Options::default()
    };
    let report = run(&data("longmemeval.json"), &options, &mut |_| {}).unwrap();
    assert_eq!((report.questions, report.cost.palaces), (3, 1));
    assert!(report.together);
    // Nine turns; a session that two histories contain is stored once.
    assert!(report.cost.drawers <= 9 + 2, "{}", report.cost.drawers);
    assert_eq!(report.cost.undated_drawers, 2);
    assert_eq!(report.session.any.ten.to_string(), "1");
    let baseline = report.baseline.as_ref().unwrap();
    assert_eq!(baseline.session.questions, report.session.questions);
    let text = report.to_text();
    assert_narrow(&text);
    assert!(text.contains("paired bootstrap"), "{text}");
}

#[test]
fn distractors_without_one_palace_and_broken_lines_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let distractors = directory.path().join("distractors.jsonl");
    std::fs::write(&distractors, "{\"text\": \"fine\"}\n{\"txt\": 1}\n").unwrap();
    let mut options = Options {
        embedder: Some("static".into()),
        distractors: Some(distractors),
        ..Options::default()
    };
    let run = |options: &Options| run(&data("longmemeval.json"), options, &mut |_| {});
    let refused = run(&options).unwrap_err().to_string();
    assert!(refused.contains("together"), "{refused}");
    options.together = true;
    let refused = run(&options).unwrap_err().to_string();
    assert!(refused.contains("line 2"), "{refused}");
}
