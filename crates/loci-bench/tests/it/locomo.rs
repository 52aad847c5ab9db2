//! LoCoMo through real palaces.

use loci_bench::{Options, Progress, run};
use serde_json::json;

use crate::{assert_narrow, data, run_with_details};

#[test]
fn every_turn_becomes_a_drawer_and_is_found() {
    let (report, lines) = run_with_details("locomo.json", None);
    assert_eq!((report.questions, report.embedder.as_str()), (6, "static"));
    assert_eq!((report.cost.palaces, report.cost.drawers), (2, 7));
    assert_eq!(report.cost.undated_drawers, 0);
    assert!(report.cost.bytes_on_disk > 0 && report.cpu_ms.p95 >= report.cpu_ms.p50);
    // Category 5 and the two questions without valid evidence are left out.
    assert_eq!((report.turn.questions, report.session.questions), (3, 3));
    assert_eq!(report.turn.fraction.ten.to_string(), "1");
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["turns"][0]["id"], "D1:1");
    assert_eq!(lines[0]["sessions"][0], "session_1");
    assert_eq!(lines[4]["turns"][0]["id"], "D1:2");
    assert_eq!(lines[4]["half"], "reporting");
}

#[test]
fn malformed_evidence_is_ignored_and_the_rest_counts() {
    let (_, lines) = run_with_details("locomo.json", None);
    let evidence = |at: usize| &lines[at]["evidence"];
    assert_eq!(evidence(1)["turns"], json!(["D1:3", "D2:1"]));
    assert_eq!(evidence(1)["sessions"], json!(["session_1", "session_2"]));
    // The turn does not exist; MemPalace counts its session all the same.
    assert_eq!(evidence(2)["turns"], json!([]));
    assert_eq!(evidence(2)["mempalace_sessions"], json!(["session_2"]));
}

#[test]
fn a_question_without_evidence_counts_as_found_by_mempalaces_measure_only() {
    let (report, _) = run_with_details("locomo.json", None);
    let category = &report.by_category["3"];
    assert_eq!((category.count, category.turn.questions), (2, 0));
    assert_eq!(category.mempalace_locomo.unwrap().ten.to_string(), "1");
    assert_eq!(report.mempalace_locomo.unwrap().ten.to_string(), "1");
}

#[test]
fn conversations_with_an_even_place_are_for_tuning() {
    let (report, _) = run_with_details("locomo.json", None);
    assert_eq!(report.tuning.conversations, ["small-1"]);
    assert_eq!(report.reporting.conversations, ["small-2"]);
    assert_eq!(
        (report.tuning.questions, report.reporting.questions),
        (4, 2)
    );
}

#[test]
fn the_json_has_the_keys_that_are_promised() {
    let (report, _) = run_with_details("locomo.json", None);
    let json = serde_json::to_value(&report).unwrap();
    let halves = [&json, &json["tuning"], &json["reporting"]];
    for figures in halves {
        for level in ["session", "turn"] {
            for measure in ["any", "fraction", "all", "ndcg"] {
                for k in ["1", "3", "5", "10"] {
                    let value = figures[level][measure][k].as_f64().unwrap();
                    assert!(
                        (0.0..=1.0).contains(&value),
                        "{level} {measure} {k}: {value}"
                    );
                }
            }
            assert!(figures[level]["mrr"].is_f64());
        }
        assert!(figures["mempalace_locomo"]["5"].is_f64());
        assert!(figures["mempalace_locomo"]["10"].is_f64());
    }
    assert_eq!(json["dataset"], "locomo.json");
    assert_eq!(json["by_category"]["5"]["count"], 1);
    assert!(json["by_category"]["5"]["turn"]["all"]["10"].is_f64());
    assert!(json["cpu_ms"]["p50"].is_f64() && json["cpu_ms"]["p95"].is_f64());
}

#[test]
fn the_text_is_narrow_and_names_halves_measures_and_mempalace() {
    let text = run_with_details("locomo.json", None).0.to_text();
    assert_narrow(&text);
    for part in [
        "0.889",
        "tuning: small-1",
        "reporting: small-2",
        "ndcg ",
        "Wilson",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn a_limit_asks_an_even_sample_and_makes_only_the_palaces_it_needs() {
    let (report, lines) = run_with_details("locomo.json", Some(1));
    assert_eq!((report.questions, report.cost.palaces), (1, 1));
    assert_eq!(lines[0]["id"], "small-1/3");
    assert_narrow(&report.to_text());
}

#[test]
fn progress_ends_with_all_questions_and_kept_palaces_stay() {
    let directory = tempfile::tempdir().unwrap();
    let keep = directory.path().join("kept");
    let options = Options {
        embedder: Some("none".into()),
        keep: Some(keep.clone()),
        ..Options::default()
    };
    let mut told = Vec::new();
    let report = run(&data("locomo.json"), &options, &mut |progress| {
        told.push(progress);
    });
    assert_eq!(report.unwrap().embedder, "none");
    let last = Progress {
        palace: "small-2".into(),
        done: 6,
        total: 6,
    };
    assert_eq!(told.last(), Some(&last));
    assert!(keep.join("0000-small-1/palace.sqlite3").is_file());
    assert!(keep.join("0001-small-2/palace.sqlite3").is_file());
}
