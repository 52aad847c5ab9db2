//! Writes records as drawers, in batches. A refused batch is retried record by record, so that only
//! bad records are lost, and of a bad record only the bad part if that is known.

use std::collections::{HashMap, HashSet};

use loci_core::{
    Collection, Existing, Get, History, Include, MAX_BATCH_TEXT_BYTES, MAX_BATCH_VECTOR_BYTES,
    Outcome, Result, Selection, validate_vector,
};
use loci_foreign::{ForeignRecord, VectorOrigin};

use super::Request;
use super::duplicates::{Places, make_unique};
use super::fitting::{columns_of, pieces_of, refused_keys};
use super::proof::{Proof, hash, hash_of};
use super::report::{Answer, ImportedCollection, LISTED, count, origin_name};
use super::target::{Makes, Target};
use crate::forgotten::mostly_forgotten;
use crate::import::{is_of_record, replace_metadata};
use crate::secrets::{Tally, mask_metadata};
use crate::{OnConflict, Palace};

/// Imports the records of one collection.
pub(super) struct Intake<'a> {
    palace: &'a Palace,
    options: &'a Request,
    pub(super) target: Target,
    pub(super) report: ImportedCollection,
    pub(super) proof: Proof,
    /// The drawers that a dry run would have written.
    places: Places,
    /// Whether anything was forgotten in the collection.
    has_forgotten: bool,
    /// Ids of the records that were skipped because their text was forgotten.
    pub(super) forgotten: Vec<String>,
    batch: Vec<ForeignRecord>,
    ids: HashSet<String>,
    text_bytes: usize,
    vector_bytes: usize,
}

impl<'a> Intake<'a> {
    pub(super) fn new(
        palace: &'a Palace,
        options: &'a Request,
        target: Target,
        report: ImportedCollection,
    ) -> Self {
        Self {
            palace,
            options,
            target,
            report,
            proof: Proof::default(),
            places: Places::default(),
            has_forgotten: false,
            forgotten: Vec::new(),
            batch: Vec::new(),
            ids: HashSet::new(),
            text_bytes: 0,
            vector_bytes: 0,
        }
    }

    /// Adds one record. It is written with its batch.
    pub(super) fn take(&mut self, record: ForeignRecord, report: &mut Answer) -> Result<()> {
        // Mask before the record is split, compared or hashed. The proof covers what the palace
        // received, and a split could cut through a secret.
        let (record, original) = self.masked(record, &mut report.masked);
        let pieces = pieces_of(record);
        self.report.split += u64::from(pieces.len() > 1);
        let original = original.as_deref().filter(|_| pieces.len() == 1);
        pieces
            .into_iter()
            .try_for_each(|piece| self.take_one(piece, original, report))
    }

    /// The record with its secrets masked, and its original text if that differs.
    fn masked(
        &self,
        mut record: ForeignRecord,
        tally: &mut Tally,
    ) -> (ForeignRecord, Option<String>) {
        mask_metadata(self.palace.secrets(), &mut record.metadata, tally);
        let masked = match &record.document {
            Some(text) => self.palace.masked(text, tally).into_owned(),
            None => return (record, None),
        };
        let original = record.document.replace(masked);
        let original = original.filter(|original| Some(original) != record.document.as_ref());
        (record, original)
    }

    fn take_one(
        &mut self,
        mut record: ForeignRecord,
        original: Option<&str>,
        report: &mut Answer,
    ) -> Result<()> {
        self.report.records += 1;
        if self.was_forgotten(original.or(record.document.as_deref()))? {
            self.report.forgotten += 1;
            self.forgotten.push(record.id);
            return Ok(());
        }
        self.judge_vector(&mut record, report);
        let text_bytes = record.document.as_ref().map_or(0, String::len);
        let vector_bytes = record.vector.as_ref().map_or(0, |vector| vector.len() * 4);
        if self.batch.len() >= self.options.batch()
            || self.ids.contains(&record.id)
            || self.text_bytes + text_bytes > MAX_BATCH_TEXT_BYTES
            || self.vector_bytes + vector_bytes > MAX_BATCH_VECTOR_BYTES
        {
            self.flush(report)?;
        }
        self.ids.insert(record.id.clone());
        self.text_bytes += text_bytes;
        self.vector_bytes += vector_bytes;
        self.batch.push(record);
        Ok(())
    }

    fn was_forgotten(&mut self, text: Option<&str>) -> Result<bool> {
        let (Some(collection), Some(text)) = (&self.target.plain, text) else {
            return Ok(false);
        };
        // Checked once per batch, because it is a separate read.
        if self.batch.is_empty() {
            let ledger = collection.ledger();
            self.has_forgotten = match ledger {
                Some(ledger) => ledger.has_forgotten()?,
                None => false,
            };
        }
        if !self.has_forgotten || (self.options.allow_again && self.options.dry_run) {
            return Ok(false);
        }
        mostly_forgotten(collection.as_ref(), text, self.options.allow_again)
    }

