//! Checks the queue of a collection, and whether ChromaDB can read it.

use loci_core::finding::{Finding, Severity, counted};

use super::Scene;
use crate::chroma::queue::{self, Entry, LOWEST_WATERMARK, Operation};
use crate::chroma::survey::Survey;

impl Scene<'_> {
    pub(super) fn queue(&self, survey: &Survey, found: &mut Vec<Finding>) {
        let watermark = survey.vector_watermark.unwrap_or(0);
        let unflushed = self
            .queue
            .iter()
            .filter(|entry| entry.seq > watermark)
            .count();
        if unflushed > 0 {
            found.push(
                Finding::new(
                    "queue_unflushed",
                    Severity::Note,
                    format!(
                        "{} not in the index files yet; that is normal",
                        counted(
                            unflushed as u64,
                            "entry of the queue is",
                            "entries of the queue are"
                        )
                    ),
                )
                .with("watermark", watermark)
                .with("entries", unflushed as u64)
                .then("ChromaDB applies them when it opens the collection"),
            );
        }
        if !survey.pending.is_empty() {
            found.push(
                Finding::new(
                    "queue_pending",
                    Severity::Note,
                    format!(
                        "{} in the queue to be applied",
                        counted(survey.pending.len() as u64, "acknowledged write waits", "acknowledged writes wait")
                    ),
                )
                .with("watermark", survey.metadata_watermark)
                .list("seq_ids", survey.pending.iter().copied())
                .then("ChromaDB applies them when it opens the collection, unless its watermark is wrong"),
            );
        }
        let first = self.queue.first().map(|entry| entry.seq);
        if let (Some(first), Some(watermark)) = (first, survey.vector_watermark)
            && watermark > LOWEST_WATERMARK
            && first > watermark
        {
            let severity = if survey.unreachable.is_empty() {
                Severity::Note
            } else {
                Severity::Warning
            };
            found.push(
                Finding::new(
                    "queue_gap",
                    severity,
                    format!("the queue begins at {first}, after the index's watermark {watermark}; the entries in between are lost"),
                )
                .with("first", first)
                .with("watermark", watermark)
                .then("these writes are not in the index"),
            );
        }
        let unknown: Vec<&Entry> = self
            .queue
            .iter()
            .filter(|entry| matches!(entry.operation, Operation::Unknown(_)))
            .collect();
        if !unknown.is_empty() {
            found.push(
                Finding::new(
                    "queue_operation",
                    Severity::Warning,
                    "the queue holds operations of an unknown kind",
                )
                .list("seq_ids", unknown.iter().map(|entry| entry.seq))
                .then("they were ignored; a newer ChromaDB may apply them"),
            );
        }
    }

    pub(super) fn null_documents(
        &self,
        survey: &Survey,
        found: &mut Vec<Finding>,
    ) -> rusqlite::Result<()> {
        let seqs = queue::null_documents(
            self.directory.snapshot(),
            &self.row.id,
            survey.vector_watermark.unwrap_or(0),
        )?;
        let watermark = survey.vector_watermark.unwrap_or(0);
        let broken = queue::unreadable_entries(self.directory.snapshot(), &self.row.id, watermark)?;
        if !broken.is_empty() {
            found.push(
                Finding::new(
                    "queue_unreadable",
                    Severity::Error,
                    format!(
                        "{} of the queue with metadata, encoding or id that cannot be read",
                        counted(broken.len() as u64, "entry", "entries")
                    ),
                )
                .list("seq_ids", broken)
                .then("ChromaDB cannot read its queue and refuses every call, on other collections too")
                .fix(self.repair()),
            );
        }
        if !seqs.is_empty() {
            found.push(
                Finding::new(
                    "queue_null_document",
                    Severity::Error,
                    format!(
                        "{} of the queue where the text is null",
                        counted(seqs.len() as u64, "entry", "entries")
                    ),
                )
                .list("seq_ids", seqs)
                .then("ChromaDB up to 0.6 wrote them; 1.x panics when it reads one, at every call")
                .fix(self.repair()),
            );
        }
        Ok(())
    }
}
