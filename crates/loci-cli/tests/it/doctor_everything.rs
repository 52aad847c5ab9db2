//! `loci doctor` without a path: the state of everything, a line of advice for each finding, and no trace of having looked.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::chroma_directories::Old;
use crate::support::{Dir, texts};

/// Words of every text that a round trip writes.
const MARK: &str = "round trip";

/// Runs the doctor and gives code and answer.
fn examined(command: &mut Command) -> (i32, Value) {
    let output = command.args(["doctor", "--json"]).output().unwrap();
    judged(&output)
}

/// What holds of every answer is checked.
fn judged(output: &Output) -> (i32, Value) {
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let findings = answer["findings"].as_array().unwrap();
    for finding in findings {
        for field in ["code", "severity", "what", "advice"] {
            let text = finding[field].as_str().unwrap();
            assert!(!text.is_empty() && !text.contains('\n'), "{finding}");
        }
    }
    let acts = findings.iter().any(|finding| finding["severity"] != "note");
    let code = output.status.code().unwrap();
    assert_eq!(
        (code, &answer["healthy"]),
        (i32::from(acts), &json!(!acts)),
        "{answer}"
    );
    for part in [
        "palace",
        "versions",
        "index",
        "models",
        "configuration",
        "agents",
        "hooks",
        "round_trip",
        "others",
    ] {
        assert!(answer.get(part).is_some(), "{part}: {answer}");
    }
    (code, answer)
}

fn codes(answer: &Value) -> Vec<String> {
    texts(&answer["findings"], "code")
}

/// What the finding with this code says, with its severity.
fn finding<'a>(answer: &'a Value, code: &str) -> &'a Value {
    let mut findings = answer["findings"].as_array().unwrap().iter();
    findings
        .find(|finding| finding["code"] == code)
        .unwrap_or_else(|| panic!("no {code}: {answer}"))
}

/// The files of a palace that is at rest, without what SQLite counts of its own commits and without its shared memory.
fn at_rest(dir: &Dir) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = dir.contents();
    files.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
    for (path, bytes) in &mut files {
        if *path == dir.database() {
            bytes[24..28].fill(0);
            bytes[92..100].fill(0);
        }
    }
    files
}

fn with_drawers() -> Dir {
    let dir = Dir::new();
    dir.json(0, &["add", "a lighthouse keeper", "--id", "a"]);
    dir.json(0, &["add", "a kettle on the stove", "--id", "b"]);
    // Without a backup, the doctor advises one.
    dir.json(0, &["backup", "drawers.backup"]);
    dir
}

#[test]
fn an_empty_machine_needs_nothing_and_stays_empty() {
    let dir = Dir::new();
    let (code, answer) = examined(dir.command().env_remove("LOCI_PALACE"));
    assert_eq!((code, codes(&answer)), (0, vec!["no_palace".to_owned()]));
    assert_eq!(answer["palace"]["state"], "missing");
    assert_eq!(answer["palace"]["decided_by"], "default");
    assert_eq!(answer["round_trip"]["state"], "skipped");
    assert!(answer["palace"]["disk"]["free"].as_u64() > Some(0));
    assert_eq!(Dir::files(&dir.path("")), Vec::<PathBuf>::new());
}

#[test]
fn a_palace_in_order_is_shown_and_needs_nothing() {
    let dir = with_drawers();
    let (code, answer) = examined(&mut dir.command());
    assert_eq!((code, codes(&answer)), (0, Vec::new()), "{answer}");
    let palace = &answer["palace"];
    assert_eq!(palace["path"], dir.palace().to_str().unwrap());
    assert_eq!(
        (&palace["drawers"], &palace["facts"], &palace["links"]),
        (&json!(2), &json!(0), &json!(0))
    );
    assert_eq!(palace["format"], answer["versions"]["format"]);
    assert_eq!(palace["bytes"], dir.json(0, &["status"])["bytes"]);
    assert!(
        answer["versions"]["sqlite"]
            .as_str()
            .unwrap()
            .starts_with("3.")
    );
    assert_eq!(answer["versions"]["loci"], env!("CARGO_PKG_VERSION"));
    let model = &answer["models"]["collections"][0];
    assert_eq!(
        (&model["embedder"], &model["here"]),
        (&json!("static"), &json!(true))
    );
    assert_eq!(
        answer["round_trip"]["done"],
        json!(["write", "read", "find", "forget", "commit"])
    );
}

