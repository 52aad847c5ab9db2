//! Sections of a large source: ranges of its bytes, each with a hash, by which what did not change
//! is passed over.

use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::Path;

use loci_core::{Error, Result, SourceHash};
use loci_files::foreign::ForeignFile;
use serde::de::DeserializeOwned;

use super::stat::Opened;
use crate::intake::first_half;
use crate::source::Before;

/// Ranges of bytes whose hashes are known, and the hash of the whole file.
pub(super) struct Survey {
    pub(super) whole: SourceHash,
    /// How many ranges, from the first on, are as they were.
    pub(super) same: usize,
}

/// Reads a file once, up to `size`: what of it is as it was?
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
            // Ranges follow each other without a gap; another order is not ours.
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

/// The sections of an earlier run with their hashes, as long as they follow each other from the
/// start of the file. `range` tells where a mark says that its section begins and ends.
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

/// Refuses a file that was changed, and not only longer, while it was read.
pub(super) fn require_same(path: &Path, size: u64, whole: &SourceHash) -> Result<()> {
    let fail = |error| Error::io("cannot read", path, error);
    let mut file = loci_files::foreign::open_real(path).map_err(fail)?;
    if hash_range(&mut file, 0, size).map_err(fail)? == *whole {
        return Ok(());
    }
    Err(Error::invalid(
        format!("`{}`", path.display()),
        "changes while it is read; the next run tries again",
    ))
}

/// Hash of a range of a file's bytes.
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
