//! Imports the drawers of a file in batches, each in one transaction.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{
    Batch, Collection, CollectionOptions, Error, Existing, Get, History, MAX_BATCH_TEXT_BYTES,
    MAX_BATCH_VECTOR_BYTES, Machine, Metadata, Metric, Outcome, OutcomeKind, Result, Selection,
    Warning, quoted,
};
use xxhash_rust::xxh3::Xxh3;

use super::{BATCH, Import};
use crate::forgotten::mostly_forgotten;
use crate::import::{OnConflict, is_of_record, replace_metadata};
use crate::record::{JsonRecord, columns};
use crate::secrets::{Tally, mask_metadata, merge};

/// A record that waits for its batch.
pub(super) struct Pending {
    line: u64,
    record: JsonRecord,
    /// Whether its id was derived from its content.
    is_derived: bool,
}

impl Import<'_> {
    pub(super) fn take(&mut self, line: u64, mut record: JsonRecord) -> Result<()> {
        if record.is_empty() && record.collection.is_none() {
            self.skip(line, None, "the record is empty");
            return Ok(());
        }
        if record.is_candidate_without_text() {
            self.skip(line, record.id, "it has no text");
            return Ok(());
        }
        let name = self.target(&record);
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.name() != name)
        {
            self.flush()?;
            self.note_vectors();
            match self.open(&name, &record) {
                Ok(collection) => {
                    self.place_projects(collection.as_ref())?;
                    self.current = Some(collection);
                }
                Err(error) if is_of_record(&error) => {
                    self.lose(line, record.id, &error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if record.is_empty() {
            return Ok(());
        }
        self.plan.place_drawer(&mut record);
        if self.was_forgotten(&record)? {
            self.note_forgotten(&name, record.id.as_ref());
            self.skip(line, record.id, "its text was forgotten here");
            return Ok(());
        }
        let is_derived = record.id.is_none();
        let id = match record.id.take() {
            Some(id) => id,
            None => self.derived_id(&name, &record),
        };
        record.id = Some(id.clone());
        let text_bytes = record.document.as_ref().map_or(0, String::len);
        let vector_bytes = record
            .embedding
            .as_ref()
            .map_or(0, |vector| vector.len() * 4);
        if self.batch.len() >= BATCH
            || self.ids.contains(&id)
            || self.text_bytes + text_bytes > MAX_BATCH_TEXT_BYTES
            || self.vector_bytes + vector_bytes > MAX_BATCH_VECTOR_BYTES
        {
            self.flush()?;
        }
        self.ids.insert(id);
        self.text_bytes += text_bytes;
        self.vector_bytes += vector_bytes;
        self.batch.push(Pending {
            line,
            record,
            is_derived,
        });
        Ok(())
    }

    /// Whether most of the record's text was forgotten in its target collection.
    fn was_forgotten(&self, record: &JsonRecord) -> Result<bool> {
        let (Some(collection), Some(text)) = (&self.current, &record.document) else {
            return Ok(false);
        };
        mostly_forgotten(collection.as_ref(), text, self.options.allow_again)
    }

    /// The collection of a record, created if it is missing.
    pub(super) fn open(&self, name: &str, record: &JsonRecord) -> Result<Arc<dyn Collection>> {
        let metric = record.metric.as_deref().map(Metric::parse).transpose()?;
        let options = CollectionOptions {
            metric,
            embedder: None,
        };
        let collection = self.palace.collection_with(name, true, &options)?;
        if let Some(identity) = &record.embedder {
            self.palace
                .collection(name, false)?
                .pin_embedder(identity)?;
        }
        Ok(collection)
    }

    /// The id of a record that has none. It is derived from the content and from how often the
    /// same content was read before, so that a second import of the same file recognises its
    /// records, and equal records of one file stay apart. The metadata holds the place in the
    /// source.
    fn derived_id(&mut self, collection: &str, record: &JsonRecord) -> String {
        let content = self.content_hash(collection, record);
        let times = self.without_id.entry(content).or_default();
        *times += 1;
        let mut hasher = Xxh3::new();
        hasher.update(&content.to_le_bytes());
        hasher.update(&times.to_le_bytes());
        uuid::Builder::from_custom_bytes(hasher.digest128().to_be_bytes())
            .into_uuid()
            .to_string()
    }

    /// A hash of text and metadata as they are stored, and of the vector if there is no text.
    fn content_hash(&self, collection: &str, record: &JsonRecord) -> u128 {
        let mut tally = Tally::new();
        let text = record.document.as_deref().unwrap_or_default();
        let metadata = record.metadata.to_string();
        let vector: Vec<u8> = match (&record.document, &record.embedding) {
            (None, Some(vector)) => vector.iter().flat_map(|of| of.to_le_bytes()).collect(),
            _ => Vec::new(),
        };
        let mut hasher = Xxh3::new();
        for part in [
            collection.as_bytes(),
            self.palace.masked(text, &mut tally).as_bytes(),
            self.palace.masked(&metadata, &mut tally).as_bytes(),
            &vector,
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.digest128()
    }

    /// The collection that writes this part of a batch: with its embedder, unless the vectors come
    /// from an embedder that is unknown.
    ///
    /// A collection that has no vectors yet takes the vectors of the file only if they look like
    /// the work of one embedder: all have the same length, no text lacks one, and they belong to
    /// something. Otherwise a single odd vector would decide the length for ever. Then Loci's own
    /// embedder decides, and vectors of another length are ignored and counted.
    fn embedding(
        &mut self,
        plain: Arc<dyn Collection>,
        batch: &mut Vec<Pending>,
    ) -> Result<Arc<dyn Collection>> {
        let brings = batch
            .iter()
            .any(|pending| pending.record.embedding.is_some());
        if brings && plain.embedder()?.is_none() {
            if plain.dimension()?.is_some() || is_of_one_embedder(batch) {
                self.embeds = false;
                return Ok(plain);
            }
            let memory = self.palace.memory(plain.name(), false)?.0;
            self.embeds = memory.embedder.is_some();
            if let Some(embedder) = &memory.embedder {
                let dimension = embedder.identity().dimension;
                self.ignore_vectors(batch, dimension);
            }
            return Ok(memory.collection);
        }
        let memory = self.palace.memory(plain.name(), false)?.0;
        self.embeds = memory.embedder.is_some();
        Ok(memory.collection)
    }

    /// Removes vectors of another length. A record that has nothing else is lost.
    fn ignore_vectors(&mut self, batch: &mut Vec<Pending>, dimension: usize) {
        for mut pending in std::mem::take(batch) {
            let record = &mut pending.record;
            let ignored = record.embedding.take_if(|vector| vector.len() != dimension);
            let Some(vector) = ignored else {
                batch.push(pending);
                continue;
            };
            self.ignored_vectors = (self.ignored_vectors.0 + 1, dimension);
            if record.document.is_some() || !pending.is_derived {
                batch.push(pending);
                continue;
            }
            let problem = format!(
                "has {} numbers instead of {dimension}, and there is no text",
                vector.len()
            );
            self.lose(pending.line, None, &Error::invalid("vector", problem));
        }
    }

    /// Reports what happened to the vectors of the current collection.
    pub(super) fn note_vectors(&mut self) {
        let Some(collection) = &self.current else {
            return;
        };
        let (vectors, dimension) = std::mem::take(&mut self.ignored_vectors);
        if vectors > 0 {
            self.report.warnings.push(Warning::VectorsIgnored {
                collection: collection.name().to_owned(),
                vectors,
                dimension,
            });
        }
        let drawers = std::mem::take(&mut self.without_vector);
        if drawers > 0 {
            self.report.warnings.push(Warning::WithoutVector {
                collection: collection.name().to_owned(),
                drawers,
                other_embedder: 0,
                model: None,
            });
        }
    }

    /// Writes the batch. If it is refused, the records are written one at a time, so that only the
    /// bad ones are lost.
    pub(super) fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.batch);
        self.ids.clear();
        self.text_bytes = 0;
        self.vector_bytes = 0;
        let Some(collection) = self.current.clone() else {
            return Ok(());
        };
        if pending.is_empty() {
            return Ok(());
        }
        // Records of an export have their vectors, or had none. They need no embedder, which may
        // be missing on this machine.
        let (complete, mut others): (Vec<Pending>, Vec<Pending>) =
            pending.into_iter().partition(Pending::is_complete_export);
        self.write_all(collection.as_ref(), complete)?;
        if others.is_empty() {
            return Ok(());
        }
        let collection = self.embedding(collection, &mut others)?;
        self.write_all(collection.as_ref(), others)
    }

    /// Writes records together, or one at a time if they are refused together.
    fn write_all(&mut self, collection: &dyn Collection, pending: Vec<Pending>) -> Result<()> {
        if pending.is_empty() {
            return Ok(());
        }
        match self.write(collection, &pending) {
            Err(error) if is_of_record(&error) => {
                for single in pending {
                    if let Err(error) = self.write(collection, std::slice::from_ref(&single)) {
                        if !is_of_record(&error) {
                            return Err(error);
                        }
                        self.lose(single.line, single.record.id.clone(), &error);
                    }
                }
                Ok(())
            }
            result => result,
        }
    }

    fn write(&mut self, collection: &dyn Collection, pending: &[Pending]) -> Result<()> {
        let mut batch = batch_of(pending)?;
        if self.options.on_conflict == OnConflict::Update {
            replace_metadata(collection, &mut batch)?;
        }
        let existing = match self.options.on_conflict {
            OnConflict::Update => Existing::Change,
            OnConflict::Skip | OnConflict::Duplicate | OnConflict::Error => Existing::Keep,
        };
        let result = collection.import_records(
            &batch,
            &histories_of(pending, &self.palace.machine()),
            existing,
        )?;
        self.report.warnings.extend(result.warnings);
        merge(&mut self.report.masked, &result.masked);
        for (single, outcome) in pending.iter().zip(result.outcomes) {
            match outcome {
                // Another process added it after the check.
                Outcome::Exists
                    if self.options.on_conflict == OnConflict::Error && !single.is_derived =>
                {
                    let id = single.record.id.as_deref().unwrap_or_default();
                    return Err(Error::Busy {
                        what: format!(
                            "importing {}: another process added it; the records before it are imported",
                            quoted(id)
                        ),
                        waited: Duration::ZERO,
                    });
                }
                Outcome::Added => {
                    self.report.added += 1;
                    self.without_vector += u64::from(!self.embeds && single.lacks_vector());
                }
                Outcome::Updated => self.report.updated += 1,
                Outcome::Exists
                    if self.options.on_conflict == OnConflict::Duplicate && !single.is_derived =>
                {
                    let Some(copy) = self.copy_of(collection, single)? else {
                        self.report.skipped += 1;
                        continue;
                    };
                    let copy = [copy];
                    let added = collection.import_records(
                        &batch_of(&copy)?,
                        &histories_of(&copy, &self.palace.machine()),
                        Existing::Keep,
                    )?;
                    match added.count(OutcomeKind::Added) {
                        0 => self.report.skipped += 1,
                        _ => self.report.added += 1,
                    }
                }
                Outcome::Exists
                | Outcome::Unchanged
                | Outcome::DuplicateOf(_)
                | Outcome::Unknown => {
                    self.report.skipped += 1;
                }
            }
        }
        Ok(())
    }
}

impl Import<'_> {
    /// A record whose id is taken, under another id; `None` if the drawer has the same content. The
    /// id is derived from the content, so that a second import finds it.
    fn copy_of(&self, collection: &dyn Collection, single: &Pending) -> Result<Option<Pending>> {
        let id = single.record.id.clone().unwrap_or_default();
        let found = collection.get(&Get::new(Selection::ids([id.clone()])))?;
        let mut tally = Tally::new();
        let text = single.record.document.as_deref().unwrap_or_default();
        let text = self.palace.masked(text, &mut tally);
        let values = single.record.patch()?.0.into_iter();
        let values = values.filter_map(|(key, value)| Some((key, value?)));
        let mut metadata = Metadata(values.collect());
        mask_metadata(self.palace.secrets(), &mut metadata, &mut tally);
        let is_same = found.documents.first().is_some_and(|held| *held == text)
            && found.metadatas.first() == Some(&metadata);
        if is_same {
            return Ok(None);
        }
        let hash = self.content_hash(collection.name(), &single.record);
        let record = JsonRecord {
            id: Some(format!("{id}~{:08x}", hash >> 96)),
            ..single.record.clone()
        };
        Ok(Some(Pending {
            line: single.line,
            record,
            is_derived: true,
        }))
    }
}