#[test]
fn people_read_sections_and_then_findings_with_what_to_do() {
    let dir = with_drawers();
    let text = dir.run(&["doctor"]).ok().stdout;
    for part in [
        "palace\n  where",
        "decided by",
        "2 drawers in 1 collection",
        "free on its disk",
        "versions\n",
        "index\n",
        "models\n",
        "written, read, found and forgotten",
        "config.toml",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.ends_with("\nnothing needs to be done\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    std::fs::write(dir.palace().join("palace.toml"), "oops").unwrap();
    let ran = dir.run(&["doctor"]);
    let (_, findings) = ran.stdout.split_once("\nfindings\n").unwrap();
    let lines: Vec<&str> = findings.lines().collect();
    assert!(
        lines[0].starts_with("  error    configuration"),
        "{findings}"
    );
    assert!(lines[1].starts_with("           help: "), "{findings}");
    assert_eq!((ran.code, lines[3]), (1, "1 finding needs action"));
}

#[test]
fn the_setting_that_decided_is_named() {
    let dir = with_drawers();
    let palace = dir.palace();
    let of = |command: &mut Command| {
        let answer = examined(command).1;
        assert_eq!(answer["palace"]["path"], palace.to_str().unwrap());
        answer["palace"]["decided_by"].clone()
    };
    assert_eq!(of(&mut dir.command()), "LOCI_PALACE");
    let mut flagged = dir.command();
    flagged
        .env("LOCI_PALACE", "elsewhere")
        .arg("--palace")
        .arg(&palace);
    assert_eq!(of(&mut flagged), "--palace");
    std::fs::create_dir_all(dir.path("home/.config/loci")).unwrap();
    dir.write(
        "home/.config/loci/config.toml",
        format!("palace = {palace:?}"),
    );
    let mut configured = dir.command();
    assert_eq!(of(configured.env_remove("LOCI_PALACE")), "config.toml");
    let answer = examined(&mut dir.command()).1;
    assert_eq!(answer["configuration"]["config"]["state"], "read");
    assert_eq!(answer["configuration"]["palace_config"]["state"], "absent");
}

#[test]
fn a_round_trip_leaves_the_palace_as_it_was() {
    let dir = Dir::with_index();
    let before = at_rest(&dir);
    let status = dir.json(0, &["status"]);
    for _ in 0..3 {
        let answer = examined(&mut dir.command()).1;
        assert_eq!(answer["round_trip"]["state"], "done");
    }
    assert_eq!(dir.files_with(MARK), Vec::<PathBuf>::new());
    assert_eq!(dir.json(0, &["status"]), status);
    assert!(at_rest(&dir) == before, "the files changed");
}

/// The doctor is killed after longer and longer, until it ends by itself first.
#[test]
fn a_round_trip_that_is_killed_at_any_moment_leaves_nothing() {
    let dir = with_drawers();
    let before = at_rest(&dir);
    let mut ended = 0;
    for step in 0_u32.. {
        let mut child = dir
            .command()
            .arg("doctor")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let since = Instant::now();
        let deadline = Duration::from_millis(2) * step;
        while since.elapsed() < deadline {
            std::hint::spin_loop();
        }
        ended += u32::from(child.try_wait().unwrap().is_some());
        let _ = child.kill();
        child.wait().unwrap();
        assert_eq!(
            dir.files_with(MARK),
            Vec::<PathBuf>::new(),
            "after {deadline:?}"
        );
        if ended > 2 {
            break;
        }
    }
    assert_eq!(dir.json(0, &["verify", "--deep"])["ok"], true);
    assert!(at_rest(&dir) == before, "the files changed");
}

#[test]
fn whoever_writes_is_named_and_only_makes_the_round_trip_wait() {
    let dir = with_drawers();
    let writer = Connection::open(dir.database()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, answer) = examined(&mut dir.command());
    assert_eq!((code, &answer["round_trip"]["state"]), (1, &json!("busy")));
    assert_eq!(codes(&answer), ["round_trip_busy"]);
    assert_eq!(answer["palace"]["drawers"], 2);
    if cfg!(target_os = "linux") {
        let us = &answer["palace"]["users"][0];
        assert_eq!(us["pid"], std::process::id());
        assert!(
            us["doing"].as_array().unwrap().contains(&json!("writes")),
            "{us}"
        );
    }
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(examined(&mut dir.command()).0, 0);
}

/// Past a limit on the size of files the disk is as good as full. The commit is the only step that writes to it.
#[test]
fn a_commit_that_the_disk_refuses_is_a_finding() {
    let dir = with_drawers();
    // Keeps the shared memory of the log there, which would be too long to be made.
    let reader = Connection::open(dir.database()).unwrap();
    reader
        .query_row("SELECT count(*) FROM drawers", [], |_| Ok(()))
        .unwrap();
    let ran = dir.shell("ulimit -f 1; $LOCI doctor --json | cat");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        answer["round_trip"]["done"],
        json!(["write", "read", "find", "forget"])
    );
    let finding = finding(&answer, "round_trip_failed");
    assert_eq!(finding["severity"], "error");
    assert!(
        finding["advice"]
            .as_str()
            .unwrap()
            .contains("free some space"),
        "{finding}"
    );
    drop(reader);
    assert_eq!(examined(&mut dir.command()).0, 0);
}

#[test]
fn a_broken_configuration_is_a_finding_and_the_palace_is_seen_all_the_same() {
    let dir = with_drawers();
    std::fs::create_dir_all(dir.path("home/.config/loci")).unwrap();
    dir.write("home/.config/loci/config.toml", "palce = 'typo'");
    let (code, answer) = examined(&mut dir.command());
    assert_eq!(
        (code, codes(&answer)),
        (1, vec!["configuration_unreadable".to_owned()])
    );
    let what = finding(&answer, "configuration_unreadable")["what"]
        .as_str()
        .unwrap();
    assert!(
        what.contains("config.toml") && what.contains("palce"),
        "{what}"
    );
    assert_eq!(answer["palace"]["drawers"], 2);
    assert_eq!(answer["round_trip"]["state"], "done");
    // Which palace it would be is then not known.
    let (code, answer) = examined(dir.command().env_remove("LOCI_PALACE"));
    assert_eq!(
        (code, codes(&answer)),
        (1, vec!["configuration_unreadable".to_owned()])
    );
    assert_eq!(answer["palace"]["state"], "unknown");
}

#[test]
fn a_setting_that_nothing_understands_is_a_finding() {
    let dir = with_drawers();
    for (name, value) in [("LOCI_EMBEDDER", "crystal"), ("LOCI_BACKEND", "stone")] {
        let (code, answer) = examined(dir.command().env(name, value));
        assert_eq!(
            (code, codes(&answer)),
            (1, vec!["settings_refused".to_owned()])
        );
        let what = finding(&answer, "settings_refused")["what"]
            .as_str()
            .unwrap();
        assert!(what.contains(value), "{what}");
    }
}

#[test]
fn a_damaged_a_newer_and_a_foreign_palace_are_one_finding_each() {
    let dir = with_drawers();
    let whole = std::fs::read(dir.database()).unwrap();
    let seen = |code: &str, state: &str| {
        let (exit, answer) = examined(&mut dir.command());
        assert_eq!(
            (exit, codes(&answer)),
            (1, vec![code.to_owned()]),
            "{answer}"
        );
        assert_eq!(answer["palace"]["state"], state);
        assert_eq!(answer["round_trip"]["state"], "skipped");
    };
    std::fs::write(
        dir.database(),
        [b"no database at all ".repeat(900)].concat(),
    )
    .unwrap();
    seen("palace_corrupt", "unreadable");
    std::fs::write(dir.database(), &whole).unwrap();
    let sql = Connection::open(dir.database()).unwrap();
    sql.pragma_update(None, "user_version", 4_000).unwrap();
    drop(sql);
    let newer = std::fs::read(dir.database()).unwrap();
    seen("palace_newer_format", "unreadable");
    assert!(std::fs::read(dir.database()).unwrap() == newer);
    std::fs::remove_dir_all(dir.palace()).unwrap();
    let (memtomem, _) = crate::old_palaces::fixture(&dir, "memtomem/with_vectors");
    std::fs::rename(memtomem, dir.palace()).unwrap();
    seen("palace_foreign", "foreign");
}

#[test]
fn without_a_home_directory_what_is_named_is_seen() {
    let dir = with_drawers();
    let (code, answer) = examined(dir.command().env("HOME", "nowhere"));
    assert_eq!(
        (code, codes(&answer)),
        (1, vec!["agents_unknown".to_owned()]),
        "{answer}"
    );
    assert_eq!(answer["palace"]["drawers"], 2);
}

#[test]
fn a_palace_without_its_model_says_which_and_how_to_get_it() {
    let dir = with_drawers();
    let pin = |embedder: Value| {
        let sql = Connection::open(dir.database()).unwrap();
        sql.execute(
            "UPDATE collections SET embedder = ?1",
            [embedder.to_string()],
        )
        .unwrap();
    };
    for (name, advice) in [
        ("minilm", "loci model pull minilm"),
        ("openai:nomic", "[openai]"),
        ("oracle", "loci reembed"),
    ] {
        pin(json!({"name": name, "dimension": 384, "digest": "aa"}));
        let (code, answer) = examined(&mut dir.command());
        assert_eq!(
            (code, codes(&answer)),
            (1, vec!["model_missing".to_owned()])
        );
        assert_eq!(answer["models"]["collections"][0]["here"], false);
        let said = finding(&answer, "model_missing")["advice"]
            .as_str()
            .unwrap();
        assert!(said.contains(advice), "{name}: {said}");
    }
    std::fs::write(
        dir.palace().join("palace.toml"),
        "[openai]\nurl = 'http://localhost:1/v1'\nmodel = 'nomic'\n",
    )
    .unwrap();
    pin(json!({"name": "openai:nomic", "dimension": 384, "digest": ""}));
    assert_eq!(examined(&mut dir.command()).0, 0);
}

#[test]
fn an_earlier_built_in_table_is_a_note_in_doctor_and_status_and_no_line_of_a_search() {
    let dir = with_drawers();
    let digest = "c0e99103a72898412bfcef91983f2661661d54b0693cf5bb2ea07cb47a18270c";
    let earlier = json!({"name": "static", "dimension": 384, "digest": digest});
    Connection::open(dir.database())
        .unwrap()
        .execute(
            "UPDATE collections SET embedder = ?1",
            [earlier.to_string()],
        )
        .unwrap();
    let (code, answer) = examined(&mut dir.command());
    assert_eq!(
        (code, codes(&answer)),
        (0, vec!["earlier_table".to_owned()])
    );
    let found = finding(&answer, "earlier_table");
    assert_eq!(found["severity"], "note");
    assert!(
        found["advice"]
            .as_str()
            .unwrap()
            .contains("`loci reembed --model static`")
    );
    assert_eq!(answer["models"]["collections"][0]["here"], true);

    let said = |arguments: &[&str]| {
        let output = dir.command().args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(&output.stdout), text(&output.stderr))
    };
    let (status, _) = said(&["status"]);
    assert!(
        status.contains("note: the vectors of `drawers`"),
        "{status}"
    );
    assert!(
        status.contains("help: `loci reembed --model static`"),
        "{status}"
    );
    let (found, notes) = said(&["search", "lighthouse"]);
    assert!(
        !found.contains("earlier") && !notes.contains("earlier"),
        "{found}{notes}"
    );
    let (found, _) = said(&["--json", "search", "lighthouse"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    let warnings = found["warnings"].as_array().unwrap();
    let earlier = warnings
        .iter()
        .find(|warning| warning["code"] == "earlier_table");
    let hint = earlier.and_then(|warning| warning["hint"].as_str());
    assert!(hint.is_some_and(|hint| hint.contains("loci reembed")));

    said(&["reembed", "--model", "static"]);
    let (code, answer) = examined(&mut dir.command());
    assert_eq!((code, codes(&answer)), (0, vec![]));
    assert!(!said(&["status"]).0.contains("earlier"));
}

#[test]
fn the_index_is_shown_with_what_it_covers_and_what_was_set_aside() {
    let dir = Dir::with_index();
    let of = |answer: &Value| answer["index"]["collections"][0].clone();
    let (code, answer) = examined(&mut dir.command());
    assert_eq!(code, 0);
    assert_eq!(
        (&of(&answer)["covered"], &of(&answer)["tail"]),
        (&of(&answer)["newest"], &json!(0))
    );
    dir.write(
        "one.jsonl",
        json!({"id": "x", "embedding": [1, 0, 0, 0, 0, 0, 0, 0]}).to_string(),
    );
    dir.json(0, &["import", "jsonl", "one.jsonl"]);
    let (code, answer) = examined(&mut dir.command());
    assert_eq!((code, &of(&answer)["tail"]), (0, &json!(1)));
    assert!(of(&answer)["covered"].as_u64() < of(&answer)["newest"].as_u64());
    let index = &dir.index_files()[0];
    std::fs::write(index, "worthless").unwrap();
    dir.nearest(3);
    let (_, answer) = examined(&mut dir.command());
    assert_eq!(answer["index"]["drift_files"], 1);
    assert_eq!(finding(&answer, "set_aside")["severity"], "note");
}

#[test]
fn forgotten_text_that_is_still_there_needs_action_until_it_is_gone() {
    let dir = with_drawers();
    let sql = Connection::open(dir.database()).unwrap();
    sql.execute("UPDATE palace SET purge_pending = 1", [])
        .unwrap();
    drop(sql);
    let (code, answer) = examined(&mut dir.command());
    assert_eq!(
        (code, codes(&answer)),
        (1, vec!["purge_pending".to_owned()])
    );
    assert_eq!(examined(&mut dir.command()).0, 0);
}

#[test]
fn a_database_that_others_may_read_is_a_finding_with_the_command_that_closes_it() {
    let dir = with_drawers();
    std::fs::set_permissions(dir.database(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, answer) = examined(&mut dir.command());
    let advice = finding(&answer, "palace_exposed")["advice"]
        .as_str()
        .unwrap();
    dir.shell(advice).ok();
    assert_eq!(examined(&mut dir.command()).0, 0);
}

#[test]
fn only_a_deep_look_reads_every_drawer() {
    let dir = with_drawers();
    dir.damage("a kettle on the stove");
    let (code, answer) = examined(&mut dir.command());
    assert_eq!((code, &answer["verify"]), (0, &Value::Null));
    let output = dir.command().args(["doctor", "--deep", "--json"]).output();
    let (code, answer) = judged(&output.unwrap());
    assert_eq!((code, &answer["verify"]["ok"]), (1, &json!(false)));
    assert!(
        finding(&answer, "verify_failed")["advice"]
            .as_str()
            .unwrap()
            .contains("loci repair")
    );
}

#[test]
fn a_palace_that_is_named_by_its_path_is_only_read() {
    let dir = with_drawers();
    let before = dir.contents();
    let palace = dir.palace();
    let answer = dir.json(0, &["doctor", palace.to_str().unwrap()]);
    assert_eq!(
        (&answer["palace"]["drawers"], &answer["findings"]),
        (&json!(2), &json!([]))
    );
    assert!(answer.get("round_trip").is_none() && answer["index"].is_object());
    let text = dir.run(&["doctor", palace.to_str().unwrap()]).ok().stdout;
    assert!(text.contains("the PATH argument"), "{text}");
    let without_memory = |mut files: Vec<(PathBuf, Vec<u8>)>| {
        files.retain(|(path, _)| !path.to_string_lossy().ends_with("-shm"));
        files
    };
    assert!(without_memory(dir.contents()) == without_memory(before));
}

#[test]
fn troubled_palaces_of_other_programs_are_findings_and_sound_ones_are_not() {
    let dir = with_drawers();
    let old = Old::copy(&dir, "home/.mempalace/palace", "chroma-0.6-queued");
    let (code, answer) = examined(&mut dir.command());
    let one = &answer["others"][0];
    assert_eq!(
        (&one["path"], &one["records"]),
        (&json!(old.name()), &json!(82))
    );
    assert_eq!(code, i32::from(one["healthy"] == false));
    assert_eq!(
        codes(&answer).contains(&"other_palace".to_owned()),
        one["healthy"] == false
    );
    std::fs::write(old.database(), "").unwrap();
    let (code, answer) = examined(&mut dir.command());
    assert_eq!(code, 1);
    let advice = finding(&answer, "other_palace")["advice"].as_str().unwrap();
    assert!(
        advice.contains(&format!("loci doctor {}", old.name())),
        "{advice}"
    );
}

#[test]
fn looking_twice_at_once_is_no_trouble() {
    let dir = with_drawers();
    let children: Vec<_> = (0..6)
        .map(|_| {
            dir.command()
                .args(["doctor", "--json"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["round_trip"]["state"], "done", "{answer}");
    }
    assert_eq!(examined(&mut dir.command()).0, 0);
}

#[test]
fn the_last_call_of_a_hook_is_shown_and_one_that_failed_needs_action_until_it_works() {
    let dir = with_drawers();
    let call = |input: &[u8]| {
        dir.pipe(
            &["hook", "session-start", "--harness", "claude-code"],
            input,
        )
        .ok();
        examined(&mut dir.command())
    };
    let (code, answer) = call(b"no JSON");
    assert_eq!(
        (code, codes(&answer)),
        (1, vec!["hook_failed".to_owned()]),
        "{answer}"
    );
    let transcript = dir.path("none.jsonl");
    let input = json!({
        "session_id": "s",
        "transcript_path": transcript,
        "cwd": dir.path("home"),
        "hook_event_name": "SessionStart",
        "source": "startup",
    });
    let (code, answer) = call(input.to_string().as_bytes());
    assert_eq!(
        (code, codes(&answer)),
        (0, vec!["hook_failed_once".to_owned()]),
        "{answer}"
    );
    let run = &answer["hooks"][0];
    assert_eq!(
        (&run["harness"], &run["ok"]),
        (&json!("claude-code"), &json!(true))
    );
    let text = dir.run(&["doctor"]).ok().stdout;
    assert!(text.contains("\nhooks\n  claude-code"), "{text}");
}
