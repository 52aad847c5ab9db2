//! What a command does with a file that the user names for output and that is there already.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::{Dir, Ran};

fn with_a_drawer() -> Dir {
    let dir = Dir::new();
    dir.json(0, &["add", "Alice moved to Lyon.", "--id", "a"]);
    dir
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a tool of the system; false if it is not permitted or not there.
fn tool(name: &str, arguments: &[&str]) -> bool {
    Command::new(name)
        .args(arguments)
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn export_by_force_writes_to_a_device_and_never_replaces_it() {
    let dir = with_a_drawer();
    let device = dir.path("null");
    if !tool("mknod", &[text(&device), "c", "1", "3"]) {
        println!("SKIPPED: making a device node needs root");
        return;
    }
    let before = fs::symlink_metadata(&device).unwrap();
    for force in [&[][..], &["--force"]] {
        let answer = dir.json(0, &[&["export", text(&device)], force].concat());
        assert_eq!(answer["exported"], 1);
    }
    let after = fs::symlink_metadata(&device).unwrap();
    assert!(after.file_type().is_char_device());
    assert_eq!((after.ino(), after.rdev()), (before.ino(), before.rdev()));
}

#[test]
fn export_writes_into_a_pipe_and_to_stdout_by_name() {
    let dir = with_a_drawer();
    assert!(tool("mkfifo", &[text(&dir.path("pipe"))]));
    let through =
        dir.shell("timeout 60 cat pipe > read & \"$LOCI\" export pipe --force && wait && cat read");
    assert!(
        through.stdout.contains("Alice moved to Lyon."),
        "{through:?}"
    );
    let kind = fs::symlink_metadata(dir.path("pipe")).unwrap().file_type();
    assert!(kind.is_fifo());
    let plain = dir.run(&["export"]).ok().stdout;
    let ran = dir.shell("\"$LOCI\" export /dev/stdout | cat; \"$LOCI\" export /dev/stdout > file");
    assert_eq!(ran.stdout, plain, "{ran:?}");
    assert_eq!(fs::read_to_string(dir.path("file")).unwrap(), plain);
}

#[test]
fn export_by_force_replaces_the_file_behind_a_link_and_keeps_the_link() {
    let dir = with_a_drawer();
    fs::create_dir(dir.path("kept")).unwrap();
    let real = dir.write("kept/real.jsonl", "old");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let (link, chain) = (dir.path("link.jsonl"), dir.path("chain.jsonl"));
    symlink("kept/real.jsonl", &link).unwrap();
    symlink(&link, &chain).unwrap();
    assert_eq!(dir.error(2, &["export", text(&chain)])["kind"], "conflict");
    assert_eq!(fs::read_to_string(&real).unwrap(), "old");
    dir.json(0, &["export", text(&chain), "--force"]);
    assert!(fs::symlink_metadata(&chain).unwrap().is_symlink());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let now = fs::symlink_metadata(&real).unwrap();
    assert!(now.is_file());
    assert_eq!(now.mode() & 0o7777, 0o640);
    assert!(fs::read_to_string(&real).unwrap().contains("Alice"));
    let names: Vec<_> = fs::read_dir(dir.path("kept")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn export_by_force_refuses_directories_sockets_and_links_that_lead_nowhere() {
    let dir = with_a_drawer();
    fs::create_dir(dir.path("directory")).unwrap();
    symlink("nowhere", dir.path("dangling")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path("socket")).unwrap();
    for name in ["directory", "dangling", "socket"] {
        let before = fs::symlink_metadata(dir.path(name)).unwrap();
        let error = dir.error(2, &["export", name, "--force"]);
        assert_eq!(error["kind"], "invalid_input", "{name}: {error}");
        let after = fs::symlink_metadata(dir.path(name)).unwrap();
        assert_eq!(after.ino(), before.ino(), "{name}");
        assert_eq!(after.file_type(), before.file_type(), "{name}");
    }
    assert!(!dir.path("nowhere").exists());
}

#[test]
fn export_by_force_never_touches_a_file_of_any_palace() {
    let dir = with_a_drawer();
    let other = dir.path("other");
    dir.json(0, &["add", "kept", "--palace", text(&other)]);
    symlink(dir.database(), dir.path("to-own")).unwrap();
    symlink(other.join("palace.sqlite3"), dir.path("to-other")).unwrap();
    fs::hard_link(dir.database(), dir.path("hard")).unwrap();
    symlink(&other, dir.path("folder")).unwrap();
    let paths = [
        "to-own",
        "to-other",
        "hard",
        "palace/palace.sqlite3",
        "other/palace.sqlite3-wal",
        "other/new.jsonl",
        "folder/palace.lock",
        "folder/index/new.jsonl",
    ];
    fs::create_dir_all(other.join("index")).unwrap();
    let before = (
        fs::read(dir.database()).unwrap(),
        fs::read(other.join("palace.sqlite3")).unwrap(),
    );
    for path in paths {
        let error = dir.error(2, &["export", path, "--force"]);
        assert_eq!(error["kind"], "invalid_input", "{path}: {error}");
    }
    let after = (
        fs::read(dir.database()).unwrap(),
        fs::read(other.join("palace.sqlite3")).unwrap(),
    );
    assert!(before == after);
    assert!(!other.join("new.jsonl").exists());
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

/// A backup named `palace.toml` in another palace made every command there fail.
#[test]
fn backup_and_export_into_another_palace_are_refused_at_any_depth() {
    let dir = with_a_drawer();
    let other = dir.path("other");
    dir.json(0, &["add", "kept", "--palace", text(&other)]);
    fs::create_dir_all(other.join("a/b")).unwrap();
    let before = Dir::files(&other);
    for name in ["palace.toml", "palace.sqlite3-journal", "bk", "a/b/bk"] {
        let target = format!("other/{name}");
        for command in [&["backup", &target][..], &["export", &target, "--force"]] {
            let error = dir.error(2, command);
            assert_eq!(error["kind"], "invalid_input", "{command:?}: {error}");
        }
    }
    assert_eq!(Dir::files(&other), before);
}

#[test]
fn an_export_that_fails_leaves_the_file_and_nothing_beside_it() {
    let dir = with_a_drawer();
    let file = dir.write("e.jsonl", "precious");
    let ran: Ran = dir.shell("ulimit -f 0; \"$LOCI\" export e.jsonl --force");
    assert_ne!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
    let left: Vec<_> = fs::read_dir(dir.path(""))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(".loci"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
