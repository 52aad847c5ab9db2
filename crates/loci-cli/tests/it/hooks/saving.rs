//! Stop, PreCompact and SessionEnd: the transcript is saved, once, by whoever can.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scene, exchange};
use crate::mine::{content, drawers, put, stored};
use crate::support::{Dir, wait_until};

/// Drawers of a palace that may not be there yet.
fn stored_or_none(scene: &Scene) -> usize {
    if scene.dir.database().exists() {
        return stored(&scene.dir).len();
    }
    0
}

/// Processes that save this transcript in the background.
fn savers(transcript: &Path) -> Vec<PathBuf> {
    let transcript = transcript.as_os_str().as_encoded_bytes();
    let saves = |line: &[u8]| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == b"--transcript") && words.next() == Some(transcript)
    };
    let processes = processes().into_iter();
    let found = processes.filter(|(_, line)| saves(line));
    found.map(|(process, _)| process).collect()
}

/// All processes with their command lines.
fn processes() -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .map(|path| {
            let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
            (path, line)
        })
        .collect()
}

/// Whether a process of this program is being started and has no command line yet.
fn is_any_starting() -> bool {
    let program = Path::new(env!("CARGO_BIN_EXE_loci"));
    processes().iter().any(|(process, line)| {
        let runs = || std::fs::read_link(process.join("exe"));
        line.is_empty() && runs().is_ok_and(|path| path == program)
    })
}

pub(super) fn wait_for_savers(transcript: &Path) {
    wait_until("the background process ends", || {
        !is_any_starting() && savers(transcript).is_empty()
    });
}

/// A stop that has nothing to tell yet.
fn silent_stop(scene: &Scene, transcript: &Path) -> Option<Value> {
    scene.hook("Stop", &scene.input(transcript))
}

/// A transcript that is too long to be saved by the hook itself.
fn long_talk(scene: &Scene, exchanges: u32) -> String {
    (0..exchanges)
        .map(|n| {
            let asked = format!("What of lamp number {n}?");
            let answered = format!("Lamp {n} {}", format!("burns since hour {n}. ").repeat(20));
            exchange(&scene.project(), n, &asked, &answered)
        })
        .collect()
}

/// Everything that mining the file into an empty palace gives, without what differs in every palace.
fn as_mined(scene: &Scene, transcript: &Path) -> Vec<Value> {
    let other = Dir::new();
    other.run(&["mine", transcript.to_str().unwrap()]).ok();
    let mined = without_ids(&other);
    assert!(!mined.is_empty(), "{}", scene.project().display());
    mined
}

fn without_ids(dir: &Dir) -> Vec<Value> {
    let mut drawers = drawers(dir);
    for drawer in &mut drawers {
        drawer.as_object_mut().unwrap().remove("id");
    }
    drawers
}

#[test]
fn a_stop_saves_what_mining_the_file_would_and_mining_finds_it_unchanged() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    assert_eq!(
        scene.stop(&transcript).as_deref(),
        Some("Loci: 1 passage of this conversation saved")
    );
    assert_eq!(without_ids(&scene.dir), as_mined(&scene, &transcript));
    assert_eq!(drawers(&scene.dir)[0]["metadata"]["wing"], "lighthouse");
    let again = scene.dir.json(0, &["mine", transcript.to_str().unwrap()]);
    assert_eq!(again["files"]["unchanged"], 1, "{again}");
    assert_eq!(again["drawers"]["new"], 0, "{again}");
}

#[test]
fn every_event_that_saves_saves_and_only_a_stop_says_so() {
    for event in ["PreCompact", "SessionEnd", "Stop"] {
        let scene = Scene::new();
        let transcript = scene.transcript();
        if event == "Stop" {
            assert!(scene.stop(&transcript).is_some());
        } else {
            assert_eq!(scene.hook(event, &scene.input(&transcript)), None);
            wait_for_savers(&transcript);
        }
        assert_eq!(stored(&scene.dir).len(), 1, "{event}");
    }
}

#[test]
fn a_transcript_that_did_not_grow_is_saved_once_and_reported_once() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    assert!(scene.stop(&transcript).is_some());
    for event in ["Stop", "SessionEnd", "PreCompact", "Stop"] {
        assert_eq!(scene.hook(event, &scene.input(&transcript)), None);
    }
    assert_eq!(stored(&scene.dir).len(), 1);
}

#[test]
fn a_stop_within_a_stop_saves_and_never_asks_to_go_on() {
    let scene = Scene::new();
    let mut input = scene.input(&scene.transcript());
    input["stop_hook_active"] = json!(true);
    let said = |_| scene.hook("Stop", &input).is_some();
    let told = (0..3).map(said).filter(|told| *told).count();
    assert!(told <= 1);
    wait_until("it is saved", || stored_or_none(&scene) == 1);
}

