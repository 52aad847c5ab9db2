//! `watch`: what changes is in the palace soon, and nothing is there twice.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::mine::{content, drawers, end_of, id_of, put, send, stored};
use crate::support::Dir;

const PATIENCE: Duration = Duration::from_secs(30);

/// A watcher that runs, and the objects that it told so far.
struct Watcher {
    child: Child,
    told: Arc<Mutex<Vec<Value>>>,
}

impl Watcher {
    /// Starts a watcher of `notes` and waits until it says that it watches.
    fn start(dir: &Dir) -> Self {
        Self::with(dir, &["watch", "notes"])
    }

    fn with(dir: &Dir, arguments: &[&str]) -> Self {
        let mut child = dir
            .command()
            .args(arguments)
            .arg("--json")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let (stdout, heard) = (child.stdout.take().unwrap(), Arc::clone(&told));
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                heard.lock().unwrap().push(line);
            }
        });
        let watcher = Self { child, told };
        watcher.hears("ready");
        watcher
    }

    fn told(&self) -> Vec<Value> {
        self.told.lock().unwrap().clone()
    }

    /// Waits for an object with this key.
    fn hears(&self, key: &str) -> Value {
        let mut found = None;
        eventually(&format!("it says `{key}`"), || {
            found = self.told().iter().find_map(|line| line.get(key).cloned());
            found.is_some()
        });
        found.unwrap()
    }

    /// Ends it as a service manager does; gives the code.
    fn stop(mut self) -> i32 {
        send("TERM", &self.child);
        let code = end_of(&mut self.child, Duration::from_secs(2));
        let last = self.told().last().cloned();
        assert!(
            last.is_some_and(|last| last["stopped"] == true),
            "{:?}",
            self.told()
        );
        code
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the palace holds these texts and no others.
fn holds(dir: &Dir, expected: &[&str]) {
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_unstable();
    let mut last = Vec::new();
    let since = Instant::now();
    while last != expected {
        assert!(since.elapsed() < PATIENCE, "{last:?} and not {expected:?}");
        std::thread::sleep(Duration::from_millis(50));
        last = stored(dir);
        last.sort();
    }
}

#[test]
fn what_is_created_edited_renamed_and_deleted_is_followed() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    let watcher = Watcher::start(&dir);
    assert_eq!(stored(&dir), ["The first note."]);
    put(&dir, "notes/b.md", "The second note.\n");
    holds(&dir, &["The first note.", "The second note."]);
    put(&dir, "notes/a.md", "The first note, edited.\n");
    holds(&dir, &["The first note, edited.", "The second note."]);
    let id = id_of(&dir, "second");
    std::fs::rename(dir.path("notes/b.md"), dir.path("notes/c.md")).unwrap();
    eventually("the rename is filed", || {
        drawers(&dir).iter().any(|drawer| {
            drawer["metadata"]["source_file"]
                .as_str()
                .unwrap()
                .ends_with("/c.md")
        })
    });
    assert_eq!(
        id_of(&dir, "second"),
        id,
        "a renamed file keeps its drawers"
    );
    holds(&dir, &["The first note, edited.", "The second note."]);
    std::fs::remove_file(dir.path("notes/a.md")).unwrap();
    holds(&dir, &["The second note."]);
    assert_eq!(watcher.stop(), 0);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_folder_that_comes_with_its_files_is_followed_and_so_is_what_changes_in_it() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    put(&dir, "outside/deep/er/b.md", "From outside.\n");
    put(&dir, "outside/c.md", "Also from outside.\n");
    let watcher = Watcher::start(&dir);
    std::fs::rename(dir.path("outside"), dir.path("notes/inside")).unwrap();
    holds(
        &dir,
        &["Also from outside.", "From outside.", "The first note."],
    );
    put(&dir, "notes/inside/deep/er/b.md", "From outside, edited.\n");
    holds(
        &dir,
        &[
            "Also from outside.",
            "From outside, edited.",
            "The first note.",
        ],
    );
    std::fs::remove_dir_all(dir.path("notes/inside")).unwrap();
    holds(&dir, &["The first note."]);
    assert_eq!(watcher.stop(), 0);
}

