//! add, upsert, update: one transaction per call. Everything that can be refused or computed
//! without the store (validation, embedding, encoding) happens before the transaction begins.

use std::collections::HashMap;

use loci_core::{
    Batch, Embedder, Error, Metadata, Outcome, Warning, WriteResult, validate_metadata,
};
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::record::{MinedKey, STORED_COLUMNS, Stored, checksum, ensure_key, labels, vector_bytes};
use crate::fault::{Attempt, Fault};
use crate::store::{Head, now_ms};

/// Which of the three writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Add,
    Upsert,
    Update,
}

impl Mode {
    fn doing(self) -> &'static str {
        match self {
            Self::Add => "adding drawers",
            Self::Upsert => "upserting drawers",
            Self::Update => "updating drawers",
        }
    }
}

/// Vectors made by the embedder, by position in the batch.
type Embedded = HashMap<usize, Vec<f32>>;

pub(crate) fn write(
    collection: &SqliteCollection,
    batch: &Batch,
    mode: Mode,
) -> loci_core::Result<WriteResult> {
    match mode {
        Mode::Update => batch.validate_update()?,
        Mode::Add | Mode::Upsert => batch.validate()?,
    }
    let mut embedded = match &collection.embedder {
        Some(embedder) => embed_changed(collection, embedder.as_ref(), batch)?,
        None => Embedded::new(),
    };
    let mut everything_embedded = false;
    loop {
        let result = collection.store.write(mode.doing(), |db| {
            apply(collection, &db.sql, batch, mode, &embedded)
        });
        match (result, &collection.embedder) {
            // Another process changed a text after we looked: embed what we had taken for unchanged.
            (Err(Error::Internal { doing, .. }), Some(embedder))
                if doing == EMBED_AGAIN && !everything_embedded =>
            {
                embedded = embed(embedder.as_ref(), batch, |_| true)?;
                everything_embedded = true;
            }
            (result, _) => return result,
        }
    }
}

const EMBED_AGAIN: &str = "embedding a text that changed meanwhile";

fn embed_changed(
    collection: &SqliteCollection,
    embedder: &dyn Embedder,
    batch: &Batch,
) -> loci_core::Result<Embedded> {
    let unchanged: Vec<bool> = collection.store.read("looking for changed texts", |db| {
        let head = Head::read(&db.sql)?;
        let row = collection.require(&db.sql, &head)?;
        let mut statement = db.sql.prepare_cached(
            "SELECT text FROM drawers d WHERE collection = ?1 AND id = ?2
             AND EXISTS (SELECT 1 FROM vectors v WHERE v.row = d.row)",
        )?;
        let mut unchanged = Vec::with_capacity(batch.len());
        for (at, id) in batch.ids.iter().enumerate() {
            let mut found = statement.query(params![row.id, id])?;
            let same = match found.next()? {
                Some(columns) => {
                    columns.get_ref(0)?.as_str_or_null().ok().flatten() == batch.document(at)
                }
                None => false,
            };
            unchanged.push(same);
        }
        Ok(unchanged)
    })?;
    embed(embedder, batch, |at| {
        !unchanged.get(at).copied().unwrap_or(false)
    })
}

fn embed(
    embedder: &dyn Embedder,
    batch: &Batch,
    wanted: impl Fn(usize) -> bool,
) -> loci_core::Result<Embedded> {
    let (positions, texts): (Vec<usize>, Vec<&str>) = (0..batch.len())
        .filter(|at| batch.embedding(*at).is_none() && wanted(*at))
        .filter_map(|at| batch.document(at).map(|text| (at, text)))
        .unzip();
    if texts.is_empty() {
        return Ok(Embedded::new());
    }
    let vectors = embedder.embed(&texts)?;
    let dimension = embedder.identity().dimension;
    if vectors.len() != texts.len() || vectors.iter().any(|vector| vector.len() != dimension) {
        return Err(Error::Internal {
            doing: "embedding".into(),
            detail: format!("embedder `{}` broke its own contract", embedder.identity()),
        });
    }
    for vector in &vectors {
        loci_core::validate_vector("embedding made by the embedder", vector)?;
    }
    Ok(positions.into_iter().zip(vectors).collect())
}

