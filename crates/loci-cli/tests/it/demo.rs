//! `demo`: the README's first command.

use crate::support::{Dir, texts};

#[test]
fn the_demo_gives_the_same_answers_without_its_index_and_leaves_nothing() {
    let dir = Dir::new();
    let temporary = dir.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let run = |arguments: &[&str]| {
        let output = dir
            .command()
            .env("TMPDIR", &temporary)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let human = run(&["demo"]);
    assert_eq!(human.matches("the same answers").count(), 2, "{human}");
    assert!(human.contains("everything agrees") && human.contains("Deleted the index file"));
    let answer: serde_json::Value = serde_json::from_str(&run(&["demo", "--json"])).unwrap();
    for promise in ["same_without_index", "same_with_new_index", "verified"] {
        assert_eq!(answer[promise], true, "{promise}");
    }
    assert!(answer["passages"].as_u64().unwrap() >= 24);
    assert_eq!(answer["deleted_index"].as_array().unwrap().len(), 1);
    assert_eq!(answer["rebuilt_index"].as_array().unwrap().len(), 1);
    assert_ne!(answer["deleted_index"], answer["rebuilt_index"]);
    assert!(texts(&answer["questions"], "question").len() >= 6);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!dir.palace().exists());
}
