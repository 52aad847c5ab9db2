//! The header of SQLite's wal-index (`-shm`), which records how many frames of the log were
//! committed and published. It has two copies of 48 bytes in native byte order, each with its own
//! checksum. A writer writes the second copy first. The layout is that of `WalIndexHdr` in SQLite's
//! `wal.c`.

use crate::bytes::array;

/// The length of one copy.
const COPY_BYTES: usize = 48;
/// The length of both copies, which a caller must read from the start of the file.
pub const WAL_INDEX_HEADER_BYTES: usize = 2 * COPY_BYTES;
/// The version of the wal-index with this layout.
const VERSION: u32 = 3_007_000;
const IS_INITIALISED: usize = 12;
const MAX_FRAME: usize = 16;
const SALTS: usize = 32;
const CHECKSUM: usize = 40;

/// The number of frames that were published for the log with these salts. `None` if no copy of the
/// header is valid, or if the index belongs to another run of the log. A writer that dies between
/// the two copies has not published, so the smaller number counts.
pub(crate) fn published_frames(header: &[u8], salts: [u8; 8]) -> Option<u32> {
    let (copies, _) = header.as_chunks::<COPY_BYTES>();
    copies
        .iter()
        .take(2)
        .filter(|copy| is_valid(copy) && array(*copy, SALTS) == Some(salts))
        .filter_map(|copy| native_u32(copy, MAX_FRAME))
        .min()
}

fn is_valid(copy: &[u8; COPY_BYTES]) -> bool {
    let (words, _) = copy.as_chunks::<4>();
    let (mut first, mut second) = (0_u32, 0_u32);
    for pair in words.chunks_exact(2).take(CHECKSUM / 8) {
        if let &[a, b] = pair {
            first = first
                .wrapping_add(u32::from_ne_bytes(a))
                .wrapping_add(second);
            second = second
                .wrapping_add(u32::from_ne_bytes(b))
                .wrapping_add(first);
        }
    }
    native_u32(copy, 0) == Some(VERSION)
        && copy.get(IS_INITIALISED).is_some_and(|byte| *byte != 0)
        && native_u32(copy, CHECKSUM) == Some(first)
        && native_u32(copy, CHECKSUM + 4) == Some(second)
}

fn native_u32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}
