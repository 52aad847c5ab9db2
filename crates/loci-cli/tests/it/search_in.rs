//! `search --in`: reads what is new below a path, answers from there, and leaves the palace alone.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mine::{drawers, put, stored};
use crate::support::{Dir, names, texts};

/// Where searched files are kept.
fn cache(dir: &Dir) -> PathBuf {
    dir.path("home").join(".cache/loci/files")
}

/// The one directory that a search in files has made.
fn entry(dir: &Dir) -> PathBuf {
    let entries: Vec<PathBuf> = std::fs::read_dir(cache(dir))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}

/// The texts that a search for the lamp below `project` finds.
fn lamps(dir: &Dir) -> Vec<String> {
    let answer = dir.json(0, &["search", "lamp", "--in", "project"]);
    let mut found = texts(&answer["hits"], "text");
    found.sort();
    found
}

#[test]
fn a_search_in_files_leaves_the_palace_alone() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    assert_eq!(lamps(&dir), ["The lamp is lit at dusk."]);
    assert!(!dir.palace().exists());
    dir.json(0, &["add", "A lamp in the palace."]);
    let before = dir.contents();
    put(&dir, "project/b.md", "Another lamp.\n");
    assert_eq!(lamps(&dir), ["Another lamp.", "The lamp is lit at dusk."]);
    assert_eq!(dir.contents(), before);
    let found = dir.json(0, &["search", "lamp"]);
    assert_eq!(texts(&found["hits"], "text"), ["A lamp in the palace."]);
}

#[test]
fn only_the_user_can_read_the_cache_of_searched_files() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    lamps(&dir);
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let entry = entry(&dir);
    for directory in [cache(&dir), entry.clone(), entry.join("palace")] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
    }
    for file in Dir::files(&entry) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn the_cache_of_searched_files_can_be_deleted_or_damaged_at_any_time() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    let expected = ["The lamp is lit at dusk."];
    assert_eq!(lamps(&dir), expected);
    let database = entry(&dir).join("palace/palace.sqlite3");
    // Not a database, an empty one, and nothing.
    std::fs::write(
        &database,
        b"no database at all, but long enough to look at".repeat(100),
    )
    .unwrap();
    assert_eq!(lamps(&dir), expected);
    std::fs::write(&database, b"").unwrap();
    assert_eq!(lamps(&dir), expected);
    std::fs::remove_dir_all(entry(&dir).join("palace")).unwrap();
    assert_eq!(lamps(&dir), expected);
    std::fs::remove_file(entry(&dir).join("paths.json")).unwrap();
    assert_eq!(lamps(&dir), expected);
    std::fs::remove_dir_all(cache(&dir)).unwrap();
    assert_eq!(lamps(&dir), expected);
    // A palace of a later version.
    let connection =
        rusqlite::Connection::open(&database).unwrap_or_else(|error| panic!("{error}"));
    connection
        .pragma_update(None, "user_version", 99_999)
        .unwrap();
    drop(connection);
    assert_eq!(lamps(&dir), expected);
}

