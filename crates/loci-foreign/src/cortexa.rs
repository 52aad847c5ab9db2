//! CortexaDB: a log, a checkpoint and segments, read without CortexaDB.
//!
//! CortexaDB refuses to open a log that names an unknown memory, and truncates a log at its first
//! damaged byte. This reader accepts every record with a valid checksum, wherever it is, and leaves
//! out deleted memories.

mod checkpoint;
mod decode;
mod edges;
mod fill;
mod findings;
mod frames;
mod records;
mod replay;
mod segments;

use std::path::{Path, PathBuf};

use loci_core::finding::Finding;
use loci_core::{DrawerRef, Fact, Link, LinkEnd, Metadata, Metric, Result};

use crate::batches::Batches;
use crate::importer::{Importer, Places, Signs};
use crate::importers::Kind;
use crate::palace::{ForeignCollection, ForeignPalace, ForeignRecord, OnBatch, ReadSummary};
use crate::stamp::Stamps;
use replay::State;

/// The line of the table of importers.
pub(crate) const IMPORTER: Importer = Importer {
    program: "CortexaDB",
    family: None,
    mark: "`cortexadb.wal`, `cortexadb.ckpt` or segment",
    signs: Signs {
        files: &["cortexadb.wal", "cortexadb.ckpt"],
        directory: has_segments,
        ..Signs::NONE
    },
    open: Some(|path| Ok(Box::new(CortexaPalace::open(path)?))),
    usual_places: Places {
        home: &[".cortexadb"],
        ..Places::NONE
    },
};

/// Whether there are segment files, which may be left alone after log and checkpoint were lost.
fn has_segments(directory: &Path) -> bool {
    let listing = std::fs::read_dir(directory.join("segments"));
    listing.into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.strip_suffix(".seg").is_some_and(|number| {
            number.len() >= 6 && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

/// The Loci collection for everything.
const TARGET: &str = "drawers";

/// A CortexaDB directory after reading.
pub struct CortexaPalace {
    path: PathBuf,
    state: State,
    collections: Vec<ForeignCollection>,
    findings: Vec<Finding>,
    stamps: Stamps,
}

impl CortexaPalace {
    /// Reads the database in a directory. Damage is a finding, not an error.
    pub fn open(path: &Path) -> Result<Self> {
        let stamps = Stamps::of(files(path));
        let state = State::read(path)?;
        let dimension = records::dimension(&state);
        let collection = ForeignCollection {
            name: "default".into(),
            target: TARGET.into(),
            metric: Metric::Cosine,
            dimension,
            embedder: None,
            records: state.memories.len() as u64,
        };
        let findings = findings::of(path, &state, dimension);
        Ok(Self {
            path: path.to_owned(),
            state,
            collections: vec![collection],
            findings,
            stamps,
        })
    }
}

/// The files whose change makes the result outdated.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = vec![
        directory.join("cortexadb.ckpt"),
        directory.join("cortexadb.wal"),
    ];
    let segments = std::fs::read_dir(directory.join("segments"));
    files.extend(
        segments
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path()),
    );
    files.sort();
    files
}

impl ForeignPalace for CortexaPalace {
    fn kind(&self) -> Kind {
        Kind::CortexaDb
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> String {
        "CortexaDB, storage version 1".into()
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
        let mut summary = ReadSummary::default();
        let Some(collection) = self.collections.get(collection) else {
            return Ok(summary);
        };
        let mut batches = Batches::new(batch, take);
        for (id, alive) in &self.state.memories {
            match self.state.entry(*id) {
                Some(entry) => {
                    let from = alive.recovered_from;
                    let record = records::record(&entry, from, collection.dimension, &mut summary);
                    batches.push(record)?;
                }
                None => summary.lose(
                    Some(id.to_string()),
                    "its bytes cannot be read a second time",
                ),
            }
        }
        summary.read = batches.finish()?;
        Ok(summary)
    }

    fn for_each_fact(&self, _batch: usize, _take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        Ok(ReadSummary::default())
    }

    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        let mut batches = Batches::new(batch, take);
        let end = |id: u64| {
            LinkEnd::Drawer(DrawerRef {
                collection: TARGET.into(),
                id: id.to_string(),
            })
        };
        for (from, to, relation) in self.state.edges.iter() {
            batches.push(Link {
                from: end(from),
                to: end(to),
                label: relation.to_owned(),
                metadata: Metadata::default(),
            })?;
        }
        Ok(ReadSummary {
            read: batches.finish()?,
            ..ReadSummary::default()
        })
    }

    fn is_unchanged(&self) -> bool {
        Stamps::of(files(&self.path)) == self.stamps
    }
}
