//! Several processes on one palace.

use serde_json::json;

use crate::support::{Dir, lines, wait_until};

#[test]
fn a_process_that_queries_sees_what_another_adds() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let dir = &dir;
            scope.spawn(move || {
                for n in 0..10 {
                    let text = format!("word{writer}x{n} from writer {writer}");
                    dir.run(&["add", &text]).ok();
                    let answer = dir.json(0, &["query", &format!("word{writer}x{n}")]);
                    assert_eq!(answer["hits"][0]["text"], text);
                }
            });
        }
    });
    assert_eq!(dir.json(0, &["status"])["drawers"], 40);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn processes_that_start_at_once_on_a_new_palace_all_succeed() {
    let dir = Dir::new();
    let children: Vec<_> = (0..8)
        .map(|n| dir.spawn(&["add", &format!("text {n}")]))
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(dir.json(0, &["status"])["drawers"], 8);
}

#[test]
fn readers_answer_while_an_import_runs() {
    let dir = Dir::new();
    dir.json(0, &["add", "a lighthouse stands here", "--id", "first"]);
    let records =
        (0..5_000).map(|n| json!({"id": format!("d{n}"), "document": format!("text {n}")}));
    let file = dir.write("many.jsonl", lines(records));
    let mut writer = dir.spawn(&["import", "jsonl", file.to_str().unwrap()]);
    wait_until("the import has begun", || {
        dir.json(0, &["status"])["drawers"].as_u64().unwrap() > 1
    });
    for _ in 0..5 {
        assert_eq!(
            dir.json(0, &["query", "lighthouse"])["hits"][0]["id"],
            "first"
        );
    }
    assert!(writer.wait().unwrap().success());
    assert_eq!(dir.json(0, &["status"])["drawers"], 5_001);
}
