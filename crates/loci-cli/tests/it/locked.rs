//! A process that holds a lock and does not go on (Ctrl-Z) stops nobody for long. Here the process
//! that holds the locks is the test itself.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Dir, Ran};

/// The limit of every lock is 30 s; a loaded machine may take longer to start a process.
const PATIENCE: Duration = Duration::from_secs(50);

struct Scene {
    dir: Dir,
    backup: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let dir = Dir::new();
        for n in 0..3 {
            let text = format!("The heron number {n} stands in the pond.");
            dir.json(0, &["add", &text, "--id", &format!("heron-{n}")]);
        }
        let backup = dir.path("backup.sqlite3");
        dir.json(0, &["backup", backup.to_str().unwrap()]);
        Self { dir, backup }
    }

    fn hold(&self, name: &str) -> File {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(self.dir.palace().join(name))
            .unwrap();
        file.lock().unwrap();
        file
    }

    /// Runs all of them at once; each must end in time.
    fn run(&self, commands: &[&[&str]]) -> Vec<(String, Ran)> {
        let children: Vec<_> = commands
            .iter()
            .map(|arguments| {
                let child = self
                    .dir
                    .command()
                    .args(*arguments)
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap();
                (arguments.join(" "), child)
            })
            .collect();
        let since = Instant::now();
        children
            .into_iter()
            .map(|(name, mut child)| {
                while child.try_wait().unwrap().is_none() {
                    if since.elapsed() > PATIENCE {
                        let _ = child.kill();
                        panic!("`{name}` waits without end");
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                let output = child.wait_with_output().unwrap();
                (name, Ran::from_output(&output))
            })
            .collect()
    }
}

#[test]
fn what_is_no_work_on_indexes_does_not_wait_for_the_lock_of_the_index() {
    let scene = Scene::new();
    let _held = scene.hold("index.lock");
    let since = Instant::now();
    let commands: [&[&str]; 6] = [
        &["search", "heron"],
        &["query", "heron"],
        &["get", "heron-1"],
        &["add", "A second bird.", "--id", "second"],
        &["status"],
        &["verify", "--deep"],
    ];
    for (name, ran) in scene.run(&commands) {
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
    }
    assert!(since.elapsed() < Duration::from_secs(25), "somebody waited");
}

#[test]
fn nothing_waits_for_a_held_lock_longer_than_its_deadline_and_the_error_names_the_holder() {
    let scene = Scene::new();
    let backup = scene.backup.to_str().unwrap().to_owned();
    let held = scene.hold("palace.lock");
    let commands: [&[&str]; 8] = [
        &["search", "heron"],
        &["get", "heron-1"],
        &["add", "A second bird.", "--id", "second"],
        &["status"],
        &["forget", "heron-2"],
        &["repair"],
        &["verify"],
        &["restore", &backup, "--replace"],
    ];
    let pid = format!("process {}", std::process::id());
    for (name, ran) in scene.run(&commands) {
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.stderr.contains("palace.lock"), "{name}: {ran:?}");
        assert!(ran.stderr.contains(&pid), "{name}: {ran:?}");
    }
    drop(held);
    // Nothing of it happened, and everything goes on.
    assert_eq!(scene.dir.json(0, &["status"])["drawers"], 3);
    let _held = scene.hold("restore.lock");
    let waiting: [&[&str]; 1] = [&["restore", &backup, "--replace"]];
    for (name, ran) in scene.run(&waiting) {
        assert_eq!(ran.code, 2, "{name}: {ran:?}");
        assert!(ran.stderr.contains(&pid), "{name}: {ran:?}");
    }
    assert_eq!(scene.dir.run(&["search", "heron"]).code, 0);
}

#[test]
fn a_forget_that_cannot_have_the_lock_of_the_index_forgets_and_tells_who_holds_it() {
    let scene = Scene::new();
    let held = scene.hold("index.lock");
    let forgotten: [&[&str]; 2] = [&["forget", "heron-1"], &["search", "heron", "-k", "9"]];
    for (name, ran) in scene.run(&forgotten) {
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
    }
    let answer = scene.dir.run(&["get", "heron-1"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    drop(held);
    scene.dir.json(0, &["search", "heron"]);
    assert_eq!(scene.dir.json(0, &["status"])["purge_pending"], false);
}
