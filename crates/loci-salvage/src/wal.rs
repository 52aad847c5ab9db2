//! The write-ahead log: which of its frames count, by the rules of SQLite's own recovery.
//! A frame counts when its salts match the header's, its cumulative checksum holds, and it lies at
//! or before the last commit frame for which that is true. Page images are read later, on demand.

use crate::bytes::{array, be_u32};
use crate::header::is_page_size;
use loci_files::foreign::{self, ForeignFile};
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC_LITTLE: u32 = 0x377f_0682;
const MAGIC_BIG: u32 = 0x377f_0683;
const VERSION: u32 = 3_007_000;

/// The committed content of a WAL.
#[derive(Debug)]
pub(crate) struct Wal {
    pub(crate) page_size: u32,
    /// Frames up to and including the last commit.
    pub(crate) applied: u32,
    /// Database size in pages after the last commit.
    pub(crate) database_pages: u32,
    /// For each page, where in the WAL its newest committed image starts.
    pub(crate) images: BTreeMap<u32, u64>,
    /// The header's salts, which every frame of this run of the log carries.
    salts: [u8; 8],
    /// Commits behind the first frame that does not hold.
    lost_commits: u32,
}

/// What a WAL file turned out to be.
#[derive(Debug)]
pub(crate) enum Found {
    Empty,
    /// The header does not hold; no frame can be believed.
    BadHeader,
    Wal(Wal),
}

pub(crate) fn read(file: &ForeignFile) -> Found {
    let mut reader = BufReader::with_capacity(1 << 17, file);
    let mut header = [0; HEADER_BYTES];
    match reader.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Found::Empty,
        Err(_) => return Found::BadHeader,
    }
    parse(&header, &mut reader).map_or(Found::BadHeader, Found::Wal)
}

fn parse(header: &[u8], reader: &mut impl Read) -> Option<Wal> {
    let big_endian = match be_u32(header, 0)? {
        MAGIC_BIG => true,
        MAGIC_LITTLE => false,
        _ => return None,
    };
    let page_size = be_u32(header, 8)?;
    let mut sums = Checksum {
        big_endian,
        first: 0,
        second: 0,
    };
    sums.add(header.get(..24)?);
    if be_u32(header, 4)? != VERSION || !is_page_size(page_size) || !sums.stored_at(header, 24) {
        return None;
    }
    let salts: [u8; 8] = array(header, 16)?;

    let mut wal = Wal {
        page_size,
        applied: 0,
        database_pages: 0,
        images: BTreeMap::new(),
        salts,
        lost_commits: 0,
    };
    let mut pending = Vec::new();
    let frame_bytes = FRAME_HEADER_BYTES + page_size as usize;
    let mut frame = vec![0; frame_bytes];
    for index in 0_u32..u32::MAX {
        if reader.read_exact(&mut frame).is_err() {
            break;
        }
        let (Some(page), Some(commit_pages)) = (be_u32(&frame, 0), be_u32(&frame, 4)) else {
            break;
        };
        sums.add(frame.get(..8)?);
        sums.add(frame.get(FRAME_HEADER_BYTES..)?);
        if page == 0 || array(&frame, 8) != Some(salts) || !sums.stored_at(&frame, 16) {
            wal.lost_commits = commits_behind(reader, &mut frame, salts);
            break;
        }
        let frame_at = HEADER_BYTES as u64 + u64::from(index) * frame_bytes as u64;
        pending.push((page, frame_at + FRAME_HEADER_BYTES as u64));
        if commit_pages != 0 {
            wal.images.extend(pending.drain(..));
            wal.applied = index + 1;
            wal.database_pages = commit_pages;
        }
    }
    Some(wal)
}

/// Commit frames of the same run of the log that come after a frame that does not hold. A writer
/// that died leaves none: frames are written one after the other.
fn commits_behind(reader: &mut impl Read, frame: &mut [u8], salts: [u8; 8]) -> u32 {
    let mut commits = 0;
    while reader.read_exact(frame).is_ok() {
        let commit = be_u32(frame, 4).is_some_and(|pages| pages != 0);
        commits += u32::from(commit && array(frame, 8) == Some(salts));
    }
    commits
}

/// A log in which a frame is damaged and commits come after it. SQLite's recovery stops at the
/// damaged frame and drops those commits without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLog {
    /// Commits behind the damage.
    pub lost_commits: u32,
    /// Tells this run of the log from any other: its salts.
    pub run: u64,
}

/// Looks whether a WAL file has lost commits. A missing, empty or healthy one has not, and neither
/// has one that ends in a write that was cut short, nor one that somebody is writing right now.
pub fn damaged_log(path: &Path) -> io::Result<Option<DamagedLog>> {
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
    let look = |file: &mut ForeignFile| -> io::Result<_> {
        file.seek(io::SeekFrom::Start(0))?;
        let found = match read(file) {
            Found::Wal(wal) if wal.lost_commits > 0 => Some(DamagedLog {
                lost_commits: wal.lost_commits,
                run: u64::from_be_bytes(wal.salts),
            }),
            _ => None,
        };
        let metadata = file.metadata()?;
        Ok((found, metadata.len(), metadata.modified()?))
    };
    // A log that is started over while it is read shows frames of two runs: only what stays the
    // same is damage.
    let first = look(&mut file)?;
    if first.0.is_none() || look(&mut file)? != first {
        return Ok(None);
    }
    Ok(first.0)
}

/// The running checksum over header and frames, in the byte order that the magic number names.
struct Checksum {
    big_endian: bool,
    first: u32,
    second: u32,
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in pairs {
            self.first = self
                .first
                .wrapping_add(self.word([a, b, c, d]))
                .wrapping_add(self.second);
            self.second = self
                .second
                .wrapping_add(self.word([e, f, g, h]))
                .wrapping_add(self.first);
        }
    }

    fn word(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    fn stored_at(&self, bytes: &[u8], at: usize) -> bool {
        be_u32(bytes, at) == Some(self.first) && be_u32(bytes, at + 4) == Some(self.second)
    }
}
