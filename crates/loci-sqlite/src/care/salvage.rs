//! Reads drawers out of a database that SQLite cannot read, page by page, into a new palace.
//!
//! The damaged files are only read. A drawer is saved when its checksum matches; one whose vector
//! lay on a lost page is saved without it; one whose bytes are wrong goes to the side table.

mod relations;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use loci_core::{
    Backend, Batch, Collection, CollectionOptions, EmbedderIdentity, Error, MAX_BATCH_TEXT_BYTES,
    Metadata, Metric, PalaceRef, Result,
};
use loci_salvage::{DatabaseFile, Value};
use rusqlite::params;

use self::relations::FoundRelations;
use crate::SqliteBackend;
use crate::collection::record::{checksum, content_hash, vector_from_bytes};
use crate::store::lock::FileLock;
use crate::store::place::Place;
use crate::store::{Store, now_ms, schema};

/// What a salvage saved.
#[derive(Debug, Clone, Default)]
pub struct SalvageReport {
    /// The new palace.
    pub palace: PathBuf,
    /// Drawers in it.
    pub saved: u64,
    /// Of those, drawers whose vector was lost, by id; their text was checked by its own hash.
    pub without_vector: Vec<String>,
    /// Facts in it.
    pub facts: u64,
    /// Links in it.
    pub links: u64,
    /// What has damaged bytes: drawers by id where it could be read, facts and links by row; kept in `damaged_drawers`,
    /// `damaged_facts` and `damaged_links`.
    pub damaged: Vec<String>,
    /// Drawers that were there already: the same text from the same place.
    pub duplicates: u64,
    /// Pages that could not be read.
    pub unreadable_pages: u32,
    /// Records that could not be read.
    pub damaged_records: u64,
}

#[derive(Debug, Clone)]
struct Found {
    collection: i64,
    id: String,
    text: Option<String>,
    metadata: String,
    seq: i64,
    checksum: i64,
    content_hash: Vec<u8>,
}

struct FoundCollection {
    name: String,
    metric: Metric,
    /// JSON.
    embedder: Option<String>,
}

/// A row of `forgotten`. Rows from before format 5 have no place.
#[derive(Default)]
struct ForgottenText {
    collection: i64,
    hash: Vec<u8>,
    lines: Vec<u8>,
    at: i64,
    sequence: Vec<u8>,
    source: Vec<u8>,
    exchange: i64,
    before: Vec<u8>,
    after: Vec<u8>,
}

#[derive(Default)]
struct Finds {
    collections: BTreeMap<i64, FoundCollection>,
    /// Several versions of a row can be found when pages are damaged.
    drawers: BTreeMap<i64, Vec<Found>>,
    vectors: HashMap<i64, Vec<Vec<u8>>>,
    forgotten: Vec<ForgottenText>,
    forget_key: Option<Vec<u8>>,
    relations: FoundRelations,
}

pub(crate) fn salvage(backend: &SqliteBackend, palace: &PalaceRef) -> Result<SalvageReport> {
    let place = Place::of(palace)?;
    // Reading the file by other means than SQLite drops SQLite's locks in this process.
    if let Some(store) = backend.forget_store(palace) {
        crate::index::build::join(&store);
        store.leave_files_alone();
        store.close();
    }
    let _lock = FileLock::exclusive(&place.lock())?;
    // With the database gone, its log may still hold everything.
    place.ensure_database_file()?;
    let file = DatabaseFile::open(&place.database, Some(schema::PAGE_SIZE)).map_err(|error| {
        Error::Corrupt {
            what: "the database".into(),
            path: place.database.clone(),
            detail: error.to_string(),
        }
    })?;
    let mut finds = Finds::default();
    let pages = file.for_each_record(&mut |record| finds.take(record.rowid, &record.values));
    let mut report = SalvageReport {
        palace: new_palace(&place),
        unreadable_pages: pages.unreadable_pages,
        damaged_records: pages.damaged_cells,
        ..SalvageReport::default()
    };
    write_all(backend.durability(), &finds, &mut report)?;
    Ok(report)
}

fn new_palace(place: &Place) -> PathBuf {
    let name = place
        .directory
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let parent = place
        .directory
        .parent()
        .map(PathBuf::from)
        .unwrap_or_default();
    super::free_path(&parent, &format!("{name}.salvaged"))
}

