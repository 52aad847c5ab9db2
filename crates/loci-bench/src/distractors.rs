//! Reads drawers that no question asks for, one JSON object per line: `text`, and optionally
//! `source` and `role`.

use std::io::{BufRead, BufReader};
use std::path::Path;

use loci_palace::{Error, MetaValue, Metadata, Result};
use serde::Deserialize;

use crate::dataset::Drawer;

/// Drawers that are read before they are passed on.
const CHUNK: usize = 10_000;

#[derive(Deserialize)]
struct Line {
    text: String,
    source: Option<String>,
    role: Option<String>,
}

/// Visits the drawers of a file in chunks. Empty lines are skipped.
pub(crate) fn each_chunk(
    path: &Path,
    mut visit: impl FnMut(Vec<Drawer>) -> Result<()>,
) -> Result<()> {
    let file =
        loci_files::foreign::open(path).map_err(|source| Error::io("cannot open", path, source))?;
    let mut chunk = Vec::new();
    for (line, number) in BufReader::new(file).lines().zip(1_u64..) {
        let line = line.map_err(|source| Error::io("cannot read", path, source))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|error| {
            Error::invalid(
                format!("line {number} of `{}`", path.display()),
                format!("not an object with `text`: {error}"),
            )
        })?;
        chunk.push(drawer(line, number));
        if chunk.len() == CHUNK {
            visit(std::mem::take(&mut chunk))?;
        }
    }
    visit(chunk)
}

/// The id cannot be that of a turn, because it names the line.
fn drawer(line: Line, number: u64) -> Drawer {
    let mut metadata = Metadata::default();
    let mut put = |key: &str, value| metadata.0.insert(key.to_owned(), MetaValue::Str(value));
    if let Some(source) = line.source {
        put("source_file", format!("distractors/{source}"));
    }
    if let Some(role) = line.role {
        put("role", role);
    }
    let place = i64::try_from(number).unwrap_or(i64::MAX);
    metadata
        .0
        .insert("start_line".into(), MetaValue::Int(place));
    Drawer {
        id: format!("distractors/line {number}"),
        text: line.text,
        metadata,
    }
}
