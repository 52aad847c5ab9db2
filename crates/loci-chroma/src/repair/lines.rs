//! JSON Lines files beside the database, for records that cannot stay in it. `loci import jsonl`
//! reads them.

use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use loci_core::{Error, Metadata, Result};
use loci_foreign::chroma::{Candidate, Directory};
use serde::Serialize;
use serde_json::Value;
use xxhash_rust::xxh3::Xxh3;

use super::backup::sync_parent;
use super::plan::Work;
use super::renames::free_name_ending;

/// The ending of these file names.
const ENDING: &str = ".jsonl";

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<&'a str>,
    document: Option<&'a str>,
    metadata: &'a Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Value>,
}

/// Writes the records of `work` that have no vector to a new file beside `database`. Returns `None`
/// if there are none.
pub(super) fn write_moved(
    directory: &Directory,
    work: &Work,
    database: &Path,
    stamp: &str,
) -> Result<Option<PathBuf>> {
    if work.plans.iter().all(|plan| plan.moved.is_empty()) {
        return Ok(None);
    }
    let path = free_name_ending(database, &format!(".set-aside-{stamp}"), ENDING)?;
    let written = write(&path, &mut |out| {
        for plan in &work.plans {
            let moved: Vec<_> = plan.moved().collect();
            directory.for_each_text(plan.index, &moved, plan.mark, &mut |record| {
                let mut metadata = record.metadata;
                if let Some(uri) = record.uri {
                    metadata
                        .0
                        .entry("uri".to_owned())
                        .or_insert(loci_core::MetaValue::Str(uri));
                }
                out(&Line {
                    id: Some(&record.id),
                    collection: Some(&plan.row.name),
                    document: record.document.as_deref(),
                    metadata: &metadata,
                    candidate: None,
                })
            })?;
        }
        Ok(())
    });
    written.map(|()| Some(path))
}

/// Writes candidates to a new file. Returns `None` if there are none.
pub(super) fn write_beside(
    candidates: &[Candidate],
    database: &Path,
    stamp: &str,
) -> Result<Option<PathBuf>> {
    if candidates.is_empty() {
        return Ok(None);
    }
    let path = free_name_ending(database, &format!(".candidates-{stamp}"), ENDING)?;
    write_candidates(candidates, &path)?;
    Ok(Some(path))
}

/// Writes candidates to the new file `path`, which only its owner can read.
pub fn write_candidates(candidates: &[Candidate], path: &Path) -> Result<()> {
    write(path, &mut |out| {
        candidates.iter().try_for_each(|candidate| {
            out(&Line {
                id: None,
                collection: candidate.collection.as_deref(),
                document: candidate.document.as_deref(),
                metadata: &candidate.metadata,
                candidate: Some(serde_json::json!({
                    "ids": candidate.ids,
                    "labels": candidate.labels,
                    "row": candidate.row,
                    "reason": candidate.reason,
                })),
            })
        })
    })
}

/// Writes one line.
type Out<'a> = &'a mut dyn FnMut(&Line<'_>) -> Result<()>;

/// Writes a new file, syncs it and reads it back. A file that fails is removed. The file belongs to
/// the owner of its directory.
fn write(path: &Path, fill: &mut dyn FnMut(Out<'_>) -> Result<()>) -> Result<()> {
    let failed = |source: std::io::Error| Error::io("cannot write", path, source);
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // This fails if the file exists, so the removal below never deletes another file.
    let file = loci_files::own::create_with(path, &options).map_err(failed)?;
    let attempt = || -> Result<()> {
        let mut writer = BufWriter::new(file);
        let mut written = Xxh3::new();
        fill(&mut |line| {
            let mut bytes = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
            written.update(&bytes);
            writer.write_all(&bytes).map_err(failed)
        })?;
        let file = writer
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        // The caller deletes these records from the database afterwards, so both the contents and
        // the name must be durable first.
        file.sync_all().map_err(failed)?;
        drop(file);
        sync_parent(path)?;
        if digest(path).map_err(failed)? != written.digest128() {
            let detail = "the contents differ from what was written".into();
            return Err(Error::Corrupt {
                what: "the file".into(),
                path: path.to_owned(),
                detail,
            });
        }
        Ok(())
    };
    let result = attempt();
    if result.is_err() {
        // An incomplete file must not be mistaken for a complete one. The first error is the one to
        // report.
        _ = std::fs::remove_file(path);
    }
    result
}

fn digest(path: &Path) -> std::io::Result<u128> {
    let mut file = loci_files::own::open(path)?;
    let mut hasher = Xxh3::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.digest128());
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
}