#[test]
fn what_a_transcript_gained_is_saved_and_counted() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    scene.stop(&transcript);
    let more = |n| {
        exchange(
            &scene.project(),
            n,
            &format!("And lamp {n}?"),
            "It burns, too.",
        )
    };
    Scene::append(&transcript, &(more(3) + &more(4)));
    let said = scene.stop(&transcript).unwrap();
    assert!(said.contains("2 passages"), "{said}");
    assert_eq!(without_ids(&scene.dir), as_mined(&scene, &transcript));
    // The end of a line that is still being written is no line yet.
    let half = more(5);
    Scene::append(&transcript, &half[..half.len() / 4]);
    scene.stop(&transcript);
    Scene::append(&transcript, &half[half.len() / 4..]);
    scene.stop(&transcript);
    assert_eq!(without_ids(&scene.dir), as_mined(&scene, &transcript));
}

#[test]
fn what_a_save_before_the_session_ended_did_not_report_is_reported_at_the_next_stop() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    scene.hook("PreCompact", &scene.input(&transcript));
    wait_for_savers(&transcript);
    let more = exchange(&scene.project(), 3, "And the other lamp?", "It burns, too.");
    Scene::append(&transcript, &more);
    let said = scene.stop(&transcript).unwrap();
    assert!(said.contains("2 passages"), "{said}");
}

#[test]
fn a_transcript_that_became_shorter_removes_nothing_and_doctor_reports_it() {
    let scene = Scene::new();
    let transcript = scene.transcript();
    let more = exchange(&scene.project(), 3, "And the other lamp?", "It burns, too.");
    Scene::append(&transcript, &more);
    scene.stop(&transcript);
    let saved = without_ids(&scene.dir);
    let whole = std::fs::read_to_string(&transcript).unwrap();
    let cut = &whole[..whole.len() - more.len()];
    let other = exchange(&scene.project(), 9, "What of the bell?", "It rings.");
    for shorter in [cut, &other] {
        std::fs::write(&transcript, shorter).unwrap();
        assert_eq!(scene.stop(&transcript), None);
        assert_eq!(without_ids(&scene.dir), saved);
        assert_eq!(scene.note("stop")["ok"], false);
    }
    Scene::append(&transcript, &whole);
    scene.stop(&transcript);
    assert_eq!(scene.note("stop")["ok"], true);
}

#[test]
fn a_transcript_that_is_not_there_is_no_trouble() {
    let scene = Scene::new();
    let missing = scene.dir.path("talks/none.jsonl");
    assert_eq!(scene.stop(&missing), None);
    let empty = put(&scene.dir, "talks/empty.jsonl", "");
    assert_eq!(scene.stop(&empty), None);
    assert_eq!(scene.note("stop")["ok"], true);
    assert!(!scene.dir.palace().exists());
}

#[test]
fn what_is_no_transcript_is_not_saved_and_doctor_reports_it() {
    let scene = Scene::new();
    let pipe = scene.dir.path("pipe.jsonl");
    Command::new("mkfifo").arg(&pipe).status().unwrap();
    let notes = put(&scene.dir, "talks/notes.md", "# The lamp\n\nIt burns.\n");
    for path in [pipe, scene.dir.path("home"), notes] {
        assert_eq!(scene.stop(&path), None);
        assert_eq!(scene.note("stop")["ok"], false, "{}", path.display());
    }
    assert!(!scene.dir.palace().exists());
}