impl Pending {
    fn lacks_vector(&self) -> bool {
        self.record.document.is_some() && self.record.embedding.is_none()
    }

    /// Whether the record needs no vector of this palace's embedder, as most records of an export.
    fn is_complete_export(&self) -> bool {
        let record = &self.record;
        record.collection.is_some() && !self.is_derived && !self.lacks_vector()
    }
}

/// Whether the vectors of a batch can come from one embedder that embedded everything in it.
fn is_of_one_embedder(batch: &[Pending]) -> bool {
    let vectors = batch.iter().filter_map(|pending| {
        let record = &pending.record;
        let belongs = record.document.is_some() || !pending.is_derived;
        Some((record.embedding.as_ref()?.len(), belongs))
    });
    let lengths: HashSet<usize> = vectors.clone().map(|(length, _)| length).collect();
    lengths.len() == 1
        && vectors.into_iter().all(|(_, belongs)| belongs)
        && !batch.iter().any(Pending::lacks_vector)
}

/// The histories of the pending records. A source of an unknown machine counts as this machine's.
fn histories_of(pending: &[Pending], machine: &Machine) -> Vec<History> {
    let mut histories: Vec<History> = pending
        .iter()
        .map(|pending| pending.record.history())
        .collect();
    let origins = histories
        .iter_mut()
        .filter_map(|history| history.origin.as_mut());
    for origin in origins.filter(|origin| origin.machine.is_empty()) {
        origin.machine.clone_from(&machine.id);
    }
    histories
}

fn batch_of(pending: &[Pending]) -> Result<Batch> {
    let mut batch = columns();
    for Pending { record, .. } in pending {
        batch.ids.push(record.id.clone().unwrap_or_default());
        batch
            .documents
            .get_or_insert_default()
            .push(record.document.clone());
        batch
            .metadatas
            .get_or_insert_default()
            .push(record.patch()?);
        batch
            .embeddings
            .get_or_insert_default()
            .push(record.embedding.clone());
    }
    Ok(batch)
}