    /// Counts the vector, and removes it from the record if it cannot be kept.
    fn judge_vector(&mut self, record: &mut ForeignRecord, report: &mut Answer) {
        let mut origin = record.origin;
        if let Some(vector) = &record.vector {
            let length = self.target.dimension.unwrap_or(vector.len());
            if validate_vector("vector", vector).is_err() {
                report.leave_out("vectors that are empty, too long or not finite", 1);
                (record.vector, origin) = (None, VectorOrigin::Missing);
            } else if !self.target.takes_vectors {
                self.report.vectors_not_taken += 1;
                record.vector = None;
            } else if vector.len() != length {
                report.leave_out("vectors of another length than their collection's", 1);
                (record.vector, origin) = (None, VectorOrigin::Missing);
            }
        } else {
            origin = VectorOrigin::Missing;
        }
        *self.report.vectors.entry(origin_name(origin)).or_default() += 1;
    }

    /// Writes the batch.
    pub(super) fn flush(&mut self, report: &mut Answer) -> Result<()> {
        let records = std::mem::take(&mut self.batch);
        self.ids.clear();
        self.text_bytes = 0;
        self.vector_bytes = 0;
        if records.is_empty() {
            return Ok(());
        }
        match self.write(&records, report) {
            Err(error) if is_of_record(&error) => {
                for record in records {
                    self.write_alone(record, report)?;
                }
                Ok(())
            }
            result => result,
        }
    }

    fn write_alone(&mut self, mut record: ForeignRecord, report: &mut Answer) -> Result<()> {
        let reason = match self.write(std::slice::from_ref(&record), report) {
            Err(error) if is_of_record(&error) => error,
            result => return result,
        };
        let of = self.report.name.clone();
        for key in refused_keys(&record.metadata) {
            record.metadata.0.remove(&key);
            let reason = format!(
                "its metadata key {} cannot be kept: {reason}",
                loci_core::quoted(&key)
            );
            report.lose(&of, Some(record.id.clone()), reason);
        }
        match self.write(std::slice::from_ref(&record), report) {
            Err(error) if is_of_record(&error) => {
                self.lose(&record, error.to_string(), report);
                Ok(())
            }
            result => result,
        }
    }

    /// Writes records and counts the outcomes. Counts nothing if they are refused.
    fn write(&mut self, records: &[ForeignRecord], report: &mut Answer) -> Result<()> {
        let outcomes = self.outcomes(records)?;
        let (mut duplicates, mut taken) = (Vec::new(), Vec::new());
        for (record, outcome) in records.iter().zip(outcomes) {
            match outcome {
                Outcome::Added => {
                    self.report.added += 1;
                    self.arrived(record);
                }
                Outcome::Updated => {
                    self.report.updated += 1;
                    self.arrived(record);
                }
                Outcome::DuplicateOf(_) => duplicates.push(record.clone()),
                Outcome::Exists if self.options.on_conflict == OnConflict::Duplicate => {
                    taken.push(record.clone());
                }
                Outcome::Exists | Outcome::Unchanged | Outcome::Unknown => {
                    self.report.known += 1;
                    self.proof.expect(record, false);
                }
            }
        }
        for duplicate in duplicates {
            self.write_duplicate(duplicate, report)?;
        }
        for record in taken {
            self.write_renamed(record, report)?;
        }
        Ok(())
    }

