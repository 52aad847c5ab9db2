//! Who may create a palace, and who may not.

use crate::support::Dir;

#[test]
fn readers_create_nothing() {
    for arguments in [
        &["get", "a"][..],
        &["list"],
        &["update", "a", "x"],
        &["forget", "a"],
        &["query", "x"],
        &["status"],
        &["verify"],
        &["repair"],
        &["export"],
        &["export", "out.jsonl"],
        &["backup", "out.backup"],
        &["restore", "missing.backup"],
        &["import", "jsonl", "missing.jsonl"],
        &["add", "x", "--metadata", "{"],
        &["add", "x", "--vector", "missing.json"],
        &["add", "x", "--collection", " bad "],
        &["init", "--collection", ""],
    ] {
        let dir = Dir::new();
        let usage = arguments.contains(&"--metadata");
        let error = dir.error(if usage { 64 } else { 2 }, arguments);
        assert!(!dir.palace().exists(), "{arguments:?}");
        assert!(!dir.path("out.jsonl").exists() && !dir.path("out.backup").exists());
        let reads = !["restore", "import", "add", "init"].contains(&arguments[0]);
        assert_eq!(
            error["kind"] == "not_found",
            reads,
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn an_empty_directory_is_no_palace_and_stays_empty() {
    let dir = Dir::new();
    std::fs::create_dir(dir.palace()).unwrap();
    assert_eq!(dir.error(2, &["status"])["kind"], "not_found");
    assert_eq!(dir.error(2, &["verify"])["kind"], "not_found");
    assert_eq!(std::fs::read_dir(dir.palace()).unwrap().count(), 0);
}

#[test]
fn add_import_and_restore_create_a_missing_palace() {
    let dir = Dir::new();
    dir.json(0, &["add", "x", "--id", "a"]);
    let backup = dir.path("b.backup");
    dir.json(0, &["backup", backup.to_str().unwrap()]);
    let lines = dir.write("l.jsonl", "{\"id\": \"b\", \"document\": \"y\"}\n");
    let other = dir.path("deep/below/import");
    let other = other.to_str().unwrap();
    dir.json(
        0,
        &[
            "import",
            "jsonl",
            lines.to_str().unwrap(),
            "--palace",
            other,
        ],
    );
    assert_eq!(dir.json(0, &["status", "--palace", other])["drawers"], 1);
    let restored = dir.path("restored");
    let restored = restored.to_str().unwrap();
    dir.json(
        0,
        &["restore", backup.to_str().unwrap(), "--palace", restored],
    );
    assert_eq!(
        dir.json(0, &["get", "a", "--palace", restored])["drawers"][0]["text"],
        "x"
    );
}

/// Records the path of everything that a process syncs. Loaded before the C library's own `fsync`.
const RECORDER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int fsync(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    int log = open(getenv("SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (length > 0 && log >= 0) {
        path[length] = '\n';
        if (write(log, path, length + 1) < 0) abort();
        close(log);
    }
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}
"#;

#[test]
#[cfg(target_os = "linux")]
fn the_names_of_a_new_palace_and_of_its_new_parents_are_synced() {
    let dir = Dir::new();
    let source = dir.write("recorder.c", RECORDER);
    let library = dir.path("recorder.so");
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl")
        .status()
        .unwrap();
    assert!(compiled.success());
    let palace = dir.path("one/two/palace");
    let log = dir.path("synced");
    let added = dir
        .command()
        .args(["add", "The first drawer.", "--palace"])
        .arg(&palace)
        .env("LD_PRELOAD", &library)
        .env("SYNC_LOG", &log)
        .output()
        .unwrap();
    assert!(added.status.success(), "{added:?}");
    let synced = std::fs::read_to_string(&log).unwrap();
    for folder in ["", "one", "one/two", "one/two/palace"] {
        let path = dir.path(folder).canonicalize().unwrap();
        assert!(
            synced.lines().any(|line| line == path.to_str().unwrap()),
            "`{folder}` is not among:\n{synced}"
        );
    }
}
