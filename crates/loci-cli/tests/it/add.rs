//! `add` and `init`.

use serde_json::{Value, json};

use crate::support::{Dir, texts};

#[test]
fn init_creates_once_and_says_if_it_existed() {
    let dir = Dir::new();
    let first = dir.json(0, &["init", "--metric", "l2"]);
    assert_eq!(first["created"], true);
    assert_eq!(first["palace"], dir.palace().to_str().unwrap());
    assert_eq!(dir.json(0, &["init"])["created"], false);
    let human = dir.run(&["init"]).ok();
    assert!(human.stdout.contains("exists"), "{human:?}");
    let conflict = dir.error(2, &["init", "--metric", "cosine"]);
    assert_eq!(conflict["kind"], "conflict");
    assert_eq!(
        dir.json(0, &["init", "--collection", "notes"])["created"],
        false
    );
    let human = dir.run(&["init", "--collection", "more"]).ok();
    assert!(
        human.stdout.contains("added the collection `more`"),
        "{human:?}"
    );
    let status = dir.json(0, &["status"]);
    assert_eq!(
        texts(&status["collections"], "name"),
        ["drawers", "more", "notes"]
    );
    assert_eq!(status["collections"][0]["metric"], "l2");
}

#[test]
fn add_gives_id_and_outcome() {
    let dir = Dir::new();
    let drawn = dir.json(0, &["add", "Alice moved to Lyon."]);
    assert_eq!(drawn["outcome"], "added");
    let id = drawn["id"].as_str().unwrap();
    assert_eq!(
        dir.json(0, &["get", id])["drawers"][0]["text"],
        "Alice moved to Lyon."
    );
    let named = dir.json(0, &["add", "Bob stayed.", "--id", "bob"]);
    assert_eq!(
        (&named["id"], &named["outcome"]),
        (&json!("bob"), &json!("added"))
    );
}

