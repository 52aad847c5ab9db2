//! `mine`: what it says, what it counts, what it leaves behind.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dir, lines, wait_until};

/// No run may hold more memory than this.
const MOST_KB: u64 = 150_000;

/// Writes a file and the folders that it needs.
pub(crate) fn put(dir: &Dir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path.canonicalize().unwrap()
}

/// Every drawer of the palace, by source and line.
pub(crate) fn drawers(dir: &Dir) -> Vec<Value> {
    let ran = dir.run(&["list", "--limit", "100000", "--json"]);
    assert!(matches!(ran.code, 0 | 1), "{ran:?}");
    let list: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut drawers = list["drawers"].as_array().unwrap().clone();
    drawers.sort_by_key(|drawer| {
        let metadata = &drawer["metadata"];
        (
            metadata["source_file"].as_str().map(str::to_owned),
            metadata["start_line"].as_u64(),
            metadata["part"].as_u64(),
            drawer["text"].as_str().map(str::to_owned),
        )
    });
    drawers
}

/// Source, first line and text of every drawer, in order. Two palaces with the same are equal to a reader.
pub(crate) fn content(dir: &Dir) -> Vec<(String, i64, String)> {
    let of = |drawer: &Value| {
        let metadata = &drawer["metadata"];
        (
            metadata["source_file"].as_str().unwrap().to_owned(),
            metadata["start_line"].as_i64().unwrap(),
            drawer["text"].as_str().unwrap().to_owned(),
        )
    };
    let mut content: Vec<_> = drawers(dir).iter().map(of).collect();
    content.sort();
    content
}

/// The texts of all drawers, by source and line.
pub(crate) fn stored(dir: &Dir) -> Vec<String> {
    let text = |drawer: &Value| drawer["text"].as_str().unwrap().to_owned();
    drawers(dir).iter().map(text).collect()
}

