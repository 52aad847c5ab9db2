//! Copies the records of a directory into its mirror.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use loci_core::clock::nanoseconds;
use loci_core::finding::Severity;
use loci_core::{
    Backend, Batch, Collection, CollectionOptions, Embedder, EmbedderIdentity, Error, Existing,
    History, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES, MAX_BATCH_VECTOR_BYTES, MAX_DIMENSION,
    Outcome, PalaceRef, Result, Selection, validate_collection_name,
};
use loci_foreign::chroma::{CollectionRow, DATABASE, Directory, Record, Survey};
use loci_sqlite::SqliteBackend;

use super::about::{About, AboutCollection};
use super::duplicates::Duplicates;
use super::fitting::{Fitted, Losses};
use super::recency::Recency;
use super::{KnownEmbedders, embedder_of};

/// A drawer that is written and deleted again, to fix the dimension of a collection without
/// vectors.
const DIMENSION: &str = "loci:dimension";

/// Fills the palace with all collections.
pub(super) fn fill(
    directory: &Directory,
    source: &Path,
    backend: &SqliteBackend,
    palace: &PalaceRef,
    known: KnownEmbedders,
) -> Result<About> {
    let rows = directory.collections();
    let mut collections = Vec::with_capacity(rows.len());
    for (index, (row, name)) in rows.iter().zip(names(rows)).enumerate() {
        let mut about = AboutCollection {
            name,
            id: row.id.clone(),
            ..AboutCollection::default()
        };
        match directory.survey(index) {
            Ok(survey) => {
                about.drift = drift(&survey);
                let dimension = dimension(&survey, row);
                let embedder = embedder_of(known, row, dimension);
                let target = create(backend, palace, row, &about.name, embedder)?;
                fill_collection(directory, index, &survey, &*target, dimension, &mut about)?;
            }
            // Damage to one collection does not stop the others.
            Err(error @ Error::Corrupt { .. }) => {
                create(backend, palace, row, &about.name, None)?;
                about.unread = Some(unread(&about.name, &error));
            }
            Err(error) => return Err(error),
        }
        collections.push(about);
    }
    Ok(About::new(source, collections))
}

fn fill_collection(
    directory: &Directory,
    index: usize,
    survey: &Survey,
    collection: &dyn Collection,
    dimension: Option<usize>,
    about: &mut AboutCollection,
) -> Result<()> {
    let recency = Recency::of(directory, survey)?;
    let mut filler = Filler {
        collection,
        dimension,
        recency: &recency,
        newest: newest(directory),
        duplicates: Duplicates::default(),
        losses: Losses::default(),
        waiting: Vec::new(),
        text_bytes: 0,
        vector_bytes: 0,
    };
    let read = directory.for_each_record(index, survey, MAX_BATCH_RECORDS, &mut |records| {
        records
            .into_iter()
            .try_for_each(|record| filler.take(record))
    });
    filler.flush()?;
    let Filler {
        duplicates, losses, ..
    } = filler;
    about.unread = match read {
        Ok(()) => losses.sentence(&about.name),
        Err(error @ Error::Corrupt { .. }) => Some(unread(&about.name, &error)),
        Err(error) => return Err(error),
    };
    about.parts = duplicates.into_parts();
    recency.restore(collection)?;
    if let (None, Some(dimension)) = (collection.dimension()?, dimension) {
        collection.add(&Batch::new([DIMENSION]).embeddings([vec![0.0; dimension]]))?;
        collection.delete(&Selection::ids([DIMENSION]))?;
    }
    Ok(())
}

fn unread(name: &str, error: &Error) -> String {
    format!("collection `{name}` cannot be read completely: {error}")
}

/// Gathers records into batches of a size that a collection accepts.
struct Filler<'a> {
    collection: &'a dyn Collection,
    dimension: Option<usize>,
    recency: &'a Recency,
    /// The last change of the database. A record without a date was added at this time or earlier.
    /// The day on which the mirror is built says nothing about a record.
    newest: Option<i64>,
    duplicates: Duplicates,
    losses: Losses,
    waiting: Vec<Fitted>,
    text_bytes: usize,
    vector_bytes: usize,
}

