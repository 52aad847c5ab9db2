//! Applies changes record by record inside a write transaction, and keeps the counters that are
//! written at its end. The caller commits.

use loci_core::{EmbedderIdentity, Error, Metadata, Outcome, Warning, validate_metadata};
use loci_index::stored_dimension;
use rusqlite::{Connection, params};

use super::meta::CollectionRow;
use super::other;
use super::passage::{self, Passage, Prepared};
use super::record::{MinedKey, STORED_COLUMNS, Stored, checksum, vector_to_bytes};
use super::revision::{Revision, VectorChange};
use super::rows::{
    delete_labels, delete_postings, delete_vector, insert_labels, insert_postings,
    insert_tombstone, rebuild_postings, take_row,
};
use super::write::Mode;
use crate::fault::Attempt;
use crate::relations::links;
use crate::store::now_ms;

/// The requested change of one record.
pub(crate) struct Change<'a> {
    pub(crate) id: &'a str,
    pub(crate) text: Option<&'a str>,
    /// The terms and tokens of the text, prepared before the transaction.
    pub(crate) prepared: Option<&'a Prepared>,
    pub(crate) patch: Option<&'a loci_core::MetadataPatch>,
    pub(crate) vector: Option<&'a [f32]>,
    /// A vector of another embedder than the collection's, stored apart from the collection's own.
    pub(crate) other: Option<(&'a EmbedderIdentity, &'a [f32])>,
    pub(crate) has_embedder: bool,
    /// The row of the ledger that files the record. Without one, it is a write of the user: if the
    /// text of a mined drawer changes, the drawer does not belong to its source any more.
    pub(crate) origin: Option<i64>,
    /// When the drawer was first added, for a drawer that is restored.
    pub(crate) created_at: Option<i64>,
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
    terms: i64,
    dimension: Option<usize>,
    dropped_vectors: Vec<String>,
    postings_left: bool,
    /// Whether a vector of the collection's own embedder was written.
    made_vectors: bool,
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
            terms: 0,
            dropped_vectors: Vec::new(),
            postings_left: false,
            made_vectors: false,
        }
    }

    /// The last sequence number drawn.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Draws a sequence number for a change that is not a change of a drawer.
    pub(crate) fn draw(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// The number of the collection that is written to.
    pub(crate) fn collection(&self) -> i64 {
        self.collection.id
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
        let bytes = change.vector.map(vector_to_bytes);
        // The row number is the next sequence number, so it is never used again. A salvage relies
        // on that: a row that is mentioned and cannot be read is a lost drawer.
        let row = self.seq + 1;
        let inserted = self.db
            .prepare_cached(
                "INSERT INTO drawers (row, collection, id, text, metadata, seq, checksum, created_at, updated_at,
                                      wing, source_file, content_hash, start_line, origin)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?1, ?6, ?13, ?7, ?8, ?9, ?10, ?11, ?12)
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
                change.origin.unwrap_or_default(),
                change.created_at.unwrap_or(self.now),
            ])?;
        if inserted == 0 {
            return Ok(Outcome::DuplicateOf(
                self.holder(&key, 0)?.unwrap_or_default(),
            ));
        }
        self.seq = row;
        self.drawers += 1;
        self.insert_search_side(row, change.text, change.prepared, &metadata)?;
        insert_labels(self.db, self.collection.id, row, &metadata)?;
        match bytes {
            Some(bytes) => self.insert_vector(row, &bytes)?,
            None => self.put_other(row, change.other)?,
        }
        Ok(Outcome::Added)
    }

    fn change(&mut self, old: &Stored, change: &Change<'_>, mode: Mode) -> Attempt<Outcome> {
        let revision = Revision::of(old, change)?;
        // A vector of another embedder is kept only where the collection's own has none.
        let other = change
            .other
            .filter(|_| change.vector.is_none() && revision.vector_bytes().is_none());
        if revision.changes_nothing() {
            self.put_other(old.row, other)?;
            return Ok(Outcome::Unchanged);
        }
        if let Some(holder) = self.same_drawer(&revision)? {
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
        self.seq += 1;
        if revision.terms_changed {
            // FTS5 needs the exact old terms, so this comes before the text is overwritten.
            delete_postings(
                self.db,
                old.row,
                old.text.as_deref(),
                &revision.old_metadata,
            )?;
        }
        self.update_row(&revision, change)?;
        self.update_search_side(&revision, change.prepared)?;
        if revision.metadata_changed() {
            delete_labels(self.db, self.collection.id, old.row, &revision.old_metadata)?;
            insert_labels(self.db, self.collection.id, old.row, &revision.metadata)?;
        }
        if revision.text_changed || revision.vector != VectorChange::Keep {
            other::remove(self.db, old.row)?;
        }
        self.put_other(old.row, other)?;
        if revision.vector == VectorChange::Drop && other.is_none() {
            self.dropped_vectors.push(old.id.clone());
        }
        self.update_vector(&revision)?;
        Ok(Outcome::Updated)
    }

    /// The other drawer that already has the new text at the new place. The uniqueness index would
    /// refuse the change, so this is checked before anything is written.
    fn same_drawer(&self, revision: &Revision<'_>) -> Attempt<Option<String>> {
        if !revision.key.is_mined() {
            return Ok(None);
        }
        self.holder(&revision.key, revision.old.row)
    }

    fn update_row(&self, revision: &Revision<'_>, change: &Change<'_>) -> Attempt<()> {
        let Revision {
            text,
            metadata_text,
            key,
            ..
        } = revision;
        self.db
            .prepare_cached(
                "UPDATE drawers SET text = ?2, metadata = ?3, seq = ?4, checksum = ?5, updated_at = ?6,
                                    wing = ?7, source_file = ?8, content_hash = ?9, start_line = ?10,
                                    origin = coalesce(?11, origin)
                 WHERE row = ?1",
            )?
            .execute(params![
                revision.old.row as i64,
                text,
                metadata_text,
                self.seq as i64,
                checksum(change.id, *text, metadata_text, revision.vector_bytes()),
                self.now,
                key.wing,
                key.source_file,
                key.content_hash,
                key.start_line,
                change
                    .origin
                    .or_else(|| revision.text_changed.then_some(0)),
            ])?;
        Ok(())
    }

    /// Writes the passage again, and the postings if other words must find the drawer.
    fn update_search_side(
        &mut self,
        revision: &Revision<'_>,
        prepared: Option<&Prepared>,
    ) -> Attempt<()> {
        let (row, text, metadata) = (revision.old.row, revision.text, &revision.metadata);
        if revision.terms_changed {
            self.terms -= passage::delete(self.db, row)?;
            return self.insert_search_side(row, text, prepared, metadata);
        }
        let place = Passage::of(self.collection.id, text, None, metadata);
        if !passage::update_place(self.db, row, &place)? {
            let passage = Passage::derive(self.collection.id, text, metadata);
            passage::insert(self.db, self.collection.id, row, &passage)?;
            self.terms += i64::from(passage.length);
        }
        Ok(())
    }

    fn update_vector(&mut self, revision: &Revision<'_>) -> Attempt<()> {
        let old = revision.old;
        match &revision.vector {
            VectorChange::Keep => Ok(()),
            VectorChange::Drop => self.drop_vector(old),
            VectorChange::Replace(bytes) => {
                if old.vector.is_some() {
                    delete_vector(self.db, old.row)?;
                    self.vectors -= 1;
                }
                self.insert_vector(old.row, bytes)
            }
        }
    }

    fn put_other(&self, row: u64, other: Option<(&EmbedderIdentity, &[f32])>) -> Attempt<()> {
        match other {
            Some((identity, vector)) => {
                other::put(self.db, self.collection.id, row, identity, vector)
            }
            None => Ok(()),
        }
    }

    /// Writes the passage and the postings of a text. They are prepared again if they were prepared
    /// for another context.
    fn insert_search_side(
        &mut self,
        row: u64,
        text: Option<&str>,
        prepared: Option<&Prepared>,
        metadata: &Metadata,
    ) -> Attempt<()> {
        let context = passage::context(metadata);
        let again = match prepared.filter(|prepared| prepared.context == context) {
            Some(_) => None,
            None => text.map(|text| Prepared::of(text, context)),
        };
        let prepared = again.as_ref().or(prepared).filter(|_| text.is_some());
        let passage = Passage::of(self.collection.id, text, prepared, metadata);
        passage::insert(self.db, self.collection.id, row, &passage)?;
        self.terms += i64::from(passage.length);
        insert_postings(
            self.db,
            row,
            prepared.map(|prepared| prepared.joined.as_str()),
        )
    }

    /// Removes a vector. The tombstone tells every index that the row's old vector is outdated.
    fn drop_vector(&mut self, old: &Stored) -> Attempt<()> {
        delete_vector(self.db, old.row)?;
        insert_tombstone(self.db, self.seq, self.collection.id, old.row)?;
        self.vectors -= 1;
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
        self.made_vectors = true;
        self.dimension = self.dimension.or_else(|| stored_dimension(bytes));
        Ok(())
    }

    /// The id of the drawer that has this key, other than `row` itself.
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

    /// Removes a row from every table, and the links of its drawer. Only the tombstone stays.
    pub(crate) fn remove(&mut self, row: u64) -> Attempt<bool> {
        let Some(removed) = take_row(self.db, self.collection.id, row)? else {
            return Ok(false);
        };
        if let Some(id) = &removed.id {
            links::remove_of_drawer(self.db, &self.collection.name, id)?;
        }
        self.seq += 1;
        // The tombstone carries the number of the delete. Snapshots, cached views and readers of
        // the change feed learn of the delete from it.
        insert_tombstone(self.db, self.seq, self.collection.id, row)?;
        self.drawers -= 1;
        self.vectors -= i64::from(removed.had_vector);
        self.terms -= removed.terms;
        self.postings_left |= removed.postings_left;
        Ok(true)
    }

    /// Writes the counters. Returns the last sequence number drawn, or the collection's own if none
    /// was. This is the last step before the commit, so that counters and rows are always committed
    /// together.
    pub(crate) fn finish(
        self,
        embedder: Option<&loci_core::EmbedderIdentity>,
    ) -> Attempt<(u64, Vec<Warning>)> {
        let unpinned = self.collection.embedder.is_none() && self.made_vectors;
        if let Some(identity) = embedder.filter(|_| unpinned) {
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
                "UPDATE collections SET drawers = drawers + ?2, vectors = vectors + ?3, seq = ?4, dimension = ?5,
                                        terms = terms + ?6
                 WHERE id = ?1",
            )?
            .execute(params![
                self.collection.id,
                self.drawers,
                self.vectors,
                self.seq as i64,
                self.dimension.map(|dimension| dimension as i64),
                self.terms
            ])?;
        self.db
            .prepare_cached("UPDATE palace SET seq = ?1 WHERE id = 1")?
            .execute([self.seq as i64])?;
        let mut warnings = Vec::new();
        if let Some(first) = self.dropped_vectors.first() {
            warnings.push(Warning::VectorDropped {
                drawers: self.dropped_vectors.len(),
                first: first.clone(),
            });
        }
        Ok((self.seq, warnings))
    }
}
