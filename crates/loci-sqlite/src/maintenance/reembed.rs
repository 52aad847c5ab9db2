//! reembed: makes all vectors of a collection again, with another embedder.
//!
//! New vectors are collected beside the old ones, which serve queries until every text has a new
//! one. Then one transaction switches. A kill leaves the old vectors and the collected ones; the
//! next run continues from there.

use loci_core::{
    Embedder, EmbedderIdentity, Error, PalaceRef, ReembedProgress, Reembedded, Result,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::SqliteBackend;
use crate::collection::meta::CollectionRow;
use crate::collection::other::{self, to_json};
use crate::collection::read::fetch;
use crate::collection::record::{checksum, vector_to_bytes};
use crate::fault::Attempt;
use crate::index::build;
use crate::store::{Head, Store, now_ms};

/// The largest number of drawers that are embedded and written at once.
const BATCH: usize = 128;
/// The largest number of bytes that are embedded at once, unless one text is longer.
const BATCH_BYTES: usize = 256 * 1024;

/// Makes the vectors of a collection again. Queries use the old ones until every text has a new
/// one.
pub(crate) fn reembed(
    backend: &SqliteBackend,
    palace: &PalaceRef,
    collection: &str,
    embedder: &dyn Embedder,
    progress: &mut dyn FnMut(ReembedProgress),
) -> Result<Reembedded> {
    let store = backend.store(palace, false)?;
    let work = Work {
        store: &store,
        collection,
        identity: embedder.identity(),
    };
    let (resumed, before) = work.begin()?;
    let mut made = 0;
    loop {
        let batch = work.missing()?;
        if batch.is_empty() {
            if let Some(drawers) = work.switch()? {
                build::request(&store, collection, 1);
                return Ok(Reembedded {
                    drawers,
                    made,
                    resumed,
                    before,
                });
            }
            continue;
        }
        let texts: Vec<&str> = batch.iter().map(|drawer| drawer.text.as_str()).collect();
        let vectors = embedder.embed(&texts)?;
        work.check(&texts, &vectors)?;
        made += work.keep(&batch, &vectors)?;
        progress(work.progress()?);
    }
}

struct Missing {
    row: i64,
    text: String,
    hash: Vec<u8>,
}

struct Work<'a> {
    store: &'a Store,
    collection: &'a str,
    identity: EmbedderIdentity,
}

