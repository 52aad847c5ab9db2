//! Projects of one folder name have wings of their own, in real repositories and with real processes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::hooks::exchange;
use crate::mine::put;
use crate::support::Dir;

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@example.org", "-C"])
        .arg(folder)
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

/// A repository with one commit that holds `notes.md`, and a remote if one is named.
pub(crate) fn repository(dir: &Dir, name: &str, notes: &str, remote: Option<&str>) -> PathBuf {
    put(dir, &format!("{name}/notes.md"), notes);
    let top = dir.path(name).canonicalize().unwrap();
    git(&top, &["init", "-q", "-b", "main"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "-q", "-m", notes]);
    if let Some(url) = remote {
        git(&top, &["remote", "add", "origin", url]);
    }
    top
}

pub(crate) fn mine(dir: &Dir, folder: &Path) -> Value {
    dir.json(0, &["mine", folder.to_str().unwrap()])
}

/// Wings with their numbers of drawers.
pub(crate) fn wings(dir: &Dir) -> Vec<(String, u64)> {
    let listed = dir.json(0, &["wings"]);
    let wings = listed["wings"].as_array().unwrap().iter();
    wings
        .map(|wing| {
            let name = wing["wing"].as_str().unwrap().to_owned();
            (name, wing["drawers"].as_u64().unwrap())
        })
        .collect()
}

pub(crate) fn expected(wings: &[(&str, u64)]) -> Vec<(String, u64)> {
    let wings = wings.iter();
    wings
        .map(|(wing, drawers)| ((*wing).to_owned(), *drawers))
        .collect()
}

pub(crate) const ALPHA: &str = "The alpha lamp has fuse seventeen in the northern tower.";
pub(crate) const BETA: &str = "The beta lamp has fuse eighteen in the southern tower.";

pub(crate) fn two(dir: &Dir) -> (PathBuf, PathBuf) {
    let url = concat!("https://me:not", "-a-secret@example.org/acme/api.git");
    (
        repository(dir, "a/api", ALPHA, Some(url)),
        repository(dir, "b/api", BETA, Some("git@example.org:other/api.git")),
    )
}

#[test]
fn two_projects_of_one_name_have_two_wings_and_it_is_reported_once() {
    let dir = Dir::new();
    let (a, b) = two(&dir);
    assert_eq!(mine(&dir, &a)["wings"], json!([]));
    let dry = dir.json(0, &["mine", b.to_str().unwrap(), "--dry-run"]);
    let report = mine(&dir, &b);
    let distinct = json!([{
        "wing": "other/api", "instead_of": "api", "holder": "example.org/acme/api",
        "project": "example.org/other/api",
    }]);
    assert_eq!((&dry["wings"], &report["wings"]), (&distinct, &distinct));
    put(&dir, "b/api/more.md", "More of beta.");
    assert_eq!(mine(&dir, &b)["wings"], json!([]), "only when it happens");
    assert_eq!(wings(&dir), expected(&[("api", 1), ("other/api", 2)]));
    put(&dir, "c/api/plain.md", "A folder without a repository.");
    let told = dir.run(&["mine", dir.path("c/api").to_str().unwrap()]);
    let line = "wing `c/api`: the wing `api` belongs to another project (`example.org/acme/api`)";
    assert!(
        told.stdout.contains(line) && told.stdout.contains("--wing"),
        "{told:?}"
    );
    let listed = dir.run(&["wings"]);
    assert!(
        listed.stdout.contains("example.org/acme/api in "),
        "{listed:?}"
    );
    assert!(dir.files_with("not-a-secret").is_empty());
}