#[test]
fn another_embedder_has_a_cache_of_its_own() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    lamps(&dir);
    let none = ["search", "lamp", "--in", "project", "--embedder", "none"];
    assert_eq!(texts(&dir.json(0, &none)["hits"], "text").len(), 1);
    assert_eq!(std::fs::read_dir(cache(&dir)).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_gone_or_ignored_is_not_found() {
    let dir = Dir::new();
    for name in ["a", "b", "c"] {
        put(
            &dir,
            &format!("project/{name}.md"),
            format!("Lamp {name}.\n"),
        );
    }
    assert_eq!(lamps(&dir), ["Lamp a.", "Lamp b.", "Lamp c."]);
    std::fs::remove_file(dir.path("project/a.md")).unwrap();
    assert_eq!(lamps(&dir), ["Lamp b.", "Lamp c."]);
    put(&dir, "project/.ignore", "b.md\n");
    assert_eq!(lamps(&dir), ["Lamp c."]);
    std::fs::remove_file(dir.path("project/c.md")).unwrap();
    let ran = dir.run(&["search", "lamp", "--in", "project"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn a_file_outside_is_found_while_a_link_leads_to_it() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "Lamp a.\n");
    let outside = put(&dir, "elsewhere/b.md", "Lamp b.\n");
    std::os::unix::fs::symlink(outside, dir.path("project/link.md")).unwrap();
    let found = || {
        let answer = dir.json(0, &["search", "lamp", "--in", "project", "--follow"]);
        texts(&answer["hits"], "text").len()
    };
    assert_eq!(found(), 2);
    std::fs::remove_file(dir.path("project/link.md")).unwrap();
    assert_eq!(found(), 1);
    assert_eq!(lamps(&dir), ["Lamp a."]);
}

#[test]
fn forget_removes_what_searches_in_files_have_kept() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The vermilion lamp is lit.\n");
    lamps(&dir);
    dir.json(0, &["add", "The vermilion lamp is lit.", "--id", "lamp"]);
    std::fs::remove_file(dir.path("project/a.md")).unwrap();
    let kept = entry(&dir);
    let answer = dir.json(0, &["forget", "lamp", "--yes"]);
    assert_eq!(answer["forgotten"], 1, "{answer}");
    assert_eq!(names(&answer["removed_files"]), [kept.to_str().unwrap()]);
    assert_eq!(Dir::files(&cache(&dir)), [] as [PathBuf; 0]);
}

#[test]
fn folders_that_are_gone_leave_the_cache_at_the_next_search() {
    let dir = Dir::new();
    put(&dir, "old/a.md", "An old lamp.\n");
    put(&dir, "project/a.md", "A lamp.\n");
    dir.json(0, &["search", "lamp", "--in", "old"]);
    let old = entry(&dir);
    std::fs::remove_dir_all(dir.path("old")).unwrap();
    // What a process that was killed while it removed an entry leaves.
    std::fs::create_dir(cache(&dir).join(".removed-1")).unwrap();
    assert_eq!(lamps(&dir), ["A lamp."]);
    assert_ne!(entry(&dir), old);
}

#[test]
fn searches_of_one_folder_at_the_same_time_all_answer() {
    let dir = Dir::new();
    for n in 0..40 {
        put(
            &dir,
            &format!("project/{n}.md"),
            format!("Lamp number {n}.\n"),
        );
    }
    let searches: Vec<_> = (0..6)
        .map(|_| {
            dir.command()
                .args(["search", "lamp", "--in", "project", "-k", "50", "--json"])
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for search in searches {
        let output = search.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["hits"].as_array().unwrap().len(), 40, "{answer:#}");
    }
}

#[test]
fn without_a_cache_directory_a_search_in_files_answers_and_leaves_nothing() {
    let dir = Dir::new();
    put(&dir, "project/a.md", "The lamp is lit at dusk.\n");
    std::fs::write(dir.path("home").join(".cache"), "a file").unwrap();
    assert_eq!(lamps(&dir), ["The lamp is lit at dusk."]);
    assert_eq!(std::fs::read_dir(dir.path("temporary")).unwrap().count(), 0);
}

#[test]
fn one_command_reads_a_folder_and_answers_with_file_and_line() {
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
        matches!(notes[..], [other, read]
            if read.starts_with("read 2 file(s), ") && other.starts_with("1 improbable hit")),
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

/// The cache of this folder, filled by a search.
fn cached(dir: &Dir) -> std::path::PathBuf {
    std::fs::create_dir(dir.path("folder")).unwrap();
    dir.write("folder/a.md", "The lamp is lit at dusk.\n");
    dir.json(0, &["search", "lamp", "--in", "folder"]);
    let files = dir.path("home/.cache/loci/files");
    let mut entries = std::fs::read_dir(files).unwrap();
    entries.next().unwrap().unwrap().path()
}

/// Bug: `forget` of an unknown id deleted what searches in files had read.
#[test]
fn a_forget_of_nothing_leaves_the_cache_of_searched_files_alone() {
    let dir = Dir::new();
    dir.json(0, &["add", "a text", "--id", "known"]);
    let cache = cached(&dir);
    let answer = dir.json(1, &["forget", "unknown"]);
    assert_eq!(answer["removed_files"], serde_json::json!([]), "{answer}");
    assert!(cache.exists());
    dir.error(2, &["forget", ""]);
    assert!(cache.exists());
    dir.json(0, &["forget", "known"]);
    assert!(!cache.exists());
}

/// Bug: a cache that was damaged in these ways stopped the search with an error.
#[test]
fn a_cache_with_something_else_in_the_place_of_its_palace_is_replaced() {
    let dir = Dir::new();
    let palace = cached(&dir).join("palace");
    let lock = palace.join("palace.lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let search = ["search", "lamp", "--in", "folder"];
    assert_eq!(dir.json(0, &search)["hits"].as_array().unwrap().len(), 1);
    std::fs::remove_dir_all(&palace).unwrap();
    std::fs::write(&palace, "").unwrap();
    assert_eq!(dir.json(0, &search)["hits"].as_array().unwrap().len(), 1);
    assert!(palace.is_dir());
}