/// The id of the drawer that holds these words; there must be one and only one.
pub(crate) fn id_of(dir: &Dir, words: &str) -> String {
    let found: Vec<String> = drawers(dir)
        .iter()
        .filter(|drawer| drawer["text"].as_str().unwrap().contains(words))
        .map(|drawer| drawer["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(found.len(), 1, "`{words}`: {found:?}");
    found[0].clone()
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// Waits for the end of a process and gives its exit code.
pub(crate) fn end_of(child: &mut Child, within: Duration) -> i32 {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if since.elapsed() > within {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end within {within:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Files by what became of them, added up.
fn accounted(report: &Value) -> u64 {
    let files = &report["files"];
    let skipped: u64 = files["skipped"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    let of = |key: &str| files[key].as_u64().unwrap();
    of("read") + of("unchanged") + of("renamed") + of("failed") + skipped
}

/// A folder with one file of every kind that a mine meets; 14 entries.
fn odd_folder(dir: &Dir) {
    put(dir, "odd/plain.md", "# Plain\n\nAn ordinary note.\n");
    put(dir, "odd/empty.md", "");
    put(dir, "odd/blank.txt", " \n\n\t\n");
    put(dir, "odd/binary.bin", [0_u8, 159, 146, 150, 0, 1, 2, 3]);
    put(
        dir,
        "odd/latin.txt",
        b"Der M\xfcller w\xe4scht die T\xfcr am Fr\xfchst\xfcck.\n",
    );
    let wide: Vec<u8> = "\u{feff}Sechzehn Bits: Grüße aus Köln.\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    put(dir, "odd/wide.txt", wide);
    put(dir, "odd/windows.txt", "first line\r\nsecond line\r\n");
    put(
        dir,
        "odd/folder.md/inside.md",
        "In a folder named like a file.\n",
    );
    let odd = dir.path("odd");
    std::os::unix::fs::symlink("nowhere", odd.join("broken")).unwrap();
    std::os::unix::fs::symlink(".", odd.join("loop")).unwrap();
    std::os::unix::fs::symlink("plain.md", odd.join("twin.md")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(odd.join("pipe.md"))
            .status()
            .unwrap()
            .success()
    );
    std::os::unix::net::UnixListener::bind(odd.join("socket.md")).unwrap();
    let name = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"caf\xe9.md");
    std::fs::write(odd.join(name), "its name is Latin-1").unwrap();
}

#[test]
fn every_entry_of_an_odd_folder_is_counted_once_and_the_next_run_counts_the_same() {
    let dir = Dir::new();
    odd_folder(&dir);
    let first = dir.json(0, &["mine", "odd"]);
    assert_eq!(accounted(&first), 14, "{first}");
    assert_eq!(first["files"]["failed"], 0, "{first}");
    let skipped = &first["files"]["skipped"];
    assert_eq!(skipped["not a regular file"], 2, "{first}");
    assert_eq!(skipped["broken link"], 1, "{first}");
    assert_eq!(skipped["name is not UTF-8"], 1, "{first}");
    assert_eq!(skipped["binary"], 1, "{first}");
    let texts = stored(&dir).join("\n");
    for words in [
        "Der Müller wäscht die Tür",
        "Grüße aus Köln",
        "named like a file",
    ] {
        assert!(texts.contains(words), "`{words}`: {texts}");
    }
    assert_eq!(texts.matches("An ordinary note.").count(), 1, "{texts}");
    let second = dir.json(0, &["mine", "odd"]);
    assert_eq!(accounted(&second), 14, "{second}");
    assert_eq!(second["files"]["read"], 0, "{second}");
    assert_eq!(second["run"], Value::Null, "{second}");
    assert_eq!(second["drawers"]["new"], 0, "{second}");
}

#[test]
fn the_summary_names_what_was_read_filed_and_skipped_and_how_to_take_it_back() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "# A\n\nThe first note.\n");
    put(&dir, "notes/b.md", "# B\n\nThe second note.\n");
    put(&dir, "notes/c.bin", [0_u8; 64]);
    dir.run(&["init"]).ok();
    let ran = dir.run(&["mine", "notes"]).ok();
    assert_eq!(ran.stderr, "", "{ran:?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].starts_with("mined 2 file(s), ")
            && lines[0].ends_with(": 2 new, 0 updated, 0 removed, 0 kept drawer(s)"),
        "{ran:?}"
    );
    assert_eq!(
        lines[1..],
        [
            "files: 2 read, 0 unchanged, 0 renamed, 1 skipped (binary 1), 0 failed",
            "run 1; `loci undo 1` undoes it"
        ],
        "{ran:?}"
    );
    put(&dir, "notes/a.md", "# A\n\nThe first note, longer.\n");
    std::fs::rename(dir.path("notes/b.md"), dir.path("notes/d.md")).unwrap();
    let ran = dir.run(&["mine", "notes"]).ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(
        lines[0].ends_with(": 1 new, 0 updated, 1 removed, 0 kept drawer(s)")
            || lines[0].ends_with(": 0 new, 1 updated, 0 removed, 0 kept drawer(s)"),
        "{ran:?}"
    );
    assert_eq!(
        lines[1],
        "files: 1 read, 0 unchanged, 1 renamed, 1 skipped (binary 1), 0 failed"
    );
    assert_eq!(lines[2], "run 2; `loci undo 2` undoes it");
}

#[test]
fn the_json_of_a_mine_is_one_object_with_every_count() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "# A\n\nThe first note.\n");
    dir.run(&["init"]).ok();
    let report = dir.json(0, &["mine", "notes"]);
    assert_eq!(
        report,
        json!({
            "noise_lines": 0,
            "run": 1,
            "files": {"read": 1, "unchanged": 0, "renamed": 0, "skipped": {}, "failed": 0, "gone": 0},
            "drawers": report["drawers"],
            "messages": {"read": 0, "filed": 0, "skipped": {}},
            "masked": {},
            "forgotten_lines": 0,
            "bytes": 21,
            "failures": [],
            "gone": [],
            "stopped": false,
            "limited": false,
            "dry_run": false,
            "wings": [],
            "warnings": [],
        })
    );
    assert_eq!(report["drawers"]["new"], 1, "{report}");
}

#[test]
fn a_drawer_says_file_and_lines_and_holds_exactly_them() {
    let dir = Dir::new();
    let day = |n: u32| {
        let ships = n * 7;
        format!("## Day {n}\r\n\r\nOn day {n} we saw {ships} ships.\r\n\r\n")
    };
    let days: String = (0..400).map(day).collect();
    let text = format!("# Log\r\n\r\n{days}");
    let path = put(&dir, "notes/log.md", &text);
    dir.json(0, &["mine", "notes"]);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let all = drawers(&dir);
    assert!(all.len() > 3, "{}", all.len());
    for drawer in &all {
        let metadata = &drawer["metadata"];
        assert_eq!(metadata["source_file"], path.to_str().unwrap());
        let line = |key: &str| metadata[key].as_u64().unwrap() as usize;
        let span = lines[line("start_line") - 1..line("end_line")].concat();
        assert_eq!(drawer["text"], span.trim_end_matches(['\r', '\n']));
    }
}

#[test]
fn all_of_a_line_that_is_longer_than_a_section_is_filed() {
    for name in ["line.txt", "line.json"] {
        let dir = Dir::new();
        let words = "lorem ipsum dolor sit amet consectetur ".repeat(230_000);
        let text = if name == "line.json" {
            json!({ "a": words }).to_string()
        } else {
            words
        };
        put(&dir, &format!("long/{name}"), &text);
        let report = dir.json(0, &["mine", "long"]);
        assert_eq!(report["drawers"]["kept"], 0, "{report}");
        let length: usize = stored(&dir).iter().map(String::len).sum();
        // Blanks between two drawers may belong to neither.
        assert!(
            length + 10_000 > text.len(),
            "{name}: {length} of {}",
            text.len()
        );
        assert!(length <= text.len(), "{name}: {length} of {}", text.len());
        assert_eq!(dir.json(0, &["mine", "long"])["run"], Value::Null);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_exit_code_says_so() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "A note that can be read.\n");
    // An export that ends in the middle.
    let broken = put(
        &dir,
        "notes/torn.json",
        "[{\"title\":\"t\",\"mapping\":{\"a\":{\"message\":",
    );
    dir.run(&["init"]).ok();
    let ran = dir.run(&["mine", "notes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .starts_with(&format!("failed: {}: ", broken.display())),
        "{ran:?}"
    );
    assert!(
        ran.stdout
            .contains("files: 1 read, 0 unchanged, 0 renamed, 0 skipped, 1 failed\n"),
        "{ran:?}"
    );
    let report = dir.json(2, &["mine", "notes"]);
    assert_eq!(accounted(&report), 2, "{report}");
    assert_eq!(report["failures"][0]["path"], broken.to_str().unwrap());
    assert!(report["failures"][0]["why"].is_string(), "{report}");
    assert_eq!(stored(&dir), ["A note that can be read."]);
}

#[test]
fn a_file_without_permission_is_counted_and_keeps_the_drawers_that_it_has() {
    let dir = Dir::new();
    let path = put(&dir, "notes/closed.md", "It was open once.\n");
    put(&dir, "notes/open.md", "It is open.\n");
    dir.json(0, &["mine", "notes"]);
    put(&dir, "notes/closed.md", "It is changed and closed.\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_ok() {
        println!("SKIPPED: whoever runs this may read everything");
        return;
    }
    let report = dir.json(2, &["mine", "notes"]);
    assert_eq!(accounted(&report), 2, "{report}");
    assert_eq!(report["files"]["failed"], 1, "{report}");
    assert!(stored(&dir).contains(&"It was open once.".to_owned()));
}

#[test]
fn a_dry_run_says_what_a_run_would_do_and_changes_nothing() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "# A\n\nThe first note.\n");
    put(&dir, "notes/b.md", "# B\n\nThe second note.\n");
    dir.json(0, &["mine", "notes"]);
    put(&dir, "notes/c.md", "# C\n\nThe third note.\n");
    put(
        &dir,
        "notes/a.md",
        "# A\n\nThe first note, and more of it.\n",
    );
    std::fs::rename(dir.path("notes/b.md"), dir.path("notes/e.md")).unwrap();
    let before = (drawers(&dir), dir.json(0, &["runs"]));
    let would = dir.json(0, &["mine", "notes", "--dry-run"]);
    assert_eq!(would["dry_run"], true, "{would}");
    assert_eq!(would["run"], Value::Null, "{would}");
    assert_eq!(accounted(&would), 3, "{would}");
    assert_eq!((drawers(&dir), dir.json(0, &["runs"])), before);
    let human = dir.run(&["mine", "notes", "--dry-run"]).ok();
    assert!(
        human.stdout.starts_with("would mine 2 file(s), "),
        "{human:?}"
    );
    assert!(!human.stdout.contains("undo"), "{human:?}");
    // What it said is what a run then does.
    let did = dir.json(0, &["mine", "notes"]);
    assert_eq!(did["files"], would["files"]);
    let changed = |report: &Value| {
        let of = |key: &str| report["drawers"][key].as_u64().unwrap();
        // An update in place may be foreseen as one that goes and one that comes.
        (of("new") + of("updated"), of("kept"))
    };
    assert_eq!(changed(&did), changed(&would), "{did} {would}");
}

#[test]
fn a_dry_run_makes_no_palace() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "# A\n\nThe first note.\n");
    let would = dir.json(0, &["mine", "notes", "--dry-run"]);
    assert_eq!(would["drawers"]["new"], 1, "{would}");
    assert!(!dir.palace().exists(), "{:?}", Dir::files(&dir.palace()));
}