#[test]
fn an_id_with_another_text_is_an_error_and_keeps_the_old_drawer() {
    let dir = Dir::new();
    dir.json(0, &["add", "old", "--id", "a"]);
    for other in [
        &["add", "new", "--id", "a"][..],
        &["add", "old", "--id", "a", "--wing", "w"],
    ] {
        // The answer keeps its form, and the error is on stderr.
        let ran = dir.run(&[other, &["--json"]].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            (&answer["outcome"], &answer["added"]),
            (&json!("exists"), &json!(0))
        );
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        let error = &error["error"];
        assert_eq!(error["kind"], "conflict");
        assert!(
            error["message"].as_str().unwrap().contains("`a`"),
            "{error}"
        );
        let help = error["help"].as_str().unwrap();
        assert!(help.contains("loci update a TEXT"), "{error}");
        let human = dir.run(other);
        assert_eq!((human.code, human.stdout.as_str()), (2, ""));
        assert!(
            human.stderr.starts_with("error: the id `a` belongs"),
            "{human:?}"
        );
    }
    assert_eq!(dir.json(0, &["get", "a"])["drawers"][0]["text"], "old");
    // The same again is a duplicate, as without an id.
    for flags in [&[][..], &["--allow-duplicate"]] {
        let same = dir.json(0, &[&["add", "old", "--id", "a"][..], flags].concat());
        assert_eq!(same["outcome"], "duplicate");
        assert_eq!(
            (&same["id"], &same["duplicate_of"]),
            (&json!("a"), &json!("a"))
        );
    }
    let human = dir.run(&["add", "old", "--id", "a"]).ok();
    assert_eq!(
        human.stdout,
        "`a` already holds the same text; nothing was added\n"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn the_same_text_from_the_same_source_is_a_duplicate_by_name() {
    let dir = Dir::new();
    dir.json(0, &["add", "same", "--id", "a", "--source", "notes.md"]);
    let second = dir.json(0, &["add", "same", "--id", "b", "--source", "notes.md"]);
    assert_eq!(second["outcome"], "duplicate");
    assert_eq!(second["duplicate_of"], "a");
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
}

#[test]
fn a_text_that_its_wing_holds_is_added_only_on_request() {
    let dir = Dir::new();
    let first = dir.json(0, &["add", "same", "--wing", "w"]);
    assert_eq!(first["outcome"], "added");
    let second = dir.json(0, &["add", "same", "--wing", "w", "--id", "b"]);
    assert_eq!(second["outcome"], "duplicate");
    assert_eq!(second["duplicate_of"], first["id"]);
    let human = dir.run(&["add", "same", "--wing", "w"]).ok();
    assert!(human.stdout.contains("nothing was added"), "{human:?}");
    assert!(human.stdout.contains("--allow-duplicate"), "{human:?}");
    let other = dir.json(0, &["add", "same", "--wing", "v"]);
    assert_eq!(other["outcome"], "added");
    assert_eq!(dir.json(0, &["status"])["drawers"], 2);
    let again = dir.json(0, &["add", "same", "--wing", "w", "--allow-duplicate"]);
    assert_eq!(again["outcome"], "added");
    assert_eq!(dir.json(0, &["status"])["drawers"], 3);
}

#[test]
fn text_comes_from_the_argument_or_from_stdin_word_for_word() {
    let dir = Dir::new();
    let text = "  zwei Zeilen\nmit \u{1F3DB} und Leerraum \n";
    dir.pipe(&["add", "--id", "piped"], text.as_bytes()).ok();
    let again = "--allow-duplicate";
    dir.pipe(&["add", "-", "--id", "dash", again], text.as_bytes())
        .ok();
    dir.run(&["add", text, "--id", "argument", again]).ok();
    let got = dir.json(0, &["get", "piped", "dash", "argument"]);
    assert_eq!(texts(&got["drawers"], "id"), ["piped", "dash", "argument"]);
    assert_eq!(texts(&got["drawers"], "text"), [text; 3]);
}

#[test]
fn metadata_wing_and_room_are_kept_with_their_types() {
    let dir = Dir::new();
    let metadata = r#"{"int": 1, "float": 1.0, "flag": true, "tags": ["a", "b"], "wing": "lost"}"#;
    let place = ["--wing", "alice", "--room", "home"];
    dir.json(
        0,
        &[
            &["add", "x", "--id", "a", "--metadata", metadata][..],
            &place,
        ]
        .concat(),
    );
    let ran = dir.run(&["get", "a", "--json"]).ok();
    let wanted = r#""metadata":{"flag":true,"float":1.0,"int":1,"room":"home","tags":["a","b"],"wing":"alice"}"#;
    assert!(ran.stdout.contains(wanted), "{ran:?}");
}

#[test]
fn an_empty_text_is_refused_by_name_and_creates_nothing() {
    let dir = Dir::new();
    for arguments in [&["add", ""][..], &["add", "  \n "], &["add"], &["add", "-"]] {
        let error = dir.error(2, arguments);
        assert_eq!(error["kind"], "invalid_input");
        assert!(
            error["message"].as_str().unwrap().contains("text"),
            "{error}"
        );
    }
    assert!(!dir.palace().exists());
}

#[test]
fn a_vector_comes_back_bit_for_bit_from_json_and_from_raw_bytes() {
    let dir = Dir::new();
    let numbers = [0.1_f32, -3.402_823_5e38, 1.0e-45, 16_777_217.0];
    let json = dir.write("v.json", serde_json::to_vec(&numbers).unwrap());
    let raw: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let raw = dir.write("v.f32", raw);
    dir.json(
        0,
        &[
            "add",
            "a",
            "--id",
            "json",
            "--vector",
            json.to_str().unwrap(),
        ],
    );
    dir.json(
        0,
        &["add", "a", "--id", "raw", "--vector", raw.to_str().unwrap()],
    );
    let got = dir.json(0, &["get", "json", "raw", "--vectors"]);
    for drawer in got["drawers"].as_array().unwrap() {
        let embedding: Vec<f32> = serde_json::from_value(drawer["embedding"].clone()).unwrap();
        let bits = |vector: &[f32]| vector.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&embedding), bits(&numbers));
    }
}
