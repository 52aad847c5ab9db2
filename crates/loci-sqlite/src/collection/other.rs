//! Vectors of drawers that were made by another embedder than the collection's. They are stored in
//! a table of their own with their embedder, and are compared only with query vectors of that
//! embedder. They are derived from the text and have a checksum of their own.
//!
//! Vectors of earlier built-in tables count as vectors of the present one, because their vectors
//! are comparable.

use loci_core::{EmbedderIdentity, Error, ForeignVectors};
use loci_embed::{StaticEmbedder, earlier_tables, is_earlier_table};
use loci_index::{QueryVector, TopK};
use rusqlite::{Connection, OptionalExtension, params};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::meta::CollectionRow;
use super::read::Damaged;
use super::record::vector_to_bytes;
use super::rowset::RowSet;
use crate::fault::Attempt;

/// The number of an embedder. Adds the embedder if it is new.
fn ensure_embedder(db: &Connection, identity: &EmbedderIdentity) -> Attempt<i64> {
    let json = to_json(identity)?;
    if let Some(found) = find_embedder(db, &json)? {
        return Ok(found);
    }
    db.prepare_cached("INSERT INTO embedders (identity) VALUES (?1)")?
        .execute([&json])?;
    Ok(db.last_insert_rowid())
}

fn find_embedder(db: &Connection, json: &str) -> Attempt<Option<i64>> {
    Ok(db
        .prepare_cached("SELECT id FROM embedders WHERE identity = ?1")?
        .query_row([json], |row| row.get(0))
        .optional()?)
}

/// An identity as the database stores it.
pub(crate) fn to_json(identity: &EmbedderIdentity) -> Attempt<String> {
    serde_json::to_string(identity).map_err(|error| {
        Error::Internal {
            doing: "naming an embedder".into(),
            detail: error.to_string(),
        }
        .into()
    })
}

/// The stored identities whose vectors are comparable with those of `identity`, as a JSON list.
pub(crate) fn comparable(identity: &EmbedderIdentity) -> Attempt<String> {
    let mut stored = vec![to_json(identity)?];
    if *identity == StaticEmbedder::builtin().identity() {
        for earlier in earlier_tables() {
            stored.push(to_json(&earlier)?);
        }
    }
    Ok(serde_json::Value::from(stored).to_string())
}

/// The embedder whose query vectors are comparable with vectors of `identity`.
fn current(identity: EmbedderIdentity) -> EmbedderIdentity {
    if is_earlier_table(&identity) {
        StaticEmbedder::builtin().identity()
    } else {
        identity
    }
}

/// Whether a stored identity can be parsed.
pub(crate) fn is_identity(json: Option<&str>) -> bool {
    json.is_some_and(|json| serde_json::from_str::<EmbedderIdentity>(json).is_ok())
}

/// Writes or replaces the vector of a row.
pub(crate) fn put(
    db: &Connection,
    collection: i64,
    row: u64,
    identity: &EmbedderIdentity,
    vector: &[f32],
) -> Attempt<()> {
    let bytes = vector_to_bytes(vector);
    db.prepare_cached(
        "INSERT INTO other_vectors (row, collection, embedder, checksum, vector) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (row) DO UPDATE SET embedder = ?3, checksum = ?4, vector = ?5",
    )?
    .execute(params![
        row as i64,
        collection,
        ensure_embedder(db, identity)?,
        checksum(row, &bytes),
        bytes
    ])?;
    Ok(())
}

/// Removes the vector of a row, if there is one.
pub(crate) fn remove(db: &Connection, row: u64) -> Attempt<()> {
    db.prepare_cached("DELETE FROM other_vectors WHERE row = ?1")?
        .execute([row as i64])?;
    Ok(())
}

/// Whether the bytes are those that were written.
pub(crate) fn is_intact(row: u64, bytes: &[u8], stored: i64) -> bool {
    checksum(row, bytes) == stored
}

/// The checksum of a vector of a row.
pub(crate) fn checksum(row: u64, bytes: &[u8]) -> i64 {
    xxh3_64_with_seed(bytes, row) as i64
}

/// Number of vectors of each other embedder in a collection.
pub(crate) fn counts(db: &Connection, collection: i64) -> Attempt<Vec<ForeignVectors>> {
    let mut statement = db.prepare_cached(
        "SELECT count(*), (SELECT identity FROM embedders WHERE id = embedder)
         FROM other_vectors INDEXED BY other_vectors_order WHERE collection = ?1 GROUP BY embedder",
    )?;
    let mut rows = statement.query([collection])?;
    let mut counts = Vec::new();
    while let Some(columns) = rows.next()? {
        let identity = columns.get_ref(1)?.as_str().ok();
        counts.push(ForeignVectors {
            embedder: identity
                .and_then(|json| serde_json::from_str(json).ok())
                .map(current),
            vectors: columns.get::<_, i64>(0)? as u64,
        });
    }
    Ok(counts)
}

/// The nearest rows among the vectors that are comparable with those of `identity`, compared one by
/// one.
pub(crate) fn nearest(
    db: &Connection,
    collection: &CollectionRow,
    identity: &EmbedderIdentity,
    vector: &[f32],
    k: usize,
    set: Option<&RowSet>,
    damaged: &mut Damaged,
) -> Attempt<Vec<(f32, u64)>> {
    let query = QueryVector::new(collection.metric, vector);
    let mut top = TopK::new(k);
    let mut statement = db.prepare_cached(
        "SELECT row, checksum, vector FROM other_vectors INDEXED BY other_vectors_order
         WHERE collection = ?1 AND embedder IN
             (SELECT id FROM embedders WHERE identity IN (SELECT value FROM json_each(?2)))",
    )?;
    let mut rows = statement.query(params![collection.id, comparable(identity)?])?;
    while let Some(columns) = rows.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        if set.is_some_and(|set| !set.contains(row)) {
            continue;
        }
        let bytes = columns.get_ref(2)?.as_blob().unwrap_or_default();
        let checksum = columns.get_ref(1)?.as_i64().unwrap_or_default();
        match query.distance_to_bytes(bytes) {
            Some(distance) if !distance.is_nan() && is_intact(row, bytes, checksum) => {
                top.offer(distance, row);
            }
            _ => damaged.note(format!("row {row}")),
        }
    }
    Ok(top.into_sorted())
}

/// The vector of one row, if one of the [`comparable`] embedders made it.
pub(crate) const ONE_SQL: &str =
    "SELECT v.vector FROM other_vectors v JOIN embedders e ON e.id = v.embedder
     WHERE v.row = ?1 AND e.identity IN (SELECT value FROM json_each(?2))";