#[test]
fn a_limit_reads_so_many_and_the_next_runs_go_on_until_all_is_there() {
    let dir = Dir::new();
    for n in 0..5 {
        put(
            &dir,
            &format!("notes/{n}.md"),
            format!("Note number {n}.\n"),
        );
    }
    let first = dir.json(0, &["mine", "notes", "--limit", "2"]);
    assert_eq!(first["files"]["read"], 2, "{first}");
    assert_eq!(first["limited"], true, "{first}");
    let human = dir.run(&["mine", "notes", "--limit", "2"]).ok();
    assert!(
        human
            .stdout
            .contains("stopped at the limit; the next run continues\n"),
        "{human:?}"
    );
    assert_eq!(drawers(&dir).len(), 4);
    let last = dir.json(0, &["mine", "notes", "--limit", "2"]);
    assert_eq!(last["files"]["read"], 1, "{last}");
    assert_eq!(last["limited"], false, "{last}");
    assert_eq!(drawers(&dir).len(), 5);
    assert_eq!(dir.run(&["mine", "notes", "--limit", "0"]).code, 64);
}

#[test]
fn a_limit_is_not_used_up_by_files_that_are_skipped() {
    let dir = Dir::new();
    for n in 0..3 {
        put(&dir, &format!("notes/{n}.md"), [0_u8; 64]);
    }
    put(&dir, "notes/text.md", "The only text.\n");
    for _ in 0..2 {
        dir.json(0, &["mine", "notes", "--limit", "2"]);
    }
    assert_eq!(stored(&dir), ["The only text."]);
}

