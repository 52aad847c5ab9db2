//! Checks the sequence ids and watermarks of a collection.

use loci_core::finding::{Finding, Severity};

use super::Scene;
use crate::chroma::catalog;
use crate::chroma::seq::SeqId;
use crate::chroma::survey::Survey;

impl Scene<'_> {
    pub(super) fn sequence_ids(
        &self,
        survey: &Survey,
        found: &mut Vec<Finding>,
    ) -> rusqlite::Result<()> {
        self.watermarks(found);
        self.record_numbers(found);
        self.numbers_beyond_the_queue(survey, found)
    }

    /// How the watermarks of records and index are stored.
    fn watermarks(&self, found: &mut Vec<Finding>) {
        let pending = self.directory.version().blob_ids_pending();
        // Earlier releases wrote the number into the pickle, and 0.6 reads it from there.
        let in_pickle = self.map.is_none_or(|map| map.max_seq_id.is_some());
        if pending && self.row.vector_seq.is_none() && self.segment.is_some() && !in_pickle {
            found.push(
                Finding::new(
                    "seq_id_missing",
                    Severity::Error,
                    "the watermark of the index is neither in the database nor in the pickle",
                )
                .then("ChromaDB 0.6 fails every query by vector (\"no attribute 'max_seq_id'\"); 1.x is not affected")
                .fix(self.repair()),
            );
        }
        for (seq, what) in [
            (&self.row.metadata_seq, "records"),
            (&self.row.vector_seq, "index"),
        ] {
            match seq {
                Some(SeqId::Blob(value)) if pending => found.push(
                    Finding::new(
                        "seq_id_blob",
                        Severity::Note,
                        format!("the watermark of the {what} is a blob, as this version writes it; a newer ChromaDB converts it itself"),
                    )
                    .with("value", *value),
                ),
                Some(SeqId::Blob(value)) => found.push(
                    Finding::new(
                        "seq_id_blob",
                        Severity::Error,
                        format!("the watermark of the {what} is a blob although ChromaDB has recorded the conversion"),
                    )
                    .with("value", *value)
                    .then("ChromaDB refuses every call: \"mismatched types … BLOB\"")
                    .fix(self.repair()),
                ),
                Some(SeqId::Poisoned { stored, decoded }) => found.push(
                    Finding::new(
                        "seq_id_poisoned",
                        Severity::Error,
                        format!("the watermark of the {what} was converted twice: {stored} was {decoded}"),
                    )
                    .with("stored", *stored)
                    .with("decoded", *decoded)
                    .then("ChromaDB accepts writes and loses them; waiting queue entries stay invisible")
                    .fix(self.repair()),
                ),
                Some(SeqId::Unreadable(what_it_is)) => found.push(
                    Finding::new(
                        "seq_id_unreadable",
                        Severity::Error,
                        format!("the watermark of the {what} is {what_it_is}"),
                    )
                    .then("ChromaDB refuses the collection or applies the wrong part of the queue")
                    .fix(self.repair()),
                ),
                Some(SeqId::Integer(_)) | None => {}
            }
        }
    }

    /// How the sequence ids of records are stored.
    fn record_numbers(&self, found: &mut Vec<Finding>) {
        if self.records.odd_ids > 0 {
            found.push(
                Finding::new(
                    "record_seq_ids_odd",
                    Severity::Note,
                    "some records have an unreadable sequence id",
                )
                .with("records", self.records.odd_ids)
                .then("ChromaDB 1.x does not read it"),
            );
        }
        if self.records.blob_ids > 0 {
            found.push(
                Finding::new(
                    "record_seq_ids_blob",
                    Severity::Note,
                    "records have sequence ids of ChromaDB 0.6 or older",
                )
                .with("records", self.records.blob_ids)
                .then("ChromaDB 1.x is not affected"),
            );
        }
    }

    /// Watermarks above every number that the queue has given out.
    fn numbers_beyond_the_queue(
        &self,
        survey: &Survey,
        found: &mut Vec<Finding>,
    ) -> rusqlite::Result<()> {
        let issued = catalog::highest_in_queue(self.directory.snapshot())?;
        let stored = [&self.row.metadata_seq, &self.row.vector_seq]
            .into_iter()
            .filter_map(|seq| seq.as_ref()?.value())
            .max();
        let highest = survey
            .metadata_watermark
            .max(survey.vector_watermark.unwrap_or(0))
            .max(stored.unwrap_or(0));
        if highest > issued {
            found.push(
                Finding::new(
                    "seq_id_beyond",
                    Severity::Error,
                    format!("the collection has consumed the queue up to {highest}, but the queue ends at {issued}"),
                )
                .with("watermark", highest)
                .with("queue_end", issued)
                .then("the next writes get numbers that count as consumed; ChromaDB acknowledges and loses them")
                .fix(self.repair()),
            );
        }
        Ok(())
    }
}
