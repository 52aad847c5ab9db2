//! What a wake-up contains for the invented projects that are for tuning.

use std::path::Path;

use loci_bench::{WakeUpReport, measure_wake_up};

/// Measures the projects with odd numbers.
fn measured() -> WakeUpReport {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/wake-up");
    let odd = tempfile::tempdir().unwrap();
    for number in (1..30).step_by(2) {
        let name = format!("{number:02}.json");
        std::fs::copy(all.join(&name), odd.path().join(&name)).unwrap();
    }
    measure_wake_up(odd.path(), None, &mut |_| {}).unwrap()
}

#[test]
fn a_wake_up_contains_what_a_colleague_would_report_and_little_else() {
    let report = measured();
    println!("{}", report.to_text());
    assert_eq!((report.odd.projects, report.even.projects), (15, 0));
    assert!(report.odd.included >= 0.9, "{:?}", report.odd);
    assert!(report.odd.forbidden <= 2, "{:?}", report.odd);
    assert!(report.odd.tokens <= 800.0, "{:?}", report.odd);
}

#[test]
fn a_directory_without_projects_is_refused() {
    let empty = tempfile::tempdir().unwrap();
    let error = measure_wake_up(empty.path(), None, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("01.json"), "{error}");
}