#[test]
fn working_trees_clones_and_moved_remotes_stay_one_project_and_forks_do_not() {
    let dir = Dir::new();
    let (a, _) = two(&dir);
    mine(&dir, &a);
    git(&a, &["worktree", "add", "-q", "../../trees/fix"]);
    let clone = dir.path("clones");
    std::fs::create_dir_all(&clone).unwrap();
    git(&clone, &["clone", "-q", a.to_str().unwrap(), "local"]);
    git(&clone, &["clone", "-q", a.to_str().unwrap(), "api"]);
    git(
        &clone.join("api"),
        &[
            "remote",
            "set-url",
            "origin",
            "ssh://git@example.org:22/acme/api",
        ],
    );
    for folder in ["trees/fix", "clones/local", "clones/api"] {
        put(&dir, &format!("{folder}/own.md"), format!("Of {folder}."));
        assert_eq!(
            mine(&dir, &dir.path(folder))["wings"],
            json!([]),
            "{folder}"
        );
    }
    assert_eq!(wings(&dir).len(), 1, "{:?}", wings(&dir));
    // The host moved: the first commit tells that it is the same.
    git(
        &a,
        &[
            "remote",
            "set-url",
            "origin",
            "https://new.example.org/acme/api",
        ],
    );
    put(&dir, "a/api/moved.md", "After the move.");
    mine(&dir, &a);
    assert_eq!(wings(&dir).len(), 1, "{:?}", wings(&dir));
    git(&clone, &["clone", "-q", a.to_str().unwrap(), "fork/api"]);
    git(
        &clone.join("fork/api"),
        &[
            "remote",
            "set-url",
            "origin",
            "https://example.org/fork/api",
        ],
    );
    mine(&dir, &clone.join("fork/api"));
    let names: Vec<String> = wings(&dir).into_iter().map(|(wing, _)| wing).collect();
    assert_eq!(names, ["api", "fork/api"]);
    // Another repository in the same folder is another project.
    std::fs::remove_dir_all(&a).unwrap();
    repository(
        &dir,
        "a/api",
        "Something else.",
        Some("https://example.org/third/api"),
    );
    put(&dir, "a/api/new.md", "New there.");
    mine(&dir, &a);
    let names: Vec<String> = wings(&dir).into_iter().map(|(wing, _)| wing).collect();
    assert_eq!(names, ["api", "fork/api", "third/api"]);
}

#[test]
fn repositories_without_a_remote_are_known_by_their_first_commit() {
    let dir = Dir::new();
    let a = repository(&dir, "a/api", ALPHA, None);
    let b = repository(&dir, "b/api", BETA, None);
    mine(&dir, &a);
    mine(&dir, &b);
    assert_eq!(wings(&dir), expected(&[("api", 1), ("b/api", 1)]));
    let copy = dir.path("copy/api");
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let copied = Command::new("cp").arg("-r").arg(&a).arg(&copy).status();
    assert!(copied.unwrap().success());
    mine(&dir, &copy);
    assert_eq!(wings(&dir), expected(&[("api", 2), ("b/api", 1)]));
    // Another repository in the folder of the first.
    std::fs::remove_dir_all(&a).unwrap();
    repository(&dir, "a/api", "Something else.", None);
    put(&dir, "a/api/new.md", "New there.");
    mine(&dir, &a);
    assert_eq!(
        wings(&dir),
        expected(&[("a/api", 1), ("api", 2), ("b/api", 1)])
    );
}

#[test]
fn a_wing_that_was_named_wins_and_claims_nothing() {
    let dir = Dir::new();
    let (a, b) = two(&dir);
    dir.json(0, &["mine", a.to_str().unwrap(), "--wing", "mine"]);
    put(&dir, "b/api/.loci.toml", "wing = \"toml\"\n");
    mine(&dir, &b);
    let listed = dir.json(0, &["wings"]);
    assert_eq!(wings(&dir), expected(&[("mine", 1), ("toml", 1)]));
    for wing in listed["wings"].as_array().unwrap() {
        assert_eq!(wing["projects"], json!([]));
    }
    // By hand: the first project of the name may have the wing.
    dir.run(&["add", "By hand.", "--wing", "web"]).ok();
    let web = repository(&dir, "x/web", "The web.", None);
    mine(&dir, &web);
    assert!(wings(&dir).contains(&("web".to_owned(), 2)));
}

#[test]
fn processes_that_mine_at_once_give_each_project_one_wing() {
    let dir = Dir::new();
    let mut folders = Vec::new();
    for n in 0..3 {
        let url = format!("https://example.org/o{n}/api");
        let top = repository(
            &dir,
            &format!("p{n}/api"),
            &format!("Notes of {n}."),
            Some(&url),
        );
        git(&top, &["worktree", "add", "-q", "../tree"]);
        folders.extend([top.clone(), top.with_file_name("tree")]);
    }
    dir.run(&["init"]).ok();
    let started: Vec<_> = folders
        .iter()
        .map(|folder| dir.spawn(&["mine", folder.to_str().unwrap()]))
        .collect();
    for mut child in started {
        assert!(child.wait().unwrap().success());
    }
    let wings = wings(&dir);
    assert_eq!(wings.len(), 3, "{wings:?}");
    assert!(wings.iter().all(|(_, drawers)| *drawers == 2), "{wings:?}");
}

/// What the model of an agent in this folder is told.
pub(crate) fn told(dir: &Dir, folder: &Path, session: &str) -> String {
    let mut told = String::new();
    for (event, more) in [
        ("SessionStart", json!({"source": "startup"})),
        (
            "UserPromptSubmit",
            json!({"prompt": "Which fuse has the lamp in the tower?"}),
        ),
    ] {
        // A session is not told again what it was told when it began.
        let mut input = json!({"session_id": format!("{session} {event}"), "cwd": folder});
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let ran = dir.pipe(&["hook", event], input.to_string().as_bytes());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        told.push_str(&ran.stdout);
    }
    told
}