impl Work<'_> {
    fn require(&self, db: &Connection) -> Attempt<CollectionRow> {
        CollectionRow::require(db, &Head::read(db)?, self.collection)
    }

    /// Continues an earlier run with the same embedder. The vectors of a run with another embedder
    /// are dropped.
    fn begin(&self) -> Result<(u64, Option<EmbedderIdentity>)> {
        self.store.write("beginning to reembed", |db| {
            let row = self.require(&db.sql)?;
            refuse_without_text(&db.sql, &row)?;
            let identity = to_json(&self.identity)?;
            let begun: Option<String> = db
                .sql
                .query_row(
                    "SELECT identity FROM reembeddings WHERE collection = ?1",
                    [row.id],
                    |columns| columns.get(0),
                )
                .optional()?;
            if begun.as_ref() != Some(&identity) {
                db.sql
                    .execute("DELETE FROM fresh_vectors WHERE collection = ?1", [row.id])?;
                db.sql.execute(
                    "INSERT INTO reembeddings (collection, identity, started_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (collection) DO UPDATE SET identity = ?2, started_at = ?3",
                    params![row.id, identity, now_ms()],
                )?;
            }
            let kept: i64 = db.sql.query_row(
                "SELECT count(*) FROM fresh_vectors WHERE collection = ?1",
                [row.id],
                |columns| columns.get(0),
            )?;
            // Committed when this returns: which embedder is being switched to. Queries still use
            // the old vectors, so a crash at any point before the switch changes no answer.
            Ok((kept as u64, row.embedder))
        })
    }

    /// The next drawers whose text has no new vector.
    fn missing(&self) -> Result<Vec<Missing>> {
        self.store.read("looking for texts to embed", |db| {
            let row = self.require(&db.sql)?;
            let mut statement = db.sql.prepare_cached(MISSING_SQL)?;
            let mut rows = statement.query(params![row.id, BATCH as i64])?;
            let mut batch = Vec::new();
            let mut bytes = 0;
            while let Some(columns) = rows.next()? {
                let text: String = columns.get(1)?;
                bytes += text.len();
                if bytes > BATCH_BYTES && !batch.is_empty() {
                    break;
                }
                batch.push(Missing {
                    row: columns.get(0)?,
                    text,
                    hash: columns.get(2)?,
                });
            }
            Ok(batch)
        })
    }

    fn check(&self, texts: &[&str], vectors: &[Vec<f32>]) -> Result<()> {
        let dimension = self.identity.dimension;
        if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != dimension) {
            return Err(Error::Internal {
                doing: "embedding".into(),
                detail: format!(
                    "embedder `{}` returned the wrong number of vectors, or vectors of the wrong length",
                    self.identity
                ),
            });
        }
        for vector in vectors {
            loci_core::validate_vector("embedding made by the embedder", vector)?;
        }
        Ok(())
    }

    /// Writes new vectors beside the old ones, for drawers whose text has not changed.
    fn keep(&self, batch: &[Missing], vectors: &[Vec<f32>]) -> Result<u64> {
        self.store.write("keeping new vectors", |db| {
            let row = self.require(&db.sql)?;
            self.ensure_ours(&db.sql, &row)?;
            let mut statement = db.sql.prepare_cached(
                "INSERT INTO fresh_vectors (row, collection, content_hash, checksum, vector)
                 SELECT row, collection, content_hash, ?3, ?4 FROM drawers WHERE row = ?1 AND content_hash = ?2
                 ON CONFLICT (row) DO UPDATE SET content_hash = excluded.content_hash,
                     checksum = excluded.checksum, vector = excluded.vector",
            )?;
            let mut kept = 0;
            for (drawer, vector) in batch.iter().zip(vectors) {
                let bytes = vector_to_bytes(vector);
                let checksum = other::checksum(drawer.row as u64, &bytes);
                kept += statement.execute(params![drawer.row, drawer.hash, checksum, bytes])?;
            }
            // Committed when this returns: these new vectors, in a table that no query reads. A
            // crash keeps them, and the next run does not embed their texts again.
            Ok(kept as u64)
        })
    }

    /// Refuses to continue if another run has started with another embedder, so that their vectors
    /// are never mixed.
    fn ensure_ours(&self, db: &Connection, row: &CollectionRow) -> Attempt<()> {
        let begun: Option<String> = db
            .query_row(
                "SELECT identity FROM reembeddings WHERE collection = ?1",
                [row.id],
                |columns| columns.get(0),
            )
            .optional()?;
        if begun == Some(to_json(&self.identity)?) {
            return Ok(());
        }
        Err(Error::Conflict {
            what: format!(
                "another process started to reembed collection `{}` with another embedder; the vectors were not switched",
                row.name
            ),
        }
        .into())
    }

    /// Whether the collection already has exactly the new vectors, and no others.
    fn is_unchanged(&self, sql: &Connection, row: &CollectionRow) -> Attempt<bool> {
        if row.embedder.as_ref() != Some(&self.identity) {
            return Ok(false);
        }
        let differs: bool = sql.query_row(
            "SELECT EXISTS (SELECT 1 FROM other_vectors WHERE collection = ?1)
                 OR EXISTS (SELECT 1 FROM fresh_vectors f LEFT JOIN vectors v ON v.row = f.row
                            WHERE f.collection = ?1 AND v.vector IS NOT f.vector)",
            [row.id],
            |columns| columns.get(0),
        )?;
        Ok(!differs)
    }

    fn progress(&self) -> Result<ReembedProgress> {
        self.store.read("counting new vectors", |db| {
            let row = self.require(&db.sql)?;
            let count = |sql: &str| -> Attempt<u64> {
                let count: i64 = db
                    .sql
                    .prepare_cached(sql)?
                    .query_row([row.id], |columns| columns.get(0))?;
                Ok(count as u64)
            };
            Ok(ReembedProgress {
                done: count("SELECT count(*) FROM fresh_vectors WHERE collection = ?1")?,
                total: row.drawers,
            })
        })
    }

    /// Makes the new vectors those of the collection, all at once. Returns `None` if a text still
    /// lacks one.
    fn switch(&self) -> Result<Option<u64>> {
        self.store.write("switching to the new vectors", |db| {
            let sql = &db.sql;
            let head = Head::read(sql)?;
            let row = self.require(sql)?;
            self.ensure_ours(sql, &row)?;
            refuse_without_text(sql, &row)?;
            remove_damaged(sql, &row)?;
            if sql
                .prepare_cached(MISSING_SQL)?
                .exists(params![row.id, 1_i64])?
            {
                return Ok(None);
            }
            if self.is_unchanged(sql, &row)? {
                let drawers =
                    sql.execute("DELETE FROM fresh_vectors WHERE collection = ?1", [row.id])?;
                sql.execute("DELETE FROM reembeddings WHERE collection = ?1", [row.id])?;
                // Committed when this returns: the end of the run. The vectors, their embedder and
                // the index stay, because they are the same.
                return Ok(Some(drawers as u64));
            }
            let rows: Vec<i64> = sql
                .prepare_cached("SELECT row FROM fresh_vectors WHERE collection = ?1 ORDER BY row")?
                .query_map([row.id], |columns| columns.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let mut seq = head.seq;
            for drawer in &rows {
                seq += 1;
                replace(sql, row.id, *drawer, seq)?;
            }
            for table in [
                "fresh_vectors",
                "other_vectors",
                "reembeddings",
                "snapshots",
            ] {
                sql.execute(
                    &format!("DELETE FROM {table} WHERE collection = ?1"),
                    [row.id],
                )?;
            }
            sql.execute(
                "UPDATE collections SET embedder = ?2, dimension = ?3, seq = ?4,
                     vectors = (SELECT count(*) FROM vectors WHERE collection = ?1)
                 WHERE id = ?1",
                params![
                    row.id,
                    to_json(&self.identity)?,
                    self.identity.dimension as i64,
                    seq as i64
                ],
            )?;
            // Cached views of the old vectors are dropped instead of updated, because the new
            // vectors may have another length.
            sql.execute(
                "UPDATE palace SET seq = ?1, tombstone_floor = ?1 WHERE id = 1",
                [seq as i64],
            )?;
            // Committed when this returns: every vector, the embedder and the dimension together,
            // and no registration of an index of the old vectors. A crash before it leaves all old
            // vectors. The index is built afterwards.
            Ok(Some(rows.len() as u64))
        })
    }
}

