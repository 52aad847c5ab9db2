//! The records of a collection: the rows of `embeddings`, plus newer queue entries.

use std::collections::HashMap;

use loci_salvage::Snapshot;
use rusqlite::types::ValueRef;

use crate::chroma::lost_rows::{Evidence, RestoredRow};
use crate::chroma::queue::{Entry, Operation};
use crate::chroma::seq::SeqId;

/// A record of the collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    /// `embeddings.id`; `None` for a record that is only in the queue.
    pub(crate) row: Option<i64>,
    pub(crate) id: String,
    /// The number of the last change in the row.
    pub(crate) seq: Option<u64>,
    /// Whether the queue creates or changes it after the records' watermark.
    pub(crate) pending: bool,
    /// If its row is lost, the evidence that it existed.
    pub(crate) restored: Option<Evidence>,
}

/// The records, in the order of insertion.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) stored: Vec<Stored>,
    /// The number of rows whose sequence id is a blob.
    pub(crate) blob_ids: u64,
    /// The number of rows whose sequence id is unreadable or was converted twice.
    pub(crate) odd_ids: u64,
    /// The number of rows whose id is not text.
    pub(crate) nameless: u64,
}

/// The rows of the table, without the queue.
pub(crate) fn rows(snapshot: &Snapshot, segment: &str) -> rusqlite::Result<Records> {
    let mut records = Records::default();
    if !snapshot.has_table("embeddings") {
        return Ok(records);
    }
    let mut statement = snapshot.connection().prepare(
        "SELECT id, embedding_id, seq_id FROM embeddings WHERE segment_id = ?1 ORDER BY id",
    )?;
    let mut rows = statement.query([segment])?;
    while let Some(row) = rows.next()? {
        let ValueRef::Text(id) = row.get_ref(1)? else {
            records.nameless += 1;
            continue;
        };
        let seq = SeqId::of(row.get_ref(2)?);
        match &seq {
            Some(SeqId::Blob(_)) => records.blob_ids += 1,
            Some(SeqId::Integer(_)) => {}
            Some(SeqId::Poisoned { .. } | SeqId::Unreadable(_)) | None => records.odd_ids += 1,
        }
        let seq = seq.and_then(|seq| seq.value());
        records.stored.push(Stored {
            row: Some(row.get(0)?),
            id: String::from_utf8_lossy(id).into_owned(),
            seq,
            pending: false,
            restored: None,
        });
    }
    Ok(records)
}

/// The row numbers that other segments use, in order.
pub(crate) fn other_rows(snapshot: &Snapshot, segment: &str) -> rusqlite::Result<Vec<i64>> {
    if !snapshot.has_table("embeddings") {
        return Ok(Vec::new());
    }
    let mut statement = snapshot
        .connection()
        .prepare("SELECT id FROM embeddings WHERE segment_id <> ?1 ORDER BY id")?;
    let rows = statement.query_map([segment], |row| row.get(0))?;
    rows.collect()
}

impl Records {
    /// The highest number among the existing rows, ignoring numbers above `limit`.
    pub(crate) fn highest(&self, limit: u64) -> u64 {
        let rows = self
            .stored
            .iter()
            .filter(|record| record.restored.is_none());
        rows.filter_map(|record| record.seq)
            .filter(|seq| *seq <= limit)
            .max()
            .unwrap_or(0)
    }

    /// Inserts records whose rows are lost at their positions.
    pub(crate) fn restore(&mut self, rows: &[RestoredRow]) {
        let restored = rows.iter().map(|restored| Stored {
            row: restored.row,
            id: restored.id.clone(),
            seq: restored.seq,
            pending: false,
            restored: Some(restored.evidence),
        });
        self.stored.extend(restored);
        self.stored
            .sort_by_key(|record| (record.row.is_none(), record.row));
    }

    /// Applies the entries after `watermark` as ChromaDB will. Returns the numbers of the applied
    /// entries.
    pub(crate) fn replay(&mut self, queue: &[Entry], watermark: u64) -> Vec<u64> {
        let newer: Vec<&Entry> = queue.iter().filter(|entry| entry.seq > watermark).collect();
        let mut applied = Vec::new();
        if newer.is_empty() {
            return applied;
        }
        let mut places: HashMap<String, usize> = self
            .stored
            .iter()
            .enumerate()
            .map(|(at, record)| (record.id.clone(), at))
            .collect();
        let mut gone = vec![false; self.stored.len()];
        for entry in newer {
            let at = places.get(&entry.id).copied();
            match (entry.operation, at) {
                (Operation::Add | Operation::Upsert, None) => {
                    places.insert(entry.id.clone(), self.stored.len());
                    gone.push(false);
                    self.stored.push(Stored {
                        row: None,
                        id: entry.id.clone(),
                        seq: Some(entry.seq),
                        pending: true,
                        restored: None,
                    });
                }
                (Operation::Update | Operation::Upsert, Some(at)) => {
                    if let Some(record) = self.stored.get_mut(at) {
                        record.pending = true;
                        record.seq = Some(entry.seq);
                    }
                }
                (Operation::Delete, Some(at)) => {
                    places.remove(&entry.id);
                    if let Some(mark) = gone.get_mut(at) {
                        *mark = true;
                    }
                }
                (Operation::Add, Some(_))
                | (Operation::Update | Operation::Delete, None)
                | (Operation::Unknown(_), _) => continue,
            }
            applied.push(entry.seq);
        }
        let mut gone = gone.into_iter();
        self.stored.retain(|_| !gone.next().unwrap_or(false));
        applied
    }
}
