//! Writes what a salvage found into the new palace. Every batch is one transaction. The damaged
//! palace is not changed, so a crash costs only the work done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use loci_core::{
    Adopted, Backend, Batch, Collection, CollectionOptions, CountedSource, Durability,
    EmbedderIdentity, Existing, History, LEFTOVERS, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES,
    Metadata, Metric, Origin, Outcome, OutcomeKind, PalaceRef, Result, SalvageReport,
};
use rusqlite::params;

use super::account::{self, Doubtful, ReadableDrawers};
use super::evidence::Evidence;
use super::finds::{Finds, FoundCollection, FoundDrawer, FoundSource, Verdict};
use crate::SqliteBackend;
use crate::collection::record::vector_from_bytes;
use crate::store::{Store, now_ms};

/// Creates the palace that the report names, and fills the report.
pub(super) fn write_all(
    durability: Durability,
    finds: &Finds,
    evidence: &Evidence,
    report: &mut SalvageReport,
) -> Result<()> {
    let backend = SqliteBackend::new(durability);
    let palace = PalaceRef::local(&report.palace);
    let store = backend.store(&palace, true)?;
    let mut writers: BTreeMap<i64, Writer> = BTreeMap::new();
    // Empty collections are created as well.
    for (id, found) in &finds.collections {
        let writer = Writer::open(&backend, &palace, &found.name, found.metric)?;
        pin(&store, found)?;
        writers.insert(*id, writer);
    }
    let mut damaged_origins = BTreeSet::new();
    for (row, versions) in &finds.drawers {
        let Some((found, verdict)) = finds.best(*row, versions) else {
            continue;
        };
        // The collection was deleted, and the drawer with it.
        if finds.dropped.contains(&found.collection) {
            continue;
        }
        let writer = match writers.entry(found.collection) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let name = super::recovered_name(found.collection);
                entry.insert(Writer::open(&backend, &palace, &name, Metric::default())?)
            }
        };
        writer.found += 1;
        let metadata = serde_json::from_str::<Metadata>(&found.metadata);
        let (Ok(metadata), Ok(vector)) = (metadata, saved_vector(&verdict)) else {
            keep_damaged(&store, writer.collection.name(), *row, &found)?;
            damaged_origins.insert(found.origin);
            report.damaged_drawers += 1;
            report.damaged.push(found.id);
            continue;
        };
        if matches!(verdict, Verdict::VectorLost) {
            report.without_vector.push(found.id.clone());
        }
        let history = finds.history(*row, &found);
        writer.push(found, metadata, vector, history, report)?;
    }
    for writer in writers.values_mut() {
        writer.flush(report)?;
    }
    let found = writers.iter().map(|(id, writer)| (*id, writer.summary()));
    account::settle(finds, evidence, &found.collect(), report);
    for (id, writer) in &writers {
        let name = writer.collection.name();
        let doubtful = account::doubtful(finds, report, &damaged_origins, name);
        writer.write_sources(*id, finds, &doubtful, report)?;
        writer.write_projects(*id, finds)?;
    }
    keep_forgotten(&store, finds, &writers)?;
    finds.relations.save(&store, report)?;
    backend.close()
}

/// Copies the records of forgotten texts, so that these texts stay forgotten. Without the key, the
/// hashes cannot be compared with anything.
fn keep_forgotten(store: &Store, finds: &Finds, writers: &BTreeMap<i64, Writer>) -> Result<()> {
    let Some(key) = &finds.forget_key else {
        return Ok(());
    };
    store.write("keeping what was forgotten", |db| {
        db.sql
            .execute("UPDATE palace SET forget_key = ?1 WHERE id = 1", [key])?;
        for text in &finds.forgotten {
            let Some(writer) = writers.get(&text.collection) else {
                continue;
            };
            db.sql.execute(
                "INSERT INTO forgotten
                     (collection, hash, lines, forgotten_at, sequence, source, exchange, before, after)
                 SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM collections WHERE name = ?1
                 ON CONFLICT (collection, hash, source, exchange, before, after) DO NOTHING",
                params![
                    writer.collection.name(),
                    text.hash,
                    text.lines,
                    text.at,
                    text.sequence,
                    text.source,
                    text.exchange,
                    text.before,
                    text.after
                ],
            )?;
        }
        Ok(())
    })
}

/// Records in the new palace which embedder made the vectors.
fn pin(store: &Store, found: &FoundCollection) -> Result<()> {
    let known = found
        .embedder
        .as_ref()
        .filter(|json| serde_json::from_str::<EmbedderIdentity>(json).is_ok());
    store.write("pinning the embedder", |db| {
        db.sql.execute(
            "UPDATE collections SET embedder = ?2 WHERE name = ?1",
            params![found.name, known],
        )?;
        Ok(())
    })
}

/// Writes a damaged drawer to the side table, under the collection it would be in.
fn keep_damaged(store: &Store, collection: &str, row: i64, found: &FoundDrawer) -> Result<()> {
    store.write("keeping a damaged drawer", |db| {
        db.sql.execute(
            "INSERT INTO damaged_drawers (removed_at, row, collection, drawer_id, text, metadata, checksum)
             SELECT ?1, ?2, id, ?4, ?5, ?6, ?7 FROM collections WHERE name = ?3",
            params![now_ms(), row, collection, found.id, found.text, found.metadata, found.checksum],
        )?;
        Ok(())
    })
}

/// The drawer must not be saved, because its bytes are damaged.
struct DamagedVector;

