//! A palace that can be read and not written: another user's, or one on a read-only file system.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp::client::Client;
use crate::support::{Dir, Ran, signal, wait_until};
use crate::users::{Home, OTHER, OWNER, give, set_modes};

const ROOT: u32 = 0;

/// A palace of `OWNER` with something of everything.
fn filled() -> Option<Home> {
    let home = Home::new()?.with_guest();
    fs::create_dir(home.dir.path("notes")).unwrap();
    home.dir
        .write("notes/a.md", "# Plans\n\nThe harbour opens at nine.\n");
    give(&home.dir.path("notes"), OWNER);
    for arguments in [
        &["add", "Alice moved to Lyon.", "--id", "a"][..],
        &["add", "Bob sails at dawn.", "--id", "b", "--wing", "people"],
        &["mine", "notes"],
        &["facts", "add", "Alice", "lives in", "Lyon"],
        &["diary", "write", "--agent", "me", "Wrote tests."],
        &["links", "add", "a", "b"],
    ] {
        let ran = home.run(OWNER, arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    }
    Some(home)
}

/// Lets everybody read the palace and nobody write it.
fn open_for_reading(home: &Home) {
    set_modes(&home.dir.palace(), 0o755, 0o644);
}

/// Files of a palace: names, bytes, times, owners.
fn picture(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64, u32)> {
    Dir::files(folder)
        .into_iter()
        .map(|path| {
            let metadata = fs::metadata(&path).unwrap();
            let bytes = fs::read(&path).unwrap();
            let state = (
                bytes,
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.uid(),
            );
            (path, state)
        })
        .collect()
}

/// Private copies that are left in a home.
fn copies(home: &Path) -> Vec<PathBuf> {
    let readers = home.join(".cache/loci/readers");
    let entries = fs::read_dir(readers).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

const READING: &[&[&str]] = &[
    &["search", "Lyon"],
    &["query", "Lyon"],
    &["get", "a"],
    &["list"],
    &["status"],
    &["verify"],
    &["verify", "--deep"],
    &["export", "-"],
    &["facts", "query", "Alice"],
    &["links", "list"],
    &["diary", "read", "--agent", "me"],
    &["wake-up"],
    &["why-not", "b", "Lyon"],
    &["runs"],
    &["wings"],
    &["wings", "split", "notes"],
];

const WRITING: &[&[&str]] = &[
    &["add", "new text"],
    &["update", "a", "other text"],
    &["pin", "a"],
    &["mine", "notes", "--force"],
    &["forget", "a", "--yes"],
    &["forget", "nobody", "--yes"],
    &["repair"],
    &["facts", "add", "Bob", "sails", "today"],
    &["diary", "write", "--agent", "me", "more"],
    &["links", "remove", "a", "b"],
];

fn reads_everything_and_writes_nothing(home: &Home, uid: u32, of_reader: &Path) {
    let before = picture(&home.dir.palace());
    for arguments in READING {
        let ran = home.run(uid, arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        assert!(
            ran.stderr.contains("is read-only"),
            "{arguments:?}: {ran:?}"
        );
        assert!(
            ran.stderr.contains("private copy"),
            "{arguments:?}: {ran:?}"
        );
    }
    let doctor = home.run(uid, &["doctor", "--json"]);
    assert!(doctor.stdout.contains("read-only"), "{doctor:?}");
    let answer: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!(answer["palace"]["state"], "read_only", "{answer}");
    assert_eq!(answer["palace"]["drawers"], 4, "{answer}");
    assert_eq!(answer["round_trip"]["state"], "skipped", "{answer}");
    let found = answer["findings"].as_array().unwrap();
    let mut found = found.iter().filter(|of| of["code"] == "palace_read_only");
    assert_eq!(found.next().unwrap()["severity"], "warning", "{answer}");
    assert!(home.run(uid, &["get", "a"]).stdout.contains("Alice moved"));
    let answer = home.json(uid, 0, &["search", "Lyon"]);
    assert!(
        answer["warnings"].to_string().contains("read_only"),
        "{answer}"
    );
    assert!(home.json(uid, 0, &["status"])["read_only"].is_string());
    let backup = of_reader.join("b.backup");
    home.run(uid, &["backup", backup.to_str().unwrap()]).ok();
    for arguments in WRITING {
        let error = home
            .run(uid, &[arguments, &["--json"][..]].concat())
            .error(2);
        assert_eq!(error["code"], "read_only", "{arguments:?}: {error}");
        assert_eq!(error["kind"], "unavailable");
    }
    let restore = ["restore", backup.to_str().unwrap(), "--replace", "--json"];
    assert_eq!(home.run(uid, &restore).error(2)["code"], "read_only");
    assert_eq!(picture(&home.dir.palace()), before);
    assert_eq!(copies(of_reader), Vec::<PathBuf>::new());
}

#[test]
fn another_user_reads_everything_of_a_palace_that_it_may_read_and_writes_nothing() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    reads_everything_and_writes_nothing(&home, OTHER, &home.dir.path("guest"));
    assert_eq!(home.strangers(), Vec::<PathBuf>::new());
    let error = home.run(OTHER, &["add", "x"]);
    assert!(error.stderr.contains(&format!("uid {OWNER}")), "{error:?}");
    // The owner, whose directory is as writable as before, goes on.
    home.run(OWNER, &["add", "new text"]).ok();
}

/// What such a user created had mode 0600 and was closed to the owner: after `restore --replace` the
/// database, after `forget` the locks.
#[test]
fn another_user_writes_nothing_to_a_palace_that_its_owner_opened_to_everybody() {
    let Some(home) = filled() else { return };
    set_modes(&home.dir.palace(), 0o777, 0o666);
    reads_everything_and_writes_nothing(&home, OTHER, &home.dir.path("guest"));
    assert_eq!(home.strangers(), Vec::<PathBuf>::new());
    let error = home.run(OTHER, &["forget", "a", "--yes"]);
    for part in [
        format!("belongs to uid {OWNER}"),
        format!("uid {OTHER}"),
        "run the command as the user who owns the palace".to_owned(),
    ] {
        assert!(error.stderr.contains(&part), "{part}: {error:?}");
    }
    home.run(OWNER, &["search", "Lyon"]).ok();
    home.run(OWNER, &["add", "new text"]).ok();
    home.run(OWNER, &["forget", "a", "--yes"]).ok();
    home.run(OWNER, &["backup", "own.backup"]).ok();
    // Without its database it is still the owner's.
    home.run(OTHER, &["backup", "guest/again.backup"]).ok();
    for name in ["palace.sqlite3", "palace.sqlite3-wal", "palace.sqlite3-shm"] {
        let _ = fs::remove_file(home.dir.palace().join(name));
    }
    let restore = ["restore", "guest/again.backup", "--replace", "--json"];
    assert_eq!(home.run(OTHER, &restore).error(2)["code"], "read_only");
    assert_eq!(home.strangers(), Vec::<PathBuf>::new());
    home.run(OWNER, &["restore", "own.backup", "--replace"])
        .ok();
    home.run(OWNER, &["search", "new text"]).ok();
}

#[test]
fn a_user_writes_its_own_palace_in_a_directory_of_root_that_everybody_may_write() {
    let Some(home) = filled() else { return };
    let volume = home.dir.path("volume");
    fs::create_dir(&volume).unwrap();
    give(&volume, 0);
    set_modes(&volume, 0o777, 0o666);
    let palace = ["--palace", volume.to_str().unwrap()];
    let run = |uid: u32, arguments: &[&str]| home.run(uid, &[arguments, &palace[..]].concat());
    run(OWNER, &["add", "The harbour opens at nine.", "--id", "h"]).ok();
    run(OWNER, &["forget", "h", "--yes"]).ok();
    set_modes(&volume, 0o777, 0o666);
    let refused = run(OTHER, &["add", "x", "--json"]).error(2);
    assert_eq!(refused["code"], "read_only", "{refused}");
    run(OWNER, &["add", "The lamp is green."]).ok();
}

#[test]
fn the_owner_reads_a_palace_whose_files_or_directory_are_write_protected() {
    let Some(home) = filled() else { return };
    for (folders, files) in [(0o555, 0o444), (0o755, 0o444), (0o555, 0o644)] {
        set_modes(&home.dir.palace(), folders, files);
        reads_everything_and_writes_nothing(&home, OWNER, &home.dir.path("home"));
        fs::remove_file(home.dir.path("home/b.backup")).unwrap();
    }
    set_modes(&home.dir.palace(), 0o700, 0o600);
    home.run(OWNER, &["add", "new text"]).ok();
}

/// The palace under another path, mounted read-only; ends with the value.
struct Mount(PathBuf);

impl Mount {
    fn read_only(of: &Path, at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mount = |arguments: &[&str]| {
            let ran = Command::new("mount").args(arguments).arg(at).output();
            ran.is_ok_and(|output| output.status.success())
        };
        if !mount(&["--bind", of.to_str().unwrap()]) {
            println!("SKIPPED: mounting is not permitted here");
            return None;
        }
        let mounted = Self(at.to_owned());
        mount(&["-o", "remount,bind,ro"]).then_some(mounted)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_palace_on_a_read_only_mount_is_read_by_root_and_by_its_owner() {
    let Some(home) = filled() else { return };
    let Some(mount) = Mount::read_only(&home.dir.palace(), &home.dir.path("mounted")) else {
        return;
    };
    let palace = mount.0.to_str().unwrap();
    let before = picture(&home.dir.palace());
    for uid in [ROOT, OWNER] {
        for arguments in READING {
            let ran = home.run(uid, &[arguments, &["--palace", palace][..]].concat());
            assert_eq!(ran.code, 0, "{uid}: {arguments:?}: {ran:?}");
        }
        let ran = home.run(uid, &["add", "x", "--palace", palace]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("mounted read-only"), "{ran:?}");
    }
    assert_eq!(picture(&home.dir.palace()), before);
    // What is written elsewhere is seen here: the mount is read-only, the palace is not.
    home.run(OWNER, &["add", "Carol builds a boat.", "--id", "c"])
        .ok();
    home.run(ROOT, &["get", "c", "--palace", palace]).ok();
}

#[test]
fn commits_that_are_still_in_the_log_are_read() {
    let Some(home) = filled() else { return };
    let mut server = Client::of(home.command(OWNER).arg("mcp"));
    server.greet("2025-11-25");
    server.call(
        "loci_add",
        &json!({"drawers": [{"text": "Dora keeps bees."}]}),
    );
    // Killed, so nobody moves the log into the database.
    drop(server);
    let log = home.dir.palace().join("palace.sqlite3-wal");
    assert!(fs::metadata(log).unwrap().len() > 0);
    open_for_reading(&home);
    let before = picture(&home.dir.palace());
    assert!(
        home.run(OTHER, &["query", "bees"])
            .ok()
            .stdout
            .contains("bees")
    );
    assert_eq!(home.json(OTHER, 0, &["verify", "--deep"])["ok"], true);
    assert_eq!(picture(&home.dir.palace()), before);
}

#[test]
fn a_damaged_log_of_a_read_only_palace_is_reported_and_left_as_it_is() {
    let Some(home) = filled() else { return };
    let mut server = Client::of(home.command(OWNER).arg("mcp"));
    server.greet("2025-11-25");
    for n in 0..4 {
        let text = format!("Dora keeps {n} bees.");
        server.call("loci_add", &json!({"drawers": [{"text": text}]}));
    }
    drop(server);
    let log = home.dir.palace().join("palace.sqlite3-wal");
    let mut bytes = fs::read(&log).unwrap();
    // In the page of the second frame.
    bytes[32 + (24 + 8_192) + 24 + 100] ^= 1;
    fs::write(&log, bytes).unwrap();
    open_for_reading(&home);
    let before = picture(&home.dir.palace());
    let report = home.json(OTHER, 1, &["verify"]);
    assert!(report.to_string().contains("\"log\""), "{report}");
    home.run(OTHER, &["get", "a"]).ok();
    assert_eq!(picture(&home.dir.palace()), before);
}

#[test]
fn missing_locks_and_indexes_are_no_damage_of_a_read_only_palace() {
    let Some(home) = filled() else { return };
    for name in [
        "palace.lock",
        "index.lock",
        "restore.lock",
        "palace.sqlite3-shm",
    ] {
        let _ = fs::remove_file(home.dir.palace().join(name));
    }
    let _ = fs::remove_dir_all(home.dir.palace().join("index"));
    open_for_reading(&home);
    let before = picture(&home.dir.palace());
    assert_eq!(home.json(OTHER, 0, &["verify", "--deep"])["ok"], true);
    home.run(OTHER, &["search", "Lyon"]).ok();
    assert_eq!(picture(&home.dir.palace()), before);
}

#[test]
fn a_read_only_palace_of_an_older_format_is_read() {
    let Some(home) = Home::new() else { return };
    let home = home.with_guest();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loci-palace/tests/compat");
    fs::create_dir(home.dir.palace()).unwrap();
    for format in 1..=6 {
        let old = fixtures.join(format!("format-{format}.sqlite3"));
        fs::copy(old, home.dir.database()).unwrap();
        give(&home.dir.palace(), OWNER);
        open_for_reading(&home);
        let before = picture(&home.dir.palace());
        assert_eq!(home.json(OTHER, 0, &["verify", "--deep"])["ok"], true);
        assert_eq!(picture(&home.dir.palace()), before, "format {format}");
    }
}

#[test]
fn a_server_that_cannot_write_sees_what_the_owner_writes() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    let mut server = Client::of(home.command(OTHER).args(["mcp", "--tools", "full"]));
    server.greet("2025-11-25");
    let mut found = |words: &str| {
        server
            .call("loci_search", &json!({"query": words}))
            .to_string()
    };
    assert!(!found("bees").contains("Dora"));
    for n in 0..5 {
        let text = format!("Dora keeps {n} bees.");
        home.run(OWNER, &["add", &text]).ok();
        assert!(found("bees").contains(&text), "{n}");
    }
    let refused = server.refusal("loci_add", &json!({"drawers": [{"text": "x"}]}));
    assert!(refused.contains("read-only"), "{refused}");
    assert_eq!(copies(&home.dir.path("guest")).len(), 1);
    server.close();
    assert_eq!(copies(&home.dir.path("guest")), Vec::<PathBuf>::new());
}

#[test]
fn a_copy_that_a_killed_reader_left_is_removed_by_the_next_reader() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    let mut server = Client::of(home.command(OTHER).arg("mcp"));
    server.greet("2025-11-25");
    server.call("loci_search", &json!({"query": "Lyon"}));
    let left = copies(&home.dir.path("guest"));
    assert_eq!(left.len(), 1);
    let mode = fs::metadata(&left[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    // A copy in use stays.
    home.run(OTHER, &["get", "a"]).ok();
    assert_eq!(copies(&home.dir.path("guest")), left);
    drop(server);
    assert_eq!(copies(&home.dir.path("guest")), left);
    home.run(OTHER, &["get", "a"]).ok();
    assert_eq!(copies(&home.dir.path("guest")), Vec::<PathBuf>::new());
}

#[test]
fn without_a_writable_cache_the_copy_is_in_the_temporary_directory() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    let mut command = home.command(OTHER);
    command.env("HOME", "/proc/none").args(["get", "a"]);
    assert!(Ran::of(&mut command).ok().stdout.contains("Alice"));
    let left: Vec<_> = fs::read_dir(home.dir.path("guest")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Readers copy while the owner writes and moves the log into the database.
#[test]
fn no_reader_sees_a_torn_palace_while_the_owner_writes_and_the_owner_is_never_held_up() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    let done = AtomicBool::new(false);
    let (mut longest, mut writes) = (Duration::ZERO, 0_u32);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut newest = 0;
            for _ in 0..8 {
                let report = home.json(OTHER, 0, &["verify", "--deep"]);
                assert_eq!(report["ok"], true, "{report}");
                let drawers = report["drawers"].as_u64().unwrap();
                assert!(drawers >= newest, "{drawers} after {newest}");
                newest = drawers;
            }
            done.store(true, Ordering::Release);
        });
        // Each process empties the log into the database when it ends.
        while !reader.is_finished() {
            let since = Instant::now();
            let text = format!("Entry {writes}: {}", "the tide comes in. ".repeat(400));
            home.run(OWNER, &["add", &text]).ok();
            longest = longest.max(since.elapsed());
            writes += 1;
        }
        reader.join().unwrap();
    });
    assert!(done.load(Ordering::Acquire));
    assert!(
        writes > 0 && longest < Duration::from_secs(20),
        "{longest:?}"
    );
    assert_eq!(home.json(OWNER, 0, &["verify", "--deep"])["ok"], true);
}

