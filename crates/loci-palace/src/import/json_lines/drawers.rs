//! Imports the drawers of a file in batches, each in one transaction.

use std::sync::Arc;
use std::time::Duration;

use loci_core::clock::new_id;
use loci_core::{
    Batch, Collection, CollectionOptions, Error, Existing, History, MAX_BATCH_TEXT_BYTES,
    MAX_BATCH_VECTOR_BYTES, Machine, Metric, Outcome, OutcomeKind, Result, quoted,
};

use super::{BATCH, Import, Loss};
use crate::forgotten::mostly_forgotten;
use crate::import::{OnConflict, is_of_record, replace_metadata};
use crate::record::{JsonRecord, columns};
use crate::secrets::merge;

/// A record that waits for its batch.
pub(super) struct Pending {
    line: u64,
    record: JsonRecord,
}

impl Import<'_> {
    pub(super) fn take(&mut self, line: u64, mut record: JsonRecord) -> Result<()> {
        let name = self.target(&record);
        if self
            .current
            .as_ref()
            .is_none_or(|current| current.name() != name)
        {
            self.flush()?;
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
        if record.is_collection_only() {
            return Ok(());
        }
        self.plan.place_drawer(&mut record);
        if self.was_forgotten(&record)? {
            self.note_forgotten(&name, record.id.as_ref());
            self.report.skipped += 1;
            self.report.lost.push(Loss {
                line,
                id: record.id,
                reason: "its text was forgotten here".into(),
            });
            return Ok(());
        }
        let id = record.id.get_or_insert_with(new_id).clone();
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
        self.batch.push(Pending { line, record });
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

    /// The collection with its embedder, if texts of this batch need vectors. The texts of an
    /// export do not, and neither do texts in a collection whose embedder is unknown.
    fn embedding(
        &self,
        plain: Arc<dyn Collection>,
        batch: &[Pending],
    ) -> Result<Arc<dyn Collection>> {
        let exported = batch
            .iter()
            .any(|pending| pending.record.collection.is_some());
        let brings = batch
            .iter()
            .any(|pending| pending.record.embedding.is_some());
        if exported || (brings && plain.embedder()?.is_none()) {
            return Ok(plain);
        }
        Ok(self.palace.memory(plain.name(), false)?.0.collection)
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
        let collection = self.embedding(collection, &pending)?;
        match self.write(collection.as_ref(), &pending) {
            Err(error) if is_of_record(&error) => {
                for single in pending {
                    if let Err(error) =
                        self.write(collection.as_ref(), std::slice::from_ref(&single))
                    {
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
                Outcome::Exists if self.options.on_conflict == OnConflict::Error => {
                    let id = single.record.id.as_deref().unwrap_or_default();
                    return Err(Error::Busy {
                        what: format!(
                            "importing {}: another process added it; the records before it are imported",
                            quoted(id)
                        ),
                        waited: Duration::ZERO,
                    });
                }
                Outcome::Added => self.report.added += 1,
                Outcome::Updated => self.report.updated += 1,
                Outcome::Exists if self.options.on_conflict == OnConflict::Duplicate => {
                    let record = JsonRecord {
                        id: Some(new_id()),
                        ..single.record.clone()
                    };
                    let copy = [Pending {
                        line: single.line,
                        record,
                    }];
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
