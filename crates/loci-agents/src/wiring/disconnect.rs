//! Disconnects agents. A file that is as connecting left it gets its old bytes back. In a file that
//! was changed since, only Loci's entries are removed.

use std::fs;
use std::path::{Path, PathBuf};

use loci_palace::Result;
use serde_json::Value;

use super::agents::{AGENTS, Agent};
use super::change::unwire;
use super::connect::{at, chosen, parse};
use super::document::Document;
use super::files;
use super::journal::{Journal, Record};
use super::outcome::{Act, Change, Failed, Outcome};
use super::splice::Edit;
use crate::home::Home;

/// A file and its new content.
struct Undo {
    agent: &'static Agent,
    path: PathBuf,
    now: Vec<u8>,
    /// The new bytes; `None` removes the file.
    then: Option<Vec<u8>>,
    act: Act,
    edits: Vec<Edit>,
}

/// The files to change, those without entries, and those that cannot be changed.
#[derive(Default)]
struct UndoPlan {
    undos: Vec<Undo>,
    settled: Vec<PathBuf>,
    failed: Vec<Failed>,
}

/// Undoes connecting for these agents, or for all. With `dry_run` it only computes the changes. A
/// file that cannot be read or written does not stop the others.
pub fn disconnect(home: &Home, agents: &[String], dry_run: bool) -> Result<Outcome> {
    let agents: Vec<&'static Agent> = if agents.is_empty() {
        AGENTS.iter().collect()
    } else {
        chosen(home, agents)?
    };
    let journal = Journal::look(home)?;
    let planned = undos(home, &agents, &journal);
    if dry_run || (planned.undos.is_empty() && journal.records.is_empty()) {
        return Ok(Outcome {
            changes: planned.undos.iter().map(change).collect(),
            failed: planned.failed,
        });
    }
    let mut journal = Journal::open(home)?;
    let UndoPlan {
        undos,
        mut settled,
        failed,
    } = self::undos(home, &agents, &journal);
    let mut outcome = Outcome {
        changes: Vec::new(),
        failed,
    };
    for undo in &undos {
        match restore(undo) {
            Ok(()) => {
                outcome.changes.push(change(undo));
                settled.push(undo.path.clone());
            }
            Err(error) => outcome.failed.push(Failed {
                agent: undo.agent.id,
                error,
            }),
        }
    }
    for path in &settled {
        tidy_up(path, journal.record(path));
        journal.drop(path);
    }
    // Backups are removed only after the journal that does not name them is durable.
    journal.save()?;
    journal.tidy();
    Ok(outcome)
}

fn undos(home: &Home, agents: &[&'static Agent], journal: &Journal) -> UndoPlan {
    let mut all = UndoPlan::default();
    for agent in agents {
        for path in paths(home, agent, journal) {
            match undo(home, agent, &path, journal) {
                Ok(Some(undo)) => all.undos.push(undo),
                Ok(None) => all.settled.push(path),
                // No entry of Loci is known to be in the file, so it is skipped.
                Err(_) if journal.record(&path).is_none() => {}
                Err(error) => {
                    let agent = agent.id;
                    all.failed.push(Failed { agent, error });
                }
            }
        }
    }
    all
}

fn change(undo: &Undo) -> Change {
    Change {
        agent: undo.agent.id,
        path: undo.path.clone(),
        act: undo.act,
        edits: undo.edits.clone(),
    }
}

/// Returns the files of an agent: the current ones, and those from when it was connected.
fn paths(home: &Home, agent: &Agent, journal: &Journal) -> Vec<PathBuf> {
    let mut paths = agent.files(home);
    for record in journal
        .records
        .iter()
        .filter(|record| record.agent == agent.id)
    {
        if !paths.contains(&record.path) {
            paths.push(record.path.clone());
        }
    }
    paths
}

fn undo(
    home: &Home,
    agent: &'static Agent,
    path: &Path,
    journal: &Journal,
) -> Result<Option<Undo>> {
    let record = journal.record(path);
    let Some(now) = files::read(&files::target(path)?)? else {
        return Ok(None);
    };
    let hash = files::hash(&now);
    if record.is_some_and(|record| record.before.as_ref() == Some(&hash)) {
        return Ok(None);
    }
    let mut undo = Undo {
        agent,
        path: path.to_owned(),
        now,
        then: None,
        act: Act::Restored,
        edits: Vec::new(),
    };
    if let Some(record) = record.filter(|record| record.after.contains(&hash)) {
        let backup = match &record.before {
            None => Some(None),
            Some(before) => journal.kept(before)?.map(Some),
        };
        if let Some(bytes) = backup {
            undo.act = if bytes.is_some() {
                Act::Restored
            } else {
                Act::Removed
            };
            undo.then = bytes;
            return Ok(Some(undo));
        }
    }
    by_entries(home, undo, record)
}

/// Without the old bytes, only Loci's entries are removed.
fn by_entries(home: &Home, mut undo: Undo, record: Option<&Record>) -> Result<Option<Undo>> {
    let mut document = parse(undo.agent, home, &undo.path, Some(&undo.now))?;
    unwire(
        &mut document,
        undo.agent,
        record.map(|record| &record.traces),
    )
    .map_err(|problem| at(&undo.path, problem))?;
    let created = record.is_some_and(|record| record.before.is_none());
    let empty = match &document {
        Document::Json(json) => json.value() == Value::Object(serde_json::Map::new()),
        Document::Toml(_) => false,
    };
    let (text, edits) = document.into_parts();
    if edits.is_empty() {
        return Ok(None);
    }
    undo.edits = edits;
    if created && (empty || text.trim().is_empty()) {
        undo.act = Act::Removed;
    } else {
        undo.act = Act::Changed;
        undo.then = Some(text.into_bytes());
    }
    Ok(Some(undo))
}

fn restore(undo: &Undo) -> Result<()> {
    let target = files::target(&undo.path)?;
    match &undo.then {
        Some(bytes) => files::replace(&target, bytes, Some(&undo.now)),
        None => files::remove(&target, &undo.now),
    }
}

/// Removes the temporary file of a killed run, and the directories that were created for a removed
/// file.
fn tidy_up(path: &Path, record: Option<&Record>) {
    let Ok(target) = files::target(path) else {
        return;
    };
    // The target is restored and synced. A crash before the journal is saved repeats this.
    let _ = fs::remove_file(files::unfinished(&target));
    let directories = record.map(|record| record.directories.as_slice());
    if target.exists() {
        return;
    }
    for directory in directories.unwrap_or_default().iter().rev() {
        // The directory stays if it contains other files.
        if fs::remove_dir(directory).is_err() && directory.exists() {
            break;
        }
    }
}