fn apply(
    collection: &SqliteCollection,
    db: &Connection,
    batch: &Batch,
    mode: Mode,
    embedded: &Embedded,
) -> Attempt<WriteResult> {
    let head = Head::read(db)?;
    let row = collection.require(db, &head)?;
    if let Some(dimension) = batch.dimension() {
        row.check_dimension(dimension)?;
    }
    if let (Some(vector), Some(given)) = (embedded.values().next(), &collection.embedder) {
        let identity = given.identity();
        if let Some(pinned) = row.embedder.as_ref().filter(|pinned| **pinned != identity) {
            return Err(Error::EmbedderMismatch {
                collection: row.name.clone(),
                pinned: pinned.to_string(),
                given: identity.to_string(),
            }
            .into());
        }
        row.check_dimension(vector.len())?;
    }
    let mut writer = Writer::new(db, head.seq, row);
    let mut outcomes = Vec::with_capacity(batch.len());
    for (at, id) in batch.ids.iter().enumerate() {
        let change = Change {
            id,
            text: batch.document(at),
            patch: batch.metadata(at),
            vector: batch
                .embedding(at)
                .or_else(|| embedded.get(&at).map(Vec::as_slice)),
            has_embedder: collection.embedder.is_some(),
        };
        outcomes.push(writer.record(&change, mode)?);
    }
    let identity = (!embedded.is_empty())
        .then(|| collection.embedder.as_ref().map(|e| e.identity()))
        .flatten();
    let (seq, warnings) = writer.finish(identity.as_ref())?;
    Ok(WriteResult {
        outcomes,
        seq,
        warnings,
    })
}

/// What is asked for one record.
pub(crate) struct Change<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: Option<&'a str>,
    pub(crate) patch: Option<&'a loci_core::MetadataPatch>,
    pub(crate) vector: Option<&'a [f32]>,
    pub(crate) has_embedder: bool,
}