/// Refuses a collection with vectors that have no text. They cannot be made again, and must not be
/// mixed with those of another embedder.
fn refuse_without_text(sql: &Connection, row: &CollectionRow) -> Attempt<()> {
    let stuck: i64 = sql.query_row(
        "SELECT count(*) FROM drawers d JOIN vectors v ON v.row = d.row
         WHERE d.collection = ?1 AND d.text IS NULL",
        [row.id],
        |columns| columns.get(0),
    )?;
    if stuck == 0 {
        return Ok(());
    }
    Err(Error::invalid(
        format!("collection `{}`", row.name),
        format!(
            "{stuck} drawer(s) have a vector and no text to make a new one from; \
             give them text or forget them first"
        ),
    )
    .into())
}

/// Removes new vectors whose bytes are damaged; they are made again.
fn remove_damaged(sql: &Connection, row: &CollectionRow) -> Attempt<()> {
    let mut damaged = Vec::new();
    let mut statement =
        sql.prepare("SELECT row, checksum, vector FROM fresh_vectors WHERE collection = ?1")?;
    let mut rows = statement.query([row.id])?;
    while let Some(columns) = rows.next()? {
        let number: i64 = columns.get(0)?;
        let checksum = columns.get_ref(1)?.as_i64().unwrap_or_default();
        let bytes = columns.get_ref(2)?.as_blob().unwrap_or_default();
        if !other::is_intact(number as u64, bytes, checksum) {
            damaged.push(number);
        }
    }
    for number in damaged {
        sql.execute("DELETE FROM fresh_vectors WHERE row = ?1", [number])?;
    }
    Ok(())
}

/// Gives one drawer its new vector.
fn replace(sql: &Connection, collection: i64, row: i64, seq: u64) -> Attempt<()> {
    let Some(Ok(stored)) = fetch(sql, row as u64)?.filter(|found| {
        found
            .as_ref()
            .is_ok_and(crate::collection::record::Stored::is_intact)
    }) else {
        return Err(Error::Corrupt {
            what: format!("row {row}"),
            path: crate::store::palace_files::DATABASE.into(),
            detail: "its checksum does not match; repair the palace first".into(),
        }
        .into());
    };
    let bytes: Vec<u8> = sql
        .prepare_cached("SELECT vector FROM fresh_vectors WHERE row = ?1")?
        .query_row([row], |columns| columns.get(0))?;
    sql.prepare_cached("UPDATE drawers SET checksum = ?2, seq = ?3 WHERE row = ?1")?
        .execute(params![
            row,
            checksum(
                &stored.id,
                stored.text.as_deref(),
                &stored.metadata_text,
                Some(&bytes)
            ),
            seq as i64
        ])?;
    sql.prepare_cached(
        "INSERT INTO vectors (row, collection, seq, vector) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (row) DO UPDATE SET seq = ?3, vector = ?4",
    )?
    .execute(params![row, collection, seq as i64, bytes])?;
    Ok(())
}

/// Texts without a new vector, or with a vector of an older text.
const MISSING_SQL: &str = "SELECT d.row, d.text, d.content_hash FROM drawers d INDEXED BY drawers_order
     WHERE d.collection = ?1 AND d.text IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM fresh_vectors f WHERE f.row = d.row AND f.content_hash = d.content_hash)
     ORDER BY d.row LIMIT ?2";
