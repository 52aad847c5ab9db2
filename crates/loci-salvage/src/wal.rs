//! The write-ahead log: decides which of its frames count, by the rules of SQLite's own recovery. A
//! frame counts if its salts match the header's, its cumulative checksum is valid, and it is at or
//! before the last commit frame for which this is true. Page images are read later, on demand.

use crate::bytes::{array, be_u32};
use crate::header::is_page_size;
use loci_files::foreign::ForeignFile;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC_LITTLE: u32 = 0x377f_0682;
const MAGIC_BIG: u32 = 0x377f_0683;
const VERSION: u32 = 3_007_000;

/// The committed content of a WAL.
#[derive(Debug)]
pub(crate) struct Wal {
    pub(crate) page_size: u32,
    /// The number of frames up to and including the last commit.
    pub(crate) applied: u32,
    /// The size of the database in pages after the last commit.
    pub(crate) database_pages: u32,
    /// For each page, the offset of its newest committed image in the WAL.
    pub(crate) images: BTreeMap<u32, u64>,
    /// The header's salts, which every frame of this run of the log has.
    pub(crate) salts: [u8; 8],
    /// The number of frames before the first invalid one. Frames after `applied` have no commit.
    pub(crate) valid: u32,
    /// Whether the first invalid frame was written in this run of the log.
    pub(crate) bad_frame_is_of_this_run: bool,
    /// Numbers, from 1, of the commit frames of this run after the first invalid frame.
    pub(crate) commits_behind: Vec<u32>,
}

/// The result of reading a WAL file.
#[derive(Debug)]
pub(crate) enum WalState {
    Empty,
    /// The header is invalid, so no frame can be trusted.
    BadHeader,
    Wal(Wal),
}

pub(crate) fn read(file: &ForeignFile) -> WalState {
    let mut reader = BufReader::with_capacity(1 << 17, file);
    let mut header = [0; HEADER_BYTES];
    match reader.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return WalState::Empty,
        Err(_) => return WalState::BadHeader,
    }
    parse(&header, &mut reader).map_or(WalState::BadHeader, WalState::Wal)
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
        valid: 0,
        bad_frame_is_of_this_run: false,
        commits_behind: Vec::new(),
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
        let salts_match = array(&frame, 8) == Some(salts);
        let sums_match = sums.stored_at(&frame, 16);
        if page == 0 || !salts_match || !sums_match {
            // The checksum does not cover the salts, so either may be damaged.
            wal.bad_frame_is_of_this_run = salts_match || sums_match;
            wal.commits_behind = commits_behind(reader, &mut frame, salts, index + 2);
            break;
        }
        wal.valid = index + 1;
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

/// Numbers of the commit frames with these salts in the rest of the log. `next` is the number of
/// the next frame.
fn commits_behind(reader: &mut impl Read, frame: &mut [u8], salts: [u8; 8], next: u32) -> Vec<u32> {
    let mut commits = Vec::new();
    for number in next..u32::MAX {
        if reader.read_exact(frame).is_err() {
            break;
        }
        let commit = be_u32(frame, 4).is_some_and(|pages| pages != 0);
        if commit && array(frame, 8) == Some(salts) {
            commits.push(number);
        }
    }
    commits
}

/// The running checksum over header and frames, in the byte order that the magic number selects.
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