/// Applies changes inside a write transaction and keeps the counters that are written at its end.
pub(crate) struct Writer<'a> {
    db: &'a Connection,
    collection: CollectionRow,
    first_seq: u64,
    seq: u64,
    now: i64,
    drawers: i64,
    vectors: i64,
    dimension: Option<usize>,
    dropped_vectors: Vec<String>,
    postings_left: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(db: &'a Connection, seq: u64, collection: CollectionRow) -> Self {
        Self {
            db,
            dimension: collection.dimension,
            collection,
            first_seq: seq,
            seq,
            now: now_ms(),
            drawers: 0,
            vectors: 0,
            dropped_vectors: Vec::new(),
            postings_left: false,
        }
    }

    pub(crate) fn record(&mut self, change: &Change<'_>, mode: Mode) -> Attempt<Outcome> {
        match (self.find(change.id)?, mode) {
            (Some(_), Mode::Add) => Ok(Outcome::Exists),
            (None, Mode::Update) => Ok(Outcome::Unknown),
            (None, Mode::Add | Mode::Upsert) => self.insert(change),
            (Some(old), Mode::Upsert | Mode::Update) => self.change(&old, change, mode),
        }
    }

    fn find(&self, id: &str) -> Attempt<Option<Stored>> {
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT {STORED_COLUMNS} FROM drawers d LEFT JOIN vectors v ON v.row = d.row
             WHERE d.collection = ?1 AND d.id = ?2"
        ))?;
        let mut rows = statement.query(params![self.collection.id, id])?;
        Ok(match rows.next()? {
            Some(row) => Some(Stored::read(row)?),
            None => None,
        })
    }

    fn insert(&mut self, change: &Change<'_>) -> Attempt<Outcome> {
        let metadata = change
            .patch
            .map(|patch| Metadata::default().merged(patch))
            .unwrap_or_default();
        validate_metadata(change.id, &metadata)?;
        let metadata_text = metadata.to_json_text();
        let key = MinedKey::of(change.text, &metadata);
        let bytes = change.vector.map(vector_bytes);
        let row = self.seq + 1;
        let inserted = self.db
            .prepare_cached(
                "INSERT INTO drawers (row, collection, id, text, metadata, seq, checksum, created_at, updated_at,
                                      wing, source_file, content_hash, start_line)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?1, ?6, ?7, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT (collection, wing, source_file, content_hash, start_line) WHERE source_file <> ''
                 DO NOTHING",
            )?
            .execute(params![
                row as i64,
                self.collection.id,
                change.id,
                change.text,
                metadata_text,
                checksum(change.id, change.text, &metadata_text, bytes.as_deref()),
                self.now,
                key.wing,
                key.source_file,
                key.content_hash,
                key.start_line,
            ])?;
        if inserted == 0 {
            return Ok(Outcome::DuplicateOf(
                self.holder(&key, 0)?.unwrap_or_default(),
            ));
        }
        self.seq = row;
        self.drawers += 1;
        insert_postings(self.db, row, change.text)?;
        insert_labels(self.db, self.collection.id, row, &metadata)?;
        if let Some(bytes) = bytes {
            self.insert_vector(row, &bytes)?;
        }
        Ok(Outcome::Added)
    }

    fn change(&mut self, old: &Stored, change: &Change<'_>, mode: Mode) -> Attempt<Outcome> {
        // Recomputing the checksum of a damaged row would make the damage look healthy.
        let Some(old_metadata) = old.metadata().filter(|_| old.is_intact()) else {
            return Err(damaged(&old.id));
        };
        let text = change.text.or(old.text.as_deref());
        let metadata = change
            .patch
            .map_or_else(|| old_metadata.clone(), |patch| old_metadata.merged(patch));
        validate_metadata(change.id, &metadata)?;
        let metadata_text = metadata.to_json_text();
        let text_changed = text != old.text.as_deref();
        let new_vector = change.vector.map(vector_bytes);
        if text_changed && new_vector.is_none() && change.has_embedder && text.is_some() {
            return Err(Error::Internal {
                doing: EMBED_AGAIN.into(),
                detail: change.id.into(),
            }
            .into());
        }
        // A vector of another text is worse than none.
        let drop_vector = text_changed && new_vector.is_none() && old.vector.is_some();
        let vector_changed = drop_vector
            || new_vector
                .as_ref()
                .is_some_and(|bytes| Some(bytes) != old.vector.as_ref());
        if !text_changed && !vector_changed && metadata_text == old.metadata_text {
            return Ok(Outcome::Unchanged);
        }
        let key = MinedKey::of(text, &metadata);
        if key.is_mined()
            && let Some(holder) = self.holder(&key, old.row)?
        {
            return match mode {
                Mode::Update => Err(Error::Conflict {
                    what: format!(
                        "`{}` would become the same drawer as `{holder}` (same text, same place)",
                        change.id
                    ),
                }
                .into()),
                Mode::Add | Mode::Upsert => Ok(Outcome::DuplicateOf(holder)),
            };
        }
        let vector = if drop_vector {
            None
        } else {
            new_vector.as_ref().or(old.vector.as_ref())
        };
        self.seq += 1;
        if text_changed {
            delete_postings(self.db, old.row, old.text.as_deref())?;
        }
        self.db
            .prepare_cached(
                "UPDATE drawers SET text = ?2, metadata = ?3, seq = ?4, checksum = ?5, updated_at = ?6,
                                    wing = ?7, source_file = ?8, content_hash = ?9, start_line = ?10
                 WHERE row = ?1",
            )?
            .execute(params![
                old.row as i64,
                text,
                metadata_text,
                self.seq as i64,
                checksum(change.id, text, &metadata_text, vector.map(Vec::as_slice)),
                self.now,
                key.wing,
                key.source_file,
                key.content_hash,
                key.start_line,
            ])?;
        if text_changed {
            insert_postings(self.db, old.row, text)?;
        }
        if metadata_text != old.metadata_text {
            delete_labels(self.db, self.collection.id, old.row, &old_metadata)?;
            insert_labels(self.db, self.collection.id, old.row, &metadata)?;
        }
        if drop_vector {
            self.drop_vector(old)?;
        } else if let Some(bytes) = new_vector.filter(|_| vector_changed) {
            if old.vector.is_some() {
                delete_vector(self.db, old.row)?;
                self.vectors -= 1;
            }
            self.insert_vector(old.row, &bytes)?;
        }
        Ok(Outcome::Updated)
    }

    /// The tombstone tells every index that the row's old vector no longer counts.
    fn drop_vector(&mut self, old: &Stored) -> Attempt<()> {
        delete_vector(self.db, old.row)?;
        insert_tombstone(self.db, self.seq, self.collection.id, old.row)?;
        self.vectors -= 1;
        self.dropped_vectors.push(old.id.clone());
        Ok(())
    }

    fn insert_vector(&mut self, row: u64, bytes: &[u8]) -> Attempt<()> {
        self.db
            .prepare_cached(
                "INSERT INTO vectors (row, collection, seq, vector) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                row as i64,
                self.collection.id,
                self.seq as i64,
                bytes
            ])?;
        self.vectors += 1;
        self.dimension.get_or_insert(bytes.len() / 4);
        Ok(())
    }

    /// Who holds this key, other than `row` itself.
    fn holder(&self, key: &MinedKey, row: u64) -> Attempt<Option<String>> {
        let mut statement = self.db.prepare_cached(
            "SELECT id FROM drawers
             WHERE collection = ?1 AND wing = ?2 AND source_file = ?3 AND content_hash = ?4 AND start_line = ?5
               AND source_file <> '' AND row <> ?6",
        )?;
        let mut rows = statement.query(params![
            self.collection.id,
            key.wing,
            key.source_file,
            key.content_hash,
            key.start_line,
            row as i64
        ])?;
        Ok(match rows.next()? {
            Some(found) => Some(found.get(0)?),
            None => None,
        })
    }

    /// Removes a row from everywhere; only the tombstone stays.
    pub(crate) fn remove(&mut self, row: u64) -> Attempt<bool> {
        let Some(removed) = take_row(self.db, self.collection.id, row)? else {
            return Ok(false);
        };
        self.seq += 1;
        insert_tombstone(self.db, self.seq, self.collection.id, row)?;
        self.drawers -= 1;
        self.vectors -= i64::from(removed.had_vector);
        self.postings_left |= removed.postings_left;
        Ok(true)
    }

    /// Writes the counters; gives the last number drawn, or the collection's own if none was.
    pub(crate) fn finish(
        self,
        embedder: Option<&loci_core::EmbedderIdentity>,
    ) -> Attempt<(u64, Vec<Warning>)> {
        if let Some(identity) = embedder.filter(|_| self.collection.embedder.is_none()) {
            let json = serde_json::to_string(identity).map_err(|error| Error::Internal {
                doing: "pinning the embedder".into(),
                detail: error.to_string(),
            })?;
            self.db
                .prepare_cached("UPDATE collections SET embedder = ?2 WHERE id = ?1")?
                .execute(params![self.collection.id, json])?;
        }
        if self.postings_left {
            rebuild_postings(self.db)?;
        }
        if self.seq == self.first_seq {
            return Ok((self.collection.seq, Vec::new()));
        }
        self.db
            .prepare_cached(
                "UPDATE collections SET drawers = drawers + ?2, vectors = vectors + ?3, seq = ?4, dimension = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                self.collection.id,
                self.drawers,
                self.vectors,
                self.seq as i64,
                self.dimension.map(|dimension| dimension as i64)
            ])?;
        self.db
            .prepare_cached("UPDATE palace SET seq = ?1 WHERE id = 1")?
            .execute([self.seq as i64])?;
        let mut warnings = Vec::new();
        if let Some(first) = self.dropped_vectors.first() {
            warnings.push(Warning::new(
                "vector_dropped",
                format!(
                    "{} drawer(s), among them `{first}`, have new text and no new vector; the old vector was dropped",
                    self.dropped_vectors.len()
                ),
            ));
        }
        Ok((self.seq, warnings))
    }
}