#[test]
fn hooks_of_one_project_never_show_what_another_of_its_name_has() {
    let dir = Dir::new();
    let config = "[hooks]\nother_wings = false\n";
    put(&dir, "home/.config/loci/config.toml", config);
    let (a, b) = two(&dir);
    for (folder, text) in [(&a, ALPHA), (&b, BETA)] {
        let name = folder
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        // Before anything of the project is recorded, and afterwards.
        let before = told(&dir, folder, &format!("before {name}"));
        assert!(!before.contains("lamp has fuse"), "{before}");
        let talk = exchange(folder, 1, "Which fuse has the lamp?", text);
        let file = put(&dir, &format!("talks/{name}.jsonl"), talk);
        let input = json!({"session_id": "s", "transcript_path": file, "cwd": folder});
        dir.pipe(&["hook", "Stop"], input.to_string().as_bytes());
        dir.run(&["mine", file.to_str().unwrap()]).ok();
    }
    let (of_a, of_b) = (told(&dir, &a, "a"), told(&dir, &b, "b"));
    assert!(
        of_a.contains("seventeen") && !of_a.contains("eighteen"),
        "{of_a}"
    );
    assert!(
        of_b.contains("eighteen") && !of_b.contains("seventeen"),
        "{of_b}"
    );
    // The folder is gone: the transcripts still belong to its project.
    std::fs::remove_dir_all(&b).unwrap();
    let of_b = told(&dir, &b, "gone");
    assert!(
        of_b.contains("eighteen") && !of_b.contains("seventeen"),
        "{of_b}"
    );
    // A third one of the name, which has nothing.
    let third = repository(&dir, "c/api", "Nothing.", None);
    assert!(!told(&dir, &third, "c").contains("lamp has fuse"));
}

/// A palace of format 5 in which two projects and a drawer added by hand share the wing `api`.
fn mixed(dir: &Dir) -> (PathBuf, PathBuf) {
    let (a, b) = two(dir);
    put(dir, "b/api/more.md", "More of beta.");
    for folder in [&a, &b] {
        dir.json(0, &["mine", folder.to_str().unwrap(), "--wing", "api"]);
    }
    let talk = exchange(&a, 1, "Which fuse has the lamp?", "Fuse seventeen.");
    let talk = put(dir, "talks/a.jsonl", talk);
    dir.json(0, &["mine", talk.to_str().unwrap(), "--wing", "api"]);
    dir.run(&["add", "By hand.", "--wing", "api"]).ok();
    let db = rusqlite::Connection::open(dir.database()).unwrap();
    db.execute_batch(
        "DROP INDEX sources_name;
         ALTER TABLE sources DROP COLUMN machine; ALTER TABLE sources DROP COLUMN host;
         CREATE UNIQUE INDEX sources_name ON sources (collection, name, section);
         DROP TABLE projects; PRAGMA user_version = 5; PRAGMA wal_checkpoint(TRUNCATE)",
    )
    .unwrap();
    (a, b)
}

#[test]
fn an_old_palace_with_a_shared_wing_stays_as_it_is_until_it_is_split() {
    let dir = Dir::new();
    let (a, b) = mixed(&dir);
    let before = dir.json(0, &["list", "--limit", "100"]);
    put(&dir, "a/api/new.md", "New in alpha.");
    put(&dir, "b/api/new.md", "New in beta.");
    for folder in [&a, &b] {
        assert_eq!(mine(&dir, folder)["wings"], json!([]));
    }
    assert_eq!(wings(&dir), expected(&[("api", 7)]));
    let third = repository(
        &dir,
        "c/api",
        "Of a third.",
        Some("https://example.org/third/api"),
    );
    mine(&dir, &third);
    assert_eq!(wings(&dir), expected(&[("api", 7), ("third/api", 1)]));
    let preview = dir.json(0, &["wings", "split", "api"]);
    assert_eq!(
        wings(&dir),
        expected(&[("api", 7), ("third/api", 1)]),
        "a preview moves nothing"
    );
    let parts = json!([
        {"wing": "api", "project": "example.org/acme/api", "sources": 3, "drawers": 3,
         "moved": 0, "removed": 0, "left": 0},
        {"wing": "other/api", "project": "example.org/other/api", "sources": 3, "drawers": 3,
         "moved": 3, "removed": 0, "left": 0},
    ]);
    assert_eq!(preview["parts"], parts);
    let mut done = dir.json(0, &["wings", "split", "api", "--apply"]);
    assert_eq!(done["applied"], true);
    done["applied"] = json!(false);
    assert_eq!(done, preview, "preview and split are the same");
    assert_eq!(
        (&done["drawers"], &done["stay"], &done["without_project"]),
        (&json!(7), &json!(4), &json!(1))
    );
    assert_eq!(
        wings(&dir),
        expected(&[("api", 4), ("other/api", 3), ("third/api", 1)])
    );
    // Ids and texts stay, and what is mined from now on goes to the new wing.
    let after = dir.json(0, &["list", "--limit", "100"]);
    let texts = |listed: &Value| -> Vec<(String, String)> {
        let drawers = listed["drawers"].as_array().unwrap().iter();
        let pair = |drawer: &Value| (drawer["id"].to_string(), drawer["text"].to_string());
        drawers.map(pair).collect()
    };
    assert!(
        texts(&before)
            .iter()
            .all(|drawer| texts(&after).contains(drawer))
    );
    put(&dir, "b/api/notes.md", "Beta is written again.");
    put(&dir, "b/api/last.md", "The last of beta.");
    mine(&dir, &b);
    assert_eq!(
        wings(&dir),
        expected(&[("api", 4), ("other/api", 4), ("third/api", 1)])
    );
    let again = dir.json(0, &["wings", "split", "api", "--apply"]);
    assert_eq!(again["stay"], 4);
    assert!(
        dir.run(&["wings", "split", "api"])
            .stdout
            .contains("nothing to split")
    );
    dir.run(&["verify", "--deep"]).ok();
}

