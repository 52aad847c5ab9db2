//! A ChromaDB directory as a foreign palace, with the files that MemPalace keeps beside it.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use loci_core::finding::Finding;
use loci_core::{EmbedderIdentity, Fact, Link, MetaValue, Result, validate_collection_name};
use loci_salvage::Access;

use crate::chroma::{Candidate, CollectionRow, Diagnosis, Origin, Record};
use crate::importers::Kind;
use crate::mempalace::{self, Companions};
use crate::palace::{
    ForeignCollection, ForeignPalace, ForeignRecord, LostRecord, OnBatch, ReadSummary,
    VectorCounts, VectorOrigin, added,
};
use crate::stamp::Stamps;

/// The key for a URI that ChromaDB keeps beside the metadata.
const URI: &str = "uri";
/// The maximum number of letters of a name that cannot be used unchanged. This many fit, whatever
/// the letters are.
const LONGEST_NAME: usize = 100;

/// A diagnosed ChromaDB directory, ready to be read.
pub struct ChromaPalace {
    diagnosis: Diagnosis,
    collections: Vec<ForeignCollection>,
    companions: Companions,
    findings: Vec<Finding>,
    stamps: Stamps,
}

impl ChromaPalace {
    /// Opens and diagnoses the directory from its files alone.
    pub fn open(path: &Path) -> Result<Self> {
        let stamps = Stamps::of(mempalace::companion_files(path));
        let diagnosis = Diagnosis::of(path)?;
        let companions = mempalace::companions(path);
        let rows = diagnosis.directory.collections();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut collections = Vec::new();
        for (row, survey) in rows.iter().zip(&diagnosis.surveys) {
            let mut target = target(row);
            let times = seen.entry(target.clone()).or_default();
            *times += 1;
            if *times > 1 {
                target = format!("{target}-{times}");
            }
            collections.push(ForeignCollection {
                name: row.name.clone(),
                target,
                metric: row.metric,
                dimension: survey.dimension,
                embedder: embedder(row, survey.dimension, &companions),
                records: survey.counts.records,
            });
        }
        let findings = diagnosis
            .all()
            .chain(&companions.findings)
            .cloned()
            .collect();
        Ok(Self {
            diagnosis,
            collections,
            companions,
            findings,
            stamps,
        })
    }

    /// The diagnosis of the directory.
    pub fn diagnosis(&self) -> &Diagnosis {
        &self.diagnosis
    }
}

