//! Decides whether the answers of a damaged palace are acceptable.

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use serde_json::Value;

use super::damage::{Area, Damage};
use crate::torture::contents::Contents;
use crate::torture::home::Home;
use crate::torture::process::{Ran, short};
use crate::torture::round::{Drawers, Round};
use crate::torture::server::{Reply, Server};
use crate::torture::texts;

/// The answers of the palace before the damage.
pub(super) struct Baseline {
    drawers: Drawers,
    question: String,
    hits: Vec<String>,
    /// Where each commit of the log ends, in bytes.
    commits: Vec<u64>,
}

impl Baseline {
    /// Adds some commits that stay in the log, and records the answers.
    pub(super) fn new(home: &Home, mut drawers: Drawers) -> anyhow::Result<Self> {
        let mut server = Server::start(home, "core")?;
        for (id, text) in texts::numbered("logged", 6) {
            let Reply::Done(_) = server.add(&id, &text) else {
                bail!("the server did not add a drawer");
            };
            drawers.insert(id, text);
        }
        server.signal(Signal::KILL);
        drop(server);
        std::fs::write(home.file("palace.toml"), "durability = \"normal\"\n")?;
        let log = std::fs::read(home.file("palace.sqlite3-wal"))?;
        let whole = home.with_palace(&home.path("asked"));
        crate::torture::home::copy(home.palace(), whole.palace())?;
        let question = texts::text("base-7");
        let hits = hits(&whole.run(&["search", &question, "--json"])?)?;
        ensure!(!hits.is_empty(), "a search of a whole palace finds nothing");
        Contents::of(&whole)?.must_hold(&drawers, &Drawers::new())?;
        std::fs::remove_dir_all(whole.palace())?;
        Ok(Self {
            drawers,
            question,
            hits,
            commits: commits(&log),
        })
    }
}

/// The offsets at which the commits of a log end. A log has a header of 32 bytes, then frames of 24
/// bytes and a page. A frame that ends a commit holds the size of the database in its bytes 4 to 7.
fn commits(log: &[u8]) -> Vec<u64> {
    let frames = log.get(32..).unwrap_or_default().chunks_exact(24 + 8_192);
    let ends = |(n, frame): (usize, &[u8])| {
        let size = frame.get(4..8).unwrap_or_default();
        size.iter()
            .any(|byte| *byte != 0)
            .then_some(32 + (n as u64 + 1) * (24 + 8_192))
    };
    frames.enumerate().filter_map(ends).collect()
}

fn hits(ran: &Ran) -> anyhow::Result<Vec<String>> {
    let answer = ran.json().context("a search printed no JSON")?;
    let hits = answer["hits"].as_array().context("no hits")?;
    Ok(hits.iter().map(|hit| hit["id"].to_string()).collect())
}

pub(super) fn judge(
    round: &mut Round<'_>,
    home: &Home,
    baseline: &Baseline,
    damage: &Damage,
) -> anyhow::Result<()> {
    let search = run_checked(home, &["search", &baseline.question])?;
    let list = run_checked(home, &["list", "--limit", "1000000"])?;
    let contents = list
        .json()
        .map(|answer| Contents::from(&answer))
        .transpose()?;
    if let Some(contents) = &contents {
        for (id, text) in &contents.drawers {
            let expected = baseline.drawers.get(id);
            ensure!(
                expected == Some(text),
                "an answer has a wrong text for drawer `{id}`: {text}"
            );
        }
    }
    let missing = match &contents {
        Some(contents) => baseline.drawers.len() - contents.drawers.len(),
        None => baseline.drawers.len(),
    };
    let verify = run_checked(home, &["verify", "--deep"])?;
    match damage.area {
        Area::Derived => {
            ensure!(missing == 0, "{missing} drawers are missing");
            let hits = hits(&search)?;
            ensure!(
                hits == baseline.hits,
                "a search has other hits than before the damage"
            );
        }
        Area::Settings => {}
        Area::Database => {
            let wrong = missing > 0 || search.code != Some(0);
            ensure!(
                !wrong || verify.code != Some(0),
                "{missing} drawers are missing, search ends with {:?}, and verify --deep finds \
                 nothing",
                search.code
            );
        }
        Area::Log => log(round, baseline, damage, missing, &verify)?,
    }
    if damage.area == Area::Settings {
        return Ok(());
    }
    let before = baseline.drawers.len() - if damage.area == Area::Log { missing } else { 0 };
    repaired(round, home, before, damage)
}

