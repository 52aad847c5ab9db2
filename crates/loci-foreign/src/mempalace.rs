//! MemPalace: its store of exact vectors, and the files beside every MemPalace palace: a knowledge
//! graph, tunnels, and the embedder's name.
//!
//! `loci-chroma` reads palaces on ChromaDB. They have the same companion files, which are read
//! here.

mod companions;
mod exact;
mod graph;
mod tunnels;

use std::path::{Path, PathBuf};

use loci_core::finding::Finding;
use loci_core::{Fact, Link, Result};
use loci_salvage::Snapshot;

use crate::database;
use crate::importer::{Importer, Places, Signs};
use crate::importers::Kind;
use crate::palace::{ForeignCollection, ForeignPalace, ForeignRecord, OnBatch, ReadSummary};
use crate::recognise::{beginning, variable};
use crate::stamp::Stamps;

pub(crate) use companions::files as companion_files;
pub use companions::{Companions, companions};

/// The line of the table of importers, for the backend `sqlite_exact`. The places are those of every
/// backend.
pub(crate) const IMPORTER: Importer = Importer {
    program: "MemPalace",
    family: Some("mempalace"),
    mark: "`sqlite_exact.sqlite3`",
    signs: Signs {
        files: &[EXACT],
        ..Signs::NONE
    },
    open: Some(|path| Ok(Box::new(ExactPalace::open(path)?))),
    usual_places: Places {
        variables: &[
            "MEMPALACE_PALACE_PATH",
            "MEMPALACE_PALACE",
            "MEMPALACE_CONFIG_DIR",
        ],
        home: &[".mempalace"],
        configuration: &["mempalace"],
        configured,
        ..Places::NONE
    },
};

/// Files beside a ChromaDB database that only MemPalace writes.
const BESIDE_CHROMA: [&str; 4] = [
    "mempalace_embedder.json",
    "knowledge_graph.sqlite3",
    ".blob_seq_ids_migrated",
    "logstream.sqlite3",
];

/// Whether MemPalace has written the ChromaDB database in this directory.
pub(crate) fn has_written(directory: &Path) -> bool {
    let mut files = BESIDE_CHROMA.iter().map(|name| directory.join(name));
    files.any(|file| file.is_file())
}

/// The path of the palace according to MemPalace's configuration in this directory.
fn configured(home: &Path) -> Option<PathBuf> {
    let file = home.join("config.json");
    let bytes = file.is_file().then(|| beginning(&file).ok()).flatten()?;
    let configuration: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let named = configuration.get("palace_path")?.as_str()?;
    let path = match named.strip_prefix("~/") {
        Some(below) => PathBuf::from(variable("HOME")?).join(below),
        None => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

/// The database file.
pub(crate) const EXACT: &str = "sqlite_exact.sqlite3";
/// The collection that holds MemPalace's drawers.
pub(crate) const DRAWERS: &str = "mempalace_drawers";
/// The collection that holds MemPalace's closets.
pub(crate) const CLOSETS: &str = "mempalace_closets";
/// The Loci collection for drawers.
pub(crate) const TARGET: &str = "drawers";

/// A MemPalace palace with the backend `sqlite_exact`, open for reading.
pub struct ExactPalace {
    path: PathBuf,
    snapshot: Snapshot,
    companions: Companions,
    collections: Vec<ForeignCollection>,
    /// The id of each collection in the database.
    numbers: Vec<i64>,
    findings: Vec<Finding>,
    stamps: Stamps,
}

impl ExactPalace {
    /// Opens the palace in a directory. Damage is a finding, not an error.
    pub fn open(path: &Path) -> Result<Self> {
        let stamps = Stamps::of(companions::files(path));
        let snapshot = Snapshot::take(&path.join(EXACT), exact::WANTED)?;
        let companions = companions(path);
        let (numbers, collections) = exact::collections(&snapshot, &companions);
        let mut findings = database::damage(&snapshot, "MemPalace");
        findings.extend(exact::findings(&snapshot, &numbers, &collections));
        database::fixed_by_import(path, &mut findings);
        findings.extend(companions.findings.iter().cloned());
        Ok(Self {
            path: path.to_owned(),
            snapshot,
            companions,
            collections,
            numbers,
            findings,
            stamps,
        })
    }
}

impl ForeignPalace for ExactPalace {
    fn kind(&self) -> Kind {
        Kind::SqliteExact
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> String {
        "MemPalace, backend sqlite_exact".into()
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
        let found = self
            .numbers
            .get(collection)
            .zip(self.collections.get(collection));
        let Some((number, described)) = found else {
            return Ok(ReadSummary::default());
        };
        let mut summary = exact::read(&self.snapshot, *number, described.dimension, batch, take)?;
        if collection == 0 {
            self.companions.count_unmapped(&mut summary);
        }
        Ok(summary)
    }

    fn for_each_fact(&self, batch: usize, take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        self.companions.for_each_fact(batch, take)
    }

    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        self.companions.for_each_link(batch, take)
    }

    fn is_unchanged(&self) -> bool {
        self.snapshot.is_unchanged() && Stamps::of(companions::files(&self.path)) == self.stamps
    }
}

/// The Loci collection for a collection of MemPalace.
pub(crate) fn target(name: &str) -> String {
    let target = if name == DRAWERS { TARGET } else { name };
    target.to_owned()
}
