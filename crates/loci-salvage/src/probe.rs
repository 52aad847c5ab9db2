//! Guesses the geometry of a file whose first page is lost: the page size and the number of
//! reserved bytes with which most pages are whole b-tree pages.

use crate::btree::BtreePage;
use loci_files::foreign::ForeignFile;
use std::io::{Read, Seek, SeekFrom};

/// Every page size divides a window, so windows at its multiples start on a page boundary.
const WINDOW_BYTES: u64 = 65_536;
const MAX_WINDOWS: u64 = 128;
const FALLBACK_PAGE_SIZE: u32 = 4096;

/// Evenly spread pieces of a file, each with its offset.
pub(crate) struct Sample {
    windows: Vec<(u64, Vec<u8>)>,
}

impl Sample {
    pub(crate) fn take(file: &mut ForeignFile, file_bytes: u64) -> Self {
        let windows = file_bytes.div_ceil(WINDOW_BYTES);
        let step = windows.div_ceil(MAX_WINDOWS).max(1);
        let windows = (0..windows)
            .step_by(usize::try_from(step).unwrap_or(usize::MAX))
            .filter_map(|index| {
                let at = index * WINDOW_BYTES;
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(at)).ok()?;
                file.take(WINDOW_BYTES).read_to_end(&mut bytes).ok()?;
                Some((at, bytes))
            })
            .collect();
        Self { windows }
    }

    /// The number of pages that have cells, all of them valid. A page size that is too small cuts
    /// off cells, and one that is too large skips pages, so the true size scores highest.
    pub(crate) fn score(&self, page_size: u32, reserved: u32) -> usize {
        let size = page_size as usize;
        let whole = |&(at, ref bytes): &(u64, Vec<u8>)| {
            bytes
                .chunks_exact(size)
                .enumerate()
                .filter(|&(index, page)| {
                    let number = at / u64::from(page_size) + index as u64 + 1;
                    let usable = page.get(..size - reserved as usize).unwrap_or_default();
                    is_whole(u32::try_from(number).unwrap_or(u32::MAX), usable)
                })
                .count()
        };
        self.windows.iter().map(whole).sum()
    }

    /// The page size with the best score. The smallest wins a tie, because a larger one would hide
    /// pages.
    pub(crate) fn page_size(&self) -> u32 {
        let mut best = (0, FALLBACK_PAGE_SIZE);
        for size in (9..=16).map(|power| 1_u32 << power) {
            let score = self.score(size, 0);
            if score > best.0 {
                best = (score, size);
            }
        }
        best.1
    }
}

fn is_whole(number: u32, usable: &[u8]) -> bool {
    BtreePage::parse(number, usable).is_some_and(|page| {
        page.cells > 0 && (0..page.cells).all(|index| page.cell(index, u64::MAX).is_ok())
    })
}
