//! Several processes of every kind use one palace at once. Some are killed.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::Home;
use crate::torture::process::short;
use crate::torture::round::Round;
use crate::torture::texts;
use crate::torture::workers::{self, Work};

pub(super) const ATTACK: Attack = Attack {
    name: "crowd",
    checks: "4 to 8 processes write, mine, search, forget, verify and back up one palace; \
             acknowledged writes are there once, no command fails, verify --deep finds nothing",
    weight: 1,
    round,
};

const FILES: u32 = 5;

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let home = round.home.clone();
    let drawers = *round.random.choice(&[20, 2_300]).unwrap_or(&20);
    let mut known = round.context.fill(home.palace(), drawers)?;
    if round.random.bool() {
        std::fs::write(home.file("palace.toml"), "durability = \"full\"\n")?;
    }
    let tree = home.path("tree");
    std::fs::create_dir_all(&tree)?;
    for n in 0..FILES {
        let name = format!("f{n}");
        std::fs::write(
            tree.join(format!("{name}.md")),
            texts::document(&name, 1, 4, 60),
        )?;
    }
    let tree = tree.display().to_string();
    let until = Instant::now() + round.context.slice.mul_f64(0.7);
    let mut extras: Vec<u32> = (0..4).collect();
    round.random.shuffle(&mut extras);
    extras.truncate(round.random.usize(..=4));
    let works = std::thread::scope(|threads| {
        let home = &home;
        let tree = tree.as_str();
        let mut workers = vec![
            threads.spawn(move || workers::server(home, "server", until, None)),
            threads.spawn(move || workers::server(home, "miner", until, Some(tree))),
            threads.spawn(move || workers::commands(home, "command", until, Some(4))),
            threads.spawn(move || repeat(home, until, &[&["mine", tree], &["search", "harbour"]])),
        ];
        for extra in extras {
            workers.push(threads.spawn(move || match extra {
                0 => workers::commands(home, "other", until, None),
                1 => forget(home, until),
                2 => repeat(
                    home,
                    until,
                    &[&["verify"], &["verify", "--deep"], &["status"]],
                ),
                _ => back_up(home, until),
            }));
        }
        let works = workers.into_iter().map(|worker| {
            worker.join().unwrap_or_else(|_| Work {
                problems: vec!["a thread of the driver panicked".into()],
                ..Work::default()
            })
        });
        works.collect()
    });
    let mut work = Work::merge(works);
    for death in std::mem::take(&mut work.deaths) {
        round.fail(format!("a process died of signal {death}"));
    }
    work.report(round, false);
    round.tally.tries += work.writes.len() as u64;
    let (acknowledged, possible) = work.drawers();
    known.extend(acknowledged);
    let contents = Contents::of(&home)?;
    contents.must_hold(&known, &possible)?;
    for n in 0..FILES {
        let name = format!("f{n}");
        let marks = contents.marks(&format!("{tree}/{name}.md"));
        let expected: Vec<String> = (0..4).map(|part| texts::mark(&name, 1, part)).collect();
        ensure!(
            marks == expected,
            "several miners of one tree left {} of 4 passages of `{name}`",
            marks.len()
        );
    }
    home.verify(true)
}

/// Runs commands repeatedly. None may fail.
fn repeat(home: &Home, until: Instant, commands: &[&[&str]]) -> Work {
    let mut work = Work::default();
    for command in commands.iter().cycle().take(2_000) {
        if Instant::now() >= until {
            break;
        }
        run(home, command, &mut work);
    }
    work
}

fn run(home: &Home, command: &[&str], work: &mut Work) -> bool {
    let line = command.join(" ");
    match home.run(&[command, &["--json"]].concat()) {
        Err(error) => work.problems.push(format!("{error:#}")),
        Ok(ran) if ran.code == Some(0) => return true,
        Ok(ran) => {
            let why = format!("{} {}", short(&ran.stdout), short(&ran.stderr));
            work.problems
                .push(format!("`loci {line}` failed while others ran: {why}"));
        }
    }
    false
}

/// Adds drawers and forgets them.
fn forget(home: &Home, until: Instant) -> Work {
    let mut work = Work::default();
    for n in 0..2_000 {
        if Instant::now() >= until {
            break;
        }
        let id = format!("forgotten-{n}");
        let added = run(home, &["add", &texts::text(&id), "--id", &id], &mut work);
        if added {
            run(home, &["forget", &id], &mut work);
        }
    }
    work
}

fn back_up(home: &Home, until: Instant) -> Work {
    let mut work = Work::default();
    for n in 0..500 {
        if Instant::now() >= until {
            break;
        }
        let file = home.path(&format!("backup-{n}"));
        let name = file.display().to_string();
        run(home, &["backup", &name], &mut work);
        let copy = home.with_palace(&home.path(&format!("copy-{n}")));
        if run(&copy, &["restore", &name], &mut work) {
            run(&copy, &["verify"], &mut work);
        }
        remove(&file, copy.palace());
    }
    work
}

fn remove(file: &Path, directory: &Path) {
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_dir_all(directory);
}
