//! A stopped process (Ctrl-Z) holds a lock. Other processes must answer or fail in time, with an
//! error that names it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::json;

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::Home;
use crate::torture::process::{HANGS, Started, short};
use crate::torture::round::{Drawers, Round, RunContext, Tally};
use crate::torture::server::{Reply, Server};
use crate::torture::texts;

pub(super) const ATTACK: Attack = Attack {
    name: "stopped",
    checks: "a stopped process holds index.lock, palace.lock or restore.lock, or is stopped \
             within repair, restore, reembed or forget; others answer or fail within 35 s and \
             name it, readers do not wait for index.lock, servers end within 5 s of SIGTERM, \
             everything works afterwards",
    weight: 1,
    round,
};

/// Every lock has a deadline of 30 s. The rest is a margin for a slow machine.
const LIMIT: Duration = Duration::from_secs(35);
const PROMPT: Duration = Duration::from_secs(10);
const LOCKS: [&str; 3] = ["index.lock", "palace.lock", "restore.lock"];
const ACTS: [&[&str]; 4] = [
    &["repair"],
    &["restore", "BACKUP", "--replace"],
    &["reembed", "--model", "static"],
    &["forget", FORGOTTEN_ID],
];
/// The drawer that is forgotten.
const FORGOTTEN_ID: &str = "base-3";

/// Takes the lock of a file and holds it until the process is killed.
pub(in crate::torture) fn hold(file: &Path) -> anyhow::Result<()> {
    let file = lock_file(file)?;
    flock(&file, FlockOperation::LockExclusive)?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(())
}

fn lock_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::File::options();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let context = round.context;
    let moments: Vec<f64> = ACTS.iter().map(|_| round.random.f64()).collect();
    let home = &round.home;
    // The cases run in parallel, because they spend most of the time waiting.
    let tallies: Vec<Tally> = std::thread::scope(|threads| {
        let mut cases = Vec::new();
        for lock in LOCKS {
            cases.push(
                threads.spawn(move || tallied(|tally| held_lock(context, home, lock, tally))),
            );
        }
        for (act, moment) in ACTS.iter().zip(moments) {
            cases.push(threads.spawn(move || {
                tallied(|tally| stopped_command(context, home, act, moment, tally))
            }));
        }
        let tallies = cases.into_iter().map(|case| {
            let panicked = || Tally::broken(&anyhow::anyhow!("a thread of the driver panicked"));
            case.join().unwrap_or_else(|_| panicked())
        });
        tallies.collect()
    });
    for tally in tallies {
        round.tally.add(tally);
    }
    ensure!(round.tally.tries > 0, "no command was tried");
    Ok(())
}