pub(crate) fn damaged(id: &str) -> Fault {
    Error::Corrupt {
        what: format!("drawer `{id}`"),
        path: crate::store::place::DATABASE.into(),
        detail: "its checksum does not match".into(),
    }
    .into()
}

/// What [`take_row`] found.
pub(crate) struct Removed {
    pub(crate) had_vector: bool,
    /// The text is not what was written, so its postings could not be named and taken out: the
    /// caller rebuilds them in the same transaction.
    pub(crate) postings_left: bool,
}

/// Deletes postings, labels, vector and usage before the row itself. Also takes rows whose bytes
/// are damaged.
pub(crate) fn take_row(db: &Connection, collection: i64, row: u64) -> Attempt<Option<Removed>> {
    let Some(found) = super::read::fetch(db, row)? else {
        return Ok(None);
    };
    let intact = found.ok().filter(Stored::is_intact);
    if let Some(stored) = &intact {
        delete_postings(db, row, stored.text.as_deref())?;
    }
    match intact.as_ref().and_then(Stored::metadata) {
        Some(metadata) => delete_labels(db, collection, row, &metadata)?,
        None => {
            db.execute(
                "DELETE FROM labels WHERE collection = ?1 AND row = ?2",
                params![collection, row as i64],
            )?;
        }
    }
    let had_vector = delete_vector(db, row)?;
    db.prepare_cached("DELETE FROM usage WHERE row = ?1")?
        .execute([row as i64])?;
    db.prepare_cached("DELETE FROM drawers WHERE row = ?1")?
        .execute([row as i64])?;
    Ok(Some(Removed {
        had_vector,
        postings_left: intact.is_none(),
    }))
}

