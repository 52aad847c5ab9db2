//! Commands that copy, check or rebuild a whole palace.

use anyhow::{Context, bail, ensure};

use super::super::world::{KillOutcome, KillRound, Possible};
use crate::root;
use crate::torture::contents::Contents;
use crate::torture::texts;

/// The target must be complete or absent.
pub(super) fn export(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let file = world.fresh_path("export");
    let name = file.display().to_string();
    let outcome = world.run_and_kill("export", &["export", &name])?;
    match std::fs::read_to_string(&file) {
        Ok(text) => {
            let lines = text.lines().filter(|line| line.contains("\"document\""));
            let (lines, drawers) = (lines.count(), world.state.drawers.len());
            ensure!(
                lines >= drawers,
                "an export holds {lines} of {drawers} drawers"
            );
        }
        Err(_) if matches!(outcome, KillOutcome::Killed) => {}
        Err(error) => bail!("an acknowledged export cannot be read: {error}"),
    }
    remove_beside(world, "export")?;
    world.check(&Possible::default())
}

pub(super) fn backup(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let file = world.fresh_path("backup");
    let name = file.display().to_string();
    let outcome = world.run_and_kill("backup", &["backup", &name])?;
    if file.exists() {
        let copy = world.home.with_palace(&world.home.path("copy"));
        copy.json(&["restore", &name])?;
        let contents = Contents::of(&copy)?;
        for (id, text) in &world.state.drawers {
            ensure!(
                contents.drawers.get(id) == Some(text),
                "a backup lacks `{id}`"
            );
        }
        std::fs::remove_dir_all(copy.palace())?;
    } else if let KillOutcome::Done(_) = outcome {
        bail!("an acknowledged backup is not there");
    }
    remove_beside(world, "backup")?;
    world.check(&Possible::default())
}

/// Removes every file whose name begins with the prefix, including temporary files.
fn remove_beside(world: &KillRound<'_, '_>, prefix: &str) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(world.home.path(""))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.trim_start_matches('.').starts_with(prefix) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The palace must be the old one or the backup, never a mixture.
pub(super) fn restore(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    if world.backup.is_none() || world.round.random.u32(..4) == 0 {
        let file = world.fresh_path("kept");
        world.json(&["backup", &file.display().to_string()])?;
        world.backup = Some((file, world.state.clone()));
    }
    let (file, state) = world.backup.clone().context("no backup")?;
    let id = world.fresh("since");
    let text = texts::text(&id);
    world.json(&["add", &text, "--id", &id])?;
    world.state.drawers.insert(id.clone(), text);
    let name = file.display().to_string();
    let arguments = ["restore", &name, "--replace"];
    match world.run_and_kill("restore --replace", &arguments)? {
        KillOutcome::Done(_) => world.state = state,
        KillOutcome::Killed => {
            if !Contents::of(&world.home)?.drawers.contains_key(&id) {
                world.state = state;
            }
        }
    }
    world.check(&Possible::default())?;
    world.check_relations()?;
    // `restore` keeps the replaced database for the user. Here it would only fill the disk.
    for entry in std::fs::read_dir(world.home.palace())? {
        let path = entry?.path();
        if path.to_string_lossy().contains(".replaced-") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

pub(super) fn verify(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    world.run_and_kill("verify --deep", &["verify", "--deep"])?;
    world.check(&Possible::default())
}

pub(super) fn repair(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    world.run_and_kill("repair", &["repair"])?;
    world.check(&Possible::default())
}

pub(super) fn reembed(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    world.run_and_kill("reembed", &["reembed", "--model", "static"])?;
    world.check(&Possible::default())
}

/// Imports a ChromaDB directory of the test data. A second run must complete a killed one.
pub(super) fn import_chroma(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let fixture = root().join("crates/loci-foreign/tests/fixtures/chroma-0.5-flushed/now");
    if !fixture.is_dir() {
        world
            .round
            .skip("no ChromaDB directory among the test data");
        return Ok(());
    }
    let palace = world.fresh_path("imported");
    let fixture = fixture.display().to_string();
    let home = world.home.clone();
    world.home = home.with_palace(&palace);
    let outcome = world.run_and_kill("import chroma", &["import", "chroma", &fixture]);
    let imported = std::mem::replace(&mut world.home, home);
    outcome?;
    let answer = imported.json(&["import", "chroma", &fixture])?;
    let records = answer["collections"][0]["records"].as_u64();
    imported.verify(true)?;
    let listed = imported.json(&["list", "--collection", "drawers", "--limit", "100000"])?;
    let count = listed["drawers"]
        .as_array()
        .map(|drawers| drawers.len() as u64);
    ensure!(
        count == records,
        "a ChromaDB collection of {records:?} records became {count:?} drawers"
    );
    std::fs::remove_dir_all(palace)?;
    Ok(())
}
