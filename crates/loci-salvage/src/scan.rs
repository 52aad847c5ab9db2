//! One pass over all pages. It decodes the requested cells and accounts for every page. The total
//! work is bounded by the size of the file, even if the file is forged.

use crate::btree::{BtreePage, Cell, CellDamage, Kind};
use crate::chain::{ChainDamage, Chains};
use crate::freelist::Freelist;
use crate::pages::Pages;
use crate::record::{self, RecordDamage, Value};
use crate::report::Report;
use crate::tree::Forest;

/// A row of some table.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The leaf page that holds the row's cell.
    pub page: u32,
    /// The rowid, which is also the value of an `INTEGER PRIMARY KEY` column.
    pub rowid: i64,
    /// The stored values. See `Value` for what may be missing.
    pub values: Vec<Value>,
    /// The root page of the tree that contains the leaf, if readable pages still show it. If the
    /// true root is damaged, this is the topmost interior page left below it. That page matches no
    /// entry of the schema, but rows that share it come from one table.
    pub root: Option<u32>,
}

/// An entry of an index, or a row of a `WITHOUT ROWID` table.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRecord {
    /// The index page that holds the entry. Interior pages hold entries too.
    pub page: u32,
    /// The values in key order. In an ordinary index the last one is the rowid.
    pub values: Vec<Value>,
    /// As in `Record`.
    pub root: Option<u32>,
}

/// The cells of a page may describe at most this many times the size of the page.
const MAX_CROWDING: usize = 4;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    #[error(transparent)]
    Cell(#[from] CellDamage),
    #[error(transparent)]
    Chain(#[from] ChainDamage),
    #[error(transparent)]
    Record(#[from] RecordDamage),
    #[error("cells of this page overlap too much")]
    Crowded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    TableRows,
    IndexEntries,
}

impl Wanted {
    fn includes(self, kind: Kind) -> bool {
        match self {
            Wanted::TableRows => kind == Kind::TableLeaf,
            Wanted::IndexEntries => !kind.is_table(),
        }
    }
}

pub(crate) struct Scan<'a> {
    pages: &'a Pages,
    freelist: &'a Freelist,
    forest: &'a Forest,
    chains: Chains<'a>,
    payload_limit: u64,
    wanted: Wanted,
    report: Report,
    /// Pages that are not b-tree pages. Chains found later may still explain them.
    unexplained: Vec<u32>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(
        pages: &'a Pages,
        freelist: &'a Freelist,
        forest: &'a Forest,
        wanted: Wanted,
        report: Report,
    ) -> Self {
        Self {
            pages,
            freelist,
            forest,
            chains: Chains::new(pages),
            payload_limit: pages.payload_limit(),
            wanted,
            report,
            unexplained: Vec::new(),
        }
    }

    pub(crate) fn run(mut self, emit: &mut dyn FnMut(Record)) -> Report {
        for number in self.pages.numbers() {
            self.report.pages += 1;
            if self.pages.is_bookkeeping(number) {
                continue;
            }
            if self.is_free(number) {
                self.report.free_pages += 1;
                continue;
            }
            match self.pages.read(number) {
                Ok(bytes) => self.page(number, &bytes, emit),
                Err(error) => self.unreadable(number, format_args!("page cannot be read: {error}")),
            }
        }
        for number in std::mem::take(&mut self.unexplained) {
            if !self.chains.is_overflow(number) {
                self.unreadable(number, "page is of an unknown kind");
            }
        }
        self.report
    }

    /// Whether a page is free. If the freelist is not proven, a tree that still contains the page
    /// overrides it.
    fn is_free(&self, number: u32) -> bool {
        self.freelist.pages.contains(&number)
            && (self.freelist.proven || self.forest.root_of(number).is_none())
    }

    fn page(&mut self, number: u32, bytes: &[u8], emit: &mut dyn FnMut(Record)) {
        match BtreePage::parse(number, bytes) {
            Some(page) if self.wanted.includes(page.kind) => self.decode(number, &page, emit),
            Some(page) => self.mark_overflow(&page),
            None if bytes.iter().any(|&byte| byte != 0) => self.unexplained.push(number),
            None if self.forest.expects(number) => {
                self.unreadable(number, "page is all zeros, but a tree expects content");
            }
            None => {}
        }
        if self.forest.is_barren(number) {
            self.unreadable(number, "interior page has no valid children");
        }
    }

    fn decode(&mut self, number: u32, page: &BtreePage<'_>, emit: &mut dyn FnMut(Record)) {
        self.report.leaf_pages += 1;
        let root = self.forest.root_of(number);
        let mut previous = None;
        let mut described = 0;
        for index in 0..page.cells {
            match self.cell(page, index, &mut described) {
                Ok((rowid, values)) => {
                    if page.kind.is_table() && previous.is_some_and(|before| rowid <= before) {
                        self.report.suspect_cells += 1;
                        self.report
                            .note(number, format_args!("rowid {rowid} is out of order"));
                    }
                    previous = Some(rowid);
                    self.report.records += 1;
                    emit(Record {
                        page: number,
                        rowid,
                        values,
                        root,
                    });
                }
                Err(lost) => {
                    self.report.damaged_cells += 1;
                    self.report
                        .note(number, format_args!("cell {index}: {lost}"));
                }
            }
        }
    }

    fn cell(
        &mut self,
        page: &BtreePage<'_>,
        index: usize,
        described: &mut usize,
    ) -> Result<(i64, Vec<Value>), Lost> {
        let cell = page.cell(index, self.payload_limit)?;
        *described += cell.local.len();
        if *described > MAX_CROWDING * self.pages.usable {
            return Err(Lost::Crowded);
        }
        Ok((cell.rowid, read_cell(page, &cell, &mut self.chains)?))
    }

    /// Marks overflow pages of other trees, so that they are not counted as unreadable.
    fn mark_overflow(&mut self, page: &BtreePage<'_>) {
        for index in 0..page.cells {
            let Ok(cell) = page.cell(index, self.payload_limit) else {
                continue;
            };
            if let Some(first) = cell.first_overflow {
                self.chains
                    .mark(first, cell.payload_bytes - cell.local.len());
            }
        }
    }

    fn unreadable(&mut self, number: u32, detail: impl std::fmt::Display) {
        self.report.unreadable_pages += 1;
        self.report.note(number, detail);
    }
}

/// The values of one cell, including its overflow chain.
pub(crate) fn read_cell(
    page: &BtreePage<'_>,
    cell: &Cell,
    chains: &mut Chains<'_>,
) -> Result<Vec<Value>, Lost> {
    let local = page.local(cell);
    let Some(first) = cell.first_overflow else {
        return Ok(record::decode(local)?);
    };
    let mut payload = local.to_vec();
    chains.append(first, cell.payload_bytes - local.len(), &mut payload)?;
    Ok(record::decode(&payload)?)
}
