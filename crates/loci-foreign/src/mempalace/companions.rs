//! Reads the files beside a MemPalace palace, whichever backend keeps its drawers.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use loci_core::finding::{Finding, Fix, Severity};
use loci_core::{EmbedderIdentity, Fact, Link, MAX_DIMENSION, Result};
use serde_json::Value;

use super::{graph, tunnels};
use crate::batches::Batches;
use crate::database;
use crate::palace::{LostRecord, OnBatch, ReadSummary};

/// The maximum size of a JSON file. MemPalace's own are a few hundred kilobytes.
const LARGEST: u64 = 64 << 20;
/// The identity of the embedder, by collection.
const EMBEDDER: &str = "mempalace_embedder.json";
/// Files beside a palace, or in its configuration, that have no place in Loci.
const UNMAPPED: [&str; 8] = [
    "hallways.json",
    "identity.txt",
    "people_map.json",
    "known_entities.json",
    "config.json",
    "logstream.sqlite3",
    "rooms",
    "wings",
];

/// The contents of the files beside a palace.
#[derive(Debug, Clone, Default)]
pub struct Companions {
    /// Facts of the knowledge graph.
    pub facts: Vec<Fact>,
    /// Tunnels between rooms or drawers.
    pub links: Vec<Link>,
    /// The embedder of each collection, as far as it is recorded. The digest is empty.
    pub embedders: BTreeMap<String, EmbedderIdentity>,
    /// Tunnels that could not be read.
    pub lost_links: Vec<LostRecord>,
    /// Everything else that could not be read or has no place in Loci.
    pub summary: ReadSummary,
    /// Problems and notes.
    pub findings: Vec<Finding>,
}

impl Companions {
    /// The embedder of a collection.
    pub fn embedder_of(&self, collection: &str) -> Option<&EmbedderIdentity> {
        self.embedders.get(collection)
    }

    /// Passes the facts to `take`.
    pub fn for_each_fact(&self, batch: usize, take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        let mut batches = Batches::new(batch, take);
        for fact in &self.facts {
            batches.push(fact.clone())?;
        }
        Ok(ReadSummary {
            read: batches.finish()?,
            lost: self.summary.lost.clone(),
            ..ReadSummary::default()
        })
    }

    /// Passes the links to `take`.
    pub fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        let mut batches = Batches::new(batch, take);
        for link in &self.links {
            batches.push(link.clone())?;
        }
        Ok(ReadSummary {
            read: batches.finish()?,
            lost: self.lost_links.clone(),
            ..ReadSummary::default()
        })
    }

    /// Adds the unmapped fields to a summary.
    pub fn count_unmapped(&self, summary: &mut ReadSummary) {
        for (field, count) in &self.summary.unmapped {
            summary.leave_many(field, *count);
        }
    }
}

/// Reads the files beside the palace in `directory`. Missing or unreadable files are not an error.
pub fn companions(directory: &Path) -> Companions {
    let mut found = Companions::default();
    if let Some(path) = graph_file(directory) {
        graph::read(&path, &mut found);
    }
    for path in homes(directory).map(|home| home.join("tunnels.json")) {
        match json(&path, &mut found) {
            Ok(Some(value)) => {
                tunnels::read(&path, &value, &mut found);
                break;
            }
            Ok(None) => {}
            Err(lost) => found.lost_links.push(lost),
        }
    }
    if let Ok(Some(value)) = json(&directory.join(EMBEDDER), &mut found) {
        found.embedders = embedders(&value);
    }
    database::fixed_by_import(directory, &mut found.findings);
    for home in homes(directory) {
        for name in UNMAPPED {
            if home.join(name).exists() {
                found.summary.leave(&format!("file `{name}`"));
            }
        }
    }
    found
}

/// The files whose change makes the result outdated.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = vec![directory.join(EMBEDDER)];
    files.extend(graph_file(directory));
    files.extend(homes(directory).map(|home| home.join("tunnels.json")));
    files
}

/// The palace itself, and its parent directory if that is MemPalace's.
fn homes(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let around = directory
        .file_name()
        .filter(|name| *name == "palace")
        .and_then(|_| directory.parent());
    [Some(directory), around]
        .into_iter()
        .flatten()
        .map(Path::to_owned)
}

/// The knowledge graph of the palace. The older path beside the palace counts only if there is none
/// inside.
fn graph_file(directory: &Path) -> Option<PathBuf> {
    homes(directory)
        .map(|home| home.join("knowledge_graph.sqlite3"))
        .find(|path| path.is_file())
}

/// A JSON file; `None` if there is none. An unreadable file is a finding, and its content is a
/// loss.
fn json(path: &Path, found: &mut Companions) -> Result<Option<Value>, LostRecord> {
    if !path.is_file() {
        return Ok(None);
    }
    let read = || -> std::result::Result<Value, String> {
        let file = loci_files::foreign::open(path).map_err(|error| error.to_string())?;
        let mut text = String::new();
        let mut limited = file.take(LARGEST);
        limited
            .read_to_string(&mut text)
            .map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    match read() {
        Ok(value) => Ok(Some(value)),
        Err(problem) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            found.findings.push(
                Finding::new(
                    "companion_damaged",
                    Severity::Warning,
                    format!("`{name}` cannot be read: {problem}"),
                )
                .file(name.clone())
                .with("bytes", path.metadata().map_or(0, |file| file.len()))
                .then("MemPalace treats it as empty")
                .fix(Fix::PutBackUpInPlace {
                    file: name.clone().into_owned(),
                }),
            );
            Err(LostRecord {
                id: None,
                reason: format!("`{name}`: {problem}"),
            })
        }
    }
}

fn embedders(value: &Value) -> BTreeMap<String, EmbedderIdentity> {
    let identity = |entry: &Value| -> Option<EmbedderIdentity> {
        let dimension = usize::try_from(entry.get("dimension")?.as_u64()?).ok()?;
        let name = entry
            .get("model_name")?
            .as_str()
            .filter(|name| !name.is_empty())?;
        (1..=MAX_DIMENSION)
            .contains(&dimension)
            .then(|| EmbedderIdentity {
                name: name.to_owned(),
                dimension,
                digest: String::new(),
            })
    };
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(collection, entry)| Some((collection.clone(), identity(entry)?)))
        .collect()
}
