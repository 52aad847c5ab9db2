//! A database file opened for salvage. Its geometry is determined once, then it serves scans.

use crate::error::SalvageError;
use crate::freelist::{self, Freelist};
use crate::header::{HEADER_BYTES, Header, is_page_size};
use crate::pages::Pages;
use crate::pointer_map;
use crate::probe::Sample;
use crate::report::Report;
use crate::scan::{IndexRecord, Record, Scan, Wanted};
use crate::schema::SchemaEntry;
use crate::tree::Forest;
use crate::wal::{self, Wal, WalState};
use crate::whole;
use loci_files::foreign::ForeignFile;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Opens a file for reading, or refuses to.
pub type Opener<'a> = dyn Fn(&Path) -> io::Result<ForeignFile> + 'a;

/// An SQLite database file, read without SQLite. Opening reads the header and the WAL. Each scan
/// reads the pages, and the first scan reads them twice.
#[derive(Debug)]
pub struct DatabaseFile {
    pages: Pages,
    header_holds: bool,
    /// The findings of opening. Every scan's report starts with them.
    found: Report,
    map: OnceLock<(Freelist, Forest)>,
}

impl DatabaseFile {
    /// Opens the file at `path` and applies the committed frames of `<path>-wal`, as SQLite's
    /// recovery would. The page size is `known_page_size` if the caller knows it. Otherwise it
    /// comes from the header, from the WAL's own checksummed header if that is damaged, or from the
    /// look of the pages. Damage is not an error, and neither is an empty file. Errors are a
    /// missing or unreadable file, and a known size that is not a page size.
    pub fn open(path: &Path, known_page_size: Option<u32>) -> Result<Self, SalvageError> {
        Self::open_with(path, known_page_size, &loci_files::foreign::open)
    }

    /// Like [`Self::open`], but `opener` opens the file, its WAL and its journal, and may refuse
    /// to.
    pub fn open_with(
        path: &Path,
        known_page_size: Option<u32>,
        opener: &Opener<'_>,
    ) -> Result<Self, SalvageError> {
        if let Some(hint) = known_page_size.filter(|&hint| !is_page_size(hint)) {
            return Err(SalvageError::PageSizeHint { hint });
        }
        // SQLite keeps WAL and journal beside the real file, not beside a link to it.
        let path = &path.canonicalize().map_err(|source| SalvageError::Open {
            path: path.to_owned(),
            source,
        })?;
        let (mut file, file_bytes) =
            open_file(path, opener)?.ok_or_else(|| SalvageError::NotAFile {
                path: path.to_owned(),
            })?;
        let mut found = Report {
            hot_journal: has_hot_journal(path, opener),
            ..Report::default()
        };
        if found.hot_journal {
            found.note(
                0,
                "there is a hot rollback journal beside the file; it was not rolled back",
            );
        }
        let mut start = [0; HEADER_BYTES];
        let in_file = file
            .read_exact(&mut start)
            .ok()
            .and_then(|()| Header::parse(&start));
        let mut wal = open_wal(path, opener, &mut found)?;
        let page_size = match (known_page_size, in_file, &wal) {
            (Some(known), _, _) => known,
            (None, Some(header), _) => header.page_size,
            (None, None, Some((_, wal))) if wal.applied > 0 => wal.page_size,
            (None, None, _) => Sample::take(&mut file, file_bytes).page_size(),
        };
        if let Some((_, other)) = wal.take_if(|(_, wal)| wal.page_size != page_size) {
            found.note(
                0,
                format_args!(
                    "WAL with pages of {} bytes does not match pages of {page_size}; not applied",
                    other.page_size
                ),
            );
        }
        found.partial_page_bytes = (file_bytes % u64::from(page_size)) as u32;
        let reserved = in_file.map_or(0, |header| header.reserved);
        let doubt = (reserved > 0).then(|| Sample::take(&mut file, file_bytes));

        let mut pages = Pages::new(page_size, file, file_bytes, wal);
        let header = settle(&mut pages, doubt.as_ref(), &mut found);
        Ok(Self {
            pages,
            header_holds: header.is_some(),
            found,
            map: OnceLock::new(),
        })
    }

    /// Bytes per page.
    pub fn page_size(&self) -> u32 {
        self.pages.page_size()
    }

    /// The highest page number that has bytes in the file or the WAL.
    pub fn page_count(&self) -> u32 {
        self.pages.last()
    }

    /// The number of committed WAL frames that were applied.
    pub fn wal_frames_applied(&self) -> u32 {
        self.pages.wal().map_or(0, |wal| wal.applied)
    }

    /// The rows of `sqlite_schema` that can be reached from page 1, in rowid order. Empty if page 1
    /// is lost.
    pub fn schema(&self) -> Vec<SchemaEntry> {
        self.map().1.schema.clone()
    }

    /// Whether every page and cell of the tree under `root` is readable. Otherwise a
    /// row that a scan did not return may still exist.
    pub fn is_whole(&self, root: u32) -> bool {
        whole::is_whole(&self.pages, root)
    }

