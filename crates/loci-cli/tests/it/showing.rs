//! What `search` shows: where a hit is, the passage that matches, conditions in the question, and
//! hits that can be opened.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::support::{Dir, Ran, texts};

/// A palace with these files below `notes`, mined into the wing `notes`.
fn mined(files: &[(&str, String)]) -> Dir {
    let dir = Dir::new();
    for (name, text) in files {
        write(&dir, &format!("notes/{name}"), text);
    }
    mine(&dir);
    dir
}

/// Writes a file and creates its folder.
fn write(dir: &Dir, name: &str, text: &str) -> PathBuf {
    std::fs::create_dir_all(dir.path(name).parent().unwrap()).unwrap();
    dir.write(name, text)
}

fn mine(dir: &Dir) {
    let notes = dir.path("notes");
    dir.run(&["mine", notes.to_str().unwrap(), "--wing", "notes"])
        .ok();
}

/// What a search prints on a page with so many columns.
fn page(dir: &Dir, columns: usize, arguments: &[&str]) -> String {
    let mut command = dir.command();
    command.env("COLUMNS", columns.to_string());
    command.arg("search").args(arguments);
    Ran::of(&mut command).ok().stdout
}

fn path(dir: &Dir, name: &str) -> String {
    let path = dir.path("notes").canonicalize().unwrap().join(name);
    path.to_str().unwrap().to_owned()
}

fn ids(answer: &Value) -> Vec<String> {
    texts(&answer["hits"], "id")
}

/// A guide whose only sentence about retries is on line 41, far from the beginning of its drawer.
fn guide() -> String {
    let filler = "Nothing of interest is said in this line of the long guide.\n".repeat(12);
    format!(
        "---\ntitle: Guide\nweight: 120\n---\n\n# Guide\n\n{filler}{filler}\n## Retries\n\n{}A charge \
         is retried after sixty minutes.\n{filler}",
        "Nothing of interest is said in this line of the long guide.\n".repeat(6)
    )
}

#[test]
fn a_hit_names_the_line_that_matches_not_the_first_line_of_its_drawer() {
    let guide = guide();
    let line = 1 + guide
        .lines()
        .position(|line| line.contains("sixty minutes"))
        .unwrap();
    let dir = mined(&[("guide.md", guide)]);
    let answer = dir.json(0, &["search", "retried after sixty minutes", "-k", "1"]);
    let hit = &answer["hits"][0];
    assert_eq!(hit["line"], line, "{hit}");
    assert!(hit["start_line"].as_u64().unwrap() < line as u64, "{hit}");
    let shown = page(&dir, 80, &["retried after sixty minutes", "-k", "1"]);
    let place = format!("1. {}:{line}\n", path(&dir, "guide.md"));
    assert!(shown.starts_with(&place), "{shown}");
    assert!(
        shown.contains("   A charge is retried after sixty minutes.\n"),
        "{shown}"
    );
}

#[test]
fn a_path_is_never_cut_and_everything_else_fits_the_page() {
    let name = format!(
        "{}/{}.md",
        "a-long-name-of-a-folder".repeat(4),
        "файл".repeat(12)
    );
    let text = format!(
        "# {}\n\nThe boiler fails.\n\n```\n{}\n```\n",
        "Überschrift ".repeat(20),
        "x".repeat(300)
    );
    let dir = mined(&[(name.as_str(), text), ("b.md", "word ".repeat(300))]);
    for columns in [40, 80, 180] {
        let shown = page(&dir, columns, &["boiler fails word"]);
        assert!(shown.contains(&path(&dir, &name)), "{shown}");
        let notes = path(&dir, "");
        for line in shown.lines().filter(|line| !line.contains(&notes)) {
            assert!(line.width() <= columns, "{columns}: {line}");
        }
    }
}

#[test]
fn a_passage_has_its_heading_and_no_front_matter() {
    let dir = mined(&[("guide.md", guide())]);
    let shown = page(&dir, 80, &["retried after sixty minutes", "-k", "1"]);
    assert!(shown.contains("Retries"), "{shown}");
    let shown = page(&dir, 80, &["guide", "-k", "3"]);
    assert!(!shown.contains("weight: 120"), "{shown}");
}