#[test]
fn steady_saves_are_mined_while_they_go_on() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "save 0\n");
    let watcher = Watcher::start(&dir);
    let since = Instant::now();
    let mut n = 0;
    let mut seen: Vec<Duration> = Vec::new();
    // Until two rounds were seen while the saves went on without a pause.
    while seen.len() < 2 {
        assert!(since.elapsed() < PATIENCE, "{:?}", watcher.told());
        n += 1;
        put(&dir, "notes/a.md", format!("save {n}\n"));
        std::thread::sleep(Duration::from_millis(50));
        let rounds = watcher
            .told()
            .iter()
            .filter(|line| line.get("mined").is_some())
            .count();
        if rounds > seen.len() {
            seen.push(since.elapsed());
        }
    }
    assert!(seen[1] < Duration::from_secs(12), "{seen:?}");
    holds(&dir, &[&format!("save {n}")]);
    assert_eq!(watcher.stop(), 0);
}

#[test]
fn what_changed_while_nobody_watched_is_caught_up() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    put(&dir, "notes/b.md", "The second note.\n");
    assert_eq!(Watcher::start(&dir).stop(), 0);
    put(&dir, "notes/a.md", "The first note, edited.\n");
    put(&dir, "notes/c.md", "The third note.\n");
    std::fs::remove_file(dir.path("notes/b.md")).unwrap();
    let watcher = Watcher::start(&dir);
    let ready = watcher.hears("ready");
    assert_eq!(
        ready["drawers"]["removed"].as_u64().unwrap()
            + ready["drawers"]["updated"].as_u64().unwrap(),
        2,
        "{ready}"
    );
    assert_eq!(stored(&dir), ["The first note, edited.", "The third note."]);
    assert_eq!(watcher.stop(), 0);
}