impl Finds {
    /// Tables are told apart by the shape of their rows: the schema may be lost.
    fn take(&mut self, row: i64, values: &[Value]) {
        match values {
            [
                Value::Null,
                Value::Integer(collection),
                Value::Text(id),
                text,
                Value::Text(metadata),
                Value::Integer(seq),
                Value::Integer(checksum),
                Value::Integer(_),
                Value::Integer(_),
                Value::Text(_),
                Value::Text(_),
                hash,
                _,
                // Format 3 added a column; rows from before may lack it.
                ..,
            ] if values.len() <= 14 => {
                let text = match text {
                    Value::Text(text) => Some(text.clone()),
                    Value::Null => None,
                    _ => Some(String::new()),
                };
                self.drawers.entry(row).or_default().push(Found {
                    collection: *collection,
                    id: id.clone(),
                    text,
                    metadata: metadata.clone(),
                    seq: *seq,
                    checksum: *checksum,
                    content_hash: match hash {
                        Value::Blob(hash) => hash.clone(),
                        _ => Vec::new(),
                    },
                });
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Blob(hash),
                Value::Blob(lines),
                Value::Integer(at),
            ] => {
                self.forgotten.push(ForgottenText {
                    collection: *collection,
                    hash: hash.clone(),
                    lines: lines.clone(),
                    at: *at,
                    ..ForgottenText::default()
                });
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Blob(hash),
                Value::Blob(lines),
                Value::Integer(at),
                Value::Blob(sequence),
                Value::Blob(source),
                Value::Integer(exchange),
                Value::Blob(before),
                Value::Blob(after),
            ] => {
                self.forgotten.push(ForgottenText {
                    collection: *collection,
                    hash: hash.clone(),
                    lines: lines.clone(),
                    at: *at,
                    sequence: sequence.clone(),
                    source: source.clone(),
                    exchange: *exchange,
                    before: before.clone(),
                    after: after.clone(),
                });
            }
            [
                Value::Null,
                Value::Blob(_),
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(_),
                Value::Blob(key),
            ] if key.len() == 32 => self.forget_key = Some(key.clone()),
            [
                Value::Null,
                Value::Integer(_),
                Value::Integer(_),
                Value::Blob(vector),
            ] => {
                self.vectors.entry(row).or_default().push(vector.clone());
            }
            [
                Value::Null,
                Value::Text(name),
                Value::Text(metric),
                _,
                embedder,
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(0),
                // Format 2 added a column; rows from before may lack it.
                ..,
            ] if values.len() <= 10 => {
                if let Ok(metric) = Metric::parse(metric) {
                    let found = FoundCollection {
                        name: name.clone(),
                        metric,
                        embedder: match embedder {
                            Value::Text(json) => Some(json.clone()),
                            _ => None,
                        },
                    };
                    self.collections.insert(row, found);
                }
            }
            _ => self.relations.take(row, values),
        }
    }

    /// The best version of a row, with its vector: one whose checksum matches, else the newest.
    fn best(&self, row: i64, versions: &[Found]) -> Option<(Found, Verdict)> {
        let vectors = self
            .vectors
            .get(&row)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut newest_first: Vec<&Found> = versions.iter().collect();
        newest_first.sort_by_key(|found| std::cmp::Reverse(found.seq));
        for found in &newest_first {
            let sum = |vector| checksum(&found.id, found.text.as_deref(), &found.metadata, vector);
            if sum(None) == found.checksum {
                return Some(((*found).clone(), Verdict::Whole(None)));
            }
            if let Some(vector) = vectors
                .iter()
                .find(|vector| sum(Some(vector)) == found.checksum)
            {
                return Some(((*found).clone(), Verdict::Whole(Some(vector.clone()))));
            }
        }
        let newest = newest_first.first()?;
        // Without its vector the checksum cannot be tested, but the text has a hash of its own.
        let text_is_whole =
            newest.text.as_deref().map(content_hash).unwrap_or_default() == newest.content_hash;
        let verdict = if vectors.is_empty() && text_is_whole {
            Verdict::VectorLost
        } else {
            Verdict::Damaged
        };
        Some(((*newest).clone(), verdict))
    }
}

