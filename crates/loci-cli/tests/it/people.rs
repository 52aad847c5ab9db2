//! What people see, line by line, when stdout is not a terminal.

use crate::support::Dir;

#[test]
fn a_session_reads_as_documented() {
    let dir = Dir::new();
    let near = dir.write("near.json", "[1, 0]");
    let near = near.to_str().unwrap();
    let palace = dir.palace().display().to_string();
    let place = ["--wing", "alice", "--room", "home"];
    let add = [
        "add",
        "Alice moved to Lyon in May.",
        "--id",
        "move",
        "--vector",
        near,
    ];
    for (arguments, code, wanted) in [
        (&["init"][..], 0, format!("created the palace `{palace}`\n")),
        (&[&add[..], &place].concat(), 0, "added move\n".to_owned()),
        (
            &["list"],
            0,
            "move  drawers  alice/home\n    Alice moved to Lyon in May.\n".to_owned(),
        ),
        (
            &["get", "move"],
            0,
            "move  drawers\n{\"room\":\"home\",\"wing\":\"alice\"}\nAlice moved to Lyon in May.\n\n"
                .to_owned(),
        ),
        (
            &["query", "--vector", near],
            0,
            "1. move  alice  home  score 1.0000  distance 0.0000\n   Alice moved to Lyon in May.\n"
                .to_owned(),
        ),
        (
            &["query", "Lyon"],
            0,
            "1. move  alice  home\n   Alice moved to Lyon in May.\n".to_owned(),
        ),
        (&["query", "Rome"], 1, "nothing found\n".to_owned()),
        (&["update", "move", "--room", "addresses"], 0, "updated move\n".to_owned()),
        (&["update", "nobody", "--room", "x"], 1, "no drawer `nobody` in collection `drawers`\n".to_owned()),
        (
            &["verify"],
            0,
            "check of 1 drawer(s): everything is consistent \
             (`--deep` also recomputes every row, posting and code)\n"
                .to_owned(),
        ),
        (&["verify", "--deep"], 0, "deep check of 1 drawer(s): everything is consistent\n".to_owned()),
        (&["repair"], 0, "1 drawer(s): nothing to repair\n".to_owned()),
        (&["export", "e.jsonl"], 0, "exported 1 drawer(s) to `e.jsonl`\n".to_owned()),
        (&["import", "jsonl", "e.jsonl"], 0, "added 0, updated 0, skipped 1, failed 0\n".to_owned()),
        (&["forget", "move"], 0, "forgot 1 drawer(s)\n".to_owned()),
        (&["forget", "move"], 1, "nothing to forget\n".to_owned()),
        (&["list"], 1, "no drawers (0 in all)\n".to_owned()),
    ] {
        let ran = dir.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, wanted.as_str()), "{arguments:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[test]
fn stored_control_characters_are_verbatim_for_programs_and_visible_on_a_terminal() {
    let dir = Dir::new();
    dir.run(&["add", "a\u{1b}[31mred", "--id", "red"]).ok();
    assert!(
        dir.run(&["get", "red"])
            .ok()
            .stdout
            .contains("a\u{1b}[31mred")
    );
    let on_terminal = dir.shell("TERM=xterm script -qec \"'$LOCI' get red\" /dev/null");
    if on_terminal.code == 127 {
        eprintln!("SKIPPED: `script` is not installed");
        return;
    }
    assert!(
        on_terminal.stdout.contains("a\\u{1b}[31mred"),
        "{on_terminal:?}"
    );
    assert!(
        on_terminal.stdout.contains("\u{1b}[1mred\u{1b}[0m"),
        "{on_terminal:?}"
    );
    let plain = dir.shell("NO_COLOR=1 TERM=xterm script -qec \"'$LOCI' get red\" /dev/null");
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn a_person_is_asked_before_a_filter_forgets() {
    let dir = Dir::new();
    dir.run(&["add", "x", "--wing", "w"]).ok();
    let forget = r#"script -qec "'$LOCI' forget --where '{\"wing\": \"w\"}'" /dev/null"#;
    let no = dir.shell(&format!("echo n | {forget}"));
    if no.code == 127 {
        eprintln!("SKIPPED: `script` is not installed");
        return;
    }
    assert!(
        no.stdout.contains("forget 1 drawer(s) permanently? [y/N]"),
        "{no:?}"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
    let yes = dir.shell(&format!("echo y | {forget}"));
    assert!(yes.stdout.contains("forgot 1 drawer(s)"), "{yes:?}");
    assert_eq!(dir.json(0, &["status"])["drawers"], 0);
}
