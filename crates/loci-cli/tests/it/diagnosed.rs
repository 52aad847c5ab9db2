//! What `doctor` and `import` say of palaces of other programs, in words and in codes.

use serde_json::{Value, json};

use crate::chroma_directories::Old;
use crate::old_palaces::fixture;
use crate::support::{Dir, lines, texts};

/// Diagnoses whatever the exit code is.
fn diagnosed(dir: &Dir, path: &str) -> (i32, Value, String) {
    let ran = dir.run(&["doctor", path, "--json"]);
    let diagnosis = serde_json::from_str(&ran.stdout).unwrap();
    (ran.code, diagnosis, dir.run(&["doctor", path]).stdout)
}

#[test]
fn import_takes_the_kind_that_a_doctor_names() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "chroma", "chroma-0.6-queued");
    dir.write("a.jsonl", lines([json!({"id": "a", "document": "a text"})]));
    let mut places = vec![old.name().to_owned(), "a.jsonl".to_owned()];
    for (name, inside) in [
        ("cortexadb/log_only", "db"),
        ("memtomem/with_vectors", "memtomem.db"),
        ("mempalace", "palace"),
    ] {
        let (path, _) = fixture(&dir, name);
        let home = dir.path(&name.replace('/', "-"));
        std::fs::rename(path, &home).unwrap();
        places.push(home.join(inside).to_str().unwrap().to_owned());
    }
    for place in places {
        let (_, diagnosis, _) = diagnosed(&dir, &place);
        let kind = diagnosis["kind"].as_str().unwrap();
        dir.json(0, &["import", kind, &place]);
    }
}

#[test]
fn a_kind_that_is_not_there_is_refused_and_what_is_there_is_named() {
    let dir = Dir::new();
    let (path, _) = fixture(&dir, "mempalace");
    let palace = path.join("palace");
    for kind in ["chroma", "cortexadb", "memtomem"] {
        let error = dir.error(2, &["import", kind, palace.to_str().unwrap()]);
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("looks like MemPalace"), "{kind}: {said}");
        assert_eq!(error["help"], Value::Null);
    }
    assert_eq!(
        dir.error(2, &["import", "cortexadb", "home"])["kind"],
        "invalid_input"
    );
    assert!(!dir.palace().exists());
}

#[test]
fn a_recorded_model_that_cannot_have_made_the_vectors_is_not_believed() {
    let dir = Dir::new();
    let (path, _) = fixture(&dir, "memtomem/with_vectors");
    let place = path.join("memtomem.db");
    let (code, diagnosis, words) = diagnosed(&dir, place.to_str().unwrap());
    assert_eq!(
        (code, &diagnosis["collections"][0]["embedder"]),
        (0, &Value::Null)
    );
    let codes = texts(&diagnosis["findings"], "code");
    assert!(
        codes.contains(&"embedder_contradicted".to_owned()),
        "{codes:?}"
    );
    assert!(!words.contains("4-d, by"), "{words}");
    let report = dir.json(0, &["import", place.to_str().unwrap()]);
    assert!(texts(&report["warnings"], "code").contains(&"embedder_contradicted".to_owned()));
    assert_eq!(
        dir.json(0, &["status"])["collections"][0]["embedder"],
        Value::Null
    );
    assert!(
        !dir.run(&["search", "kettle"])
            .stderr
            .contains("loci model add")
    );
}

#[test]
fn chunks_without_a_vector_are_no_damage() {
    let dir = Dir::new();
    let (path, _) = fixture(&dir, "memtomem/with_vectors");
    let (code, diagnosis, words) = diagnosed(&dir, path.join("memtomem.db").to_str().unwrap());
    assert_eq!((code, &diagnosis["healthy"]), (0, &json!(true)));
    assert!(words.contains("2 of 10 chunks have no vector"), "{words}");
    assert!(!words.contains("do not open"), "{words}");
}

