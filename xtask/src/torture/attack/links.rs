//! Trees with links to the palace's own files are mined while others write.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::Home;
use crate::torture::process::short;
use crate::torture::round::Round;
use crate::torture::texts;
use crate::torture::workers::{self, Work};

pub(super) const ATTACK: Attack = Attack {
    name: "links",
    checks: "trees with symbolic and hard links to the palace's own files are mined by servers \
             and commands beside writers; acknowledged writes are kept, nobody dies, verify \
             --deep finds nothing",
    weight: 1,
    round,
};

const TARGETS: [&str; 6] = [
    "palace.sqlite3",
    "palace.sqlite3-wal",
    "palace.sqlite3-shm",
    "palace.lock",
    "index.lock",
    "restore.lock",
];

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let home = round.home.clone();
    let drawers = *round.random.choice(&[20, 2_300]).unwrap_or(&20);
    let mut known = round.context.fill(home.palace(), drawers)?;
    let tree = home.path("tree");
    std::fs::create_dir_all(&tree)?;
    std::fs::write(tree.join("plain.md"), texts::document("plain", 1, 3, 40))?;
    for (n, target) in TARGETS.iter().enumerate() {
        let file = home.file(target);
        if !file.exists() || round.random.u32(..4) == 0 {
            continue;
        }
        let ending = round
            .random
            .choice(&["txt", "md", "jsonl", "rs"])
            .unwrap_or(&"txt");
        let link = tree.join(format!("link{n}.{ending}"));
        match round.random.u32(..3) {
            0 => std::fs::hard_link(&file, &link)?,
            1 => symlink(&file, &link)?,
            // A link that points to another link.
            _ => {
                let middle = home.path(&format!("middle{n}"));
                symlink(&file, &middle)?;
                symlink(&middle, &link)?;
            }
        }
        round.tally.tries += 1;
    }
    if round.random.bool() {
        symlink(home.palace(), tree.join("directory"))?;
        round.tally.tries += 1;
    }
    let tree = tree.display().to_string();
    let until = Instant::now() + Duration::from_secs(2);
    let works = std::thread::scope(|threads| {
        let home = &home;
        let tree = tree.as_str();
        let writers = [
            threads.spawn(move || workers::server(home, "miner", until, Some(tree))),
            threads.spawn(move || workers::server(home, "minor", until, Some(tree))),
            threads.spawn(move || workers::commands(home, "command", until, None)),
            threads.spawn(move || mine(home, tree, until)),
        ];
        let works = writers.into_iter().filter_map(|writer| writer.join().ok());
        works.collect::<Vec<Work>>()
    });
    let mut work = Work::merge(works);
    for death in std::mem::take(&mut work.deaths) {
        round.fail(format!("a process died of signal {death}"));
    }
    work.report(round, false);
    let (acknowledged, possible) = work.drawers();
    known.extend(acknowledged);
    Contents::of(&home)?.must_hold(&known, &possible)?;
    home.verify(true)
}

fn mine(home: &Home, tree: &str, until: Instant) -> Work {
    let mut work = Work::default();
    let arguments = [
        "mine",
        tree,
        "--force",
        "--hidden",
        "--ignored",
        "--generated",
        "--json",
    ];
    for _ in 0..1_000 {
        if Instant::now() >= until {
            break;
        }
        match home.run(&arguments) {
            Err(error) => work.problems.push(format!("{error:#}")),
            Ok(ran) if matches!(ran.code, Some(0)) => {}
            Ok(ran) => {
                let why = ran.violation().unwrap_or_else(|| short(&ran.stderr));
                work.problems.push(format!("`loci mine` failed: {why}"));
            }
        }
    }
    work
}
