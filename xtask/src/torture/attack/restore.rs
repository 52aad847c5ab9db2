//! `restore --replace` while others write and read.

use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::Home;
use crate::torture::process::short;
use crate::torture::round::{Drawers, Round};
use crate::torture::texts;
use crate::torture::workers::{self, Work};

pub(super) const ATTACK: Attack = Attack {
    name: "restore",
    checks: "restore --replace while others write and read; no answer mixes two palaces, writes \
             that begin after the restore are kept, all processes go on, verify --deep finds \
             nothing",
    weight: 1,
    round,
};

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let home = round.home.clone();
    // Two backups that share no drawer.
    let mut bases = Vec::new();
    for name in ["left", "right"] {
        let drawers = texts::numbered(name, *round.random.choice(&[30, 400]).unwrap_or(&30));
        let other = home.with_palace(&home.path(&format!("of-{name}")));
        other.import(&texts::lines(&drawers))?;
        let file = home.path(&format!("{name}.backup")).display().to_string();
        other.json(&["backup", &file])?;
        bases.push((file, drawers));
    }
    let [left, right] = bases.as_slice() else {
        bail!("two backups were made");
    };
    home.json(&["restore", &left.0])?;
    let time = round.context.slice.mul_f64(0.7);
    let until = Instant::now() + time;
    let pauses: Vec<Duration> = (0..64)
        .map(|_| time.mul_f64(round.random.f64() / 5.0))
        .collect();
    let writers_until = until + Duration::from_millis(300);
    let (works, restores, mixtures) = std::thread::scope(|threads| {
        let home = &home;
        let writers = [
            threads.spawn(move || workers::server(home, "server", writers_until, None)),
            threads.spawn(move || workers::commands(home, "command", writers_until, Some(10))),
            threads.spawn(move || workers::commands(home, "other", writers_until, None)),
        ];
        let reader = threads.spawn(move || read(home, &left.1, &right.1, writers_until));
        let restores = restore(home, &right.0, &left.0, &pauses, until);
        let works: Vec<Work> = writers
            .into_iter()
            .filter_map(|writer| writer.join().ok())
            .collect();
        (works, restores, reader.join().unwrap_or_default())
    });
    let (count, last) = restores?;
    round.tally.tries += count;
    for mixture in mixtures {
        round.fail(mixture);
    }
    ensure!(works.len() == 3, "a thread of the driver panicked");
    let mut work = Work::merge(works);
    for death in std::mem::take(&mut work.deaths) {
        round.fail(format!("a process died of signal {death}"));
    }
    work.report(round, false);
    let (_, mut possible) = work.drawers();
    let mut expected = if count % 2 == 0 {
        left.1.clone()
    } else {
        right.1.clone()
    };
    for write in &work.writes {
        let drawer = (write.id.clone(), write.text.clone());
        // A write that began before the end of the last restore may be there or not.
        if write.acknowledged && last.is_none_or(|last| write.began > last) {
            expected.extend([drawer]);
        } else {
            possible.extend([drawer]);
        }
    }
    Contents::of(&home)?.must_hold(&expected, &possible)?;
    home.verify(true)
}

/// Restores the backups in turn. Returns how often, and when the last one was acknowledged.
fn restore(
    home: &Home,
    first: &str,
    second: &str,
    pauses: &[Duration],
    until: Instant,
) -> anyhow::Result<(u64, Option<Instant>)> {
    let mut count = 0;
    let mut last = None;
    for (pause, file) in pauses.iter().zip([first, second].into_iter().cycle()) {
        std::thread::sleep(*pause);
        if Instant::now() >= until {
            break;
        }
        home.json(&["restore", file, "--replace"])?;
        last = Some(Instant::now());
        count += 1;
    }
    Ok((count, last))
}

/// Checks that every answer holds one of the two backups as a whole, and nothing of the other.
fn read(home: &Home, left: &Drawers, right: &Drawers, until: Instant) -> Vec<String> {
    let mut problems = Vec::new();
    for _ in 0..2_000 {
        if Instant::now() >= until {
            break;
        }
        match home.run(&["list", "--limit", "1000000", "--json"]) {
            Err(error) => problems.push(format!("{error:#}")),
            Ok(ran) => match ran.json().map(|answer| Contents::during_writes(&answer)) {
                Some(Ok(contents)) => {
                    let of = |base: &Drawers| {
                        base.keys()
                            .filter(|id| contents.drawers.contains_key(*id))
                            .count()
                    };
                    let (l, r) = (of(left), of(right));
                    if (l, r) != (left.len(), 0) && (l, r) != (0, right.len()) {
                        problems.push(format!(
                            "an answer holds {l} of {} drawers of one palace and {r} of {} of \
                             the other",
                            left.len(),
                            right.len()
                        ));
                    }
                }
                Some(Err(error)) => problems.push(format!("{error:#}")),
                None => {
                    let why = ran.violation().unwrap_or_else(|| short(&ran.stderr));
                    problems.push(format!("`loci list` failed during a restore: {why}"));
                }
            },
        }
    }
    problems
}