#[test]
fn a_transcript_of_50_megabytes_is_saved_in_the_background() {
    let scene = Scene::new();
    let picture = json!([
        {"type": "text", "text": "Look at the lamp."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO".repeat(256 << 10)}},
    ]);
    let mut talk = exchange(&scene.project(), 0, "Is it dark?", "It is.");
    for n in 1..50 {
        let one = exchange(&scene.project(), n, "PICTURE", &format!("Lamp {n} burns."));
        talk.push_str(&one.replace("\"PICTURE\"", &picture.to_string()));
    }
    let transcript = put(&scene.dir, "talks/large.jsonl", talk);
    let since = Instant::now();
    assert_eq!(silent_stop(&scene, &transcript), None);
    assert!(
        since.elapsed() < Duration::from_secs(5),
        "{:?}",
        since.elapsed()
    );
    wait_for_savers(&transcript);
    let notes = scene.notes();
    assert_eq!(scene.note("save")["ok"], true, "{notes:?}");
    assert_eq!(without_ids(&scene.dir), as_mined(&scene, &transcript));
    let said = scene.stop(&transcript).unwrap();
    assert!(said.contains("50 passages"), "{said}");
}

#[test]
fn many_hooks_at_once_save_one_copy_of_everything() {
    let scene = Scene::new();
    let transcript = put(&scene.dir, "talks/long.jsonl", long_talk(&scene, 300));
    let input = scene.input(&transcript).to_string();
    let small = scene.transcript();
    let small_input = scene.input(&small).to_string();
    let mut running = Vec::new();
    for n in 0..10 {
        let event = ["Stop", "SessionEnd", "PreCompact"][n % 3];
        let input = if n % 2 == 0 { &input } else { &small_input };
        let file = scene.dir.write(&format!("input{n}.json"), input);
        running.push(
            scene
                .dir
                .command()
                .args(["hook", event, "--harness", "claude-code"])
                .stdin(std::fs::File::open(file).unwrap())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        );
    }
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    wait_for_savers(&transcript);
    wait_for_savers(&small);
    let both = Dir::new();
    for file in [&transcript, &small] {
        both.run(&["mine", file.to_str().unwrap()]).ok();
    }
    assert_eq!(content(&scene.dir), content(&both));
}

/// Holds the palace's write lock until it is dropped.
fn write_lock(scene: &Scene) -> rusqlite::Connection {
    let sql = rusqlite::Connection::open(scene.dir.database()).unwrap();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    sql
}

#[test]
fn a_palace_that_others_write_to_holds_up_no_hook_and_is_saved_to_afterwards() {
    let scene = Scene::remembering();
    let transcript = scene.transcript();
    let lock = write_lock(&scene);
    for _ in 0..4 {
        let since = Instant::now();
        assert_eq!(silent_stop(&scene, &transcript), None);
        assert!(
            since.elapsed() < Duration::from_secs(3),
            "{:?}",
            since.elapsed()
        );
    }
    // Sooner than a process gives up on the palace.
    let since = Instant::now();
    wait_until("one process is left", || savers(&transcript).len() == 1);
    assert!(
        since.elapsed() < Duration::from_secs(15),
        "{:?}",
        since.elapsed()
    );
    drop(lock);
    wait_for_savers(&transcript);
    assert_eq!(scene.note("save")["ok"], true);
    let said = scene.stop(&transcript).unwrap();
    assert!(said.contains("1 passage "), "{said}");
    assert_eq!(stored(&scene.dir).len(), 2);
}

#[test]
fn the_background_process_has_nothing_of_who_started_it() {
    let scene = Scene::remembering();
    let transcript = scene.transcript();
    let lock = write_lock(&scene);
    // That this returns says that nobody holds the hook's stdout.
    assert_eq!(silent_stop(&scene, &transcript), None);
    wait_until("one process is left", || savers(&transcript).len() == 1);
    let process = savers(&transcript).remove(0);
    let id = process.file_name().unwrap().to_str().unwrap().to_owned();
    wait_until("it leads a session of its own", || {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        after_name.split(' ').nth(3) == Some(id.as_str())
    });
    assert_eq!(
        std::fs::read_link(process.join("cwd")).unwrap(),
        Path::new("/")
    );
    for stream in ["fd/0", "fd/1", "fd/2"] {
        let target = std::fs::read_link(process.join(stream)).unwrap();
        assert_eq!(target, Path::new("/dev/null"));
    }
    let environment = std::fs::read(process.join("environ")).unwrap();
    let mut variables = environment.split(|byte| *byte == 0);
    assert!(variables.any(|variable| variable == b"LOCI_HOOKS=off"));
    drop(lock);
    wait_for_savers(&transcript);
}

#[test]
fn what_a_killed_process_left_is_saved_by_the_next_hook() {
    let scene = Scene::remembering();
    let transcript = put(&scene.dir, "talks/long.jsonl", long_talk(&scene, 300));
    let lock = write_lock(&scene);
    assert_eq!(silent_stop(&scene, &transcript), None);
    wait_until("it is saving", || {
        savers(&transcript).len() == 1 && has_turn(&scene)
    });
    let id = savers(&transcript).remove(0);
    let killed = Command::new("kill")
        .arg("-9")
        .arg(id.file_name().unwrap())
        .status();
    assert!(killed.unwrap().success());
    wait_until("it is dead", || is_dead(&id));
    drop(lock);
    assert_eq!(stored(&scene.dir).len(), 1);
    assert_eq!(silent_stop(&scene, &transcript), None);
    wait_for_savers(&transcript);
    assert_eq!(stored(&scene.dir).len(), 301);
}

/// Whether a process has ended and dropped its locks. A dying process loses its command line first, its
/// files later, and becomes a zombie last.
fn is_dead(process: &Path) -> bool {
    match std::fs::read_to_string(process.join("stat")) {
        Ok(stat) => stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

/// Whether somebody has taken the turn to save: the mark that there is more is gone.
fn has_turn(scene: &Scene) -> bool {
    let files = Dir::files(&scene.dir.path("home/.local/state/loci/hooks"));
    let ends = |end: &str| {
        files
            .iter()
            .any(|file| file.to_str().unwrap().ends_with(end))
    };
    ends(".lock") && !ends(".more")
}

#[test]
fn a_session_that_was_saved_in_the_background_goes_on_without_gaps() {
    let scene = Scene::new();
    let transcript = put(&scene.dir, "talks/long.jsonl", long_talk(&scene, 200));
    for n in 200..206 {
        silent_stop(&scene, &transcript);
        let more = exchange(
            &scene.project(),
            n,
            &format!("And lamp {n}?"),
            "It burns, too.",
        );
        Scene::append(&transcript, &more);
    }
    scene.hook("SessionEnd", &scene.input(&transcript));
    wait_for_savers(&transcript);
    assert_eq!(without_ids(&scene.dir), as_mined(&scene, &transcript));
}
