//! Commands run out of space: under a limit on file sizes, and on a small file system if the driver
//! may mount one.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::Attack;
use crate::torture::contents::Contents;
use crate::torture::home::{Home, copy};
use crate::torture::process::{HANGS, Ran, Started, short};
use crate::torture::round::{Drawers, Round};
use crate::torture::texts;

pub(super) const ATTACK: Attack = Attack {
    name: "full-disk",
    checks: "add, import, mine, verify, reembed, backup, export, search and restore run out of \
             room (a limit on file sizes; a small file system); acknowledged writes are kept, \
             errors are clear, with room again everything works",
    weight: 1,
    round,
};

const SIGXFSZ: i32 = 25;

/// The binary inherits the limit. If the signal is ignored, a write beyond the limit fails.
/// Otherwise the system kills the process.
const LIMITS: [&str; 2] = [
    "trap '' XFSZ; ulimit -f \"$LIMIT\"; exec \"$@\"",
    "ulimit -f \"$LIMIT\"; exec \"$@\"",
];

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let is_mounted = round.random.bool() && mounted(round)?;
    if !is_mounted {
        limited(round)?;
    }
    Ok(())
}

/// How a command is run: arguments and stdin.
type Run<'a> = &'a dyn Fn(&Home, &[&str], Option<&[u8]>) -> anyhow::Result<Ran>;

/// A palace, with the drawers that it holds and those that failed commands may have added.
struct Scene {
    home: Home,
    known: Drawers,
    possible: Drawers,
    next: u32,
}

impl Scene {
    fn new(round: &Round<'_>, home: Home) -> anyhow::Result<Self> {
        let known = round.context.fill(home.palace(), 60)?;
        let backup = home.path("backup").display().to_string();
        home.json(&["backup", &backup])?;
        std::fs::create_dir_all(home.path("tree"))?;
        Ok(Self {
            home,
            known,
            possible: Drawers::new(),
            next: 0,
        })
    }

    /// Runs a random command with `run`, and records what it acknowledged.
    fn command(&mut self, round: &mut Round<'_>, run: Run<'_>) -> anyhow::Result<()> {
        self.next += 1;
        let id = format!("late-{}", self.next);
        let text = texts::text(&id);
        let home = self.home.clone();
        let many = texts::numbered(&format!("many-{}", self.next), 200);
        let (tree, target) = (home.path("tree"), home.path("target"));
        let backup = home.path("backup").display().to_string();
        let target_name = target.display().to_string();
        let tree_name = tree.display().to_string();
        let name = format!("f{}", self.next);
        std::fs::write(
            home.path("tree").join(format!("{name}.md")),
            texts::document(&name, 1, 40, 60),
        )?;
        let lines = texts::lines(&many);
        let mut input = None;
        let mut written = Drawers::new();
        let arguments: Vec<&str> = match round.random.u32(..12) {
            0..3 => {
                written.insert(id.clone(), text.clone());
                vec!["add", &text, "--id", &id]
            }
            3 | 4 => {
                written = many;
                input = Some(lines.as_bytes());
                vec!["import", "jsonl", "-"]
            }
            5 => vec!["mine", &tree_name],
            6 => vec!["verify", "--deep"],
            7 => vec!["reembed", "--model", "static"],
            8 => vec!["backup", &target_name],
            9 => vec!["export", &target_name],
            10 => vec!["search", &text],
            _ => vec!["restore", &backup, "--replace"],
        };
        let line = arguments.join(" ");
        let ran = run(&home, &[&arguments[..], &["--json"]].concat(), input)?;
        round.tally.tries += 1;
        let _ = std::fs::remove_file(&target);
        if ran.signal == Some(SIGXFSZ) {
            round.note("killed by SIGXFSZ");
        } else if let Some(what) = ran.violation() {
            round.fail(format!("`loci {}` without free space {what}", short(&line)));
        } else if ran.code == Some(0) {
            round.note("succeeded");
        } else {
            round.note("failed with an error");
        }
        let is_restore = line.starts_with("restore");
        let is_acknowledged = ran.code == Some(0);
        if is_restore {
            self.after_restore(is_acknowledged)?;
        } else if is_acknowledged && !written.is_empty() {
            let answer = ran.json().context("no JSON")?;
            ensure!(
                answer["added"]
                    .as_u64()
                    .is_none_or(|added| added == written.len() as u64),
                "an import succeeds with wrong counts: {answer}"
            );
            self.known.extend(written);
        } else {
            self.possible.extend(written);
        }
        Ok(())
    }

