//! Mining, and the commands that undo it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::Signal;
use serde_json::json;

use super::super::world::{BIG_SECTIONS, KillOutcome, KillRound, Possible, SECTIONS};
use crate::torture::process::Started;
use crate::torture::texts;
use crate::torture::watchdog;

/// The number of files in the tree.
const FILES: u32 = 6;

/// Writes a new version of a document, and returns its path and version.
fn write(world: &mut KillRound<'_, '_>, name: &str) -> anyhow::Result<(String, u32)> {
    let version = version(world);
    let (folder, sections, words) = if name.starts_with("big") {
        ("large", BIG_SECTIONS, 260)
    } else {
        ("tree", SECTIONS, 90)
    };
    std::fs::create_dir_all(world.home.path(folder))?;
    let path = world.home.path(&format!("{folder}/{name}.md"));
    // The rename replaces the file in one step. A watcher must not read the file while it is empty.
    let new = world.home.path("new.md");
    std::fs::write(&new, texts::document(name, version, sections, words))?;
    std::fs::rename(&new, &path)?;
    Ok((path.display().to_string(), version))
}

fn version(world: &mut KillRound<'_, '_>) -> u32 {
    let fresh = world.fresh("v");
    fresh
        .rsplit('-')
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1)
}

/// Records that the palace may hold this version of the file, besides the versions recorded before.
fn may_have(world: &mut KillRound<'_, '_>, path: &str, version: u32) {
    let versions = world.state.files.entry(path.to_owned());
    versions
        .or_insert_with(|| BTreeSet::from([0]))
        .insert(version);
}

fn has(world: &mut KillRound<'_, '_>, path: &str, version: u32) {
    let versions = BTreeSet::from([version]);
    world.state.files.insert(path.to_owned(), versions);
}

/// Changes some files of the tree, and records that the palace may hold the new versions. Returns
/// all files of the tree with their versions.
fn change(world: &mut KillRound<'_, '_>) -> anyhow::Result<Vec<(String, u32)>> {
    for n in 0..FILES {
        let is_new = !world.home.path(&format!("tree/f{n}.md")).exists();
        if is_new || world.round.random.u32(..3) == 0 {
            write(world, &format!("f{n}"))?;
        }
    }
    let files = on_disk(world)?;
    for (path, version) in &files {
        may_have(world, path, *version);
    }
    Ok(files)
}

/// Files of the tree with their versions.
fn on_disk(world: &KillRound<'_, '_>) -> anyhow::Result<Vec<(String, u32)>> {
    let mut files = Vec::new();
    for n in 0..FILES {
        let path = world.home.path(&format!("tree/f{n}.md"));
        if let Ok(text) = std::fs::read_to_string(&path) {
            let mark = texts::marks(&text).next().context("a file has no mark")?;
            let version = mark.split('-').nth(2).and_then(|part| part.parse().ok());
            let version = version.context("a mark has no version")?;
            files.push((path.display().to_string(), version));
        }
    }
    Ok(files)
}

/// Records that the palace holds exactly these versions.
fn has_all(world: &mut KillRound<'_, '_>, files: &[(String, u32)]) {
    for (path, version) in files {
        has(world, path, *version);
    }
}

pub(super) fn mine(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let files = change(world)?;
    let tree = world.home.path("tree").display().to_string();
    if let KillOutcome::Done(_) = world.run_and_kill("mine", &["mine", &tree])? {
        has_all(world, &files);
    }
    world.check(&Possible::default())?;
    if world.round.random.u32(..3) == 0 {
        // The next run completes the work of the killed one.
        world.json(&["mine", &tree])?;
        has_all(world, &files);
        world.check(&Possible::default())?;
    }
    Ok(())
}

/// Mines a file that is filed in sections. A kill may leave some of them; the next run completes
/// them.
pub(super) fn mine_big(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let (path, version) = write(world, "big")?;
    let case = "mine of a file over 4 MiB";
    for _ in 0..3 {
        if let KillOutcome::Done(_) = world.run_and_kill(case, &["mine", &path])? {
            break;
        }
        world.home.verify(false)?;
    }
    world.json(&["mine", &path])?;
    has(world, &path, version);
    world.check(&Possible::default())
}

