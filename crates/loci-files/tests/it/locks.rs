//! A lock has a deadline, and its error names the process that holds it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind};
use loci_files::{FileLock, holders};

/// Environment variable with the path of the lock file, for the process that holds it.
const HOLD: &str = "LOCI_TEST_HOLD";

#[test]
fn holds_a_lock_when_it_is_asked_to() {
    let Some(path) = std::env::var_os(HOLD) else {
        return;
    };
    let _lock = FileLock::exclusive(std::path::Path::new(&path)).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

const LIMIT: Duration = Duration::from_millis(300);

/// A process that holds a lock until it is killed.
struct Holder(Child);

impl Holder {
    fn of(path: &std::path::Path) -> Self {
        // Runs this test program again; one of its tests only holds the lock.
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "locks::holds_a_lock_when_it_is_asked_to"])
            .env(HOLD, path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let since = Instant::now();
        while holders::locks_on(path).is_empty() {
            assert!(since.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        Self(child)
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_lock_that_a_stopped_process_holds_is_given_up_and_the_error_names_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("index.lock");
    let holder = Holder::of(&path);
    holder.signal("STOP");
    let since = Instant::now();
    while !holders::holder(holder.0.id()).stopped {
        assert!(since.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = FileLock::exclusive_within(&path, LIMIT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(matches!(error, Error::Locked { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("index.lock"), "{text}");
    let pid = format!("process {}", holder.0.id());
    assert!(text.contains(&pid), "{text}");
    assert!(text.contains("holds_a_lock"), "{text}");
    assert!(text.contains("stopped"), "{text}");
    assert!(FileLock::try_exclusive(&path).unwrap().is_none());
    drop(holder);
    assert!(FileLock::exclusive_within(&path, LIMIT).is_ok());
}

#[test]
fn a_waiting_process_gets_the_lock_when_it_is_released() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("palace.lock");
    let held = FileLock::exclusive(&path).unwrap();
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| FileLock::exclusive(&path).map(drop));
        std::thread::sleep(Duration::from_millis(50));
        drop(held);
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn shared_holders_do_not_exclude_each_other_and_exclude_an_exclusive_one() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("palace.lock");
    assert!(FileLock::shared(&path).unwrap().is_none(), "it was created");
    assert!(!path.exists());
    let first = FileLock::try_shared(&path).unwrap().unwrap();
    let second = FileLock::shared(&path).unwrap().unwrap();
    assert!(FileLock::try_exclusive(&path).unwrap().is_none());
    drop((first, second));
    assert!(FileLock::try_exclusive(&path).unwrap().is_some());
}

#[test]
fn a_lock_file_that_was_removed_and_made_again_is_the_lock_that_counts() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("palace.lock");
    let old = FileLock::exclusive(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let new = FileLock::exclusive_within(&path, LIMIT).unwrap();
    drop(old);
    assert!(FileLock::try_exclusive(&path).unwrap().is_none());
    drop(new);
}