/// Makes the postings anew from the texts.
pub(crate) fn rebuild_postings(db: &Connection) -> Attempt<()> {
    db.execute("INSERT INTO postings (postings) VALUES ('rebuild')", [])?;
    Ok(())
}

pub(crate) fn insert_postings(db: &Connection, row: u64, text: Option<&str>) -> Attempt<()> {
    db.prepare_cached("INSERT INTO postings (rowid, text) VALUES (?1, ?2)")?
        .execute(params![row as i64, text])?;
    Ok(())
}

/// Postings of external content are removed by naming the old text exactly.
pub(crate) fn delete_postings(db: &Connection, row: u64, text: Option<&str>) -> Attempt<()> {
    db.prepare_cached("INSERT INTO postings (postings, rowid, text) VALUES ('delete', ?1, ?2)")?
        .execute(params![row as i64, text])?;
    Ok(())
}

pub(crate) fn insert_labels(
    db: &Connection,
    collection: i64,
    row: u64,
    metadata: &Metadata,
) -> Attempt<()> {
    let mut statement = db.prepare_cached(
        "INSERT INTO labels (collection, key, type, value, row) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (collection, key, type, value, row) DO NOTHING",
    )?;
    for (key, kind, value) in labels(metadata) {
        statement.execute(params![
            collection,
            ensure_key(db, key)?,
            kind.0,
            value,
            row as i64
        ])?;
    }
    Ok(())
}

fn delete_labels(db: &Connection, collection: i64, row: u64, metadata: &Metadata) -> Attempt<()> {
    let mut statement = db.prepare_cached(
        "DELETE FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value = ?4 AND row = ?5",
    )?;
    for (key, kind, value) in labels(metadata) {
        statement.execute(params![
            collection,
            ensure_key(db, key)?,
            kind.0,
            value,
            row as i64
        ])?;
    }
    Ok(())
}

fn delete_vector(db: &Connection, row: u64) -> Attempt<bool> {
    Ok(db
        .prepare_cached("DELETE FROM vectors WHERE row = ?1")?
        .execute([row as i64])?
        > 0)
}

pub(crate) fn insert_tombstone(
    db: &Connection,
    seq: u64,
    collection: i64,
    row: u64,
) -> Attempt<()> {
    db.prepare_cached("INSERT INTO tombstones (seq, collection, row) VALUES (?1, ?2, ?3)")?
        .execute(params![seq as i64, collection, row as i64])?;
    Ok(())
}
