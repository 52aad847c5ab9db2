//! Work before the transaction of a filing: finding out which texts are new, and making their
//! vectors and terms. Nothing here writes.

use std::collections::HashMap;

use loci_core::ledger::matching::PieceKey;
use loci_core::{Result, SourceChange};
use rusqlite::Connection;

use super::{lending, sources};
use crate::collection::SqliteCollection;
use crate::collection::passage::{self, Prepared};
use crate::collection::write::embed_texts;
use crate::fault::Attempt;

/// Texts per call of the embedder.
const EMBEDDED: usize = 256;

/// A change, with what was prepared for its pieces before the transaction.
pub(super) struct Filing<'a> {
    pub(super) change: &'a SourceChange,
    pub(super) keys: Vec<PieceKey>,
    /// By piece; `None` for pieces that are already stored.
    pub(super) prepared: Vec<Option<Prepared>>,
}

/// Finds out which texts are new, and makes their vectors and terms.
pub(super) fn prepare(
    collection: &SqliteCollection,
    filings: &mut [Filing<'_>],
    vectors: &mut HashMap<Vec<u8>, Vec<f32>>,
    everything: bool,
) -> Result<()> {
    let known = if everything {
        vec![HashMap::new(); filings.len()]
    } else {
        collection.read("looking at the drawers of sources", |db, row| {
            let mut known = Vec::with_capacity(filings.len());
            for filing in &*filings {
                known.push(known_texts(&db.sql, row.id, filing)?);
            }
            Ok(known)
        })?
    };
    let mut wanted: Vec<(&[u8], &str)> = Vec::new();
    for (filing, mut known) in filings.iter_mut().zip(known) {
        let pieces = filing.change.pieces.as_deref().unwrap_or_default();
        for ((piece, piece_key), prepared) in pieces
            .iter()
            .zip(&filing.keys)
            .zip(filing.prepared.iter_mut())
        {
            if let Some(left) = known.get_mut(&piece_key.hash).filter(|left| **left > 0) {
                *left -= 1;
                continue;
            }
            if prepared.is_none() {
                let context = passage::context(&piece.metadata);
                *prepared = Some(Prepared::of(&piece.text, context));
            }
        }
    }
    let Some(embedder) = &collection.embedder else {
        return Ok(());
    };
    for filing in &*filings {
        let pieces = filing.change.pieces.as_deref().unwrap_or_default();
        for ((piece, piece_key), prepared) in pieces.iter().zip(&filing.keys).zip(&filing.prepared)
        {
            if prepared.is_some() && !vectors.contains_key(&piece_key.hash) {
                wanted.push((&piece_key.hash, &piece.text));
            }
        }
    }
    wanted.sort_unstable_by_key(|(hash, _)| *hash);
    wanted.dedup_by_key(|(hash, _)| *hash);
    for slice in wanted.chunks(EMBEDDED) {
        let texts: Vec<&str> = slice.iter().map(|(_, text)| *text).collect();
        let made = embed_texts(embedder.as_ref(), &texts)?;
        vectors.extend(
            slice
                .iter()
                .zip(made)
                .map(|((hash, _), vector)| (hash.to_vec(), vector)),
        );
    }
    Ok(())
}

/// How many drawers with each text a change can reuse.
fn known_texts(
    db: &Connection,
    collection: i64,
    filing: &Filing<'_>,
) -> Attempt<HashMap<Vec<u8>, usize>> {
    let record = &filing.change.record;
    let mut known = match sources::find(
        db,
        collection,
        &record.machine,
        &record.name,
        record.section,
    )? {
        Some((source, _)) => held_texts(db, source)?,
        None => HashMap::new(),
    };
    if lending::is_possible(db, collection, record)? {
        for piece in &filing.keys {
            if !known.contains_key(&piece.hash)
                && lending::by_text(db, collection, record, &piece.hash)?.is_some()
            {
                known.insert(piece.hash.clone(), 1);
            }
        }
    }
    Ok(known)
}

/// How many drawers with each text the row itself holds.
fn held_texts(db: &Connection, source: i64) -> Attempt<HashMap<Vec<u8>, usize>> {
    let mut known = HashMap::new();
    let mut statement =
        db.prepare_cached("SELECT content_hash FROM drawers WHERE origin = ?1 AND origin <> 0")?;
    let mut rows = statement.query([source])?;
    while let Some(columns) = rows.next()? {
        let hash = columns.get_ref(0)?.as_blob().unwrap_or_default();
        *known.entry(hash.to_vec()).or_default() += 1;
    }
    Ok(known)
}