    /// Decides whether the palace is the backup or still the old one.
    fn after_restore(&mut self, is_acknowledged: bool) -> anyhow::Result<()> {
        let base = texts::numbered("base", 60);
        let more = self.known.keys().find(|id| !base.contains_key(*id));
        let is_restored = is_acknowledged
            || match more {
                Some(id) => !Contents::of(&self.home)?.drawers.contains_key(id),
                None => false,
            };
        if is_restored {
            self.known = base;
            self.possible.clear();
        }
        Ok(())
    }

    /// Checks that everything is there and works when there is free space again.
    fn check(&mut self) -> anyhow::Result<()> {
        let contents = Contents::of(&self.home)?;
        contents.must_hold(&self.known, &self.possible)?;
        self.known.clone_from(&contents.drawers);
        self.home.verify(true)?;
        self.next += 1;
        let id = format!("roomy-{}", self.next);
        self.home.json(&["add", &texts::text(&id), "--id", &id])?;
        self.known.insert(id.clone(), texts::text(&id));
        self.home
            .json(&["mine", &self.home.path("tree").display().to_string()])?;
        Ok(())
    }
}

fn limited(round: &mut Round<'_>) -> anyhow::Result<()> {
    let mut scene = Scene::new(round, round.home.clone())?;
    while !round.is_over() {
        let size = std::fs::metadata(scene.home.file("palace.sqlite3"))?.len() / 1_024;
        // In blocks of 1 KiB, from what the answers need to a little more than the palace has now.
        let limit = match round.random.u32(..4) {
            0 => round.random.u64(64..200),
            1 => round.random.u64(64..size.max(65)),
            _ => size + round.random.u64(..200),
        };
        let line = *round.random.choice(&LIMITS).unwrap_or(&LIMITS[0]);
        let run = |home: &Home, arguments: &[&str], input: Option<&[u8]>| {
            let mut command = home.shell(line, arguments);
            command.env("LIMIT", limit.to_string());
            Started::new(&mut command, input)?.finish(HANGS)
        };
        scene.command(round, &run)?;
        scene
            .check()
            .with_context(|| format!("after a limit of {limit} KiB"))?;
    }
    Ok(())
}

/// Runs commands on a small file system. Returns whether that was possible.
fn mounted(round: &mut Round<'_>) -> anyhow::Result<bool> {
    if !rustix::process::geteuid().is_root() {
        round.skip("a small file system needs root");
        return Ok(false);
    }
    let disk = round.home.path("disk");
    std::fs::create_dir_all(&disk)?;
    if !mount(&["-t", "tmpfs", "-o", "size=64m", "loci-torture"], &disk) {
        round.skip("a small file system cannot be mounted");
        return Ok(false);
    }
    let outcome = on_disk(round, &disk);
    // After a failure the palace is copied for inspection before the file system is unmounted.
    if outcome.is_err() {
        copy(&disk.join("palace"), &round.home.path("palace-of-the-disk"))?;
    }
    let unmounted = Command::new("umount").arg("--lazy").arg(&disk).status()?;
    ensure!(
        unmounted.success(),
        "the small file system cannot be unmounted"
    );
    outcome.map(|()| true)
}

fn on_disk(round: &mut Round<'_>, disk: &Path) -> anyhow::Result<()> {
    let home = round.home.with_palace(&disk.join("palace"));
    let mut scene = Scene::new(round, home)?;
    while !round.is_over() {
        let used = crate::torture::size_of(disk) / 1_024;
        let room = used + round.random.u64(4..600);
        if !mount(&["-o", &format!("remount,size={room}k")], disk) {
            bail!("the small file system cannot shrink to {room} KiB");
        }
        for _ in 0..3 {
            scene.command(round, &|home, arguments, input| {
                Started::new(&mut home.command(arguments), input)?.finish(HANGS)
            })?;
        }
        ensure!(
            mount(&["-o", "remount,size=64m"], disk),
            "the small file system cannot grow again"
        );
        scene
            .check()
            .with_context(|| format!("after a full disk of {room} KiB"))?;
        for entry in std::fs::read_dir(scene.home.palace())? {
            let path = entry?.path();
            if path.to_string_lossy().contains(".replaced-") {
                std::fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

fn mount(arguments: &[&str], directory: &Path) -> bool {
    let mut command = Command::new("mount");
    command
        .args(arguments)
        .arg(directory)
        .stderr(std::process::Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