#[test]
fn a_path_that_is_not_there_is_named_and_makes_no_palace() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "A note.\n");
    let ran = dir.run(&["mine", "notes", "no-such-folder"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert!(
        ran.stderr.contains("`no-such-folder`") && ran.stderr.contains("does not exist"),
        "{ran:?}"
    );
    assert_eq!(
        dir.error(2, &["mine", "no-such-folder"])["kind"],
        "invalid_input"
    );
    assert_eq!(dir.run(&["mine"]).code, 64);
    assert!(!dir.palace().exists());
}

#[test]
fn settings_that_cannot_be_read_name_the_file_and_the_line() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "A note.\n");
    let settings = put(
        &dir,
        "notes/.loci.toml",
        "wing = \"diary\"\n\nrom = \"x\"\n",
    );
    let ran = dir.run(&["mine", "notes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let place = format!("`{}`, line 3", settings.display());
    assert!(ran.stderr.contains(&place), "{ran:?}");
    put(&dir, "notes/.loci.toml", "wing = \"diary\"\nroom = \"x\"\n");
    dir.json(0, &["mine", "notes"]);
    let all = drawers(&dir);
    assert_eq!(all[0]["metadata"]["wing"], "diary");
    assert_eq!(all[0]["metadata"]["room"], "x");
}

#[test]
fn wing_and_room_are_the_project_and_folder_and_later_runs_do_not_move_them() {
    let dir = Dir::new();
    put(
        &dir,
        "lighthouse/docs/lamp.md",
        "The lamp is lit at dusk.\n",
    );
    assert!(dir.shell("git init -q lighthouse").code == 0);
    dir.json(0, &["mine", "lighthouse/docs"]);
    let at = |dir: &Dir| {
        let drawer = drawers(dir)[0]["metadata"].clone();
        (drawer["wing"].clone(), drawer["room"].clone())
    };
    assert_eq!(at(&dir), (json!("lighthouse"), json!("docs")));
    put(&dir, "lighthouse/.loci.toml", "wing = \"other\"\n");
    put(
        &dir,
        "lighthouse/docs/lamp.md",
        "The lamp is lit at dusk, always.\n",
    );
    dir.json(0, &["mine", "lighthouse"]);
    assert_eq!(at(&dir), (json!("lighthouse"), json!("docs")));
    dir.json(0, &["mine", "lighthouse", "--wing", "tower"]);
    assert_eq!(at(&dir), (json!("tower"), json!("docs")));
}

#[test]
fn a_file_that_becomes_binary_or_empty_leaves_no_drawer() {
    let dir = Dir::new();
    for (name, then) in [("empty", b"".as_slice()), ("binary", &[0_u8; 4_096])] {
        let file = format!("notes/{name}.md");
        put(&dir, &file, format!("Words of {name}.\n"));
        dir.json(0, &["mine", "notes"]);
        id_of(&dir, &format!("Words of {name}."));
        put(&dir, &file, then);
        dir.json(0, &["mine", "notes"]);
        assert!(
            !stored(&dir).contains(&format!("Words of {name}.")),
            "{name} keeps what its file has not"
        );
    }
}

#[test]
fn secrets_are_masked_in_what_is_stored_counted_and_lines_stay() {
    let dir = Dir::new();
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    let token = format!("ghp_{}", "a8Fk29dLw0Qz7XcV5bNm3RtY6uIo1PsEjH4G");
    let text = format!(
        "# Deploy\n\nFirst line.\n\naws = {key}\n\n## Token\n\nThe token is {token} for now.\n\nLast line.\n"
    );
    put(&dir, "notes/deploy.md", &text);
    let ran = dir.run(&["mine", "notes"]).ok();
    assert!(
        ran.stdout.contains(
            "masked 2 secrets: AWS access key 1, GitHub token 1; --keep-secrets keeps them\n"
        ),
        "{ran:?}"
    );
    assert!(
        !ran.stdout.contains(&key) && !ran.stdout.contains(&token),
        "{ran:?}"
    );
    for secret in [&key, &token] {
        assert_eq!(dir.files_with(secret), Vec::<PathBuf>::new());
    }
    let lines: Vec<&str> = text.lines().collect();
    for drawer in drawers(&dir) {
        let line = |key: &str| drawer["metadata"][key].as_u64().unwrap() as usize;
        let span = &lines[line("start_line") - 1..line("end_line")];
        let stored: Vec<&str> = drawer["text"].as_str().unwrap().lines().collect();
        assert_eq!(stored.len(), span.len(), "{drawer}");
        for (stored, written) in stored.iter().zip(span) {
            assert!(
                stored == written || stored.contains("[masked: "),
                "{drawer}"
            );
        }
    }
    let fresh = Dir::new();
    let report = fresh.json(0, &["mine", dir.path("notes").to_str().unwrap()]);
    let masked: BTreeMap<String, u64> = serde_json::from_value(report["masked"].clone()).unwrap();
    assert_eq!(masked.values().sum::<u64>(), 2, "{report}");
    let kept = dir.json(0, &["mine", "notes", "--keep-secrets"]);
    assert_eq!(kept["masked"], json!({}), "{kept}");
    assert!(stored(&dir).join("\n").contains(&token));
}

#[test]
fn values_of_an_env_file_are_masked_and_their_names_stay() {
    let dir = Dir::new();
    put(&dir, "app/.env", "PORT=8080\nDB_PASSWORD=sesame-street-9\n");
    let report = dir.json(0, &["mine", "app", "--hidden"]);
    assert_eq!(report["masked"], json!({"password": 1}), "{report}");
    assert_eq!(stored(&dir), ["PORT=8080\nDB_PASSWORD=[masked: password]"]);
}

/// A palace in which one of two notes was forgotten.
fn with_a_forgotten_note() -> Dir {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The heron stands in the reeds.\n");
    put(&dir, "notes/b.md", "The kite circles above.\n");
    dir.json(0, &["mine", "notes"]);
    let id = id_of(&dir, "heron");
    dir.json(0, &["forget", &id, "--yes"]);
    dir
}

#[test]
fn text_that_was_forgotten_does_not_come_back_by_mining() {
    let dir = with_a_forgotten_note();
    dir.json(0, &["mine", "notes"]);
    dir.json(0, &["mine", "notes", "--force"]);
    assert_eq!(stored(&dir), ["The kite circles above."]);
    put(
        &dir,
        "notes/a.md",
        "The heron stands in the reeds.\nA frog sits beside it.\n",
    );
    put(&dir, "notes/copy.md", "The heron stands in the reeds.\n");
    let ran = dir.run(&["mine", "notes"]).ok();
    assert!(
        ran.stdout
            .contains("left out 2 forgotten line(s); --allow-again stores them\n"),
        "{ran:?}"
    );
    assert_eq!(
        stored(&dir),
        ["A frog sits beside it.", "The kite circles above."]
    );
}

#[test]
fn text_that_was_forgotten_comes_back_when_it_is_allowed() {
    for arguments in [
        ["mine", "notes", "--allow-again"].as_slice(),
        &["mine", "notes", "--allow-again", "--force"],
    ] {
        let dir = with_a_forgotten_note();
        dir.json(0, arguments);
        assert_eq!(
            stored(&dir),
            ["The heron stands in the reeds.", "The kite circles above."],
            "{arguments:?}"
        );
    }
}

#[test]
fn force_reads_and_files_again_what_is_as_it_was() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "The heron stands in the reeds.\n");
    dir.json(0, &["mine", "notes"]);
    let before = drawers(&dir);
    let again = dir.json(0, &["mine", "notes", "--force"]);
    assert_eq!(again["files"]["read"], 1, "{again}");
    assert_eq!(again["drawers"]["kept"], 1, "{again}");
    assert_eq!(drawers(&dir), before);
}

