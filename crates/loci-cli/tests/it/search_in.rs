//! `search --in`: mines what is new, then answers from there.

use serde_json::{Value, json};

use crate::mine::{drawers, put, stored};
use crate::support::{Dir, names, texts};

#[test]
fn one_command_on_a_fresh_palace_mines_and_answers_with_file_and_line() {
    let dir = Dir::new();
    let guide = put(
        &dir,
        "project/guide.md",
        "# Guide\n\nHow to begin.\n\n# Letters\n\nA lost letter is kept at the counter until Friday.\n",
    );
    put(&dir, "project/other.md", "# Kitchen\n\nSoup on Mondays.\n");
    let ran = dir
        .run(&["search", "how is a lost letter kept?", "--in", "project"])
        .ok();
    let notes: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        matches!(notes[..], [created, mined]
            if created.starts_with("note: created a palace at ")
                && mined.starts_with("mined 2 file(s), ")),
        "on a pipe only these notes: {ran:?}"
    );
    assert!(
        !ran.stderr.contains('\r') && !ran.stderr.contains('\u{1b}'),
        "{ran:?}"
    );
    let first = ran.stdout.lines().take(3).collect::<String>();
    assert!(first.contains("guide.md:"), "{ran:?}");
    let found = dir.json(0, &["search", "lost letter kept", "--in", "project"]);
    let hit = &found["hits"][0];
    assert_eq!(hit["source"], guide.to_str().unwrap(), "{found:#}");
    assert!(
        hit["text"].as_str().unwrap().contains("A lost letter"),
        "{hit}"
    );
    let line = hit["start_line"].as_u64().unwrap();
    assert!(line == 1 || line == 5, "{hit}");
}

#[test]
fn the_second_call_mines_nothing_and_says_nothing_of_it() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    let first = dir.json(0, &["search", "lamp", "--in", "project"]);
    assert_eq!(first["mined"]["drawers"]["new"], 1, "{first}");
    let second = dir.json(0, &["search", "lamp", "--in", "project"]);
    assert_eq!(second["mined"]["files"]["read"], 0, "{second}");
    assert_eq!(second["mined"]["files"]["unchanged"], 1, "{second}");
    assert_eq!(second["mined"]["run"], Value::Null, "{second}");
    assert_eq!(
        dir.run(&["search", "lamp", "--in", "project"]).ok().stderr,
        ""
    );
    put(&dir, "project/b.md", "The lamp is trimmed at dawn.\n");
    let third = dir.json(0, &["search", "lamp", "--in", "project"]);
    assert_eq!(third["mined"]["drawers"]["new"], 1, "{third}");
    assert_eq!(third["hits"].as_array().unwrap().len(), 2, "{third}");
}

#[test]
fn only_what_lies_below_the_path_is_found() {
    let dir = Dir::new();
    for folder in ["app", "app-old", "app/inner", "lib"] {
        put(
            &dir,
            &format!("{folder}/a.md"),
            format!("The lamp of {folder} is lit.\n"),
        );
    }
    put(&dir, "app/b.md", "Another lamp.\n");
    dir.json(0, &["mine", "."]);
    dir.json(0, &["add", "A lamp that was added by hand."]);
    let found = |arguments: &[&str]| {
        let answer = dir.json(0, &[&["search", "lamp", "-k", "20"], arguments].concat());
        let mut found = texts(&answer["hits"], "text");
        found.sort();
        found
    };
    assert_eq!(found(&[]).len(), 6);
    assert_eq!(
        found(&["--in", "app"]),
        [
            "Another lamp.",
            "The lamp of app is lit.",
            "The lamp of app/inner is lit."
        ]
    );
    assert_eq!(found(&["--in", "app/"]), found(&["--in", "./app/inner/.."]));
    assert_eq!(found(&["--in", "app/b.md"]), ["Another lamp."]);
    assert_eq!(
        found(&["--in", "app/b.md", "--in", "lib"]),
        ["Another lamp.", "The lamp of lib is lit."]
    );
}

#[test]
fn a_path_that_is_not_there_is_an_error_and_makes_no_palace() {
    let dir = Dir::new();
    let error = dir.error(2, &["search", "lamp", "--in", "nowhere"]);
    assert!(
        error["message"].as_str().unwrap().contains("`nowhere`"),
        "{error}"
    );
    assert!(!dir.palace().exists());
}

