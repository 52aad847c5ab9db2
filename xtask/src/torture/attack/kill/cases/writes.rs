//! Commands that write drawers, and those that only read.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::super::world::{KillOutcome, KillRound, Possible};
use crate::torture::process::HANGS;
use crate::torture::server::{Reply, Server, batch, drawer};
use crate::torture::texts;

pub(super) fn add(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    add_with(world, "add", &[])
}

pub(super) fn add_full(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    add_with(world, "add --durability full", &["--durability", "full"])
}

/// Kills several adds one after the other before another process opens the palace, so that each
/// finds the log that the previous one left. Their sizes differ, because a short one overwrites
/// only a part of the frames that a long one left.
fn add_with(
    world: &mut KillRound<'_, '_>,
    case: &'static str,
    more: &[&str],
) -> anyhow::Result<()> {
    let mut possible = Possible::default();
    for _ in 0..=world.round.random.u32(..6) {
        let id = world.fresh("added");
        let mut text = texts::text(&id);
        if world.round.random.bool() {
            text.push_str(&texts::sentence(world.round.random.u64(..), 1_500));
        }
        let arguments = [&["add", &text, "--id", &id], more].concat();
        match world.run_and_kill(case, &arguments)? {
            KillOutcome::Done(_) => {
                world.state.drawers.insert(id, text);
            }
            KillOutcome::Killed => {
                possible.come.insert(id, text);
            }
        }
    }
    world.check(&possible)
}

pub(super) fn update(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let id = world.any_drawer()?;
    let text = texts::text(&world.fresh("updated"));
    let mut possible = Possible::default();
    match world.run_and_kill("update", &["update", &id, &text])? {
        KillOutcome::Done(_) => {
            world.state.drawers.insert(id, text);
        }
        KillOutcome::Killed => {
            possible.change.insert(id, text);
        }
    }
    world.check(&possible)
}

pub(super) fn forget(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let id = world.any_drawer()?;
    let text = world.state.drawers.get(&id).cloned().unwrap_or_default();
    let mut possible = Possible::default();
    match world.run_and_kill("forget", &["forget", &id])? {
        KillOutcome::Done(answer) => {
            world.state.drawers.remove(&id);
            world.state.links.retain(|(_, ends)| !ends.contains(&id));
            world.state.forgotten.push((id, text.clone()));
            if answer["purge_pending"] == false {
                world.is_nowhere(&text)?;
            }
        }
        KillOutcome::Killed => {
            possible.go.insert(id.clone());
            world.check(&possible)?;
            if !world.state.drawers.contains_key(&id) {
                world.state.links.retain(|(_, ends)| !ends.contains(&id));
                world.state.forgotten.push((id, text));
            }
        }
    }
    world.check(&Possible::default())
}

pub(super) fn import(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let count = *world.round.random.choice(&[3, 40, 300]).unwrap_or(&3);
    let drawers = texts::numbered(&world.fresh("imported"), count);
    let case = match count {
        3 => "import jsonl of 3",
        40 => "import jsonl of 40",
        _ => "import jsonl of 300",
    };
    let lines = texts::lines(&drawers);
    let mut possible = Possible::default();
    let arguments = ["import", "jsonl", "-"];
    match world.run_and_kill_with(case, &arguments, Some(lines.as_bytes()))? {
        KillOutcome::Done(_) => world.state.drawers.extend(drawers),
        KillOutcome::Killed => possible.come = drawers,
    }
    world.check(&possible)
}

pub(super) fn diary(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let text = texts::text(&world.fresh("entry"));
    let mut possible = Possible::default();
    let arguments = ["diary", "write", &text, "--agent", "torture"];
    match world.run_and_kill("diary write", &arguments)? {
        KillOutcome::Done(_) => {
            world.state.texts.insert(text);
        }
        KillOutcome::Killed => possible.text = Some(text),
    }
    world.check(&possible)
}

pub(super) fn search(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let id = world.any_drawer()?;
    let text = world.state.drawers.get(&id).cloned().unwrap_or_default();
    world.run_and_kill("search", &["search", &text])?;
    world.check(&Possible::default())
}

pub(super) fn server(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    killed_server(world, "mcp", &[])
}

pub(super) fn server_full(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    killed_server(world, "mcp --durability full", &["--durability", "full"])
}

/// Kills a server while it handles several calls.
fn killed_server(
    world: &mut KillRound<'_, '_>,
    case: &'static str,
    more: &[&str],
) -> anyhow::Result<()> {
    let mut server = Server::start_with(&world.home, "core", more)?;
    // After many writes the log restarts at its beginning and overwrites old frames.
    for _ in 0..world.round.random.u32(..12) {
        let drawers = texts::numbered(&world.fresh("batch"), 25);
        match server.call("loci_add", &batch(&drawers), HANGS) {
            Reply::Done(answer) if answer["added"] == 25 => world.state.drawers.extend(drawers),
            Reply::Done(answer) => anyhow::bail!("25 drawers were passed: {answer}"),
            Reply::Refused(why) => anyhow::bail!("`loci_add` was refused: {why}"),
            Reply::Gone | Reply::Silent => anyhow::bail!("the server did not answer"),
        }
    }
    let moment = world.moment(case);
    let since = Instant::now();
    let drawers = texts::numbered(&world.fresh("served"), 8);
    let mut calls = Vec::new();
    for (id, text) in &drawers {
        calls.push((server.send("loci_add", &drawer(id, text)), id, text));
    }
    let mut possible = Possible {
        come: drawers.clone(),
        ..Possible::default()
    };
    let mut killed = false;
    loop {
        let left = moment.saturating_sub(since.elapsed());
        match server.next(if killed {
            Duration::from_secs(20)
        } else {
            left
        }) {
            (Some(call), Reply::Done(answer)) => {
                if let Some((_, id, text)) = calls.iter().find(|(known, _, _)| *known == call)
                    && answer["added"] == 1
                {
                    possible.come.remove(*id);
                    world.state.drawers.insert((*id).clone(), (*text).clone());
                }
                if possible.come.is_empty() {
                    break;
                }
            }
            (_, Reply::Refused(why)) => anyhow::bail!("`loci_add` was refused: {why}"),
            (_, Reply::Silent) if !killed => {
                killed = true;
                server.signal(Signal::KILL);
                world.killed(case);
            }
            (_, Reply::Gone) if killed => break,
            (None, Reply::Done(_)) => {}
            (_, Reply::Gone | Reply::Silent) => anyhow::bail!("the server did not answer"),
        }
    }
    if !killed {
        world.took(case, since.elapsed());
    }
    drop(server);
    world.check(&possible)
}

/// Creates a palace. After a kill, the next process must find it usable.
pub(super) fn init(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let palace = world.fresh_path("new");
    let home = world.home.clone();
    world.home = home.with_palace(&palace);
    let outcome = world.run_and_kill("init", &["init"]);
    let created = world.home.clone();
    world.home = home;
    outcome?;
    created.json(&["add", "the first drawer", "--id", "first"])?;
    created.verify(true)?;
    let answer = created.json(&["get", "first"])?;
    anyhow::ensure!(
        answer["drawers"][0]["text"] == json!("the first drawer"),
        "the first drawer of a new palace is lost"
    );
    std::fs::remove_dir_all(palace)?;
    Ok(())
}
