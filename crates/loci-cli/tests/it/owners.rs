//! `sudo loci` in another user's home: everything stays usable by that user, and belongs to it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};

use serde_json::{Value, json};

use crate::lost_records::{cut_vectors, without_rows};
use crate::support::{INDEXED, lines, vector};
use crate::users::{Home, OWNER, give};

const ROOT: u32 = 0;

/// Commands that write to a palace or beside it. Each works any number of times.
fn every_command(home: &Home, uid: u32, round: &str) {
    let backup = format!("{round}.backup");
    let export = format!("{round}.jsonl");
    let id = format!("id-{round}");
    let text = format!("Alice moved to Lyon in {round}.");
    for arguments in [
        &["add", &text, "--id", &id, "--wing", "people"][..],
        &["mine", "notes"],
        &["search", "Lyon"],
        &["query", "Lyon"],
        &["get", &id],
        &["status"],
        &["facts", "add", "Alice", "lives in", "Lyon"],
        &["diary", "write", "--agent", "me", "Wrote tests."],
        &["update", &id, "Alice moved to Nice."],
        &["verify", "--deep"],
        &["repair"],
        &["export", &export],
        &["export", &export, "--force"],
        &["backup", &backup],
        &["restore", &backup, "--replace"],
        &["import", "jsonl", "many.jsonl"],
        &["forget", &id, "--yes"],
        &["search", "Nice"],
        &["wake-up"],
    ] {
        let ran = home.run(uid, arguments);
        assert!(
            (0..=1).contains(&ran.code),
            "{round}: {arguments:?}: {ran:?}"
        );
    }
}

fn with_notes() -> Option<Home> {
    let home = Home::new()?;
    fs::create_dir(home.dir.path("notes")).unwrap();
    home.dir
        .write("notes/a.md", "# Plans\n\nThe harbour opens at nine.\n");
    let records = (0..INDEXED).map(|n| json!({"id": format!("d{n}"), "document": format!("drawer {n}"), "embedding": vector(n), "collection": "many"}));
    home.dir.write("many.jsonl", lines(records));
    give(&home.dir.path(""), OWNER);
    Some(home)
}

