//! `diary`, `wake-up`, `links`, and the look of `add` for drawers that say the same.

use serde_json::json;

use crate::support::{Dir, texts};

#[test]
fn a_diary_is_written_and_read() {
    let dir = Dir::new();
    dir.error(2, &["diary", "read"]);
    let written = dir.json(0, &["diary", "write", "one", "--agent", "Claude"]);
    assert_eq!(
        (&written["agent"], &written["topic"], &written["wing"]),
        (&json!("Claude"), &json!("general"), &json!("wing_claude"))
    );
    let arguments = [
        "diary", "write", "--agent", "claude", "--topic", "leak", "--wing", "loci",
    ];
    dir.pipe(&arguments, b"two\nlines").ok();
    let read = dir.json(0, &["diary", "read", "--agent", "CLAUDE"]);
    assert_eq!(texts(&read["entries"], "text"), ["two\nlines", "one"]);
    assert_eq!(read["total"], 2);
    let last = dir.json(0, &["diary", "read", "--last", "1"]);
    assert_eq!(texts(&last["entries"], "text"), ["two\nlines"]);
    let human = dir.run(&["diary", "read", "--last", "1"]).ok();
    assert!(human.stdout.contains("two\nlines"), "{human:?}");
    assert!(human.stdout.contains("the last 1 of 2"), "{human:?}");
    let none = dir.json(1, &["diary", "read", "--wing", "elsewhere"]);
    assert_eq!(none["total"], 0);
    // An entry is a drawer like any other.
    let found = dir.json(0, &["list", "--room", "diary"]);
    assert_eq!(found["total"], 2);
}

#[test]
fn a_diary_refuses_what_is_empty_and_makes_no_palace_for_it() {
    let dir = Dir::new();
    for (text, agent) in [(" ", "claude"), ("x", " "), ("x", "a\nb")] {
        let refused = dir.error(2, &["diary", "write", text, "--agent", agent]);
        assert_eq!(refused["kind"], "invalid_input", "{refused}");
    }
    assert_eq!(dir.run(&["diary", "write", "x"]).code, 64);
    assert!(!dir.palace().exists());
}

#[test]
fn two_processes_that_write_a_diary_lose_nothing() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    let mut writers: Vec<_> = (0..6)
        .map(|number| {
            let text = format!("entry {number}");
            dir.spawn(&["diary", "write", &text, "--agent", "claude"])
        })
        .collect();
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(dir.json(0, &["diary", "read"])["total"], 6);
}

#[test]
fn waking_up_tells_identity_pins_and_notes_within_the_budget() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    assert_eq!(dir.json(1, &["wake-up"])["text"], "");
    dir.json(
        0,
        &[
            "add",
            "never force-push",
            "--wing",
            "loci",
            "--metadata",
            "{\"pinned\": true}",
        ],
    );
    for number in 0..30 {
        let text = format!("ordinary note {number}");
        dir.json(0, &["add", &text, "--wing", "loci"]);
    }
    dir.pipe(&["wake-up", "--identity", "-"], b"I am Alice.")
        .ok();
    dir.json(0, &["diary", "write", "a thought", "--agent", "claude"]);
    let told = dir.json(0, &["wake-up", "--wing", "loci", "--agent", "claude"]);
    let text = told["text"].as_str().unwrap();
    for said in [
        "I am Alice.",
        "never force-push",
        "ordinary note",
        "a thought",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    for budget in [10_usize, 40, 100, 400] {
        let ran = dir.run(&["--json", "wake-up", "--budget", &budget.to_string()]);
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(
            told["tokens"].as_u64().unwrap() as usize <= budget,
            "{told}"
        );
    }
    let human = dir.run(&["wake-up"]).ok();
    assert!(human.stdout.contains("recalled data"), "{human:?}");
    let removed = dir.json(0, &["wake-up", "--identity", ""]);
    assert_eq!(removed["identity"], json!(null));
    let told = dir.json(0, &["wake-up"]);
    assert!(!told["text"].as_str().unwrap().contains("Alice"));
    assert_eq!(dir.run(&["wake-up", "--budget", "0"]).code, 64);
}

#[test]
fn links_join_drawers_and_rooms() {
    let dir = Dir::new();
    for (id, wing, room) in [
        ("a", "loci", "search"),
        ("b", "mem", "search"),
        ("c", "mem", "x"),
    ] {
        let text = format!("text of {id}");
        dir.json(
            0,
            &["add", &text, "--id", id, "--wing", wing, "--room", room],
        );
    }
    assert_eq!(dir.json(1, &["links", "list"])["links"], json!([]));
    let added = dir.json(0, &["links", "add", "a", "mem/x", "--label", "explains"]);
    assert_eq!(added["added"], 1);
    assert_eq!(
        added["link"]["to"],
        json!({"room": {"wing": "mem", "room": "x"}})
    );
    assert_eq!(
        dir.json(
            0,
            &[
                "links",
                "add",
                "drawer:a",
                "room:mem/x",
                "--label",
                "explains"
            ]
        )["known"],
        1
    );
    dir.json(0, &["links", "add", "wing:loci", "wing:mem"]);
    let at = dir.json(0, &["links", "list", "a"]);
    assert_eq!(at["links"].as_array().unwrap().len(), 1);
    let human = dir.run(&["links", "list"]).ok();
    assert!(human.stdout.contains("a —explains→ mem/x"), "{human:?}");
    assert!(human.stdout.contains("wing:loci → wing:mem"), "{human:?}");
    let walk = dir.json(0, &["links", "follow", "a"]);
    assert_eq!(walk["reached"][1]["hops"], 1);
    let walk = dir.json(0, &["links", "follow", "loci/search", "--hops", "1"]);
    assert_eq!(
        walk["reached"][1]["end"],
        json!({"room": {"wing": "mem", "room": "search"}})
    );
    dir.json(1, &["links", "follow", "b"]);
    let tunnels = dir.json(0, &["links", "tunnels", "loci", "mem"]);
    assert_eq!(texts(&tunnels["tunnels"], "room"), ["", "search"]);
    dir.json(1, &["links", "tunnels", "loci", "nowhere"]);
}

