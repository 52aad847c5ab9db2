//! Detects a write-ahead log that has lost commits. SQLite's recovery stops at the first invalid
//! frame and silently drops every commit after it.
//!
//! Commits after a bad frame do not prove a loss. A writer that dies before it publishes its commit
//! leaves frames after the published end of the log. If other processes have the database open, the
//! next writer starts at that end again and overwrites some of those frames. The others stay, with
//! the same salts, after a frame that does not lead to them. Their commit was never acknowledged.
//! Only the wal-index records which frames were published.

use crate::wal::{self, Wal, WalState};
use crate::wal_index::{WAL_INDEX_HEADER_BYTES, published_frames};
use loci_files::foreign::{self, ForeignFile};
use std::io::{self, Seek};
use std::path::Path;
use std::time::SystemTime;

/// A log that has lost commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLog {
    /// The number of lost commits, at least one.
    pub lost_commits: u32,
    /// Identifies this run of the log by its salts.
    pub run: u64,
}

/// Checks whether a WAL file has lost commits. A missing, empty or healthy one has not. Neither has
/// one that ends in an interrupted write, nor one that another process is writing.
///
/// `read_index` returns the first bytes of the wal-index at the time of the call, if there is one.
/// It is called only if the log has frames after its last valid commit. With a header for this run
/// of the log, a log is damaged if its valid part is shorter than the published part. Without one,
/// the log alone decides: it is damaged if two or more commits follow the bad frame, or one follows
/// a bad frame inside a transaction.
pub fn damaged_log(
    path: &Path,
    mut read_index: impl FnMut() -> Option<[u8; WAL_INDEX_HEADER_BYTES]>,
) -> io::Result<Option<DamagedLog>> {
    let mut file = match foreign::open(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        other => other?,
    };
    let first = look(&mut file)?;
    let Some(scan) = first.scan.as_ref().filter(|scan| scan.has_tail) else {
        return Ok(None);
    };
    // If the log is restarted during the read, it shows frames of two runs. If a commit is
    // published in the meantime, the end moves. So there is a verdict only if nothing changed.
    let index = read_index();
    let same = look(&mut file)? == first && read_index() == index;
    let lost = if same { scan.lost(index.as_ref()) } else { 0 };
    Ok((lost > 0).then(|| DamagedLog {
        lost_commits: lost,
        run: u64::from_be_bytes(scan.salts),
    }))
}

/// The result of reading the log once.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    scan: Option<Scan>,
    bytes: u64,
    modified: SystemTime,
}

#[derive(Debug, PartialEq, Eq)]
struct Scan {
    salts: [u8; 8],
    applied: u32,
    has_tail: bool,
    inside_transaction: bool,
    /// Numbers of the commit frames after the first invalid frame, ascending.
    commits_behind: Vec<u32>,
}

fn look(file: &mut ForeignFile) -> io::Result<Look> {
    file.seek(io::SeekFrom::Start(0))?;
    let scan = match wal::read(file) {
        WalState::Wal(wal) => Some(Scan::of(wal)),
        WalState::Empty | WalState::BadHeader => None,
    };
    let metadata = file.metadata()?;
    Ok(Look {
        scan,
        bytes: metadata.len(),
        modified: metadata.modified()?,
    })
}

impl Scan {
    fn of(wal: Wal) -> Self {
        Self {
            salts: wal.salts,
            applied: wal.applied,
            has_tail: wal.bad_frame_is_of_this_run || !wal.commits_behind.is_empty(),
            inside_transaction: wal.valid > wal.applied,
            commits_behind: wal.commits_behind,
        }
    }

    /// The number of lost commits.
    fn lost(&self, index: Option<&[u8; WAL_INDEX_HEADER_BYTES]>) -> u32 {
        let published = index.and_then(|header| published_frames(header, self.salts));
        let Some(published) = published else {
            return without_index(self.commits_behind.len(), self.inside_transaction);
        };
        if self.applied >= published {
            return 0;
        }
        let of_published = self
            .commits_behind
            .iter()
            .filter(|frame| **frame <= published);
        // The damaged frame may itself be a commit.
        u32::try_from(of_published.count())
            .unwrap_or(u32::MAX)
            .max(1)
    }
}

/// The verdict if no index records what was published. `commits` is the number of commits after the
/// bad frame.
///
/// A dead writer leaves the end of one transaction, and the frames that overwrote its start end
/// with a commit. So one commit after a bad frame that follows a commit is treated as such a
/// remainder, although a flipped byte in the last transaction looks the same. Two commits, or a bad
/// frame inside a transaction, would need several writers to die at such moments, so they are
/// reported as damage.
fn without_index(commits: usize, inside_transaction: bool) -> u32 {
    if commits == 1 && !inside_transaction {
        return 0;
    }
    u32::try_from(commits).unwrap_or(u32::MAX)
}
