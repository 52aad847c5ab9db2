//! An example of a small read-only backend: palaces of JSON lines.
//!
//! A palace is a directory with a catalogue, `catalogue.json`, and one file of drawers per
//! collection, for example `1.jsonl` for number 1:
//!
//! ```text
//! {"collections": [{"name": "drawers", "number": 1, "metric": "cosine"}]}
//!
//! {"record": 1, "id": "a", "text": "Alice moved to Lyon.", "metadata": {"wing": "people"}}
//! ```
//!
//! [`JsonLines`] implements what is specific to this format; [`loci_core::rows::RowsBackend`] turns
//! it into a backend. Unlike the rest of this crate, the module must not panic, whatever the files
//! contain.
#![deny(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used
)]

mod write_out;

use std::path::{Path, PathBuf};

use loci_core::rows::{Row, RowsBackend, Source, SourceCollection};
use loci_core::{EmbedderIdentity, Error, Metadata, Metric, PalaceRef, Result, parse_json};
use loci_files::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use write_out::write_out;

const CATALOGUE: &str = "catalogue.json";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonLines;

/// A backend that reads palaces of JSON lines.
pub fn backend() -> RowsBackend<JsonLines> {
    RowsBackend::new(JsonLines)
}

#[derive(Serialize, Deserialize)]
struct Catalogue {
    collections: Vec<Listed>,
}

/// A collection in the catalogue.
#[derive(Serialize, Deserialize)]
struct Listed {
    name: String,
    number: u64,
    metric: String,
    #[serde(default)]
    dimension: Option<usize>,
    #[serde(default)]
    embedder: Option<EmbedderIdentity>,
}

/// A line of a file of drawers.
#[derive(Serialize, Deserialize)]
struct Line {
    record: u64,
    id: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
    #[serde(default)]
    vector: Option<Vec<f32>>,
    /// Milliseconds since 1970.
    #[serde(default)]
    created_at: i64,
    /// Milliseconds since 1970.
    #[serde(default)]
    updated_at: i64,
    /// The number of its last change.
    #[serde(default)]
    seq: u64,
}

impl Source for JsonLines {
    type Stamp = Vec<(PathBuf, Option<Stamp>)>;

    fn name(&self) -> &'static str {
        "json-lines"
    }

    fn detect(&self, palace: &PalaceRef) -> bool {
        let directory = palace.as_directory();
        directory.is_some_and(|directory| directory.join(CATALOGUE).is_file())
    }

    fn stamp(&self, palace: &PalaceRef) -> Result<Self::Stamp> {
        let directory = palace.directory()?;
        let names = std::fs::read_dir(directory)
            .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
            .map_err(|source| Error::io("cannot list", directory, source))?;
        let mut paths: Vec<PathBuf> = names.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        let stamped = paths.into_iter().map(|path| match Stamp::of(&path) {
            Ok(stamp) => Ok((path, stamp)),
            Err(source) => Err(Error::io("cannot look at", path, source)),
        });
        stamped.collect()
    }

    fn load(&self, palace: &PalaceRef) -> Result<Vec<SourceCollection>> {
        let directory = palace.directory()?;
        let path = directory.join(CATALOGUE);
        let catalogue: Catalogue =
            serde_json::from_str(&read(&path)?).map_err(|error| damaged(&path, 1, &error))?;
        let collections = catalogue.collections.into_iter();
        collections.map(|listed| load(directory, listed)).collect()
    }

    fn bytes(&self, palace: &PalaceRef) -> Result<u64> {
        let files = self.stamp(palace)?;
        let lengths = files.into_iter().filter_map(|(_, stamp)| stamp);
        Ok(lengths.map(|stamp| stamp.len()).sum())
    }
}

fn load(directory: &Path, listed: Listed) -> Result<SourceCollection> {
    let path = directory.join(format!("{}.jsonl", listed.number));
    let text = read(&path)?;
    let lines = text.lines().enumerate();
    let rows = lines.map(|(at, line)| row(line).map_err(|error| damaged(&path, at + 1, &error)));
    Ok(SourceCollection {
        rows: rows.collect::<Result<_>>()?,
        metric: Metric::parse(&listed.metric)?,
        name: listed.name,
        number: listed.number,
        dimension: listed.dimension,
        embedder: listed.embedder,
    })
}

/// Parses a line into a row. `parse_json` refuses duplicate keys and integers that would become
/// floats.
fn row(line: &str) -> Result<Row> {
    let value = parse_json("line", line)?;
    let line: Line = serde_json::from_value(value)
        .map_err(|error| Error::invalid("line", format!("is not a drawer: {error}")))?;
    let metadata = line
        .metadata
        .as_ref()
        .map(Metadata::from_json)
        .transpose()?;
    Ok(Row {
        record: line.record,
        id: line.id,
        document: line.text,
        metadata: metadata.unwrap_or_default(),
        vector: line.vector,
        created_at: line.created_at,
        updated_at: line.updated_at,
        seq: line.seq,
    })
}

fn read(path: &Path) -> Result<String> {
    loci_files::foreign::read_to_string(path)
        .map_err(|source| Error::io("cannot read", path, source))
}

fn damaged(path: &Path, line: usize, problem: &dyn std::fmt::Display) -> Error {
    Error::Corrupt {
        what: format!("line {line}"),
        path: path.to_path_buf(),
        detail: problem.to_string(),
    }
}