fn tallied(case: impl FnOnce(&mut Tally) -> anyhow::Result<()>) -> Tally {
    let mut tally = Tally::default();
    if let Err(error) = case(&mut tally) {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

/// Stops a process that only holds the lock.
fn held_lock(
    context: &RunContext,
    home: &Home,
    lock: &str,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let home = home.with_palace(&home.path(&format!("held-{lock}")));
    let known = context.fill(home.palace(), 2_300)?;
    let backup = home.path(&format!("{lock}.backup")).display().to_string();
    home.json(&["backup", &backup])?;
    if lock == "index.lock" {
        // Without an index, readers try to rebuild it, which needs the lock.
        std::fs::remove_dir_all(home.file("index"))?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    home.environment(&mut command);
    command.args(["torture", "--hold"]).arg(home.file(lock));
    let holder = Started::new(&mut command, None)?;
    wait_until_held(&home.file(lock))?;
    holder.signal(Signal::STOP);
    let case = format!("{lock} is held");
    let scenario = Scenario {
        holder: Some(holder.pid()),
        backup: Some(&backup),
        readers_answer: lock == "index.lock",
    };
    try_commands(&home, &case, &scenario, tally)?;
    holder.signal(Signal::CONT);
    drop(holder);
    afterwards(&home, &case, &known)
}

fn wait_until_held(path: &Path) -> anyhow::Result<()> {
    let since = Instant::now();
    while since.elapsed() < HANGS {
        let file = lock_file(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        drop(file);
        std::thread::sleep(Duration::from_millis(5));
    }
    bail!("no process holds `{}`", path.display())
}

/// Stops a command in the middle of its work.
fn stopped_command(
    context: &RunContext,
    home: &Home,
    act: &[&str],
    moment: f64,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let name = act.first().copied().unwrap_or_default();
    let home = home.with_palace(&home.path(&format!("caught-{name}")));
    let known = context.fill(home.palace(), 2_300)?;
    let backup = home.path(&format!("{name}.backup")).display().to_string();
    home.json(&["backup", &backup])?;
    let act: Vec<&str> = act
        .iter()
        .map(|word| if *word == "BACKUP" { &backup } else { *word })
        .collect();
    // The duration of the command is measured on a copy.
    let measured = home.with_palace(&home.path(&format!("measured-{name}")));
    context.fill(measured.palace(), 2_300)?;
    let since = Instant::now();
    measured.json(&act)?;
    let usual = since.elapsed();
    let mut stopped = home.start(&[&act[..], &["--json"]].concat())?;
    std::thread::sleep(usual.mul_f64(moment));
    stopped.signal(Signal::STOP);
    if !stopped.runs() {
        *tally
            .notes
            .entry("ended before the stop".into())
            .or_default() += 1;
    }
    let case = format!("`loci {name}` is stopped");
    let scenario = Scenario {
        holder: None,
        backup: None,
        readers_answer: false,
    };
    try_commands(&home, &case, &scenario, tally)?;
    stopped.signal(Signal::CONT);
    let ran = stopped.finish(LIMIT + HANGS)?;
    if ran.code != Some(0) {
        let why = ran.violation().unwrap_or_else(|| short(&ran.stderr));
        tally
            .failures
            .push(format!("{case} and then continued: {why}"));
    }
    afterwards(&home, &case, &known)
}

/// The situation in which the commands run.
struct Scenario<'a> {
    /// The process that errors must name.
    holder: Option<u32>,
    /// If there is a backup, commands that need every lock are tried too.
    backup: Option<&'a str>,
    readers_answer: bool,
}

/// Runs commands and a server. Every command must answer or fail in time, and the server must end.
fn try_commands(
    home: &Home,
    case: &str,
    scenario: &Scenario<'_>,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let added = texts::text("added");
    let add = ["add", &added, "--id", "added"];
    let mut commands: Vec<&[&str]> = vec![
        &["search", "harbour"],
        &["get", "base-1"],
        &["status"],
        &["list", "--limit", "3"],
        &add,
    ];
    let restore = ["restore", scenario.backup.unwrap_or_default(), "--replace"];
    if scenario.backup.is_some() {
        commands.extend([&["forget", FORGOTTEN_ID][..], &["repair"], &restore]);
    }
    let mut server = Server::start(home, "core")?;
    let call = json!({"drawers": [{"id": "served", "text": texts::text("served")}]});
    server.send("loci_add", &call);
    let mut running = Vec::new();
    for command in commands {
        running.push((command, home.start(&[command, &["--json"]].concat())?));
    }
    // The server gets time to reach the lock before it gets the signal.
    let (_, reply) = server.next(Duration::from_secs(2));
    let is_waiting = matches!(reply, Reply::Silent);
    server.signal(Signal::TERM);
    tally.tries += 1;
    if server.wait(Duration::from_secs(5))?.is_none() {
        let what = if is_waiting {
            "a waiting server"
        } else {
            "a server"
        };
        let failure = format!("{case}: {what} did not end within 5 s of SIGTERM");
        tally.failures.push(failure);
    }
    drop(server);
    // A command may wait for another command that waits, so its error may name that one.
    let mut pids: Vec<u32> = running.iter().map(|(_, started)| started.pid()).collect();
    pids.extend(scenario.holder);
    for (command, started) in running {
        let name = command.first().copied().unwrap_or_default();
        let ran = started.finish(LIMIT)?;
        tally.tries += 1;
        if let Some(what) = ran.violation() {
            tally.failures.push(format!("{case}: `loci {name}` {what}"));
            continue;
        }
        let is_reader = ["search", "get", "status", "list"].contains(&name);
        let is_late = ran.took > PROMPT || ran.code != Some(0);
        if scenario.readers_answer && is_reader && is_late {
            let (took, why) = (ran.took.as_secs(), short(&ran.stderr));
            tally.failures.push(format!(
                "{case}: `loci {name}` waited {took} s for a lock of writers: {why}"
            ));
        }
        if ran.code == Some(0) {
            *tally.notes.entry("answered".into()).or_default() += 1;
        } else {
            let names_one = pids.iter().any(|pid| ran.stderr.contains(&pid.to_string()));
            *tally.notes.entry("failed in time".into()).or_default() += 1;
            if scenario.holder.is_some() && !names_one {
                let why = short(&ran.stderr);
                tally.failures.push(format!(
                    "{case}: the error of `loci {name}` does not name the process: {why}"
                ));
            }
        }
    }
    Ok(())
}

/// Checks that everything works when the lock is free again.
fn afterwards(home: &Home, case: &str, known: &Drawers) -> anyhow::Result<()> {
    let check = || {
        home.json(&["add", &texts::text("after"), "--id", "after"])?;
        home.json(&["search", "harbour"])?;
        let mut possible = texts::numbered("none", 0);
        let mut known = known.clone();
        known.remove(FORGOTTEN_ID);
        for id in ["added", "served", "after", FORGOTTEN_ID] {
            possible.insert(id.into(), texts::text(id));
        }
        let contents = Contents::of(home)?;
        contents.must_hold(&known, &possible)?;
        ensure!(
            contents.drawers.contains_key("after"),
            "an acknowledged drawer is lost"
        );
        home.verify(true)
    };
    check().with_context(|| format!("{case}, then released"))
}