/// The vector to save with the drawer, if it has one.
fn saved_vector(verdict: &Verdict) -> std::result::Result<Option<Vec<f32>>, DamagedVector> {
    match verdict {
        Verdict::Whole(None) | Verdict::VectorLost => Ok(None),
        Verdict::Whole(Some(bytes)) => vector_from_bytes(bytes).map(Some).ok_or(DamagedVector),
        Verdict::Damaged => Err(DamagedVector),
    }
}

/// Adds drawers to one collection of the new palace in batches.
struct Writer {
    collection: Arc<dyn Collection>,
    batch: Batch,
    histories: Vec<History>,
    text_bytes: usize,
    /// Number of drawers that were read, saved or not.
    found: u64,
    /// Number of saved drawers by name and section of their source.
    saved: HashMap<Origin, u64>,
}

impl Writer {
    fn open(
        backend: &SqliteBackend,
        palace: &PalaceRef,
        name: &str,
        metric: Metric,
    ) -> Result<Self> {
        let options = CollectionOptions {
            metric: Some(metric),
            embedder: None,
        };
        let collection = backend.get_collection(palace, name, true, &options)?;
        Ok(Self {
            collection,
            batch: empty_batch(),
            histories: Vec::new(),
            text_bytes: 0,
            found: 0,
            saved: HashMap::new(),
        })
    }

    fn summary(&self) -> ReadableDrawers {
        ReadableDrawers {
            name: self.collection.name().to_owned(),
            drawers: self.found,
        }
    }

    fn push(
        &mut self,
        found: FoundDrawer,
        metadata: Metadata,
        vector: Option<Vec<f32>>,
        history: History,
        report: &mut SalvageReport,
    ) -> Result<()> {
        let length = found.text.as_ref().map_or(0, String::len);
        if self.batch.len() >= 200 || self.text_bytes + length > MAX_BATCH_TEXT_BYTES {
            self.flush(report)?;
        }
        self.text_bytes += length;
        self.histories.push(history);
        self.batch.ids.push(found.id);
        self.batch
            .documents
            .get_or_insert_default()
            .push(found.text);
        self.batch
            .metadatas
            .get_or_insert_default()
            .push(metadata.into());
        self.batch.embeddings.get_or_insert_default().push(vector);
        Ok(())
    }

    fn flush(&mut self, report: &mut SalvageReport) -> Result<()> {
        let batch = std::mem::replace(&mut self.batch, empty_batch());
        let histories = std::mem::take(&mut self.histories);
        self.text_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let result = self
            .collection
            .import_records(&batch, &histories, Existing::Keep)?;
        for (history, outcome) in histories.iter().zip(&result.outcomes) {
            if let (Some(origin), Outcome::Added) = (&history.origin, outcome) {
                *self.saved.entry(origin.clone()).or_default() += 1;
            }
        }
        report.saved += result.count(OutcomeKind::Added) as u64;
        report.duplicates +=
            (result.count(OutcomeKind::Duplicate) + result.count(OutcomeKind::Exists)) as u64;
        Ok(())
    }

    /// Writes which project has which wing.
    fn write_projects(&self, id: i64, finds: &Finds) -> Result<()> {
        let Some(projects) = self.collection.projects() else {
            return Ok(());
        };
        let of_collection = finds.projects.values().filter(|(of, _)| *of == id);
        let records: Vec<_> = of_collection.map(|(_, record)| record.clone()).collect();
        projects.adopt_projects(&records).map(|_| ())
    }

    /// Writes the ledger of mining. A source that may have lost a drawer is marked incomplete, so
    /// that the next mine reads it and restores the text.
    fn write_sources(
        &self,
        id: i64,
        finds: &Finds,
        doubtful: &Doubtful,
        report: &mut SalvageReport,
    ) -> Result<()> {
        let Some(ledger) = self.collection.ledger() else {
            return Ok(());
        };
        let of_collection =
            |source: &&FoundSource| source.collection == id && source.record.section != LEFTOVERS;
        let mut sources: Vec<CountedSource> = Vec::new();
        for found in finds.sources.values().filter(of_collection) {
            let record = found.record.clone();
            let is_doubtful = match doubtful {
                Doubtful::All => true,
                Doubtful::Named(names) => names.contains(&record.name),
            };
            let origin = Origin {
                name: record.name.clone(),
                section: record.section,
                machine: record.machine.id.clone(),
            };
            let saved = self.saved.get(&origin).copied().unwrap_or_default();
            // The palace can never hold one drawer more than were saved, so this count marks the
            // source incomplete.
            sources.push(CountedSource {
                record,
                drawers: saved + u64::from(is_doubtful),
            });
        }
        // The sections of a source come before its head.
        sources.sort_by(|a, b| {
            let key = |source: &CountedSource| (source.record.section == 0, source.record.section);
            let (left, right) = (&a.record, &b.record);
            (&left.name, &left.machine.id, key(a)).cmp(&(&right.name, &right.machine.id, key(b)))
        });
        for slice in sources.chunks(MAX_BATCH_RECORDS) {
            let adopted = ledger.adopt_sources(slice)?;
            report.sources += adopted.len() as u64;
            let incomplete = adopted.iter().zip(slice);
            report.incomplete_sources += incomplete
                .filter(|(adopted, source)| {
                    **adopted == Adopted::Incomplete && source.record.section == 0
                })
                .count() as u64;
        }
        Ok(())
    }
}

fn empty_batch() -> Batch {
    Batch {
        ids: Vec::new(),
        documents: Some(Vec::new()),
        metadatas: Some(Vec::new()),
        embeddings: Some(Vec::new()),
        embedded: None,
    }
}
