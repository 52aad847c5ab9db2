//! Disconnecting: a file that is as connecting left it goes back to its bytes; of one that was changed since, only Loci's
//! entries go.

use std::fs;
use std::path::{Path, PathBuf};

use loci_palace::Result;
use serde_json::Value;

use super::agents::{AGENTS, Agent};
use super::change::unwire;
use super::connect::{Act, Change, at, chosen, parse};
use super::document::Document;
use super::files;
use super::journal::{Journal, Record};
use super::splice::Edit;
use crate::home::Home;

/// A file and what is to become of it.
struct Undo {
    agent: &'static Agent,
    path: PathBuf,
    now: Vec<u8>,
    /// `None`: the file goes.
    then: Option<Vec<u8>>,
    act: Act,
    edits: Vec<Edit>,
}

/// Undoes what connecting did to these agents, or to all. With `dry_run` it only says what it would do.
pub fn disconnect(home: &Home, agents: &[String], dry_run: bool) -> Result<Vec<Change>> {
    let agents: Vec<&'static Agent> = if agents.is_empty() {
        AGENTS.iter().collect()
    } else {
        chosen(home, agents)?
    };
    let journal = Journal::look(home)?;
    let (undos, _) = undos(home, &agents, &journal)?;
    if dry_run || (undos.is_empty() && journal.records.is_empty()) {
        return Ok(changes(&undos));
    }
    let mut journal = Journal::open(home)?;
    let (undos, settled) = self::undos(home, &agents, &journal)?;
    for undo in &undos {
        put_back(undo)?;
    }
    for path in undos.iter().map(|undo| &undo.path).chain(&settled) {
        tidy_up(path, journal.record(path))?;
        journal.drop(path);
    }
    journal.save()?;
    journal.tidy();
    Ok(changes(&undos))
}

/// What is to be undone, and the files in which nothing is.
fn undos(
    home: &Home,
    agents: &[&'static Agent],
    journal: &Journal,
) -> Result<(Vec<Undo>, Vec<PathBuf>)> {
    let (mut undos, mut settled) = (Vec::new(), Vec::new());
    for agent in agents {
        for path in paths(home, agent, journal) {
            match undo(home, agent, &path, journal)? {
                Some(undo) => undos.push(undo),
                None => settled.push(path),
            }
        }
    }
    Ok((undos, settled))
}

fn changes(undos: &[Undo]) -> Vec<Change> {
    undos
        .iter()
        .map(|undo| Change {
            agent: undo.agent.id,
            path: undo.path.clone(),
            act: undo.act,
            edits: undo.edits.clone(),
        })
        .collect()
}

/// The files of an agent: where they are now, and where they were when it was connected.
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

/// Without the bytes of before: our entries go, the rest stays.
fn by_entries(home: &Home, mut undo: Undo, record: Option<&Record>) -> Result<Option<Undo>> {
    let mut document = match parse(undo.agent, home, &undo.path, Some(&undo.now)) {
        Ok(document) => document,
        // Nothing of ours is known to be in it, so it is none of our business.
        Err(_) if record.is_none() => return Ok(None),
        Err(error) => return Err(error),
    };
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

fn put_back(undo: &Undo) -> Result<()> {
    let target = files::target(&undo.path)?;
    match &undo.then {
        Some(bytes) => files::replace(&target, bytes, Some(&undo.now)),
        None => files::remove(&target, &undo.now),
    }
}

/// Removes what a killed run left half written, and the directories that were made for a file that is no more.
fn tidy_up(path: &Path, record: Option<&Record>) -> Result<()> {
    let target = files::target(path)?;
    let _ = fs::remove_file(files::unfinished(&target));
    let directories = record.map(|record| record.directories.as_slice());
    if target.exists() {
        return Ok(());
    }
    for directory in directories.unwrap_or_default().iter().rev() {
        // It stays if something else is in it by now.
        if fs::remove_dir(directory).is_err() && directory.exists() {
            break;
        }
    }
    Ok(())
}