#[test]
fn a_format_prints_a_line_per_hit_for_editors() {
    let dir = mined(&[("oncall.md", "# On call\n\nMarta owns the gateway.\n".into())]);
    dir.run(&["add", "The gateway is grey.", "--id", "grey"])
        .ok();
    let ran = dir
        .run(&["search", "gateway", "--format", "path:line:column:text"])
        .ok();
    let line = format!("{}:3:16:Marta owns the gateway.", path(&dir, "oncall.md"));
    assert!(ran.stdout.lines().any(|found| found == line), "{ran:?}");
    assert!(
        ran.stdout
            .lines()
            .any(|found| found == "grey:1:5:The gateway is grey."),
        "{ran:?}"
    );
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    let refused = dir.run(&["search", "gateway", "--format", "path:file"]);
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(
        refused.stderr.contains("`file` is not a field"),
        "{refused:?}"
    );
}

/// An editor that records its arguments.
fn editor(dir: &Dir) -> String {
    let script = write(
        dir,
        "bin/vim",
        &format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n",
            dir.path("opened").display()
        ),
    );
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.to_str().unwrap().to_owned()
}

#[test]
fn open_opens_a_hit_of_the_last_search_at_its_line() {
    let dir = mined(&[
        ("oncall.md", "# On call\n\nMarta owns the gateway.\n".into()),
        (
            "billing.md",
            "# Billing\n\nBilling calls the gateway, and the gateway calls the bank.\n".into(),
        ),
    ]);
    let found = dir
        .run(&["search", "who owns the gateway", "--format", "path:line"])
        .ok()
        .stdout;
    let second = found.lines().nth(1).unwrap().rsplit_once(':').unwrap();
    let open = |arguments: &[&str]| {
        let mut command = dir.command();
        command.env_remove("VISUAL").env("EDITOR", editor(&dir));
        Ran::of(command.arg("open").args(arguments))
    };
    open(&["2"]).ok();
    let opened = std::fs::read_to_string(dir.path("opened")).unwrap();
    assert_eq!(opened, format!("+{}\n{}\n", second.1, second.0));
    // A search for a program does not change which hits a person saw.
    dir.json(0, &["search", "bank", "-k", "1"]);
    open(&["2"]).ok();
    let refused = open(&["9"]);
    assert_eq!(refused.code, 64, "{refused:?}");
    assert!(refused.stderr.contains("from 1 to 2"), "{refused:?}");
    std::fs::remove_file(second.0).unwrap();
    let gone = open(&["2"]);
    assert_eq!(gone.code, 2, "{gone:?}");
    assert!(gone.stderr.contains("does not exist"), "{gone:?}");
    dir.run(&["add", "A note.", "--id", "note"]).ok();
    let note = open(&["note"]);
    assert_eq!(note.code, 64, "{note:?}");
    assert!(note.stderr.contains("not from a file"), "{note:?}");
}

#[test]
fn the_record_of_the_last_search_is_private_and_holds_no_text() {
    let dir = mined(&[("oncall.md", "# On call\n\nMarta owns the gateway.\n".into())]);
    dir.run(&["search", "who owns the gateway"]).ok();
    let files: Vec<_> = Dir::files(&dir.path(""))
        .into_iter()
        .filter(|file| file.ends_with("loci/last-search.json"))
        .collect();
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(
        text.contains("oncall.md") && !text.contains("Marta") && !text.contains("owns"),
        "{text}"
    );
    // A link in its place is replaced, not followed.
    let victim = dir.write("victim", "mine");
    std::fs::remove_file(file).unwrap();
    std::os::unix::fs::symlink(&victim, file).unwrap();
    dir.run(&["search", "gateway"]).ok();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn the_beginning_of_an_id_stands_for_the_id_if_it_is_not_ambiguous() {
    let dir = Dir::new();
    for (id, text) in [
        ("deploy-api", "one"),
        ("deploy-web", "two"),
        ("deploy", "three"),
        ("rest", "four"),
    ] {
        dir.run(&["add", text, "--id", id]).ok();
    }
    let text = |id: &str| dir.json(0, &["get", id])["drawers"][0]["text"].clone();
    assert_eq!(text("deploy-w"), "two");
    // A whole id is never taken for the beginning of another one.
    assert_eq!(text("deploy"), "three");
    let refused = dir.error(2, &["get", "deploy-"]);
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("`deploy-api`, `deploy-web`"), "{message}");
    // Less than four characters are too easily a mistake.
    dir.json(1, &["get", "res"]);
    dir.run(&["pin", "deploy-a"]).ok();
    dir.run(&["update", "deploy-a", "changed"]).ok();
    assert_eq!(text("deploy-api"), "changed");
    assert!(
        dir.run(&["why-not", "deploy-w", "three"])
            .ok()
            .stdout
            .contains("deploy-web")
    );
    // The rest of the id may be another drawer than the one that is meant, so `forget` asks.
    let refused = dir.run(&["forget", "deploy-w"]);
    assert_eq!(refused.code, 64, "{refused:?}");
    assert_eq!(text("deploy-web"), "two");
    dir.run(&["forget", "deploy-w", "--yes"]).ok();
    dir.json(1, &["get", "deploy-web"]);
}