/// Undoing a run from before a split brought drawers back into the wing that they had then, which is another project's now.
#[test]
fn an_undo_after_a_split_brings_drawers_back_to_the_wing_of_their_project() {
    let dir = Dir::new();
    let (a, b) = two(&dir);
    put(&dir, "b/api/gone.md", "The file of beta that goes.");
    put(&dir, "b/api/part.md", "The part of beta that goes.");
    for folder in [&a, &b] {
        dir.json(0, &["mine", folder.to_str().unwrap(), "--wing", "api"]);
    }
    put(&dir, "b/api/part.md", "");
    put(&dir, "b/api/notes.md", "Beta is written again.");
    let changed = dir.json(0, &["mine", b.to_str().unwrap(), "--wing", "api"]);
    std::fs::remove_file(b.join("gone.md")).unwrap();
    let swept = dir.json(0, &["sync", b.to_str().unwrap(), "--apply"]);
    dir.json(0, &["wings", "split", "api", "--apply"]);
    assert_eq!(wings(&dir), expected(&[("api", 1), ("other/api", 1)]));
    for (run, drawers) in [(&swept["run"], 2), (&changed["run"], 3)] {
        dir.run(&["undo", &run.to_string()]).ok();
        assert_eq!(
            wings(&dir),
            expected(&[("api", 1), ("other/api", drawers)]),
            "{run}"
        );
    }
    assert!(told(&dir, &b, "b").contains("eighteen"));
    assert!(!told(&dir, &a, "a").contains("eighteen"));
    let texts = dir.run(&["list", "--limit", "9"]).ok().stdout;
    assert!(texts.contains(BETA), "{texts}");
    // The ledger says the same: what is mined next goes there, too.
    put(&dir, "b/api/notes.md", "Beta is written a third time.");
    put(&dir, "b/api/gone.md", "The file of beta is another.");
    mine(&dir, &b);
    assert_eq!(wings(&dir)[0], ("api".to_owned(), 1));
    dir.run(&["verify", "--deep"]).ok();
}

#[test]
fn the_bare_command_lists_wings_with_rooms_and_their_last_change() {
    let dir = Dir::new();
    for (id, wing, room) in [
        ("a", "acme", "plans"),
        ("b", "acme", "plans"),
        ("c", "acme", "rules"),
        ("d", "zoo", ""),
    ] {
        let room = if room.is_empty() {
            &[][..]
        } else {
            &["--room", room][..]
        };
        dir.json(
            0,
            &[&["add", id, "--id", id, "--wing", wing][..], room].concat(),
        );
    }
    let answer = dir.json(0, &["wings"]);
    let wing = &answer["wings"][0];
    assert_eq!(
        (&wing["wing"], &wing["drawers"], &wing["rooms"]),
        (
            &json!("acme"),
            &json!(3),
            &json!([{"room": "plans", "drawers": 2}, {"room": "rules", "drawers": 1}])
        )
    );
    let day = &wing["changed_at"].as_str().unwrap()[..10];
    let human = dir.run(&["wings"]).ok();
    assert_eq!(
        human.stdout,
        format!(
            "      3  acme  changed {day}\n         rooms: plans 2, rules 1\n      1  zoo  changed {day}\n"
        )
    );
    let empty = Dir::new();
    empty.json(0, &["init"]);
    assert_eq!(empty.json(1, &["wings"])["wings"], json!([]));
}