/// Appends to a transcript, and returns its path and its length.
fn grow(world: &mut KillRound<'_, '_>, name: &str) -> anyhow::Result<(PathBuf, u32)> {
    let path = world.home.path(&format!("talks/{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let before = texts::marks(&text).count() as u32;
    let after = before + 1 + world.round.random.u32(..6);
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(&path)?;
    file.write_all(texts::exchanges(name, before, after).as_bytes())?;
    let source = path.display().to_string();
    let known = world.state.files.get(&source);
    let least = known
        .and_then(|lengths| lengths.first())
        .copied()
        .unwrap_or(0);
    for length in least..=after {
        may_have(world, &source, length);
    }
    Ok((path, after))
}

pub(super) fn mine_talk(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let (path, length) = grow(world, "talk_mined")?;
    let source = path.display().to_string();
    let case = "mine of a growing transcript";
    if let KillOutcome::Done(_) = world.run_and_kill(case, &["mine", &source])? {
        has(world, &source, length);
    }
    world.check(&Possible::default())
}

pub(super) fn hook(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let (path, length) = grow(world, "talk_hooked")?;
    let source = path.display().to_string();
    let input = json!({"session_id": "s", "transcript_path": path, "cwd": world.home.path("home")});
    let input = input.to_string();
    let arguments = ["hook", "Stop", "--harness", "claude-code"];
    world.run_and_kill_with("hook Stop", &arguments, Some(input.as_bytes()))?;
    // The hook may still be saving in the background. That process is killed too.
    watchdog::sweep(&world.home.path(""));
    world.check(&Possible::default())?;
    world.json(&["mine", &source])?;
    has(world, &source, length);
    world.check(&Possible::default())
}

pub(super) fn watch(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let tree = world.home.path("tree").display().to_string();
    let started = Started::new(&mut world.home.command(&["watch", &tree]), None)?;
    let moment = Duration::from_millis(world.round.random.u64(10..1_500));
    let since = Instant::now();
    // The first files change while `loci watch` starts, others while it watches.
    change(world)?;
    std::thread::sleep(moment.mul_f64(0.4).saturating_sub(since.elapsed()));
    // It may have filed the files in between, so both versions are possible.
    change(world)?;
    std::thread::sleep(moment.saturating_sub(since.elapsed()));
    started.signal(Signal::KILL);
    let ran = started.finish(Duration::from_secs(10))?;
    anyhow::ensure!(ran.signal == Some(9), "`loci watch` ended: {}", ran.stderr);
    world.killed("watch");
    world.check(&Possible::default())
}

/// Deletes one file, and removes its drawers with `sync`.
pub(super) fn sync(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let tree = world.home.path("tree").display().to_string();
    let files = change(world)?;
    world.json(&["mine", &tree])?;
    has_all(world, &files);
    world.check(&Possible::default())?;
    let gone = format!("{tree}/f{}.md", world.round.random.u32(..FILES));
    std::fs::remove_file(&gone)?;
    may_have(world, &gone, 0);
    if let KillOutcome::Done(_) = world.run_and_kill("sync --apply", &["sync", &tree, "--apply"])? {
        has(world, &gone, 0);
    }
    world.check(&Possible::default())
}

/// Undoes a run. Each of its files must be in the state before or after the run.
pub(super) fn undo(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let tree = world.home.path("tree").display().to_string();
    world.check(&Possible::default())?;
    let before = world.state.files.clone();
    let files = change(world)?;
    let answer = world.json(&["mine", &tree])?;
    has_all(world, &files);
    world.check(&Possible::default())?;
    let Some(run) = answer["run"].as_u64() else {
        return Ok(());
    };
    let old: Vec<(String, u32)> = files
        .into_iter()
        .map(|(path, _)| {
            let versions = before.get(&path).and_then(|versions| versions.first());
            let version = versions.copied().unwrap_or(0);
            (path, version)
        })
        .collect();
    for (path, version) in &old {
        may_have(world, path, *version);
    }
    if let KillOutcome::Done(_) = world.run_and_kill("undo", &["undo", &run.to_string()])? {
        has_all(world, &old);
    }
    world.check(&Possible::default())
}
