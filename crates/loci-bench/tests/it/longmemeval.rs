//! LongMemEval through real palaces.

use serde_json::json;

use crate::{assert_narrow, run_with_details};

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
