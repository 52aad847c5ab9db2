//! The report of a scan: how much was read and what was lost.

use std::collections::BTreeSet;
use std::fmt::Display;

/// How many damages a report lists. The rest are only counted.
pub const MAX_DAMAGES: usize = 1000;

/// The report of one scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Pages examined, including those that exist only in the WAL.
    pub pages: u32,
    /// Pages whose cells were decoded: table leaves, or index pages in a scan of indexes.
    pub leaf_pages: u32,
    /// Records passed to the callback.
    pub records: u64,
    /// Pages skipped because they are on the freelist. Their contents were deleted.
    pub free_pages: u32,
    /// Pages that could not be read, or are neither a b-tree page nor a known overflow, freelist,
    /// pointer-map, lock or zero page. This includes a page whose only reference was itself lost.
    pub unreadable_pages: u32,
    /// Pages that the file's header or its WAL counts and that do not exist.
    pub missing_pages: u32,
    /// Bytes after the last whole page. They are not read.
    pub partial_page_bytes: u32,
    /// Cells that could not be decoded. Their records are lost.
    pub damaged_cells: u64,
    /// Records that were returned although their rowid is out of order on the page.
    pub suspect_cells: u64,
    /// Whether there is a rollback journal beside the file with pages from before an unfinished
    /// transaction. It was not rolled back.
    pub hot_journal: bool,
    /// The first `MAX_DAMAGES` damages, in the order of discovery.
    pub damages: Vec<Damage>,
    /// The number of damages that are not listed.
    pub more_damages: u64,
    /// Every page with a problem, without limit. SQLite keeps no checksums, so a change inside a
    /// value is not detected. Other records from these pages should be checked again.
    pub damaged_pages: BTreeSet<u32>,
}

/// One problem and its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The page, counted from 1; 0 for the file as a whole, its WAL or its journal.
    pub page: u32,
    /// A description of the problem.
    pub detail: String,
}

impl Report {
    /// Whether nothing was lost and nothing is in doubt.
    pub fn is_clean(&self) -> bool {
        self.damages.is_empty() && self.unreadable_pages == 0 && self.missing_pages == 0
    }

    pub(crate) fn note(&mut self, page: u32, detail: impl Display) {
        if page != 0 {
            self.damaged_pages.insert(page);
        }
        if self.damages.len() < MAX_DAMAGES {
            self.damages.push(Damage {
                page,
                detail: detail.to_string(),
            });
        } else {
            self.more_damages += 1;
        }
    }
}
