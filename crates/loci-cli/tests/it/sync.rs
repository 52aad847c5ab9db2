//! `sync`, `runs` and `undo`: what goes, what stays, and what comes back.

use serde_json::{Value, json};

use crate::mine::{drawers, put, stored};
use crate::support::{Dir, Ran, texts};

/// So many notes in one folder, mined.
fn mined(count: usize) -> Dir {
    let dir = Dir::new();
    for n in 0..count {
        put(
            &dir,
            &format!("notes/{n:02}.md"),
            format!("Note number {n}.\n"),
        );
    }
    dir.json(0, &["mine", "notes"]);
    assert_eq!(drawers(&dir).len(), count);
    dir
}

fn delete(dir: &Dir, name: &str) {
    std::fs::remove_file(dir.path(name)).unwrap();
}

#[test]
fn a_deleted_file_keeps_its_drawers_until_sync_applies() {
    let dir = mined(3);
    let gone = dir.path("notes").canonicalize().unwrap().join("01.md");
    let gone = gone.to_str().unwrap();
    delete(&dir, "notes/01.md");
    let mine = dir.run(&["mine", "notes"]).ok();
    assert!(
        mine.stdout
            .contains("1 file(s) of earlier runs are gone, e.g. ")
            && mine.stdout.contains("`loci sync` shows them"),
        "{mine:?}"
    );
    assert_eq!(drawers(&dir).len(), 3);
    let shown = dir.run(&["sync", "notes"]).ok();
    assert_eq!(
        shown.stdout,
        format!(
            "     1  deleted  {gone}\n1 drawer(s) of 1 source(s) of 3 would be removed; --apply removes them\n"
        )
    );
    assert_eq!(drawers(&dir).len(), 3);
    let swept = dir.json(0, &["sync", "notes", "--apply"]);
    assert_eq!(
        swept,
        json!({
            "run": 2, "sources": 3, "gone": [{"name": gone, "why": "deleted", "drawers": 1}],
            "kept_conversations": 0, "removed": 1, "brake": null,
        })
    );
    assert_eq!(stored(&dir), ["Note number 0.", "Note number 2."]);
    let after = dir.run(&["sync", "notes", "--apply"]).ok();
    assert_eq!(after.stdout, "all 2 source(s) still exist\n");
    assert_eq!(dir.json(0, &["mine", "notes"])["files"]["gone"], 0);
}

#[test]
fn sync_says_how_to_bring_back_what_it_removed() {
    let dir = mined(3);
    delete(&dir, "notes/01.md");
    let before = drawers(&dir);
    let ran = dir.run(&["sync", "notes", "--apply"]).ok();
    assert!(
        ran.stdout.ends_with(
            "removed 1 drawer(s) of 1 source(s) of 3\nrun 2; `loci undo 2` restores them\n"
        ),
        "{ran:?}"
    );
    dir.json(0, &["undo", "2"]);
    assert_eq!(drawers(&dir), before);
}

#[test]
fn sync_leaves_sources_of_other_machines_alone_and_names_their_hosts() {
    let dir = Dir::new();
    let on = |host: &str, arguments: &[&str]| {
        Ran::of(dir.command().env("LOCI_MACHINE", host).args(arguments)).ok()
    };
    for n in 0..3 {
        put(
            &dir,
            &format!("notes/{n}.md"),
            format!("Note number {n}.\n"),
        );
    }
    on("laptop", &["mine", "notes"]);
    put(&dir, "notes/desk.md", "Note of the desk.\n");
    delete(&dir, "notes/1.md");
    let mine = on("desk", &["mine", "notes"]);
    assert!(!mine.stdout.contains("are gone"), "{mine:?}");
    let swept = on("desk", &["sync", "notes", "--apply"]);
    assert_eq!(
        swept.stdout,
        "all 3 source(s) still exist\n\
         skipped 3 source(s) of the machine `laptop`\n"
    );
    let swept = on("desk", &["sync", "notes", "--apply", "--json"]);
    let swept: Value = serde_json::from_str(&swept.stdout).unwrap();
    assert_eq!(
        swept["other_machines"],
        json!([{"host": "laptop", "sources": 3}])
    );
    assert_eq!(drawers(&dir).len(), 4);
    let swept = on("laptop", &["sync", "notes", "--apply"]);
    assert!(
        swept
            .stdout
            .contains("removed 1 drawer(s) of 1 source(s) of 3"),
        "{swept:?}"
    );
    assert_eq!(drawers(&dir).len(), 3);
}

#[test]
fn a_file_that_is_ignored_now_goes_with_sync() {
    let dir = mined(3);
    put(&dir, "notes/.lociignore", "02.md\n");
    let swept = dir.json(0, &["sync", "notes", "--apply"]);
    assert_eq!(swept["gone"][0]["why"], "ignored", "{swept}");
    assert_eq!(stored(&dir), ["Note number 0.", "Note number 1."]);
}

