//! What a scan saw besides records: how much was looked at and what was lost.

use std::collections::BTreeSet;
use std::fmt::Display;

/// How many damages a report lists one by one; the rest are only counted.
pub const MAX_DAMAGES: usize = 1000;

/// The account of one scan over a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Pages looked at, those that exist only in the WAL included.
    pub pages: u32,
    /// Pages whose cells were decoded: table leaves, or index pages in a scan of indexes.
    pub leaf_pages: u32,
    /// Records handed to the callback.
    pub records: u64,
    /// Pages skipped because the freelist names them: what they hold was deleted.
    pub free_pages: u32,
    /// Pages that could not be read, or are neither a b-tree page nor a known overflow, freelist,
    /// pointer-map, lock or zero page. A page whose only mention was itself lost counts here.
    pub unreadable_pages: u32,
    /// Pages that the file's header or its WAL promises and that are not there.
    pub missing_pages: u32,
    /// Bytes after the last whole page; they are not read.
    pub partial_page_bytes: u32,
    /// Cells that could not be decoded; their records are lost.
    pub damaged_cells: u64,
    /// Records handed out although their rowid does not follow the one before it on the page.
    pub suspect_cells: u64,
    /// A rollback journal lies beside the file and holds pages from before an unfinished
    /// transaction. It was not rolled back.
    pub hot_journal: bool,
    /// The first `MAX_DAMAGES` damages, in the order in which they were met.
    pub damages: Vec<Damage>,
    /// Damages beyond those listed.
    pub more_damages: u64,
    /// Every page on which something is wrong, without limit. SQLite keeps no checksums: what
    /// changed inside a value shows nowhere, so other records from these pages deserve a second look.
    pub damaged_pages: BTreeSet<u32>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The page, counted from 1; 0 for the file as a whole, its WAL or its journal.
    pub page: u32,
    /// What is wrong, in words.
    pub detail: String,
}

impl Report {
    /// Nothing was lost and nothing is in doubt.
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
