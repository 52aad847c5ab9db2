//! memtomem: one SQLite database with chunks, links between them, and vectors in the tables behind
//! a `vec0` table.

mod chunks;
mod findings;
mod links;
mod tables;
mod vectors;

use std::path::{Path, PathBuf};

use loci_core::finding::Finding;
use loci_core::{EmbedderIdentity, Fact, Link, Result};
use loci_salvage::Snapshot;

use crate::importer::{Importer, Places, Signs};
use crate::importers::Kind;
use crate::palace::{ForeignCollection, ForeignPalace, ForeignRecord, OnBatch, ReadSummary};
use crate::recognise::SQLITE_MAGIC;
use vectors::VectorTable;

/// The line of the table of importers.
pub(crate) const IMPORTER: Importer = Importer {
    program: "memtomem",
    family: None,
    mark: "`memtomem.db`",
    signs: Signs {
        files: &["memtomem.db"],
        is_file: true,
        content: |_, bytes| is_database(bytes),
        ..Signs::NONE
    },
    open: Some(|path| Ok(Box::new(MemtomemPalace::open(path)?))),
    usual_places: Places {
        home: &[".memtomem"],
        ..Places::NONE
    },
};

/// Whether a file that begins with these bytes is an SQLite database with memtomem's tables.
fn is_database(bytes: &[u8]) -> bool {
    let mentions = |text: &str| {
        let text = text.as_bytes();
        bytes.windows(text.len()).any(|window| window == text)
    };
    bytes.starts_with(SQLITE_MAGIC) && mentions("_memtomem_meta") && mentions("chunks")
}

/// The Loci collection for everything.
const TARGET: &str = "drawers";

/// A memtomem database, open for reading.
pub struct MemtomemPalace {
    path: PathBuf,
    snapshot: Snapshot,
    vectors: VectorTable,
    collections: Vec<ForeignCollection>,
    findings: Vec<Finding>,
}

impl MemtomemPalace {
    /// Opens the database at `path`. Damage is a finding, not an error.
    pub fn open(path: &Path) -> Result<Self> {
        let snapshot = Snapshot::take(path, tables::WANTED)?;
        let vectors = VectorTable::read(&snapshot);
        let dimension = vectors.dimension();
        let collection = ForeignCollection {
            name: "chunks".into(),
            target: TARGET.into(),
            metric: vectors.metric(&snapshot),
            dimension,
            embedder: embedder(&snapshot, dimension),
            records: crate::cells::count(&snapshot, "chunks"),
        };
        let findings = findings::of(path, &snapshot, &vectors);
        Ok(Self {
            path: path.to_owned(),
            snapshot,
            vectors,
            collections: vec![collection],
            findings,
        })
    }
}

/// A value from memtomem's table of settings.
fn noted(snapshot: &Snapshot, key: &str) -> Option<String> {
    let sql = "SELECT value FROM _memtomem_meta WHERE key = ?1";
    crate::cells::first(snapshot, sql, [key], |row| {
        crate::cells::filled(row, "value")
    })
}

fn embedder(snapshot: &Snapshot, dimension: Option<usize>) -> Option<EmbedderIdentity> {
    Some(EmbedderIdentity {
        name: noted(snapshot, "embedding_model")?,
        dimension: dimension?,
        digest: String::new(),
    })
}

impl ForeignPalace for MemtomemPalace {
    fn kind(&self) -> Kind {
        Kind::Memtomem
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> String {
        match noted(&self.snapshot, "schema_version") {
            Some(version) => format!("memtomem, schema version {version}"),
            None => "memtomem, before schema version 1".into(),
        }
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn collections(&self) -> &[ForeignCollection] {
        &self.collections
    }

    fn for_each_record(
        &self,
        collection: usize,
        batch: usize,
        take: OnBatch<'_, ForeignRecord>,
    ) -> Result<ReadSummary> {
        if collection >= self.collections.len() {
            return Ok(ReadSummary::default());
        }
        let mut summary = chunks::read(&self.snapshot, &self.vectors, batch, take)?;
        tables::count_unmapped(&self.snapshot, &mut summary);
        Ok(summary)
    }

    fn for_each_fact(&self, _batch: usize, _take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        Ok(ReadSummary::default())
    }

    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        links::read(&self.snapshot, batch, take)
    }

    fn is_unchanged(&self) -> bool {
        self.snapshot.is_unchanged()
    }
}