#[test]
fn only_what_opening_would_harm_must_not_be_opened() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let (code, _, words) = diagnosed(&dir, old.name());
    assert!(code == 1 && !words.contains("do not open"), "{words}");
    let cut = &std::fs::read(old.database()).unwrap()[..40_000];
    std::fs::write(old.database(), cut).unwrap();
    let (_, _, words) = diagnosed(&dir, old.name());
    assert!(words.contains("do not open"), "{words}");
}

#[test]
fn commands_in_a_report_can_be_pasted_into_a_shell() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "with space 'q", "chroma-0.6-queued");
    let (_, _, words) = diagnosed(&dir, old.name());
    let mut command = words
        .split('`')
        .filter(|part| part.starts_with("loci import"));
    let command = command.next_back().unwrap().replacen("loci", "$LOCI", 1);
    let ran = dir.shell(&command).ok();
    assert!(ran.stdout.contains("added"), "{ran:?}");
}

#[test]
fn json_that_is_no_lines_is_nothing_known_and_bad_lines_are_numbered() {
    let dir = Dir::new();
    dir.write("pretty.json", "{\n  \"a\": 1\n}\n");
    dir.write("pretty.jsonl", "{\n  \"a\": 1\n}\n");
    for (command, place) in [
        ("doctor", "pretty.json"),
        ("import", "pretty.json"),
        ("doctor", "pretty.jsonl"),
    ] {
        let error = dir.error(2, &[command, place]);
        let said = error["message"].as_str().unwrap();
        assert!(
            said.starts_with(&format!("`{place}`: format not recognised")),
            "{said}"
        );
    }
    dir.write("notes.json", "{\"id\": \"a\"}\n");
    assert_eq!(dir.json(0, &["doctor", "notes.json"])["records"], 1);
    dir.write("mixed.jsonl", "{\"id\": \"a\"}\n\n{\"id\"\n[1]\n");
    let diagnosis = dir.json(1, &["doctor", "mixed.jsonl"]);
    let found = diagnosis["findings"].as_array().unwrap();
    let found: Vec<&Value> = found.iter().map(|finding| &finding["line"]).collect();
    assert_eq!(found, [&json!(3), &json!(4)]);
}

#[test]
fn records_that_went_with_damaged_pages_are_named() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "old", "chroma-0.6-flushed");
    let bytes = std::fs::read(old.database()).unwrap();
    std::fs::write(old.database(), &bytes[..bytes.len() / 2]).unwrap();
    let ran = dir.run(&["import", old.name(), "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, 2, "{report}");
    let codes = texts(&report["warnings"], "code");
    assert!(codes.contains(&"source_damaged".to_owned()), "{codes:?}");
    let lost = report["lost"].as_array().unwrap();
    assert!(lost.iter().any(|piece| piece["id"].is_string()), "{report}");
    let words = dir.run(&["import", old.name()]);
    assert!(words.stdout.contains("lost from"), "{words:?}");
    assert!(words.stderr.contains("the source is damaged"), "{words:?}");
}

#[test]
fn a_source_of_which_nothing_can_be_read_has_lost_everything() {
    let dir = Dir::new();
    let old = Old::copy(&dir, "empty", "chroma-0.6-flushed");
    std::fs::write(old.database(), "").unwrap();
    let ran = dir.run(&["import", old.name()]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stdout.contains("no record could be read"), "{ran:?}");
    let (path, _) = fixture(&dir, "memtomem/with_vectors");
    let place = path.join("memtomem.db");
    let sql = rusqlite::Connection::open(&place).unwrap();
    sql.execute_batch(
        "PRAGMA foreign_keys = OFF; DROP TRIGGER IF EXISTS chunks_ad; DELETE FROM chunks;",
    )
    .unwrap();
    drop(sql);
    let ran = dir.run(&["import", place.to_str().unwrap()]);
    assert!(ran.stdout.contains("0 record(s)"), "{ran:?}");
    assert!(!ran.stdout.contains("verified:"), "{ran:?}");
}

#[test]
fn a_troubled_but_whole_source_is_not_called_damaged() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    assert_eq!(diagnosed(&dir, old.name()).0, 1);
    assert_eq!(dir.json(0, &["import", old.name()])["warnings"], json!([]));
}