#[test]
fn a_watcher_goes_on_when_the_palace_is_replaced_under_it() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    dir.json(0, &["mine", "notes"]);
    dir.json(0, &["backup", "before.backup"]);
    let watcher = Watcher::start(&dir);
    put(&dir, "notes/b.md", "The second note.\n");
    holds(&dir, &["The first note.", "The second note."]);
    dir.json(0, &["restore", "before.backup", "--replace"]);
    assert_eq!(stored(&dir), ["The first note."]);
    put(&dir, "notes/c.md", "The third note.\n");
    // Also what it had mined into the palace that is gone.
    holds(
        &dir,
        &["The first note.", "The second note.", "The third note."],
    );
    assert_eq!(watcher.stop(), 0);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn two_watchers_and_a_mine_at_once_leave_nothing_twice() {
    let dir = Dir::new();
    put(&dir, "notes/0.md", "The note of number 0.\n");
    let watchers = [Watcher::start(&dir), Watcher::start(&dir)];
    for round in 0..4 {
        for n in 0..12 {
            let text = format!(
                "# One\n\nRound {round} of note {n}.\n\n# Two\n\nThe same in all rounds, note {n}.\n"
            );
            put(&dir, &format!("notes/{n}.md"), text);
        }
        dir.run(&["mine", "notes"]).ok();
    }
    std::fs::rename(dir.path("notes/3.md"), dir.path("notes/moved.md")).unwrap();
    std::fs::remove_file(dir.path("notes/4.md")).unwrap();
    dir.run(&["mine", "notes"]).ok();
    let fresh = Dir::new();
    fresh.json(0, &["mine", dir.path("notes").to_str().unwrap()]);
    let expected = content(&fresh);
    let since = Instant::now();
    while content(&dir) != expected {
        assert!(
            since.elapsed() < PATIENCE,
            "{:#?} and not {expected:#?}",
            content(&dir)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    for watcher in watchers {
        for line in watcher.told() {
            assert!(line.get("trouble").is_none(), "{line}");
        }
        assert_eq!(watcher.stop(), 0);
    }
    assert_eq!(content(&dir), expected);
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn most_files_deleted_at_once_pull_the_brake_and_the_watcher_says_so() {
    let dir = Dir::new();
    for n in 0..20 {
        put(
            &dir,
            &format!("notes/{n}.md"),
            format!("Note number {n}.\n"),
        );
    }
    let watcher = Watcher::start(&dir);
    for n in 0..15 {
        std::fs::remove_file(dir.path(&format!("notes/{n}.md"))).unwrap();
    }
    let swept = watcher.hears("swept");
    // Some may go before most are gone: then those are few.
    assert!(drawers(&dir).len() >= 10, "{swept}");
    eventually("the brake is told", || {
        watcher
            .told()
            .iter()
            .any(|line| line["swept"]["brake"].is_string())
    });
    assert!(drawers(&dir).len() >= 10, "{swept}");
    // It goes on with its work.
    put(&dir, "notes/new.md", "A new note.\n");
    eventually("the new note is filed", || {
        stored(&dir).contains(&"A new note.".to_owned())
    });
    assert_eq!(watcher.stop(), 0);
}

#[test]
fn a_root_that_goes_and_comes_back_keeps_its_drawers() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    put(&dir, "notes/b.md", "The second note.\n");
    let watcher = Watcher::start(&dir);
    let before = drawers(&dir);
    std::fs::rename(dir.path("notes"), dir.path("away")).unwrap();
    watcher.hears("rescan");
    std::fs::rename(dir.path("away"), dir.path("notes")).unwrap();
    put(&dir, "notes/c.md", "The third note.\n");
    holds(
        &dir,
        &["The first note.", "The second note.", "The third note."],
    );
    assert_eq!(drawers(&dir)[..2], before[..], "the same drawers");
    assert_eq!(watcher.stop(), 0);
}

#[test]
fn mine_with_watch_is_the_same() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    let watcher = Watcher::with(&dir, &["mine", "--watch", "notes"]);
    put(&dir, "notes/b.md", "The second note.\n");
    holds(&dir, &["The first note.", "The second note."]);
    assert_eq!(watcher.stop(), 0);
    assert_eq!(dir.run(&["mine", "--watch", "notes", "--dry-run"]).code, 64);
}

#[test]
fn a_watcher_tells_people_in_words_and_ends_on_ctrl_c() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The first note.\n");
    let mut child = dir
        .command()
        .args(["watch", "notes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(
        stdout.next().unwrap().unwrap(),
        "watching; 1 new, 0 updated, 0 removed drawer(s) since the last time"
    );
    put(&dir, "notes/b.md", "The second note.\n");
    assert_eq!(
        stdout.next().unwrap().unwrap(),
        "1 file(s): 1 new, 0 updated, 0 removed drawer(s)"
    );
    send("INT", &child);
    assert_eq!(stdout.next().unwrap().unwrap(), "stopped");
    assert_eq!(end_of(&mut child, Duration::from_secs(2)), 0);
}

#[test]
fn a_watcher_of_a_path_that_is_not_there_ends_with_an_error_and_makes_no_palace() {
    let dir = Dir::new();
    for arguments in [
        ["watch", "nowhere"].as_slice(),
        &["mine", "--watch", "nowhere"],
    ] {
        let ran = dir.run(arguments);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("`nowhere`"), "{ran:?}");
    }
    assert!(!dir.palace().exists());
}

#[test]
fn a_transcript_that_an_agent_writes_is_followed() {
    use std::io::Write;
    let dir = Dir::new();
    let path = put(&dir, "notes/session.jsonl", "");
    let watcher = Watcher::start(&dir);
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    let mut record = |kind: &str, n: u32| {
        let line = serde_json::json!({
            "type": kind, "uuid": format!("{kind}{n}"), "sessionId": "s",
            "timestamp": format!("2026-02-03T10:{n:02}:00Z"),
            "message": {"role": kind, "content": format!("{kind} says {n}")},
        });
        writeln!(file, "{line}").unwrap();
    };
    record("user", 1);
    holds(&dir, &["User:\nuser says 1"]);
    let id = id_of(&dir, "says 1");
    record("assistant", 2);
    holds(
        &dir,
        &["User:\nuser says 1\n\nAssistant:\nassistant says 2"],
    );
    assert_eq!(id_of(&dir, "says 1"), id);
    record("user", 3);
    eventually("the second exchange is filed", || drawers(&dir).len() == 2);
    assert_eq!(id_of(&dir, "says 1"), id);
    assert_eq!(watcher.stop(), 0);
}
