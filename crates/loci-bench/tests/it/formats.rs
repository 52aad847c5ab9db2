//! What is refused.

use std::path::PathBuf;

use loci_bench::{Options, run};

/// What a run of a file with this text says.
fn refusal(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("odd.json");
    std::fs::write(&path, text).unwrap();
    let error = run(&path, &Options::default(), &mut |_| {}).err();
    let error = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(
        error.contains("odd.json") || error.contains("session_1"),
        "{error}"
    );
    error
}

#[test]
fn an_unknown_format_is_refused_with_the_names_of_the_known_ones() {
    for text in ["{}", "[]", "[1]", "3", r#"[{"a": 1}]"#, r#"[{"qa": 1}]"#] {
        let error = refusal(text);
        assert!(
            error.contains("LoCoMo") && error.contains("LongMemEval"),
            "{text}: {error}"
        );
    }
}

#[test]
fn two_formats_in_one_file_are_refused() {
    let error = refusal(
        r#"[{"conversation": {}, "qa": []}, {"question_id": "a", "haystack_sessions": []}]"#,
    );
    assert!(error.contains("neither LoCoMo"), "{error}");
}

#[test]
fn a_file_that_ends_early_is_no_json() {
    let error = refusal(r#"[{"conversation": {}, "qa": []},"#);
    assert!(error.contains("not JSON"), "{error}");
}

#[test]
fn an_entry_that_lacks_something_is_named_by_line() {
    let error = refusal(r#"[{"conversation": {}, "qa": [{"category": 1}]}]"#);
    assert!(
        error.contains("question") && error.contains("line 1"),
        "{error}"
    );
}

#[test]
fn a_session_that_cannot_be_read_is_not_left_out_silently() {
    let error = refusal(
        r#"[{"sample_id": "s", "conversation": {"session_1": [{"text": "no id"}]},
             "qa": [{"question": "why?", "category": 1}]}]"#,
    );
    assert!(error.contains("`session_1` of `s`"), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let path = PathBuf::from("/nowhere/locomo.json");
    let error = run(&path, &Options::default(), &mut |_| {}).err();
    assert!(error.is_some_and(|error| error.to_string().contains("/nowhere/locomo.json")));
}