#[test]
fn broken_tunnels_are_lost_links_and_a_backup_of_them_mends_it() {
    let dir = Dir::new();
    let (path, _) = fixture(&dir, "mempalace");
    std::fs::write(path.join("tunnels.json"), "[{").unwrap();
    let place = path.join("palace");
    let ran = dir.run(&["import", place.to_str().unwrap(), "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&report["links"]["failed"], &report["facts"]["failed"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(report["lost"][0]["of"], "links");
    let (_, diagnosis, _) = diagnosed(&dir, place.to_str().unwrap());
    for finding in diagnosis["findings"].as_array().unwrap() {
        let wants = finding["severity"] != "note";
        assert_eq!(finding["fix"].is_string(), wants, "{finding}");
        assert_eq!(finding["remedy"]["action"].is_string(), wants, "{finding}");
    }
}

#[test]
fn what_search_does_not_look_at_is_said_to_be_searched_by_name() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let words = dir.run(&["import", old.name()]).ok().stdout;
    assert!(!words.contains("search it:"), "{words}");
    let words = dir
        .run(&["import", old.name(), "--collection", "home"])
        .ok()
        .stdout;
    assert!(
        words.contains("search it: `loci search WORDS --collection home`"),
        "{words}"
    );
}

#[test]
fn no_palace_is_opened_or_made_inside_that_of_another_program() {
    let dir = Dir::new();
    for (name, inside) in [
        ("cortexadb/log_only", "db"),
        ("memtomem/with_vectors", "."),
        ("mempalace", "."),
    ] {
        let (path, _) = fixture(&dir, name);
        let place = path.join(inside);
        let place = place.to_str().unwrap();
        let files = Dir::files(&path);
        for arguments in [
            &["add", "a text"][..],
            &["init"],
            &["search", "kettle"],
            &["status"],
        ] {
            let error = dir.error(2, &[arguments, &["--palace", place]].concat());
            let said = error["message"].as_str().unwrap();
            assert!(said.contains("loci import"), "{arguments:?}: {said}");
        }
        assert_eq!(Dir::files(&path), files);
        std::fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn a_collection_lands_in_the_same_place_whatever_is_beside_it() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let all = old.path.with_extension("all");
    crate::chroma_directories::copy(&old.path, &all);
    let sql = rusqlite::Connection::open(old.database()).unwrap();
    sql.execute_batch(
        "PRAGMA foreign_keys = OFF;
         DELETE FROM segments WHERE collection = (SELECT id FROM collections WHERE name = 'drawers');
         DELETE FROM collections WHERE name = 'drawers';
         DELETE FROM embeddings WHERE segment_id NOT IN (SELECT id FROM segments);",
    )
    .unwrap();
    drop(sql);
    dir.run(&["import", old.name(), "--json"]);
    let report = dir.json(0, &["import", all.to_str().unwrap()]);
    let notes = report["collections"]
        .as_array()
        .unwrap()
        .iter()
        .find(|of| of["name"] == "notes");
    assert_eq!(
        (&notes.unwrap()["target"], &notes.unwrap()["added"]),
        (&json!("notes"), &json!(0))
    );
}

#[test]
fn a_collection_whose_name_cannot_be_kept_comes_all_the_same() {
    let dir = Dir::new();
    let old = Old::queued(&dir);
    let sql = rusqlite::Connection::open(old.database()).unwrap();
    for (was, now) in [("drawers", " a\nb "), ("notes", "\u{1}")] {
        sql.execute(
            "UPDATE collections SET name = ?1 WHERE name = ?2",
            [now, was],
        )
        .unwrap();
    }
    drop(sql);
    let report = dir.json(0, &["import", old.name()]);
    let targets = texts(&report["collections"], "target");
    assert!(targets.contains(&"ab".to_owned()), "{targets:?}");
    assert!(
        targets.iter().any(|target| target.starts_with("unnamed-")),
        "{targets:?}"
    );
}