/// Checks that lost commits of a damaged log are reported, if they can be detected. SQLite cannot
/// distinguish damage from the end of the log. Only valid commits after the damage show that
/// commits are missing.
fn log(
    round: &mut Round<'_>,
    baseline: &Baseline,
    damage: &Damage,
    missing: usize,
    verify: &Ran,
) -> anyhow::Result<()> {
    if missing == 0 {
        return Ok(());
    }
    if verify.code != Some(0) {
        round.note("lost commits of a damaged log that were reported");
        return Ok(());
    }
    let whole_after = baseline
        .commits
        .iter()
        .filter(|end| **end > damage.at)
        .count();
    let is_in_header = damage.at < 32;
    if damage.is_truncation || is_in_header || whole_after < 2 {
        round.note("lost commits at the end of a damaged log, which cannot be detected");
        return Ok(());
    }
    bail!("{missing} drawers of a damaged log are missing, and verify --deep finds nothing")
}

/// Repairs the palace, and compares the remaining drawers with those that are reported as lost.
fn repaired(
    round: &mut Round<'_>,
    home: &Home,
    before: usize,
    damage: &Damage,
) -> anyhow::Result<()> {
    let repair = run_checked(home, &["repair"])?;
    let Some(answer) = repair.json() else {
        ensure!(repair.code != Some(0), "repair answered no JSON");
        round.note("repair refused with an error");
        return Ok(());
    };
    let salvaged = answer["salvage"]["palace"].as_str();
    let result = match salvaged {
        Some(path) => home.with_palace(std::path::Path::new(path)),
        None => home.clone(),
    };
    let list = run_checked(&result, &["list", "--limit", "1000000"])?;
    let Some(left) = list
        .json()
        .map(|answer| Contents::from(&answer))
        .transpose()?
    else {
        ensure!(
            repair.code != Some(0),
            "repair succeeds, but the palace cannot be read"
        );
        return Ok(());
    };
    if repair.code == Some(0) {
        result.verify(true)?;
    }
    let left = left.drawers.len();
    if left < before {
        let reported = reported(&answer);
        ensure!(
            reported >= (before - left) as u64,
            "repair left {left} of {before} drawers and reports {reported} as lost: {}",
            short(&answer.to_string())
        );
        round.note("repairs that lost drawers and reported it");
    }
    ensure!(
        damage.area != Area::Derived || left == before,
        "repair of a derived file left {left} of {before} drawers"
    );
    Ok(())
}

/// How many lost or damaged drawers an answer of repair reports, as a difference, in a field, or in
/// a sentence.
fn reported(answer: &Value) -> u64 {
    let count = |name: &str| answer[name].as_u64().unwrap_or(0);
    let difference = count("drawers_before").saturating_sub(count("drawers_after"));
    difference.max(largest(answer, false))
}

/// The largest number of lost drawers in fields whose names mean a loss, and in sentences.
fn largest(value: &Value, names_loss: bool) -> u64 {
    let is_loss = |text: &str| {
        let words = ["lost", "damaged", "missing"];
        words.iter().any(|word| text.contains(word))
    };
    match value {
        Value::Number(number) if names_loss => number.as_u64().unwrap_or(0),
        // Such as "moved 3 damaged drawer(s)".
        Value::String(text) => {
            let words = text.split(' ').zip(text.split(' ').skip(1));
            let counts = words.filter_map(|(count, what)| {
                let count = count.parse().ok()?;
                is_loss(what).then_some(count)
            });
            counts.max().unwrap_or(0)
        }
        Value::Array(list) => {
            let length = if names_loss { list.len() as u64 } else { 0 };
            let inner = list.iter().map(|value| largest(value, false)).max();
            length.max(inner.unwrap_or(0))
        }
        Value::Object(fields) => {
            let inner = fields
                .iter()
                .map(|(name, value)| largest(value, is_loss(name)));
            inner.max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Runs a command that may fail, but must not panic, hang or fail without a message.
fn run_checked(home: &Home, arguments: &[&str]) -> anyhow::Result<Ran> {
    let ran = home.run(&[arguments, &["--json"]].concat())?;
    if let Some(what) = ran.violation() {
        let name = arguments.first().unwrap_or(&"");
        bail!("`loci {name}` {what}");
    }
    Ok(ran)
}