#[test]
fn nothing_found_below_the_path_ends_with_one() {
    let dir = Dir::new();
    put(&dir, "empty/.keep", "");
    put(&dir, "full/a.md", "The lamp is lit.\n");
    dir.json(0, &["mine", "full"]);
    let ran = dir.run(&["search", "lamp", "--in", "empty"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("nothing found"), "{ran:?}");
    assert!(!ran.stdout.contains("The lamp is lit."), "{ran:?}");
}

#[test]
fn words_of_a_heading_or_a_file_name_find_a_chunk_and_are_not_in_its_text() {
    let dir = Dir::new();
    let filler = "Quiet water under a pale sky, and nothing else to tell of it. ".repeat(40);
    put(
        &dir,
        "notes/zephyrometer.md",
        format!(
            "# Quarrelsome pelicans\n\n{filler}\n\n## Marmalade\n\n{filler}\n\nThe engine was oiled.\n"
        ),
    );
    for n in 0..30 {
        put(
            &dir,
            &format!("notes/{n}.md"),
            format!("Plain note {n} about the engine that was oiled.\n"),
        );
    }
    dir.json(0, &["mine", "notes", "--embedder", "none"]);
    let file = dir
        .path("notes")
        .canonicalize()
        .unwrap()
        .join("zephyrometer.md");
    for words in ["zephyrometer", "marmalade", "pelicans engine"] {
        let answer = dir.json(0, &["search", words, "--embedder", "none", "-k", "40"]);
        assert_eq!(
            answer["hits"][0]["source"],
            file.to_str().unwrap(),
            "{words}: {answer:#}"
        );
    }
    // The last chunk has neither the name nor the first heading, and both find it.
    let last = drawers(&dir)
        .into_iter()
        .find(|drawer| {
            drawer["text"]
                .as_str()
                .unwrap()
                .contains("The engine was oiled.")
        })
        .unwrap();
    let text = last["text"].as_str().unwrap();
    assert!(
        !text.contains("pelicans") && !text.contains("zephyrometer"),
        "{text}"
    );
    for word in ["zephyrometer", "pelicans"] {
        let answer = dir.json(0, &["search", word, "--embedder", "none", "-k", "40"]);
        let hits = answer["hits"].as_array().unwrap();
        let hit = hits.iter().find(|hit| hit["id"] == last["id"]);
        let hit = hit.unwrap_or_else(|| panic!("{word}: {answer:#}"));
        assert_eq!(names(&hit["matched_words"]), [word], "{hit:#}");
    }
    assert!(
        stored(&dir)
            .iter()
            .all(|text| !text.contains("zephyrometer"))
    );
}

#[test]
fn an_export_is_searched_by_its_file() {
    let dir = Dir::new();
    let chat = |id: &str, words: &str| {
        json!({
            "uuid": id, "name": "t", "created_at": "2026-01-01T00:00:00Z",
            "chat_messages": [{"sender": "human", "text": words, "created_at": "2026-01-01T00:00:00Z"}],
        })
    };
    put(
        &dir,
        "a/conversations.json",
        json!([chat("1", "A lamp in the first export")]).to_string(),
    );
    put(
        &dir,
        "b/conversations.json",
        json!([chat("2", "A lamp in the second export")]).to_string(),
    );
    dir.json(0, &["mine", "a", "b"]);
    let found = dir.json(0, &["search", "lamp", "--in", "a"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found:#}");
    let text = found["hits"][0]["text"].as_str().unwrap();
    assert!(text.contains("first export"), "{found:#}");
}

#[test]
fn a_file_that_fails_is_named_beside_the_answer() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit.\n");
    let torn = put(
        &dir,
        "project/torn.json",
        "[{\"title\":\"t\",\"mapping\":{\"a\":{\"message\":",
    );
    let ran = dir.run(&["search", "lamp", "--in", "project"]);
    assert!(ran.stdout.contains("The lamp is lit."), "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("failed: {}: ", torn.display())),
        "{ran:?}"
    );
}

#[test]
fn a_search_in_a_path_leaves_what_was_mined_there_with_secrets_kept() {
    let dir = Dir::new();
    let token = format!("ghp_{}", "a8Fk29dLw0Qz7XcV5bNm3RtY6uIo1PsEjH4G");
    put(
        &dir,
        "project/a.md",
        format!("The lamp token is {token}.\n"),
    );
    dir.json(0, &["mine", "project", "--keep-secrets"]);
    let before = drawers(&dir);
    dir.json(0, &["search", "lamp", "--in", "project"]);
    assert_eq!(
        drawers(&dir),
        before,
        "a search changed what somebody asked to keep"
    );
}
