//! Reads pages from the WAL's newest committed image, or else from the file. Pages are read on
//! demand and never cached, so memory does not grow with the file.

use crate::pointer_map;
use crate::wal::Wal;
use loci_files::foreign::ForeignFile;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

/// The byte that SQLite locks. The page around it holds no data.
const LOCK_BYTE: u64 = 1 << 30;

#[derive(Debug)]
pub(crate) struct Pages {
    page_size: u32,
    /// The page size without the reserved tail.
    pub(crate) usable: usize,
    /// Whether the database has pointer maps.
    pub(crate) pointer_maps: bool,
    file: Mutex<ForeignFile>,
    /// The number of whole pages in the file that belong to the database.
    in_file: u32,
    wal: Option<(Mutex<ForeignFile>, Wal)>,
}

impl Pages {
    pub(crate) fn new(
        page_size: u32,
        file: ForeignFile,
        file_bytes: u64,
        wal: Option<(ForeignFile, Wal)>,
    ) -> Self {
        let mut in_file = u32::try_from(file_bytes / u64::from(page_size)).unwrap_or(u32::MAX);
        // A commit that shrank the database leaves pages in the file until the next checkpoint.
        let wal = wal
            .filter(|(_, wal)| wal.applied > 0)
            .map(|(file, mut wal)| {
                in_file = in_file.min(wal.database_pages);
                wal.images.retain(|&page, _| page <= wal.database_pages);
                (Mutex::new(file), wal)
            });
        Self {
            page_size,
            usable: page_size as usize,
            pointer_maps: false,
            file: Mutex::new(file),
            in_file,
            wal,
        }
    }

    pub(crate) fn page_size(&self) -> u32 {
        self.page_size
    }

    pub(crate) fn wal(&self) -> Option<&Wal> {
        self.wal.as_ref().map(|(_, wal)| wal)
    }

    /// The highest page number that has bytes.
    pub(crate) fn last(&self) -> u32 {
        let in_wal = self.wal().and_then(|wal| wal.images.last_key_value());
        in_wal.map_or(0, |(&page, _)| page).max(self.in_file)
    }

    /// Every page that has bytes, ascending. A WAL over a truncated file leaves holes, and a forged
    /// one may leave huge ones. The holes are never walked.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (1..=self.in_file).chain(self.beyond_file())
    }

    pub(crate) fn count(&self) -> u32 {
        self.in_file
            .saturating_add(self.beyond_file().count() as u32)
    }

    fn beyond_file(&self) -> impl Iterator<Item = u32> + '_ {
        let after = self.in_file.saturating_add(1);
        self.wal()
            .into_iter()
            .flat_map(move |wal| wal.images.range(after..).map(|(&page, _)| page))
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        (1..=self.in_file).contains(&number)
            || self
                .wal()
                .is_some_and(|wal| wal.images.contains_key(&number))
    }

    /// No payload can be longer than all pages together.
    pub(crate) fn payload_limit(&self) -> u64 {
        u64::from(self.count()) * u64::from(self.page_size)
    }

    /// The usable part of a page.
    pub(crate) fn read(&self, number: u32) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.usable];
        self.read_start(number, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the first bytes of a page into `into`, which is no longer than a page.
    pub(crate) fn read_start(&self, number: u32, into: &mut [u8]) -> io::Result<()> {
        if !self.has(number) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (file, at) = match &self.wal {
            Some((file, wal)) if wal.images.contains_key(&number) => {
                (file, wal.images.get(&number).copied().unwrap_or_default())
            }
            _ => (
                &self.file,
                u64::from(number - 1) * u64::from(self.page_size),
            ),
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(into)
    }

    /// Whether this is the page around SQLite's lock byte, or a pointer map of an auto-vacuum
    /// database. Neither holds rows or overflow.
    pub(crate) fn is_bookkeeping(&self, number: u32) -> bool {
        let lock_page = (LOCK_BYTE / u64::from(self.page_size) + 1) as u32;
        number == lock_page
            || self.pointer_maps && pointer_map::is_place(number, self.usable, lock_page)
    }
}