#[test]
fn a_folder_that_is_missing_or_empty_removes_nothing_unless_requested() {
    for state in ["missing", "empty"] {
        let dir = mined(4);
        std::fs::rename(dir.path("notes"), dir.path("elsewhere")).unwrap();
        if state == "empty" {
            std::fs::create_dir(dir.path("notes")).unwrap();
        }
        let ran = dir.run(&["sync", "notes", "--apply"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stderr.contains(&format!(
                "is {state}: nothing was removed, because it may only be unmounted; --even-most removes them all the same"
            )),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains("removed 0"), "{ran:?}");
        assert_eq!(drawers(&dir).len(), 4);
        let json = dir.json(2, &["sync", "notes", "--apply"]);
        assert!(json["brake"].is_string() && json["removed"] == 0, "{json}");
        // A look alone is no failure.
        dir.json(0, &["sync", "notes"]);
        let swept = dir.json(0, &["sync", "notes", "--apply", "--even-most"]);
        assert_eq!(swept["removed"], 4, "{swept}");
        assert_eq!(drawers(&dir), Vec::<Value>::new());
    }
}

#[test]
fn most_files_gone_at_once_pulls_the_brake() {
    let dir = mined(22);
    for n in 0..12 {
        delete(&dir, &format!("notes/{n:02}.md"));
    }
    let ran = dir.run(&["sync", "notes", "--apply"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("12 of the 22 sources below `"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .contains("nothing was removed, because that is most of them"),
        "{ran:?}"
    );
    assert_eq!(drawers(&dir).len(), 22);
    // What is asked for by `--apply` and refused must not be offered by `--apply`.
    assert!(!ran.stdout.contains("--apply removes them"), "{ran:?}");
    put(&dir, "notes/00.md", "Note number 0.\n");
    put(&dir, "notes/01.md", "Note number 1.\n");
    assert_eq!(dir.json(0, &["sync", "notes", "--apply"])["removed"], 10);
}

#[test]
fn conversations_stay_when_their_transcript_goes_unless_requested() {
    let dir = mined(3);
    put(
        &dir,
        "notes/chat.txt",
        "User: a\nAssistant: b\nUser: c\nAssistant: d\n",
    );
    dir.json(0, &["mine", "notes"]);
    delete(&dir, "notes/chat.txt");
    let ran = dir.run(&["sync", "notes", "--apply"]).ok();
    assert!(
        ran.stdout.contains(
            "kept 1 conversation(s) whose transcript is gone; --conversations removes them too\n"
        ),
        "{ran:?}"
    );
    assert_eq!(drawers(&dir).len(), 5);
    let swept = dir.json(0, &["sync", "notes", "--apply", "--conversations"]);
    assert_eq!(swept["removed"], 2, "{swept}");
}

#[test]
fn sync_without_a_palace_is_an_error_and_makes_none() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "A note.\n");
    assert_eq!(dir.error(2, &["sync", "notes"])["kind"], "not_found");
    assert_eq!(dir.error(2, &["runs"])["kind"], "not_found");
    assert_eq!(dir.error(2, &["undo", "1"])["kind"], "not_found");
    assert!(!dir.palace().exists());
}

#[test]
fn runs_are_listed_newest_first_with_what_they_did() {
    let dir = mined(3);
    put(&dir, "notes/03.md", "Note number 3.\n");
    delete(&dir, "notes/00.md");
    dir.json(0, &["mine", "notes"]);
    dir.json(0, &["sync", "notes", "--apply"]);
    // A look at what is as it was is no run.
    dir.json(0, &["mine", "notes"]);
    let runs = dir.json(0, &["runs"]);
    assert_eq!(
        texts(&runs["runs"], "kind"),
        ["sync", "mine", "mine"],
        "{runs:#}"
    );
    assert_eq!(
        texts(&runs["runs"], "state"),
        ["done", "done", "done"],
        "{runs:#}"
    );
    assert_eq!(runs["runs"][0]["run"], 3);
    assert_eq!(runs["runs"][1]["summary"]["drawers"]["new"], 1);
    assert_eq!(runs["runs"][2]["sources"], 3);
    let root = dir.path("notes").canonicalize().unwrap();
    assert_eq!(runs["runs"][2]["roots"], json!([root.to_str().unwrap()]));
    for run in runs["runs"].as_array().unwrap() {
        assert!(
            run["started_at"].as_str() <= run["finished_at"].as_str(),
            "{run}"
        );
    }
    let human = dir.run(&["runs"]).ok();
    let lines: Vec<&str> = human.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{human:?}");
    for (line, what) in lines.iter().zip(["1 removed", "1 new", "3 new"]) {
        assert!(line.contains(what), "{line}");
    }
    assert_eq!(
        dir.json(0, &["runs", "--limit", "1"])["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_palace_in_which_nothing_was_mined_has_no_runs() {
    let dir = Dir::new();
    dir.json(0, &["add", "by hand"]);
    let ran = dir.run(&["runs"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "no runs yet\n"),
        "{ran:?}"
    );
    assert_eq!(dir.json(1, &["runs"]), json!({"runs": []}));
}

#[test]
fn undo_takes_back_what_a_run_did_and_nothing_else() {
    let dir = mined(2);
    let by_hand = dir.json(0, &["add", "added by hand"]);
    let before = drawers(&dir);
    put(&dir, "notes/00.md", "Note number 0, longer than before.\n");
    put(&dir, "notes/02.md", "Note number 2.\n");
    dir.json(0, &["mine", "notes"]);
    let human = dir.run(&["undo", "2"]).ok();
    assert!(
        human.stdout.starts_with("undid run 2: removed ") && human.stdout.ends_with('\n'),
        "{human:?}"
    );
    assert_eq!(drawers(&dir), before, "{by_hand}");
    assert_eq!(dir.json(0, &["runs"])["runs"][0]["state"], "undone");
    let twice = dir.error(2, &["undo", "2"]);
    assert!(
        twice["message"]
            .as_str()
            .unwrap()
            .contains("already undone"),
        "{twice}"
    );
    let unknown = dir.error(2, &["undo", "99"]);
    assert!(
        unknown["message"].as_str().unwrap().contains("run 99"),
        "{unknown}"
    );
    // What was taken back is read again.
    dir.json(0, &["mine", "notes"]);
    assert!(stored(&dir).contains(&"Note number 0, longer than before.".to_owned()));
    assert!(stored(&dir).contains(&"Note number 2.".to_owned()));
    assert_eq!(drawers(&dir).len(), 4);
}

#[test]
fn a_run_is_not_undone_before_a_later_one_that_changed_the_same_file() {
    let dir = mined(2);
    put(&dir, "notes/00.md", "Note number 0, longer than before.\n");
    dir.json(0, &["mine", "notes"]);
    let error = dir.error(2, &["undo", "1"]);
    assert_eq!(error["kind"], "conflict", "{error}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("undo run 2 first"),
        "{error}"
    );
    dir.json(0, &["undo", "2"]);
    dir.json(0, &["undo", "1"]);
    assert_eq!(drawers(&dir), Vec::<Value>::new());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_refused_undo_names_the_file_also_if_it_is_gone() {
    let dir = mined(3);
    delete(&dir, "notes/01.md");
    dir.json(0, &["sync", "notes", "--apply"]);
    let error = dir.error(2, &["undo", "1"]);
    assert!(
        error["message"].as_str().unwrap().contains("/notes/01.md`"),
        "{error}"
    );
}

#[test]
fn a_path_that_was_never_mined_is_not_called_complete() {
    let dir = mined(1);
    let ran = dir.run(&["sync", "no-such-folder"]);
    assert!(!ran.stdout.contains("still exist"), "{ran:?}");
}

#[test]
fn a_sync_of_one_folder_leaves_its_neighbour_with_the_same_beginning() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "In notes.\n");
    put(&dir, "notes-old/a.md", "In old notes.\n");
    dir.json(0, &["mine", "notes", "notes-old"]);
    std::fs::remove_dir_all(dir.path("notes-old")).unwrap();
    let swept = dir.json(0, &["sync", "notes", "--apply"]);
    assert_eq!(
        (swept["sources"].clone(), swept["removed"].clone()),
        (json!(1), json!(0)),
        "{swept}"
    );
    assert_eq!(drawers(&dir).len(), 2);
}

#[test]
fn an_undo_without_a_number_takes_the_last_run_that_can_be_undone() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    let nothing = dir.json(1, &["undo"]);
    assert_eq!(
        (&nothing["run"], &nothing["removed"]),
        (&Value::Null, &json!(0))
    );
    for name in ["a", "b"] {
        put(
            &dir,
            &format!("notes/{name}.md"),
            format!("# {name}\n\nThe boiler of {name}.\n"),
        );
        dir.json(0, &["mine", "notes"]);
    }
    // A run that changed nothing is not one to undo.
    dir.json(0, &["mine", "notes"]);
    let runs = dir.json(0, &["runs"]);
    let last = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["sources"] == 1)
        .unwrap()["run"]
        .clone();
    let human = dir.run(&["undo"]).ok();
    let start = format!("undid run {last} (mine of ");
    assert!(human.stdout.starts_with(&start), "{human:?}");
    assert!(
        human.stdout.contains("/notes): removed 1 drawer(s)"),
        "{human:?}"
    );
    assert_eq!(dir.json(0, &["status"])["drawers"], 1);
    // Then the one before it, then none.
    let second = dir.json(0, &["undo"]);
    assert_eq!(second["removed"], 1);
    assert!(second["run"].as_u64() < last.as_u64(), "{second}");
    assert_eq!(dir.json(1, &["undo"])["run"], Value::Null);
}