/// The Loci collection for these records. It depends only on the collection itself and never on its
/// neighbours, so that a later import of a directory that has grown finds everything where it was
/// put.
fn target(row: &CollectionRow) -> String {
    let name = if !row.is_in_default_database() {
        let tenant = (row.tenant != "default_tenant").then_some(row.tenant.as_str());
        let parts = [tenant, Some(&row.database), Some(&row.name)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    } else if row.name == mempalace::DRAWERS {
        mempalace::TARGET.to_owned()
    } else {
        row.name.clone()
    };
    if validate_collection_name(&name).is_ok() {
        return name;
    }
    // A damaged catalog may hold any name.
    let letters = name.chars().filter(|letter| !letter.is_control());
    let name: String = letters.take(LONGEST_NAME).collect();
    match name.trim() {
        "" => format!("unnamed-{}", row.id),
        name => name.to_owned(),
    }
}

/// The embedder of the vectors. MemPalace records it, ChromaDB records its embedding function, and
/// MemPalace before that used ChromaDB's default.
fn embedder(
    row: &CollectionRow,
    dimension: Option<usize>,
    companions: &Companions,
) -> Option<EmbedderIdentity> {
    let is_mempalace = row.name == mempalace::DRAWERS || row.name == mempalace::CLOSETS;
    let recorded = companions
        .embedder_of(&row.name)
        .filter(|identity| Some(identity.dimension) == dimension);
    if let Some(identity) = recorded {
        return Some(identity.clone());
    }
    let name = match (&row.embedding_function, is_mempalace) {
        (Some(name), _) => name.clone(),
        (None, true) => "default".to_owned(),
        (None, false) => return None,
    };
    // The default function makes 384 numbers. Vectors of another length were supplied by the
    // caller.
    (name != "default" || dimension == Some(384)).then_some(EmbedderIdentity {
        name,
        dimension: dimension?,
        digest: String::new(),
    })
}

impl ForeignPalace for ChromaPalace {
    fn kind(&self) -> Kind {
        Kind::Chroma
    }

    fn path(&self) -> &Path {
        self.diagnosis.directory.path()
    }

    fn writer(&self) -> String {
        let release = self.diagnosis.directory.version().releases();
        let is_mempalace = self
            .collections
            .iter()
            .any(|collection| collection.name == mempalace::DRAWERS);
        let program = if is_mempalace {
            "MemPalace on ChromaDB"
        } else {
            "ChromaDB"
        };
        if release.starts_with(|first: char| first.is_ascii_digit()) {
            format!("{program} {release}")
        } else {
            format!("{program}, {release}")
        }
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }

    fn collections(&self) -> &[ForeignCollection] {
        &self.collections
    }

    fn vector_counts(&self, collection: usize) -> Option<VectorCounts> {
        let counts = self.diagnosis.surveys.get(collection)?.counts;
        Some(VectorCounts {
            in_index: counts.in_segment,
            in_queue: counts.in_queue,
            set_aside: counts.in_sibling,
            missing: counts.missing,
        })
    }

    fn for_each_record(
        &self,
        collection: usize,
        batch: usize,
        take: OnBatch<'_, ForeignRecord>,
    ) -> Result<ReadSummary> {
        let mut summary = ReadSummary::default();
        let Some(survey) = self.diagnosis.surveys.get(collection) else {
            return Ok(summary);
        };
        self.diagnosis
            .directory
            .for_each_record(collection, survey, batch, &mut |records| {
                summary.read += records.len() as u64;
                take(
                    records
                        .into_iter()
                        .map(|record| foreign(record, &mut summary))
                        .collect(),
                )
            })?;
        for id in &survey.unresolved {
            summary.lose(
                Some(id.clone()),
                "its row is lost, and no text certainly belongs to it",
            );
        }
        if matches!(
            self.diagnosis.directory.snapshot().access(),
            Access::Salvaged(_)
        ) {
            let uncertain: HashSet<&String> = survey.unresolved.iter().collect();
            for id in survey.ghosts.iter().filter(|id| !uncertain.contains(id)) {
                summary.lose(
                    Some(id.clone()),
                    "its record was lost with damaged pages of the database; only its vector is left",
                );
            }
        }
        if let Some(row) = self.diagnosis.directory.collections().get(collection) {
            for key in row.metadata.0.keys() {
                leave_collection_metadata(key, &mut summary);
            }
        }
        if collection == 0 {
            self.companions.count_unmapped(&mut summary);
        }
        Ok(summary)
    }

    fn candidates(&self) -> &[Candidate] {
        // The diagnosis has already searched for them.
        self.diagnosis.directory.candidates().unwrap_or_default()
    }

    fn for_each_fact(&self, batch: usize, take: OnBatch<'_, Fact>) -> Result<ReadSummary> {
        self.companions.for_each_fact(batch, take)
    }

    fn for_each_link(&self, batch: usize, take: OnBatch<'_, Link>) -> Result<ReadSummary> {
        self.companions.for_each_link(batch, take)
    }

    fn require_readable(&self) -> Result<()> {
        self.diagnosis.require_readable()
    }

    fn is_unchanged(&self) -> bool {
        self.diagnosis.is_unchanged()
            && Stamps::of(mempalace::companion_files(self.path())) == self.stamps
    }
}

/// Counts metadata of a collection that is not imported. The metric is imported. The settings of
/// ChromaDB's index count as one item.
fn leave_collection_metadata(key: &str, summary: &mut ReadSummary) {
    match key.strip_prefix("hnsw:") {
        Some("space") => {}
        Some(_) => summary.leave("settings of ChromaDB's index"),
        None => summary.leave(&format!("collection metadata `{key}`")),
    }
}

fn foreign(record: Record, summary: &mut ReadSummary) -> ForeignRecord {
    let mut metadata = record.metadata;
    if let Some(uri) = record.uri {
        if metadata.0.contains_key(URI) {
            summary.leave("chroma:uri beside a key `uri`");
        } else {
            metadata.0.insert(URI.to_owned(), MetaValue::Str(uri));
        }
    }
    for key in &record.unreadable {
        summary.leave(&format!("metadata `{key}` without a readable value"));
    }
    if let Some(gone) = &record.metadata_loss {
        summary.partial.push(LostRecord {
            id: Some(record.id.clone()),
            reason: gone.reason(),
        });
    }
    ForeignRecord {
        id: record.id,
        document: record.document,
        added: added(&metadata).or(record.added),
        metadata,
        origin: match record.origin {
            Origin::Queue(_) => VectorOrigin::Exact,
            Origin::Segment {
                direction: true, ..
            } => VectorOrigin::Direction,
            Origin::Segment {
                direction: false, ..
            } => VectorOrigin::Scaled,
            Origin::Sibling { .. } => VectorOrigin::Quarantined,
            Origin::Missing => VectorOrigin::Missing,
        },
        vector: record.vector,
    }
}