#[test]
fn after_root_ran_every_command_the_owner_owns_every_file_and_goes_on() {
    let Some(home) = with_notes() else { return };
    home.json(OWNER, 0, &["add", "The first drawer.", "--id", "first"]);
    every_command(&home, ROOT, "root");
    assert_eq!(home.strangers(), Vec::<std::path::PathBuf>::new());
    assert!(!home.dir.index_files().is_empty());
    every_command(&home, OWNER, "owner");
    home.json(OWNER, 0, &["get", "first"]);
    assert_eq!(home.json(OWNER, 0, &["verify", "--deep"])["ok"], true);
    assert_eq!(home.strangers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_palace_that_root_makes_in_a_home_belongs_to_the_owner_of_the_home() {
    let Some(home) = with_notes() else { return };
    // Where the default palace would be: all of its parents are missing.
    let palace = home.dir.path("home/.local/share/loci/palace");
    let palace = palace.to_str().unwrap();
    let added = ["add", "The first drawer.", "--palace", palace];
    home.json(ROOT, 0, &added);
    home.json(ROOT, 0, &["search", "first", "--palace", palace]);
    assert_eq!(home.strangers(), Vec::<std::path::PathBuf>::new());
    home.json(OWNER, 0, &["mine", "notes", "--palace", palace]);
    home.json(OWNER, 0, &["search", "harbour", "--palace", palace]);
}

#[test]
fn what_root_makes_in_its_own_directories_stays_its_own() {
    let Some(home) = Home::new() else { return };
    give(&home.dir.path(""), ROOT);
    home.json(ROOT, 0, &["add", "The first drawer."]);
    let metadata = fs::metadata(home.dir.database()).unwrap();
    assert_eq!(metadata.uid(), ROOT);
}

#[test]
fn root_never_gives_away_what_a_link_in_the_palace_leads_to() {
    let Some(home) = Home::new() else { return };
    home.json(OWNER, 0, &["add", "The first drawer."]);
    let secret = tempfile::NamedTempFile::new().unwrap();
    for name in ["palace.lock", "index.lock", "restore.lock"] {
        let path = home.dir.palace().join(name);
        let _ = fs::remove_file(&path);
        symlink(secret.path(), &path).unwrap();
        for arguments in [
            &["add", "second"][..],
            &["repair"],
            &["search", "drawer"],
            &["backup", "b"],
        ] {
            home.run(ROOT, arguments);
        }
        fs::remove_file(&path).unwrap();
        let metadata = fs::metadata(secret.path()).unwrap();
        assert_eq!((metadata.uid(), metadata.len()), (ROOT, 0), "{name}");
    }
}

#[test]
fn files_of_records_that_root_takes_out_of_a_chromadb_directory_belong_to_its_owner() {
    let Some(home) = Home::new() else { return };
    let old = without_rows(&home.dir);
    cut_vectors(&old);
    give(&home.dir.path(""), OWNER);
    let file = |report: &Value, name: &str| report[name].as_str().unwrap().to_owned();
    let imported = home.json(ROOT, 2, &["import", old.name()]);
    let repair = ["repair", "--chroma", old.name(), "--set-aside"];
    let copied = home.json(ROOT, 1, &[&repair[..], &["--output", "copy"]].concat());
    let repaired = home.json(ROOT, 1, &repair);
    for path in [
        file(&imported, "candidates_file"),
        file(&copied, "moved_file"),
        file(&copied, "candidates_file"),
        file(&repaired, "moved_file"),
        file(&repaired, "candidates_file"),
    ] {
        let metadata = fs::metadata(home.dir.path(&path)).unwrap();
        assert_eq!(
            (metadata.uid(), metadata.mode() & 0o777),
            (OWNER, 0o600),
            "{path}"
        );
    }
    assert_eq!(home.strangers(), Vec::<std::path::PathBuf>::new());
    let moved = file(&repaired, "moved_file");
    home.json(OWNER, 0, &["import", "jsonl", &moved]);
}

#[test]
fn connect_and_disconnect_as_root_keep_owner_group_and_mode_of_a_config_file() {
    let Some(home) = Home::new() else { return };
    let before = "{\n  \"numStartups\": 3\n}\n";
    let config = home.dir.path("home/.claude.json");
    fs::write(&config, before).unwrap();
    chown(&config, Some(OWNER), Some(OWNER + 7)).unwrap();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.dir.path("home/.cursor")).unwrap();
    give(&home.dir.path("home/.cursor"), OWNER);
    let state = || {
        let metadata = fs::metadata(&config).unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    home.run(ROOT, &["connect", "--yes", "--hooks"]).ok();
    assert!(fs::read_to_string(&config).unwrap().contains("loci"));
    assert_eq!(state(), (OWNER, OWNER + 7, 0o640));
    assert_eq!(
        home.strangers(),
        std::slice::from_ref(&config),
        "its group is another"
    );
    // The owner undoes what root did, and the other way round. It cannot give its file to a group
    // that it is no member of.
    chown(&config, Some(OWNER), Some(OWNER)).unwrap();
    home.run(OWNER, &["disconnect"]).ok();
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    home.run(OWNER, &["connect", "--yes", "--hooks"]).ok();
    home.run(ROOT, &["disconnect"]).ok();
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    assert_eq!(state().0, OWNER);
}

#[test]
fn connect_refuses_a_config_file_whose_owner_it_cannot_keep() {
    let Some(home) = Home::new() else { return };
    let config = home.dir.path("home/.claude.json");
    fs::write(&config, "{}\n").unwrap();
    let before = fs::metadata(&config).unwrap().ino();
    let ran = home.run(OWNER, &["connect", "--yes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("belongs to"), "{ran:?}");
    let after = fs::metadata(&config).unwrap();
    assert_eq!((after.ino(), after.uid()), (before, ROOT));
    assert_eq!(fs::read_to_string(&config).unwrap(), "{}\n");
    assert!(!home.dir.path("home/..claude.json.loci-new").exists());
}
