//! Files of a palace are nobody else's business.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::{Dir, wait_until};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn directories_are_0700_and_files_0600() {
    let dir = Dir::with_index();
    assert_eq!(mode(&dir.palace()), 0o700);
    assert_eq!(mode(&dir.palace().join("index")), 0o700);
    let files = Dir::files(&dir.palace());
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap()).collect();
    assert!(names.iter().any(|name| *name == "palace.lock"), "{names:?}");
    assert!(names.iter().any(|name| *name == "index.lock"), "{names:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
}

#[test]
fn the_log_and_its_map_are_0600_while_a_process_writes() {
    let dir = Dir::new();
    dir.json(0, &["init"]);
    // An import that waits for its input keeps the palace open.
    let mut child = dir
        .command()
        .args(["import", "jsonl", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let wal = dir.palace().join("palace.sqlite3-wal");
    let shm = dir.palace().join("palace.sqlite3-shm");
    wait_until("a log", || wal.exists() && shm.exists());
    assert_eq!((mode(&wal), mode(&shm)), (0o600, 0o600));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn exports_and_backups_are_0600() {
    let dir = Dir::new();
    dir.json(0, &["add", "x"]);
    let (export, backup) = (dir.path("e.jsonl"), dir.path("b.backup"));
    dir.json(0, &["export", export.to_str().unwrap()]);
    dir.json(0, &["backup", backup.to_str().unwrap()]);
    assert_eq!((mode(&export), mode(&backup)), (0o600, 0o600));
}