#[test]
fn the_palace_itself_is_not_mined() {
    let dir = Dir::new();
    put(&dir, "notes/a.md", "A note.\n");
    dir.json(0, &["mine", "."]);
    let first = drawers(&dir);
    let again = dir.json(0, &["mine", "."]);
    assert_eq!(again["drawers"]["new"], 0, "{again}");
    assert_eq!(drawers(&dir), first);
    assert_eq!(stored(&dir), ["A note."]);
}

#[test]
fn a_file_that_is_appended_to_all_the_time_is_whole_in_the_end() {
    let dir = Dir::new();
    let path = put(&dir, "logs/steady.log", "line 0 begins\n");
    let until = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::OpenOptions::new()
                .append(true)
                .open(&path)
                .unwrap();
            let mut n = 1;
            while Instant::now() < until {
                writeln!(file, "line {n} of a file that grows").unwrap();
                n += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        while Instant::now() < until {
            let ran = dir.run(&["mine", "logs"]);
            assert!(
                ran.code == 0 || ran.stderr.contains("changed while it was being read"),
                "{ran:?}"
            );
        }
    });
    dir.json(0, &["mine", "logs"]);
    let fresh = Dir::new();
    let logs = dir.path("logs");
    fresh.json(0, &["mine", logs.to_str().unwrap()]);
    assert_eq!(content(&dir), content(&fresh));
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
}