fn conditions() -> Dir {
    let dir = Dir::new();
    for (id, text, wing, metadata) in [
        (
            "cap",
            "We cap requests at 10 s, because the bank drops connections.",
            "acme",
            r#"{"tags": ["ops", "bank"], "date": "2026-05-03", "source_file": "/work/docs/cap.md"}"#,
        ),
        (
            "mongo",
            "The bank requests run on Mongo.",
            "acme",
            r#"{"date": "2025-01-02", "source_file": "/work/src/mongo.rs"}"#,
        ),
        (
            "other",
            "Requests of the library and the bank.",
            "home",
            r#"{"tags": ["ops"], "date": "2026-06-01"}"#,
        ),
    ] {
        dir.run(&[
            "add",
            text,
            "--id",
            id,
            "--wing",
            wing,
            "--metadata",
            metadata,
        ])
        .ok();
    }
    dir
}

#[test]
fn conditions_in_a_question_restrict_the_search() {
    let dir = conditions();
    let found = |arguments: &[&str]| {
        let mut found = ids(&dir.json(0, &[&["search"], arguments].concat()));
        found.sort();
        found
    };
    assert_eq!(found(&["bank requests"]), ["cap", "mongo", "other"]);
    assert_eq!(found(&["\"drops connections\""]), ["cap"]);
    assert_eq!(found(&["\"Requests at 10 S\" bank"]), ["cap"]);
    assert_eq!(found(&["bank", "-mongo"]), ["cap", "other"]);
    assert_eq!(found(&["bank not:mongo"]), ["cap", "other"]);
    assert_eq!(found(&["bank -\"the library\""]), ["cap", "mongo"]);
    assert_eq!(found(&["bank wing:acme"]), ["cap", "mongo"]);
    assert_eq!(found(&["bank", "-wing:acme"]), ["other"]);
    assert_eq!(found(&["bank tag:ops"]), ["cap", "other"]);
    assert_eq!(found(&["bank tag:#OPS tag:bank"]), ["cap"]);
    assert_eq!(found(&["bank path:DOCS/"]), ["cap"]);
    assert_eq!(found(&["bank since:2026-05"]), ["cap", "other"]);
    assert_eq!(found(&["bank since:2026-05 before:2026-06"]), ["cap"]);
    assert_eq!(found(&["bank wing:home wing:acme -tag:ops"]), ["mongo"]);
    // Flags and conditions hold together.
    assert_eq!(found(&["bank tag:ops", "--wing", "home"]), ["other"]);
    // Without a word, the newest are listed.
    assert_eq!(found(&["wing:acme"]), ["cap", "mongo"]);
    let listed = dir.json(0, &["search", "wing:acme"]);
    assert_eq!(listed["hits"][0]["matched_via"], "conditions");
    assert_eq!(listed["operators"][0], "wing:acme");
}