    /// The outcome of retrying one record; `None` if it is refused, which is then a loss.
    fn outcome(&mut self, record: &ForeignRecord, report: &mut Answer) -> Result<Option<Outcome>> {
        match self.outcomes(std::slice::from_ref(record)) {
            Ok(outcomes) => Ok(outcomes.into_iter().next()),
            Err(error) if is_of_record(&error) => {
                self.lose(record, error.to_string(), report);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn lose(&mut self, record: &ForeignRecord, reason: String, report: &mut Answer) {
        self.report.failed += 1;
        report.lose(&self.report.name, Some(record.id.clone()), reason);
    }

    /// The outcome of writing each record, or its prediction in a dry run.
    fn outcomes(&mut self, records: &[ForeignRecord]) -> Result<Vec<Outcome>> {
        let mut batch = columns_of(records);
        let lacking = records
            .iter()
            .any(|record| record.vector.is_none() && record.document.is_some());
        if self.options.dry_run {
            batch.validate()?;
            return self.foreseen(records);
        }
        let collection = match (&self.target.making, lacking) {
            (Some(making), true) => Some(making),
            _ => self.target.plain.as_ref(),
        };
        let Some(collection) = collection else {
            return Ok(Vec::new());
        };
        // Drawers keep the date on which they were added in the source.
        let histories: Vec<History> = records
            .iter()
            .map(|record| History::added(record.added))
            .collect();
        let written = if self.options.on_conflict == OnConflict::Update {
            replace_metadata(collection.as_ref(), &mut batch)?;
            collection.import_records(&batch, &histories, Existing::Change)?
        } else {
            collection.import_records(&batch, &histories, Existing::Keep)?
        };
        Ok(written.outcomes)
    }

    fn foreseen(&mut self, records: &[ForeignRecord]) -> Result<Vec<Outcome>> {
        let held = match &self.target.plain {
            Some(collection) => held(collection.as_ref(), records)?,
            None => HashMap::new(),
        };
        let mut outcome = |record: &ForeignRecord| match held.get(&record.id) {
            None => match self.places.holder(record) {
                Some(holder) => Outcome::DuplicateOf(holder),
                None => Outcome::Added,
            },
            Some(_) if self.options.on_conflict != OnConflict::Update => Outcome::Exists,
            Some(hash) if *hash == hash_of(record) => Outcome::Unchanged,
            Some(_) => Outcome::Updated,
        };
        Ok(records.iter().map(&mut outcome).collect())
    }

    /// Writes a record with the same text and place as another as a separate drawer.
    fn write_duplicate(&mut self, mut record: ForeignRecord, report: &mut Answer) -> Result<()> {
        make_unique(&record.id, &mut record.metadata);
        let Some(outcome) = self.outcome(&record, report)? else {
            return Ok(());
        };
        match outcome {
            Outcome::Added => self.report.added += 1,
            Outcome::Updated => self.report.updated += 1,
            Outcome::DuplicateOf(holder) => {
                let reason = format!(
                    "has the same text and place as {}",
                    loci_core::quoted(&holder)
                );
                self.lose(&record, reason, report);
                return Ok(());
            }
            Outcome::Exists | Outcome::Unchanged | Outcome::Unknown => {
                self.report.known += 1;
                self.proof.expect(&record, false);
                return Ok(());
            }
        }
        self.report.twins += 1;
        self.arrived(&record);
        Ok(())
    }

    /// Writes a record whose id is taken under a new id. The id is derived from the content, so
    /// that a second run finds it.
    fn write_renamed(&mut self, mut record: ForeignRecord, report: &mut Answer) -> Result<()> {
        let hash = hash_of(&record);
        let held = match &self.target.plain {
            Some(collection) => held(collection.as_ref(), std::slice::from_ref(&record))?,
            None => HashMap::new(),
        };
        if held.get(&record.id) == Some(&hash) {
            self.report.known += 1;
            self.proof.expect(&record, false);
            return Ok(());
        }
        record.id = format!("{}~{:08x}", record.id, hash >> 96);
        match self.outcome(&record, report)? {
            None => {}
            Some(Outcome::Added) => {
                self.report.added += 1;
                self.report.renamed += 1;
                self.arrived(&record);
            }
            Some(Outcome::DuplicateOf(_)) => {
                self.report.renamed += 1;
                self.write_duplicate(record, report)?;
            }
            Some(Outcome::Exists | Outcome::Updated | Outcome::Unchanged | Outcome::Unknown) => {
                self.report.known += 1;
                self.proof.expect(&record, false);
            }
        }
        Ok(())
    }

    /// Counts what happened to the vector of a written drawer.
    fn arrived(&mut self, record: &ForeignRecord) {
        self.proof.expect(record, true);
        if record.vector.is_some() {
            return;
        }
        let report = &mut self.report;
        let (number, ids) = match self.target.makes {
            Makes::Own if record.document.is_some() => {
                (&mut report.re_embedded, &mut report.re_embedded_ids)
            }
            Makes::StandIn if record.document.is_some() => {
                (&mut report.stand_in, &mut report.stand_in_ids)
            }
            Makes::Own | Makes::StandIn | Makes::Nothing => {
                (&mut report.without_vector, &mut report.without_vector_ids)
            }
        };
        count(number, ids, LISTED, &record.id);
    }
}

/// The hashes of the drawers with the ids of these records, including the vector if the record has
/// one.
fn held(collection: &dyn Collection, records: &[ForeignRecord]) -> Result<HashMap<String, u128>> {
    let brings: HashMap<&str, bool> = records
        .iter()
        .map(|record| (record.id.as_str(), record.vector.is_some()))
        .collect();
    let found = collection.get(&Get {
        include: Include {
            distances: false,
            ..Include::ALL
        },
        ..Get::new(Selection::ids(records.iter().map(|record| &record.id)))
    })?;
    let vectors = found.embeddings.unwrap_or_default();
    let drawers = found
        .ids
        .iter()
        .zip(&found.documents)
        .zip(&found.metadatas)
        .zip(&vectors);
    Ok(drawers
        .map(|(((id, text), metadata), vector)| {
            let brings = brings.get(id.as_str()).copied().unwrap_or_default();
            let vector = brings.then_some(vector.as_slice());
            (id.clone(), hash(id, Some(text), metadata, vector))
        })
        .collect())
}
