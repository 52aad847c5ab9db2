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

use crate::palace::{ForeignCollection, ForeignPalace, ForeignRecord, Kind, Readout, Take};
use vectors::VectorTable;

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
    let mut statement =
        crate::cells::prepare(snapshot, "SELECT value FROM _memtomem_meta WHERE key = ?1")?;
    statement
        .query_row([key], |row| Ok(crate::cells::filled(row, "value")))
        .ok()
        .flatten()
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
        take: Take<'_, ForeignRecord>,
    ) -> Result<Readout> {
        if collection >= self.collections.len() {
            return Ok(Readout::default());
        }
        let mut readout = chunks::read(&self.snapshot, &self.vectors, batch, take)?;
        tables::count_unmapped(&self.snapshot, &mut readout);
        Ok(readout)
    }

    fn for_each_fact(&self, _batch: usize, _take: Take<'_, Fact>) -> Result<Readout> {
        Ok(Readout::default())
    }

    fn for_each_link(&self, batch: usize, take: Take<'_, Link>) -> Result<Readout> {
        links::read(&self.snapshot, batch, take)
    }

    fn still_holds(&self) -> bool {
        self.snapshot.still_holds()
    }
}