#[test]
fn a_lock_that_root_left_makes_the_palace_read_only_and_is_named() {
    let Some(home) = filled() else { return };
    let lock = home.dir.palace().join("palace.lock");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o600)).unwrap();
    give(&lock, ROOT);
    assert!(home.run(OWNER, &["get", "a"]).ok().stdout.contains("Alice"));
    let ran = home.run(OWNER, &["add", "x"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("palace.lock"), "{ran:?}");
    assert!(ran.stderr.contains("(uid 0)"), "{ran:?}");
}

#[test]
fn a_palace_that_a_user_may_not_even_read_is_refused_with_its_owner_named() {
    let Some(home) = filled() else { return };
    let ran = home.run(OTHER, &["get", "a"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains(&format!("uid {OWNER}")), "{ran:?}");
    fs::set_permissions(home.dir.palace(), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = home.run(OTHER, &["get", "a"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("may not read"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("uid {OWNER}")), "{ran:?}");
    wait_until("nothing is left", || {
        copies(&home.dir.path("guest")).is_empty()
    });
}

#[test]
fn a_server_that_a_signal_ends_leaves_no_private_copy() {
    let Some(home) = filled() else { return };
    open_for_reading(&home);
    for name in ["TERM", "INT", "HUP"] {
        let mut server = Client::of(home.command(OTHER).arg("mcp"));
        server.greet("2025-11-25");
        server.call("loci_search", &json!({"query": "Lyon"}));
        assert_eq!(copies(&home.dir.path("guest")).len(), 1, "{name}");
        signal(&server.child, name);
        assert!(server.ended().success(), "{name}");
        assert_eq!(copies(&home.dir.path("guest")), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_command_that_a_signal_ends_leaves_no_private_copy() {
    use std::os::unix::process::ExitStatusExt as _;
    let Some(home) = filled() else { return };
    // More than a pipe takes, so that the export waits for its reader.
    home.dir
        .write("notes/long.md", "The harbour is long.\n\n".repeat(20_000));
    give(&home.dir.path("notes"), OWNER);
    home.run(OWNER, &["mine", "notes"]).ok();
    open_for_reading(&home);
    for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let mut export = home
            .command(OTHER)
            .args(["export", "-"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        std::io::Read::read_exact(export.stdout.as_mut().unwrap(), &mut first).unwrap();
        assert_eq!(copies(&home.dir.path("guest")).len(), 1, "{name}");
        signal(&export, name);
        let status = export.wait().unwrap();
        assert_eq!(status.signal(), Some(number), "{name}");
        assert_eq!(copies(&home.dir.path("guest")), Vec::<PathBuf>::new());
    }
}
