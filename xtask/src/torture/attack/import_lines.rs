//! Imports mutated JSON lines. The counts must add up, valid lines must be there, and `verify` must
//! find nothing.

use anyhow::{Context, ensure};
use serde_json::json;

use super::Attack;
use crate::torture::home::Home;
use crate::torture::process::short;
use crate::torture::round::{Drawers, Round};
use crate::torture::texts;

pub(super) const ATTACK: Attack = Attack {
    name: "import-lines",
    checks: "mutated JSON lines are imported (tries are lines); no panic, every line is counted, \
             valid lines are there word for word, verify --deep finds nothing",
    weight: 1,
    round,
};

const LINES: usize = 1_500;

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    for n in 0..8 {
        if round.is_over() {
            break;
        }
        let home = round
            .home
            .with_palace(&round.home.path(&format!("palace-{n}")));
        let file = round.home.path(&format!("lines-{n}.jsonl"));
        batch(round, &home, &file)?;
        std::fs::remove_dir_all(home.palace())?;
        std::fs::remove_file(file)?;
    }
    Ok(())
}

fn batch(round: &mut Round<'_>, home: &Home, file: &std::path::Path) -> anyhow::Result<()> {
    let mut valid = Drawers::new();
    let mut bytes = Vec::new();
    let mut lines = 0;
    for n in 0..LINES {
        let is_valid = round.random.u32(..3) == 0;
        // No mutation produces the id of a valid line.
        let id = format!("{}-{n}", if is_valid { "valid" } else { "mutated" });
        let line = line(&mut round.random, &id);
        if is_valid {
            valid.insert(id.clone(), texts::text(&id));
            bytes.extend(line.to_string().into_bytes());
            lines += 1;
        } else {
            let line = mutated(&mut round.random, line.to_string().into_bytes());
            // A mutation may split the line in two, or leave it empty.
            let parts = line.split(|byte| *byte == b'\n');
            lines += parts.filter(|part| !part.trim_ascii().is_empty()).count() as u64;
            bytes.extend(line);
        }
        bytes.push(b'\n');
    }
    std::fs::write(file, &bytes)?;
    round.tally.tries += lines;
    let name = file.display().to_string();
    let ran = home.run(&["import", "jsonl", &name, "--json"])?;
    if let Some(what) = ran.violation() {
        anyhow::bail!("`loci import jsonl` {what}");
    }
    let Some(answer) = ran.json() else {
        anyhow::bail!("`loci import jsonl` failed: {}", short(&ran.stderr));
    };
    let counts = ["added", "updated", "facts", "links", "skipped", "failed"];
    let sum: u64 = counts
        .iter()
        .filter_map(|name| answer[*name].as_u64())
        .sum();
    ensure!(
        sum == lines,
        "{lines} lines were passed, but the counts add up to {sum}: {}",
        short(&answer.to_string())
    );
    let failed = answer["failed"]
        .as_u64()
        .context("no count of failed lines")?;
    ensure!(
        failed == 0
            || answer["lost"]
                .as_array()
                .is_some_and(|lost| !lost.is_empty()),
        "{failed} lines failed, and none is named"
    );
    let listed = home.json(&["list", "--limit", "1000000"])?;
    let listed = listed["drawers"].as_array().context("no drawers")?;
    let added = answer["added"].as_u64().unwrap_or(0);
    ensure!(
        listed.len() as u64 == added,
        "{added} drawers were added, {} are there",
        listed.len()
    );
    let found: Drawers = listed
        .iter()
        .filter_map(|drawer| {
            Some((
                drawer["id"].as_str()?.into(),
                drawer["text"].as_str()?.into(),
            ))
        })
        .collect();
    for (id, text) in &valid {
        ensure!(
            found.get(id) == Some(text),
            "valid line `{id}` is missing or changed"
        );
    }
    home.verify(true)
}

fn line(random: &mut fastrand::Rng, id: &str) -> serde_json::Value {
    let mut line = json!({"id": id, "text": texts::text(id)});
    if random.bool() {
        line["metadata"] = json!({"wing": "w", "n": random.u32(..), "list": [1, 2], "yes": true});
    }
    line
}

fn mutated(random: &mut fastrand::Rng, mut line: Vec<u8>) -> Vec<u8> {
    for _ in 0..=random.u32(..3) {
        let length = line.len().max(1);
        let at = random.usize(..length).min(line.len());
        match random.u32(..10) {
            0 | 1 => {
                if let Some(byte) = line.get_mut(at) {
                    *byte ^= 1 << random.u32(..8);
                }
            }
            2 => line.truncate(at),
            3 => insert(&mut line, at, b"\0"),
            4 => insert(
                &mut line,
                at,
                "\u{202e}\u{feff}e\u{301}\u{1f469}\u{200d}".as_bytes(),
            ),
            5 => insert(&mut line, at, b"1e999999"),
            6 => insert(&mut line, at, b"99999999999999999999999999999999"),
            7 => insert(&mut line, at, "[".repeat(random.usize(1..3_000)).as_bytes()),
            8 => insert(&mut line, at, b"\\ud800"),
            _ => {
                let end = (at + random.usize(..20)).min(line.len());
                line.drain(at.min(end)..end);
            }
        }
    }
    line
}

fn insert(line: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    line.splice(at..at, bytes.iter().copied());
}