enum Verdict {
    Whole(Option<Vec<u8>>),
    VectorLost,
    Damaged,
}

fn write_all(
    durability: crate::Durability,
    finds: &Finds,
    report: &mut SalvageReport,
) -> Result<()> {
    let backend = SqliteBackend::new(durability);
    let palace = PalaceRef::local(&report.palace);
    let store = backend.store(&palace, true)?;
    let mut writers: BTreeMap<i64, Writer> = BTreeMap::new();
    // Also collections that hold nothing come along.
    for (id, found) in &finds.collections {
        let writer = Writer::open(&backend, &palace, &found.name, found.metric)?;
        pin(&store, found)?;
        writers.insert(*id, writer);
    }
    for (row, versions) in &finds.drawers {
        let Some((found, verdict)) = finds.best(*row, versions) else {
            continue;
        };
        let writer = match writers.entry(found.collection) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let name = format!("recovered-{}", found.collection);
                entry.insert(Writer::open(&backend, &palace, &name, Metric::default())?)
            }
        };
        let metadata = serde_json::from_str::<Metadata>(&found.metadata);
        let (Ok(metadata), Ok(vector)) = (metadata, saved_vector(&verdict)) else {
            keep_damaged(&store, writer.collection.name(), *row, &found)?;
            report.damaged.push(found.id);
            continue;
        };
        if matches!(verdict, Verdict::VectorLost) {
            report.without_vector.push(found.id.clone());
        }
        writer.push(found, metadata, vector, report)?;
    }
    for writer in writers.values_mut() {
        writer.flush(report)?;
    }
    keep_forgotten(&store, finds, &writers)?;
    finds.relations.save(&store, report)?;
    backend.close()
}

/// What must not come back stays known. Without the key the hashes say nothing.
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

/// Says in the new palace who made the vectors, as the old one did.
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

/// Puts a drawer whose bytes are wrong into the side table, under the collection it would be in.
fn keep_damaged(store: &Store, collection: &str, row: i64, found: &Found) -> Result<()> {
    store.write("keeping a damaged drawer", |db| {
        db.sql.execute(
            "INSERT INTO damaged_drawers (removed_at, row, collection, drawer_id, text, metadata, checksum)
             SELECT ?1, ?2, id, ?4, ?5, ?6, ?7 FROM collections WHERE name = ?3",
            params![now_ms(), row, collection, found.id, found.text, found.metadata, found.checksum],
        )?;
        Ok(())
    })
}

/// The drawer may not be saved: its bytes are not what was written.
struct NotToBeSaved;

/// The vector to save with the drawer, if there is one.
fn saved_vector(verdict: &Verdict) -> std::result::Result<Option<Vec<f32>>, NotToBeSaved> {
    match verdict {
        Verdict::Whole(None) | Verdict::VectorLost => Ok(None),
        Verdict::Whole(Some(bytes)) => vector_from_bytes(bytes).map(Some).ok_or(NotToBeSaved),
        Verdict::Damaged => Err(NotToBeSaved),
    }
}

/// Adds drawers to one collection of the new palace in batches.
struct Writer {
    collection: std::sync::Arc<dyn Collection>,
    batch: Batch,
    text_bytes: usize,
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
            text_bytes: 0,
        })
    }

    fn push(
        &mut self,
        found: Found,
        metadata: Metadata,
        vector: Option<Vec<f32>>,
        report: &mut SalvageReport,
    ) -> Result<()> {
        let length = found.text.as_ref().map_or(0, String::len);
        if self.batch.len() >= 200 || self.text_bytes + length > MAX_BATCH_TEXT_BYTES {
            self.flush(report)?;
        }
        self.text_bytes += length;
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
        self.text_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        let result = self.collection.add(&batch)?;
        report.saved += result.count("added") as u64;
        report.duplicates += (result.count("duplicate") + result.count("exists")) as u64;
        Ok(())
    }
}

fn empty_batch() -> Batch {
    Batch {
        ids: Vec::new(),
        documents: Some(Vec::new()),
        metadatas: Some(Vec::new()),
        embeddings: Some(Vec::new()),
    }
}