#[test]
fn conditions_that_nothing_satisfies_are_named_and_unreadable_ones_are_words() {
    let dir = conditions();
    let none = dir.run(&["search", "bank \"never said\""]);
    assert_eq!(none.code, 1);
    assert!(
        none.stderr
            .contains("the question has conditions: \"never said\""),
        "{none:?}"
    );
    let unknown = dir.run(&["search", "bank wing:acmee"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("acme"), "{unknown:?}");
    let words = dir.json(0, &["search", "bank since:someday"]);
    assert_eq!(words["warnings"][0]["code"], "conditions_unread", "{words}");
    assert_eq!(ids(&words).len(), 3);
}

#[test]
fn why_not_names_the_condition_of_a_question() {
    let dir = conditions();
    let ran = dir.json(0, &["why-not", "mongo", "bank", "-mongo"]);
    assert_eq!(ran["stage"], "filter", "{ran}");
    let ran = dir.json(0, &["why-not", "other", "bank wing:acme"]);
    assert_eq!(ran["stage"], "filter", "{ran}");
}

#[test]
fn the_passage_of_a_file_that_is_gone_is_marked_and_a_living_copy_comes_first() {
    let text = |cap: &str| {
        format!(
            "# Limits\n\nWe cap requests at {cap}.\nAsk Ana about limits.\nThe bank drops connections.\nLimits are checked.\n"
        )
    };
    let dir = mined(&[
        ("old.md", text("30 s")),
        (
            "deleted.md",
            "# Gate\n\nThe gate is painted green.\n".into(),
        ),
        ("copied.md", "# Lamp\n\nThe lamp is lit at dusk.\n".into()),
    ]);
    // A rename with an edit, a delete, and a copy whose original is deleted.
    std::fs::remove_file(dir.path("notes/old.md")).unwrap();
    dir.write("notes/new.md", text("10 s"));
    std::fs::remove_file(dir.path("notes/deleted.md")).unwrap();
    write(
        &dir,
        "notes/lamps/copy.md",
        "# Lamp\n\nThe lamp is lit at dusk.\n",
    );
    mine(&dir);
    std::fs::remove_file(dir.path("notes/copied.md")).unwrap();
    let hits = |question: &str| {
        dir.json(0, &["search", question])["hits"]
            .as_array()
            .unwrap()
            .clone()
    };
    let cap = hits("we cap requests at 30 s");
    assert_eq!(cap[0]["source"], path(&dir, "new.md").as_str(), "{cap:?}");
    assert!(cap[0]["gone"].is_null(), "{cap:?}");
    let old = cap
        .iter()
        .find(|hit| hit["source"] == path(&dir, "old.md").as_str());
    assert_eq!(old.unwrap()["gone"], true);
    let lamp = hits("lamp lit at dusk");
    assert_eq!(
        lamp[0]["source"],
        path(&dir, "lamps/copy.md").as_str(),
        "{lamp:?}"
    );
    let ran = dir.run(&["search", "painted gate"]).ok();
    let place = format!("1. {}:3  gone\n", path(&dir, "deleted.md"));
    assert!(ran.stdout.starts_with(&place), "{ran:?}");
    assert!(ran.stderr.contains("loci sync"), "{ran:?}");
}

#[test]
fn a_budget_cuts_passages_around_what_matches_and_keeps_the_best_hits() {
    let filler = "Some words about nothing in particular stand here. ".repeat(60);
    let texts: Vec<(String, String)> = (0..6)
        .map(|n| {
            (
                format!("n{n}"),
                format!("{filler}The kangaroo {n} jumped over the fence. {filler}"),
            )
        })
        .collect();
    let dir = Dir::new();
    for (id, text) in &texts {
        dir.run(&["add", text, "--id", id]).ok();
    }
    let answer = dir.json(0, &["search", "kangaroo fence", "--budget", "600"]);
    let hits = answer["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 6, "{answer}");
    for hit in hits {
        let text = hit["text"].as_str().unwrap();
        assert!(
            text.contains("kangaroo") && text.contains("fence"),
            "{text}"
        );
        assert_eq!(hit["cut"], true);
    }
    assert!(answer["tokens"].as_u64().unwrap() <= 600);
}

#[test]
fn a_palace_of_three_drawers_is_not_padded_with_what_does_not_match() {
    let dir = Dir::new();
    for text in [
        "The cat is on the sofa.",
        "Invoices are due in June.",
        "Ana moved to Lyon.",
    ] {
        dir.run(&["add", text]).ok();
    }
    for (question, expected) in [
        ("kubernetes ingress controller", &[][..]),
        ("where does the kitten rest", &["The cat is on the sofa."]),
        ("who relocated to France", &["Ana moved to Lyon."]),
        ("sofa", &["The cat is on the sofa."]),
    ] {
        let ran = dir.run(&["search", question, "--json"]);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            texts(&answer["hits"], "text"),
            expected,
            "{question}: {answer}"
        );
    }
}