impl Filler<'_> {
    fn take(&mut self, record: Record) -> Result<()> {
        let Some(mut fitted) = Fitted::of(record, self.dimension, &mut self.losses) else {
            return Ok(());
        };
        self.dimension = self
            .dimension
            .or_else(|| Some(fitted.vector.as_ref()?.len()));
        self.duplicates.make_unique(&mut fitted);
        self.recency.mark(&mut fitted);
        let (text, vector) = (fitted.text_bytes(), fitted.vector_bytes());
        if self.waiting.len() >= MAX_BATCH_RECORDS
            || self.text_bytes + text > MAX_BATCH_TEXT_BYTES
            || self.vector_bytes + vector > MAX_BATCH_VECTOR_BYTES
        {
            self.flush()?;
        }
        self.text_bytes += text;
        self.vector_bytes += vector;
        self.waiting.push(fitted);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        (self.text_bytes, self.vector_bytes) = (0, 0);
        let mut ids = HashSet::new();
        let waiting = std::mem::take(&mut self.waiting);
        let (once, again): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .partition(|fitted| ids.insert(fitted.id.clone()));
        self.losses.records += again.len() as u64;
        let dates = once.iter().map(|fitted| fitted.added.or(self.newest));
        let histories: Vec<History> = dates.map(History::added).collect();
        let written = self
            .collection
            .import_records(&batch(once), &histories, Existing::Keep)?;
        let refused = written
            .outcomes
            .iter()
            .filter(|outcome| **outcome != Outcome::Added);
        self.losses.records += refused.count() as u64;
        Ok(())
    }
}

/// When the database was last changed, in milliseconds since 1970.
fn newest(directory: &Directory) -> Option<i64> {
    let metadata = std::fs::metadata(directory.path().join(DATABASE)).ok()?;
    let changed = metadata.modified().ok()?;
    Some(nanoseconds(changed) / 1_000_000)
}

fn batch(records: Vec<Fitted>) -> Batch {
    let mut batch = Batch::default();
    let (mut documents, mut metadatas, mut embeddings) = (Vec::new(), Vec::new(), Vec::new());
    for record in records {
        batch.ids.push(record.id);
        documents.push(record.document);
        metadatas.push(record.metadata.into());
        embeddings.push(record.vector);
    }
    batch.documents = Some(documents);
    batch.metadatas = Some(metadatas);
    batch.embeddings = Some(embeddings);
    batch
}

/// The length of the vectors, unless a collection cannot have that dimension.
fn dimension(survey: &Survey, row: &CollectionRow) -> Option<usize> {
    survey
        .dimension
        .or(row.dimension)
        .filter(|dimension| (1..=MAX_DIMENSION).contains(dimension))
}

/// Creates the collection with its embedder pinned, and opens it without one, so that nothing is
/// embedded.
fn create(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    row: &CollectionRow,
    name: &str,
    embedder: Option<EmbedderIdentity>,
) -> Result<Arc<dyn Collection>> {
    let options = CollectionOptions {
        metric: Some(row.metric),
        embedder: embedder.map(|identity| Arc::new(Pinned(identity)) as Arc<dyn Embedder>),
    };
    backend.create_collection(palace, name, &options)?;
    backend.get_collection(palace, name, false, &CollectionOptions::default())
}

/// An embedder of which only the identity is known.
struct Pinned(EmbedderIdentity);

impl Embedder for Pinned {
    fn identity(&self) -> EmbedderIdentity {
        self.0.clone()
    }

    fn embed(&self, _texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Err(Error::UnsupportedCapability {
            capability: "embedding".into(),
            reason: format!("`{}` only names who made the vectors", self.0),
        })
    }
}

/// The problems of a collection in one sentence; `None` if it has none.
fn drift(survey: &Survey) -> Option<String> {
    let mut serious = survey
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning);
    let first = serious.next()?;
    let others = match serious.count() {
        0 => String::new(),
        1 => " (and 1 more finding)".into(),
        more => format!(" (and {more} more findings)"),
    };
    let counts = survey.counts;
    let vectors = match counts.missing {
        0 => String::new(),
        missing => format!("{missing} of {} drawers have no vector; ", counts.records),
    };
    Some(format!(
        "{vectors}{}{others}",
        first.message.trim_end_matches('.')
    ))
}

/// A unique name for every collection. It is ChromaDB's own name, unless two databases have the
/// same one or Loci does not accept it.
fn names(rows: &[CollectionRow]) -> Vec<String> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| {
        rows.get(*at)
            .is_none_or(|row| !row.is_in_default_database())
    });
    let mut taken = HashSet::new();
    let mut names = vec![String::new(); rows.len()];
    for at in order {
        let (Some(row), Some(name)) = (rows.get(at), names.get_mut(at)) else {
            continue;
        };
        let candidates = [
            row.name.clone(),
            format!("{}/{}", row.database, row.name),
            format!("{}/{}/{}", row.tenant, row.database, row.name),
            format!("collection {}", row.id),
            format!("collection number {at}"),
        ];
        let free = candidates.into_iter().find(|candidate| {
            validate_collection_name(candidate).is_ok() && !taken.contains(candidate)
        });
        *name = free.unwrap_or_else(|| format!("collection number {at} of {}", rows.len()));
        taken.insert(name.clone());
    }
    names
}