#[test]
fn links_to_what_is_not_there_are_refused() {
    let dir = Dir::new();
    dir.json(
        0,
        &[
            "add", "x", "--id", "a", "--wing", "loci", "--room", "search",
        ],
    );
    for (to, word) in [
        ("zz", "zz"),
        ("loci/saerch", "`search`"),
        ("lcoi/search", "`loci`"),
    ] {
        let refused = dir.error(2, &["links", "add", "a", to]);
        assert!(refused.to_string().contains(word), "{refused}");
    }
    assert_eq!(dir.run(&["links", "add", "a", "room:loci"]).code, 64);
}

#[test]
fn add_tells_drawers_that_say_the_same_or_nearly() {
    let dir = Dir::new();
    let text = "Alice moved to Lyon in May.";
    let first = dir.json(0, &["add", text, "--id", "a", "--wing", "alice"]);
    assert_eq!(first["twins"], json!([]));
    assert!((first["threshold"].as_f64().unwrap() - 0.9).abs() < 1e-6);
    let second = dir.json(0, &["add", "alice moved to lyon in may", "--id", "b"]);
    assert_eq!(second["outcome"], "added");
    assert_eq!(second["twins"][0]["id"], "a");
    assert_eq!(second["twins"][0]["exact"], false);
    let human = dir.run(&["add", text]).ok();
    assert!(human.stdout.contains("same text: a in alice"), "{human:?}");
    let nearly = dir.run(&["add", "Alice moved to Lyon in May!"]).ok();
    assert!(
        nearly.stdout.contains("nearly the same text:"),
        "{nearly:?}"
    );
    assert!(nearly.stdout.contains("\u{2265} 0.90)"), "{nearly:?}");
}

#[test]
fn a_check_adds_nothing_and_says_by_its_exit_code_whether_there_is_a_duplicate() {
    let dir = Dir::new();
    dir.json(0, &["add", "Alice moved to Lyon in May.", "--id", "a"]);
    let twin = dir.json(1, &["add", "--check", "Alice moved to Lyon in June."]);
    assert_eq!(
        (&twin["duplicate"], &twin["twins"][0]["id"]),
        (&json!(true), &json!("a"))
    );
    let unique = dir.json(0, &["add", "--check", "The build needs two cores."]);
    assert_eq!(unique["duplicate"], false);
    let strict = [
        "add",
        "--check",
        "Alice moved to Lyon in June.",
        "--threshold",
        "1",
    ];
    assert_eq!(dir.json(0, &strict)["twins"], json!([]));
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
    let refused = dir.error(2, &["add", "x", "--threshold", "2"]);
    assert!(refused.to_string().contains("threshold"), "{refused}");
    assert_eq!(dir.run(&["add", "x", "--check", "--id", "b"]).code, 64);
}

#[test]
fn a_link_is_removed_by_its_places_and_label() {
    let dir = Dir::new();
    for id in ["a", "b"] {
        dir.json(0, &["add", &format!("text of {id}"), "--id", id]);
    }
    dir.json(0, &["links", "add", "a", "b", "--label", "next"]);
    assert_eq!(dir.json(1, &["links", "remove", "a", "b"])["removed"], 0);
    let removed = dir.json(0, &["links", "remove", "a", "b", "--label", "next"]);
    assert_eq!(removed["removed"], 1);
    dir.json(1, &["links", "list"]);
}

#[test]
fn pins_are_set_listed_and_taken_off_and_come_first_at_session_start() {
    let dir = Dir::new();
    dir.json(
        0,
        &["add", "Tea is at five.", "--id", "tea", "--wing", "home"],
    );
    dir.json(
        0,
        &[
            "add",
            "Prices include VAT.",
            "--id",
            "vat",
            "--wing",
            "home",
            "--pin",
        ],
    );
    let pinned = dir.json(0, &["pin", "tea", "nobody"]);
    assert_eq!(pinned["pinned"], true);
    assert_eq!(pinned["drawers"][0]["outcome"], "updated");
    assert_eq!(pinned["drawers"][1]["outcome"], "unknown");
    let listed = dir.json(0, &["pin"]);
    assert_eq!(listed["total"], 2);
    assert_eq!(listed["drawers"][0]["metadata"]["pinned"], true);
    let off = dir.run(&["pin", "--off", "tea"]).ok();
    assert_eq!(off.stdout.trim(), "unpinned tea");
    let told = dir.json(0, &["wake-up", "--wing", "home"]);
    assert_eq!(told["drawers"][0], "vat");
    let text = told["text"].as_str().unwrap();
    assert!(
        text.contains("Pinned:\n- Prices include VAT. (note of "),
        "{text}"
    );
    dir.json(0, &["pin", "--off", "vat"]);
    assert_eq!(dir.json(1, &["pin"])["total"], 0);
    assert_eq!(
        dir.json(1, &["pin", "nobody"])["drawers"][0]["outcome"],
        "unknown"
    );
    assert_eq!(dir.run(&["pin", "--off"]).code, 64);
}