    /// Passes every record on every table leaf page to `f`, in page order, whatever tree the page
    /// belongs to. Pages on the freelist are skipped. If the freelist is unreadable, rows that were
    /// deleted long ago may reappear, with a `root` that is absent or matches nothing in the
    /// schema.
    pub fn for_each_record(&self, f: &mut dyn FnMut(Record)) -> Report {
        self.scan(Wanted::TableRows, f)
    }

    /// Passes every entry of every index and every row of `WITHOUT ROWID` tables to `f`, in page
    /// order. The `root` and the schema show which of the two an entry is.
    pub fn for_each_index_record(&self, f: &mut dyn FnMut(IndexRecord)) -> Report {
        self.scan(
            Wanted::IndexEntries,
            &mut |Record {
                      page, values, root, ..
                  }| {
                f(IndexRecord { page, values, root });
            },
        )
    }

    fn scan(&self, wanted: Wanted, f: &mut dyn FnMut(Record)) -> Report {
        let (freelist, forest) = self.map();
        let mut report = self.found.clone();
        if let Some((page, detail)) = &freelist.damage {
            report.note(*page, detail);
        }
        Scan::new(&self.pages, freelist, forest, wanted, report).run(f)
    }

    fn map(&self) -> &(Freelist, Forest) {
        self.map.get_or_init(|| {
            let freelist = freelist::read(&self.pages, self.header_holds);
            let forest = Forest::grow(&self.pages, &freelist);
            (freelist, forest)
        })
    }
}

/// Reads the valid header, from the WAL's page 1 if it has one, and takes the geometry from it.
fn settle(pages: &mut Pages, doubt: Option<&Sample>, found: &mut Report) -> Option<Header> {
    let page_size = pages.page_size();
    let header = pages.read(1).ok().and_then(|page| Header::parse(&page));
    let header = header.filter(|header| header.page_size == page_size);
    if let Some(header) = header {
        let mut reserved = header.reserved;
        let zero_fits_better =
            |sample: &Sample| sample.score(page_size, 0) > sample.score(page_size, reserved);
        if reserved > 0 && doubt.is_some_and(zero_fits_better) {
            found.note(
                1,
                format_args!("header reserves {reserved} bytes, but pages use them"),
            );
            reserved = 0;
        }
        pages.usable = (page_size - reserved) as usize;
        if !header.utf8 {
            found.note(1, "header says that text is UTF-16; it is read as UTF-8");
        }
    } else if pages.last() > 0 {
        found.note(1, "database header is damaged");
    }
    let auto_vacuum = header.map(|header| header.auto_vacuum);
    pages.pointer_maps = pointer_map::present(pages, auto_vacuum);
    if auto_vacuum == Some(true) && !pages.pointer_maps && pages.last() > 1 {
        found.note(1, "header says auto-vacuum, but there are no pointer maps");
    }
    if found.partial_page_bytes > 0 {
        let bytes = found.partial_page_bytes;
        found.note(
            0,
            format_args!("file ends inside a page; the last {bytes} bytes are not read"),
        );
    }
    let in_wal = pages.wal().map(|wal| wal.database_pages);
    let promised = in_wal
        .or(header.and_then(|header| header.pages))
        .unwrap_or(0);
    found.missing_pages = promised.saturating_sub(pages.count());
    if found.missing_pages > 0 {
        let there = pages.count();
        found.note(
            0,
            format_args!("database should have {promised} pages but has {there}"),
        );
    }
    header
}

/// The file and its length; `None` if it is not a regular file.
fn open_file(path: &Path, opener: &Opener<'_>) -> Result<Option<(ForeignFile, u64)>, SalvageError> {
    let opened = opener(path).and_then(|file| file.metadata().map(|about| (file, about)));
    match opened {
        Ok((file, about)) => Ok(about.is_file().then_some((file, about.len()))),
        Err(source) => Err(SalvageError::Open {
            path: path.to_owned(),
            source,
        }),
    }
}

fn open_wal(
    path: &Path,
    opener: &Opener<'_>,
    found: &mut Report,
) -> Result<Option<(ForeignFile, Wal)>, SalvageError> {
    let file = match open_file(&beside(path, "-wal"), opener) {
        Ok(Some((file, _))) => file,
        Ok(None) => return Ok(None),
        Err(SalvageError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Ok(match wal::read(&file) {
        WalState::Empty => None,
        WalState::BadHeader => {
            found.note(0, "WAL header is damaged; none of its frames is applied");
            None
        }
        WalState::Wal(wal) => Some((file, wal)),
    })
}

/// SQLite's own test: the journal is not empty and its first byte was not cleared.
fn has_hot_journal(path: &Path, opener: &Opener<'_>) -> bool {
    let mut first = [0];
    opener(&beside(path, "-journal"))
        .is_ok_and(|mut journal| journal.read_exact(&mut first).is_ok() && first != [0])
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