/// A tree that takes a debug build some seconds.
fn long_tree(dir: &Dir) {
    for n in 0..600 {
        let section = |section: u32| {
            let line = format!("In place {n} the keeper wrote line {section} of wind and water. ");
            format!(
                "## Section {section} of note {n}\n\n{}\n\n",
                line.repeat(12)
            )
        };
        let text: String = (0..12).map(section).collect();
        put(dir, &format!("notes/{}/{n}.md", n % 20), text);
    }
    // More than one section of a transcript, so that a stop can fall inside it.
    let record = |n: u32| {
        let kind = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let words = "and the lamp burns on ".repeat(70);
        json!({
            "type": kind, "uuid": format!("u{n}"), "sessionId": "s",
            "timestamp": format!("2026-01-01T00:{:02}:{:02}Z", n / 60, n % 60),
            "message": {"role": kind, "content": format!("{kind} says {n} {words}")},
        })
    };
    put(dir, "notes/talk.jsonl", lines((0..3_000).map(record)));
}

#[test]
fn ctrl_c_ends_a_mine_within_seconds_and_the_next_run_makes_it_whole() {
    let dir = Dir::new();
    long_tree(&dir);
    let whole = Dir::new();
    whole.json(0, &["mine", dir.path("notes").to_str().unwrap()]);
    let whole = content(&whole);
    let filed = |dir: &Dir| {
        let status = dir.run(&["status", "--json"]);
        let status: Value = serde_json::from_str(&status.stdout).unwrap_or_default();
        status["drawers"].as_u64().unwrap_or_default()
    };
    let mut before = 0;
    for round in 0..3 {
        let mut child = dir
            .command()
            .args(["mine", "notes", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("drawers are filed", || filed(&dir) > before);
        send("INT", &child);
        let code = end_of(&mut child, Duration::from_secs(8));
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((code, &report["stopped"]), (2, &json!(true)), "{report}");
        assert_eq!(dir.json(0, &["verify"])["ok"], true);
        before = filed(&dir);
        assert!(
            round > 0 || before < whole.len() as u64,
            "it was told to stop and went on to the end"
        );
        if before == whole.len() as u64 {
            break;
        }
    }
    let last = dir.json(0, &["mine", "notes"]);
    assert_eq!(last["stopped"], false, "{last}");
    assert!(
        content(&dir) == whole,
        "a stopped mine and a clean one differ"
    );
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert_eq!(dir.json(0, &["mine", "notes"])["run"], Value::Null);
}

/// Runs a mine and gives its report and the most memory that it held, in kB.
fn mine_and_weigh(dir: &Dir, arguments: &[&str]) -> (Value, u64) {
    let mut child = dir
        .command()
        .args(arguments)
        .arg("--json")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let high = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(high.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (serde_json::from_slice(&output.stdout).unwrap(), most)
}

#[test]
#[cfg(target_os = "linux")]
fn a_transcript_of_40_megabytes_needs_little_memory() {
    let dir = Dir::new();
    let path = put(&dir, "talks/long.jsonl", "");
    let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
    // Much of a real transcript is pictures and the output of tools.
    let picture = "QUJD".repeat(50_000);
    let output = "lorem ipsum dolor sit amet ".repeat(3_000);
    let title = json!({"type": "summary", "summary": "Pictures", "leafUuid": "u"});
    file.write_all(lines([title]).as_bytes()).unwrap();
    let (mut n, mut bytes) = (0, 0);
    while bytes < 40 << 20 {
        let record = |kind: &str, content: Value| {
            json!({
                "type": kind, "uuid": format!("{kind}{n}"), "sessionId": "s",
                "timestamp": format!("2026-01-01T00:{:02}:{:02}Z", n / 60, n % 60),
                "message": {"role": kind, "content": content},
            })
        };
        let source = json!({"type": "base64", "data": picture});
        let asked = json!([{"type": "image", "source": source}, {"type": "text", "text": format!("question {n}")}]);
        let text = lines([
            record("user", asked),
            record("assistant", json!(format!("answer {n}: {output}"))),
        ]);
        file.write_all(text.as_bytes()).unwrap();
        bytes += text.len();
        n += 1;
    }
    drop(file);
    let (report, most) = mine_and_weigh(&dir, &["mine", "talks"]);
    assert_eq!(report["messages"]["filed"], 2 * n, "{report}");
    assert_eq!(report["messages"]["skipped"]["image"], n, "{report}");
    assert!(most > 0 && most < MOST_KB, "{most} kB");
}

#[test]
#[cfg(target_os = "linux")]
fn twenty_thousand_tiny_files_need_little_memory() {
    let dir = Dir::new();
    for folder in 0..200 {
        std::fs::create_dir_all(dir.path(&format!("many/{folder}"))).unwrap();
        for n in 0..100 {
            dir.write(
                &format!("many/{folder}/{n}.md"),
                format!("note {folder} {n}\n"),
            );
        }
    }
    let (report, most) = mine_and_weigh(&dir, &["mine", "many"]);
    assert_eq!(report["files"]["read"], 20_000, "{report}");
    assert!(most > 0 && most < MOST_KB, "{most} kB");
    let (again, most) = mine_and_weigh(&dir, &["mine", "many"]);
    assert_eq!(again["files"]["unchanged"], 20_000, "{again}");
    assert!(most > 0 && most < MOST_KB, "{most} kB");
    // By now all files are older than the clock's step: none is read.
    let third = dir.json(0, &["mine", "many"]);
    assert_eq!(third["files"]["unchanged"], 20_000, "{third}");
    assert_eq!(third["bytes"], 0, "{third}");
}

/// Bug: a mine that was killed stayed "(running)" in `loci runs` for ever.
#[test]
fn a_killed_mine_is_listed_as_interrupted_and_a_live_one_as_running() {
    let dir = Dir::new();
    for n in 0..1_500 {
        put(
            &dir,
            &format!("many/{n}.md"),
            format!("Note number {n} of the folder.\n"),
        );
    }
    let mut miner = dir.spawn(&["mine", "many"]);
    let state = || {
        let ran = dir.run(&["runs", "--json"]);
        let runs: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
        runs["runs"][0]["state"].as_str().map(ToOwned::to_owned)
    };
    crate::support::wait_until("a run", || state().is_some());
    send("STOP", &miner);
    assert_eq!(
        state().as_deref(),
        Some("running"),
        "a stopped process is not gone"
    );
    miner.kill().unwrap();
    miner.wait().unwrap();
    assert_eq!(state().as_deref(), Some("interrupted"));
    let human = dir.run(&["runs"]).ok();
    assert!(human.stdout.contains("(interrupted)"), "{human:?}");
    dir.json(0, &["mine", "many"]);
    assert_eq!(state().as_deref(), Some("done"));
    let left = Dir::files(&dir.palace());
    let left = left
        .iter()
        .filter(|path| path.to_string_lossy().contains("palace.run-"));
    assert_eq!(left.count(), 0);
    // The interrupted run can be undone as before.
    dir.json(0, &["undo", "1"]);
}
