//! The sections of a large source: byte ranges with a hash each, by which unchanged ranges are
//! skipped.

use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, Result, SourceHash};
use loci_files::foreign::ForeignFile;
use serde::de::DeserializeOwned;

use super::stat::Opened;
use crate::intake::first_half;
use crate::source::Before;

/// The comparison of a file with known ranges, and the hash of the whole file.
pub(super) struct Survey {
    pub(super) whole: SourceHash,
    /// How many ranges from the first on are unchanged.
    pub(super) same: usize,
}

/// Reads a file once, up to `size`, and finds the unchanged ranges.
pub(super) fn survey(opened: &mut Opened, known: &[(u64, u64, SourceHash)]) -> io::Result<Survey> {
    opened.file.seek(SeekFrom::Start(0))?;
    let size = opened.stat.size;
    let mut reader = BufReader::with_capacity(1 << 20, (&mut opened.file).take(size));
    let mut whole = blake3::Hasher::new();
    let mut part = blake3::Hasher::new();
    let (mut at, mut same, mut matching) = (0_u64, 0_usize, true);
    loop {
        let range = known.get(same).filter(|_| matching).copied();
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(Survey {
                whole: first_half(&whole.finalize()),
                same,
            });
        }
        let wanted = match range {
            Some((start, end, _)) if start == at || part.count() > 0 => {
                (end - at).min(bytes.len() as u64) as usize
            }
            // Valid ranges follow each other without a gap.
            Some(_) => {
                matching = false;
                bytes.len()
            }
            None => bytes.len(),
        };
        let taken = bytes.get(..wanted).unwrap_or(bytes);
        whole.update(taken);
        if matching {
            part.update(taken);
        }
        let length = taken.len();
        at += length as u64;
        reader.consume(length);
        if let Some((_, end, hash)) = range.filter(|_| matching)
            && at == end
        {
            if first_half(&part.finalize()) == hash {
                same += 1;
            } else {
                matching = false;
            }
            part.reset();
        }
    }
}

/// Returns the sections of an earlier run with their hashes, as long as they follow each other from
/// the start of the file. `range` returns the start and end of a section from its mark.
pub(super) fn known<M: DeserializeOwned>(
    before: &Before,
    recipe: &str,
    range: impl Fn(&M) -> (u64, u64),
) -> Vec<(M, SourceHash)> {
    let mut marks: Vec<(M, SourceHash)> = Vec::new();
    for row in before.rows().iter().filter(|row| row.section > 0) {
        let Ok(mark) = serde_json::from_str::<M>(&row.mark) else {
            break;
        };
        let follows = range(&mark).0 == marks.last().map_or(0, |(last, _)| range(last).1);
        if row.section as usize != marks.len() + 1 || !follows || row.recipe != recipe {
            break;
        }
        marks.push((mark, row.hash));
    }
    marks
}

/// Rejects a file that changed during the read, other than by growing.
pub(super) fn require_same(path: &Path, size: u64, whole: &SourceHash) -> Result<()> {
    let fail = |error| Error::io("cannot read", path, error);
    let mut file = loci_files::foreign::open_real(path).map_err(fail)?;
    if hash_range(&mut file, 0, size).map_err(fail)? == *whole {
        return Ok(());
    }
    Err(Error::invalid(
        format!("`{}`", path.display()),
        "changed while it was being read; the next run tries again",
    ))
}

/// Returns the hash of a byte range of a file.
pub(super) fn hash_range(file: &mut ForeignFile, start: u64, end: u64) -> io::Result<SourceHash> {
    file.seek(SeekFrom::Start(start))?;
    let mut hasher = blake3::Hasher::new();
    let mut reader = BufReader::with_capacity(1 << 20, file.take(end - start.min(end)));
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(first_half(&hasher.finalize()));
        }
        hasher.update(bytes);
        let length = bytes.len();
        reader.consume(length);
    }
}
