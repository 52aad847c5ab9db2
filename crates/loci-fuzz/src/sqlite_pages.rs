//! Target `sqlite_pages`: SQLite database files and their logs, read page by page.

use std::path::Path;

use loci_salvage::{DatabaseFile, MAX_DAMAGES, damaged_log};

use crate::input::Input;
use crate::scratch;

/// The input is a choice, the length of the log, the log, and the database.
///
/// Frames of a log count only with correct checksums, which no mutation produces. So one choice is
/// to correct the checksums first.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    let length = input.number();
    let mut log = input.bytes(length).to_vec();
    let database = input.0;
    if choice & 0x80 != 0 {
        seal(&mut log);
    }
    let known = match choice & 0x0f {
        0 => None,
        shift => Some(256 << shift.min(8)),
    };
    let directory = scratch::directory();
    let path = directory.path().join("file");
    scratch::write(directory.path(), "file", database);
    if length > 0 {
        scratch::write(directory.path(), "file-wal", &log);
    }
    let pages = scan(&path, known, (database.len() + log.len()) as u64);
    let lost = damaged_log(&directory.path().join("file-wal"), || None).expect("the log is read");
    assert!(lost.is_none_or(|lost| u64::from(lost.lost_commits) <= log.len() as u64 / 512));
    assert_eq!(scan(&path, known, u64::MAX), pages, "two scans differ");
}

/// Scans rows and entries, and returns the counts.
fn scan(path: &Path, known: Option<u32>, bytes: u64) -> (u64, u64) {
    let file = DatabaseFile::open(path, known).expect("the file can be opened");
    let (mut rows, mut values, mut volume) = (0, 0, 0);
    let mut take = |stored: &[loci_salvage::Value]| {
        rows += 1;
        values += stored.len() as u64;
        volume += stored
            .iter()
            .map(|value| match value {
                loci_salvage::Value::Text(text) => text.len() as u64,
                loci_salvage::Value::InvalidText(bytes) | loci_salvage::Value::Blob(bytes) => {
                    bytes.len() as u64
                }
                _ => 0,
            })
            .sum::<u64>();
    };
    let tables = file.for_each_record(&mut |record| take(&record.values));
    let indexes = file.for_each_index_record(&mut |record| take(&record.values));
    assert_eq!(tables.pages, indexes.pages);
    assert_eq!(tables.records + indexes.records, rows);
    assert!(tables.damages.len() <= MAX_DAMAGES);
    // Several cells of one page may share bytes, and overflow chains may be shared. The total must
    // still stay in proportion to the files.
    let limit = bytes.saturating_mul(64).saturating_add(1 << 16);
    assert!(volume <= limit, "{volume} bytes of values out of {bytes}");
    assert!(values <= limit, "{values} values out of {bytes} bytes");
    for entry in file.schema() {
        if let Some(root) = entry.root_page {
            file.is_whole(root);
        }
    }
    (rows, volume)
}

/// Corrects all checksums of a log, and sets the salts of its frames to those of the header.
fn seal(log: &mut [u8]) {
    if log.len() < 32 {
        return;
    }
    log[..4].copy_from_slice(&0x377f_0683_u32.to_be_bytes());
    log[4..8].copy_from_slice(&3_007_000_u32.to_be_bytes());
    let page_size = 512_usize << (log[11] % 8);
    log[8..12].copy_from_slice(&(page_size as u32).to_be_bytes());
    let salts: [u8; 8] = log[16..24].try_into().unwrap();
    let mut sum = checksum((0, 0), &log[..24]);
    log[24..28].copy_from_slice(&sum.0.to_be_bytes());
    log[28..32].copy_from_slice(&sum.1.to_be_bytes());
    for frame in log[32..].chunks_exact_mut(24 + page_size) {
        frame[8..16].copy_from_slice(&salts);
        sum = checksum(sum, &frame[..8]);
        sum = checksum(sum, &frame[24..]);
        frame[16..20].copy_from_slice(&sum.0.to_be_bytes());
        frame[20..24].copy_from_slice(&sum.1.to_be_bytes());
    }
}

fn checksum(mut sum: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| u32::from_be_bytes(pair[at..at + 4].try_into().unwrap());
        sum.0 = sum.0.wrapping_add(word(0)).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(word(4)).wrapping_add(sum.0);
    }
    sum
}
