//! `-shm` is deleted, truncated or replaced, and `-wal` is deleted, while processes run.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::round::Round;
use crate::torture::workers::{self, Work};

pub(super) const ATTACK: Attack = Attack {
    name: "shm",
    checks: "-shm or -wal deleted, truncated or replaced while writers run; acknowledged \
             writes are kept, errors are clear; a SIGBUS after truncation is counted separately",
    weight: 1,
    round,
};

const SIGBUS: i32 = 7;

type Damage = fn(&Path) -> std::io::Result<()>;

/// The changes, each with its name and its file.
const DAMAGES: [(&str, &str, Damage); 5] = [
    ("-shm deleted", "palace.sqlite3-shm", |path| {
        std::fs::remove_file(path)
    }),
    ("-shm truncated", "palace.sqlite3-shm", |path| {
        std::fs::File::options().write(true).open(path)?.set_len(0)
    }),
    ("-shm replaced", "palace.sqlite3-shm", |path| {
        let new = path.with_extension("new");
        std::fs::write(&new, vec![0; 32 * 1024])?;
        std::fs::rename(new, path)
    }),
    ("-wal deleted", "palace.sqlite3-wal", |path| {
        std::fs::remove_file(path)
    }),
    ("-shm and -wal deleted", "palace.sqlite3-shm", |path| {
        std::fs::remove_file(path)?;
        std::fs::remove_file(path.with_file_name("palace.sqlite3-wal"))
    }),
];

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let home = round.home.clone();
    let mut known = round.context.fill(home.palace(), 20)?;
    let Some((name, file, damage)) = round.random.choice(&DAMAGES).copied() else {
        return Ok(());
    };
    let with_commands = round.random.bool();
    let time = Duration::from_millis(1_500);
    let moments: Vec<Duration> = (0..=round.random.u32(..3))
        .map(|_| time.mul_f64(0.2 + 0.2 * round.random.f64()))
        .collect();
    let until = Instant::now() + time;
    let works = std::thread::scope(|threads| {
        let home = &home;
        let mut writers = vec![
            threads.spawn(move || workers::server(home, "server", until, None)),
            threads.spawn(move || workers::server(home, "other", until, None)),
        ];
        if with_commands {
            writers.push(threads.spawn(move || workers::commands(home, "command", until, None)));
        }
        for moment in moments {
            std::thread::sleep(moment);
            if Instant::now() < until && damage(&home.file(file)).is_ok() {
                round.tally.tries += 1;
                round.note(name);
            }
        }
        let works = writers.into_iter().filter_map(|writer| writer.join().ok());
        works.collect::<Vec<Work>>()
    });
    let mut work = Work::merge(works);
    for death in std::mem::take(&mut work.deaths) {
        if death == SIGBUS && name == "-shm truncated" {
            round.note("deaths by SIGBUS");
        } else {
            round.fail(format!("{name}: a process died of signal {death}"));
        }
    }
    work.report(round, true);
    let (acknowledged, possible) = work.drawers();
    known.extend(acknowledged);
    let outcome = Contents::of(&home)
        .and_then(|contents| contents.must_hold(&known, &possible))
        .and_then(|()| home.verify(true))
        .and_then(|()| home.json(&["add", "afterwards"]).map(drop));
    outcome.map_err(|error| anyhow::anyhow!("{name}: {error:#}"))
}
