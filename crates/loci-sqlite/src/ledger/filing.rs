//! Filing: the pieces of a source become its drawers, in one transaction with its row of the
//! ledger.
//!
//! Everything slow (embedding, terms) is done before the transaction begins, and the drawers are
//! checked again inside it. If another process has changed them so that a vector is missing, it is
//! embedded and the transaction is tried again.

use std::collections::HashMap;

use loci_core::ledger::matching::{PieceKey, inverse, match_pieces, patch_to};
use loci_core::{
    Compatibility, Counts, Filed, LEFTOVERS, MetadataPatch, Outcome, Piece, Result, SourceChange,
    SourceRecord,
};
use rusqlite::{Connection, params};

use super::lending::{self, Held};
use super::preparing::{Filing, prepare};
use super::runs::{self, begin_step, end_step, keep};
use super::{forgotten, sources};
use crate::collection::SqliteCollection;
use crate::collection::meta::mismatch;
use crate::collection::passage::Prepared;
use crate::collection::record::content_hash;
use crate::collection::write::Mode;
use crate::collection::writer::{Change, Writer};
use crate::fault::{Attempt, Fault};
use crate::store::Head;

/// The largest number of drawers that one change removes.
const SLICE: usize = 2_000;
/// After writing more drawers than this, the process pauses for other writers.
const MANY: u64 = 100;

/// How errors call this operation.
const DOING: &str = "filing a source";

pub(super) fn file(
    collection: &SqliteCollection,
    run: u64,
    changes: &[SourceChange],
) -> Result<Vec<Filed>> {
    let mut filings = Vec::with_capacity(changes.len());
    for change in changes {
        change.validate()?;
        let pieces = change.pieces.as_deref().unwrap_or_default();
        filings.push(Filing {
            change,
            keys: pieces.iter().map(PieceKey::of_piece).collect(),
            prepared: pieces.iter().map(|_| None).collect(),
        });
    }
    let mut vectors: HashMap<Vec<u8>, Vec<f32>> = HashMap::new();
    let mut everything = false;
    loop {
        prepare(collection, &mut filings, &mut vectors, everything)?;
        let result = collection.store.write_embedded(DOING, |db| {
            let head = Head::read(&db.sql)?;
            let row = collection.require(&db.sql, &head)?;
            let identity = collection.embedder.as_ref().map(|given| given.identity());
            let compatibility = collection.compatibility(&row);
            if let (Some(vector), Some(identity)) = (vectors.values().next(), &identity) {
                match compatibility {
                    Compatibility::Foreign => return Err(mismatch(&row, identity).into()),
                    Compatibility::Same => row.check_dimension(vector.len())?,
                    Compatibility::Compatible => {}
                }
            }
            let forget_key = forgotten::key_if_any(&db.sql, row.id)?;
            runs::require_running(&db.sql, row.id, run)?;
            let mut tx = FilingTx {
                db: &db.sql,
                writer: Writer::new(&db.sql, head.seq, row),
                run,
                step: 0,
                vectors: &vectors,
                apart: identity
                    .as_ref()
                    .filter(|_| compatibility == Compatibility::Compatible),
                has_embedder: identity.is_some(),
                forget_key,
            };
            let mut filed = Vec::with_capacity(filings.len());
            for filing in &filings {
                filed.push(tx.file(filing)?);
            }
            let used = identity
                .as_ref()
                .filter(|_| compatibility == Compatibility::Same && !vectors.is_empty());
            tx.writer.finish(used)?;
            // Committed when this returns: the drawers, the rows of the ledger and the data for
            // undo, for all sources of the call together. A crash before that leaves every source
            // as it was filed before, and the next run files it again.
            Ok(filed)
        });
        match result? {
            None if everything => {
                let place = &collection.store.place.directory;
                return Err(Fault::EmbedAgain.into_error(place, DOING));
            }
            None => everything = true,
            Some(filed) => {
                let written: u64 = filed
                    .iter()
                    .map(|filed| match filed {
                        Filed::Done(counts) => counts.new + counts.updated + counts.removed,
                        Filed::Stale => 0,
                    })
                    .sum();
                collection.store.wrote(&collection.name, written);
                if written > MANY {
                    collection.store.make_room();
                }
                collection.build_if_far_behind();
                return Ok(filed);
            }
        }
    }
}

/// One transaction of filing.
struct FilingTx<'a> {
    db: &'a Connection,
    writer: Writer<'a>,
    run: u64,
    /// The step that is being recorded.
    step: i64,
    vectors: &'a HashMap<Vec<u8>, Vec<f32>>,
    apart: Option<&'a loci_core::EmbedderIdentity>,
    has_embedder: bool,
    /// The key for hashes of forgotten texts, if there are any.
    forget_key: Option<[u8; 32]>,
}

impl<'a> FilingTx<'a> {
    fn file(&mut self, filing: &Filing<'_>) -> Attempt<Filed> {
        let change = filing.change;
        let collection = self.writer.collection();
        let found = sources::find(
            self.db,
            collection,
            &change.record.machine,
            &change.record.name,
            change.record.section,
        )?;
        let revision = found.as_ref().map_or(0, |(_, record)| record.revision);
        if change.removed && found.is_none() {
            return Ok(Filed::Done(Counts::default()));
        }
        // The row has changed since the caller read the source, by a filing or a forget. Writing the
        // older content would undo that, so the caller reads the source again.
        if revision != change.record.revision && change.record.section != LEFTOVERS {
            return Ok(Filed::Stale);
        }
        let first = self.writer.seq() + 1;
        let source = match &found {
            Some((id, _)) => *id,
            None => sources::ensure(self.db, collection, &change.record)?,
        };
        let before = found.as_ref().map(|(_, record)| record);
        // Recorded before anything changes, in the same transaction. So each committed change has
        // the step that undoes it.
        self.step = begin_step(self.db, self.run, source, first, before)?;
        let mut counts = Counts::default();
        let mut gone = false;
        if change.removed {
            let mut held = self.held(source, SLICE + 1)?;
            gone = held.len() <= SLICE;
            held.truncate(SLICE);
            for drawer in &held {
                self.remove(drawer, &mut counts)?;
            }
        } else if change.pieces.is_some() {
            self.file_pieces(source, filing, &mut counts)?;
        }
        let revision = self.writer.draw();
        if gone {
            sources::remove(self.db, source)?;
        } else if change.removed {
            // Some of its drawers are gone. If the removal stops here, the next run reads the
            // source again.
            sources::distrust(self.db, source)?;
        } else {
            sources::put(self.db, source, &change.record, revision)?;
        }
        if counts.removed + counts.updated > 0 {
            let SourceRecord { machine, name, .. } = &change.record;
            sources::distrust_others(self.db, collection, machine, name, revision)?;
        }
        end_step(self.db, self.step, revision)?;
        Ok(Filed::Done(counts))
    }

    fn file_pieces(
        &mut self,
        source: i64,
        filing: &Filing<'_>,
        counts: &mut Counts,
    ) -> Attempt<()> {
        let change = filing.change;
        let pieces = change.pieces.as_deref().unwrap_or_default();
        let held = self.held(source, usize::MAX)?;
        let borrows = lending::is_possible(self.db, self.writer.collection(), &change.record)?;
        let keys = held_keys(self.db, &held)?;
        let mut matched = match_pieces(&keys, &filing.keys, change.grows);
        let mut stays = vec![false; held.len()];
        for at in matched.iter().flatten() {
            if let Some(stay) = stays.get_mut(*at) {
                *stay = true;
            }
        }
        for (drawer, stays) in held.iter().zip(stays) {
            if stays {
                continue;
            }
            if change.defers {
                self.defer(drawer, &change.record)?;
            } else {
                self.remove(drawer, counts)?;
            }
        }
        for (((piece, piece_key), prepared), matched) in pieces
            .iter()
            .zip(&filing.keys)
            .zip(&filing.prepared)
            .zip(matched.iter_mut())
        {
            let own = matched.and_then(|at| held.get(at));
            let lent = match own {
                None if borrows => self.lent(change, piece_key)?,
                Some(_) | None => None,
            };
            match own.or(lent.as_ref().map(|(drawer, _)| drawer)) {
                Some(drawer) => {
                    let same_text = lent.as_ref().is_some_and(|(_, same_text)| *same_text)
                        || matched
                            .and_then(|at| keys.get(at))
                            .is_some_and(|old| old.hash == piece_key.hash);
                    self.refresh(
                        source,
                        change,
                        drawer,
                        piece,
                        prepared.as_ref(),
                        same_text,
                        counts,
                    )?;
                }
                None => self.insert(source, piece, piece_key, prepared.as_ref(), counts)?,
            }
        }
        Ok(())
    }

    fn held(&self, source: i64, limit: usize) -> Attempt<Vec<Held>> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, id, metadata, origin FROM drawers WHERE origin = ?1 AND origin <> 0 ORDER BY row LIMIT ?2",
        )?;
        let found = statement.query_map(
            params![source, i64::try_from(limit).unwrap_or(i64::MAX)],
            Held::read,
        )?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// A drawer of another section of the source that matches this piece, and whether its text is
    /// the same.
    fn lent(&self, change: &SourceChange, piece: &PieceKey) -> Attempt<Option<(Held, bool)>> {
        let collection = self.writer.collection();
        let by_text = lending::by_text(self.db, collection, &change.record, &piece.hash)?;
        let found = match by_text {
            Some(held) => Some((held, true)),
            None if change.grows => lending::by_place(self.db, collection, &change.record, piece)?
                .map(|held| (held, false)),
            None => None,
        };
        if let Some((held, _)) = &found {
            // The section that lent a drawer does not match its hash any more.
            sources::distrust(self.db, held.origin)?;
        }
        Ok(found)
    }

    fn insert(
        &mut self,
        source: i64,
        piece: &Piece,
        piece_key: &PieceKey,
        prepared: Option<&Prepared>,
        counts: &mut Counts,
    ) -> Attempt<()> {
        // The text was forgotten while the run was in progress.
        if let Some(key) = &self.forget_key
            && forgotten::has_text(self.db, self.writer.collection(), key, &piece.text)?
        {
            return Ok(());
        }
        let made = self.vector(&piece_key.hash)?;
        let id = loci_core::clock::new_id();
        let patch = MetadataPatch::from(piece.metadata.clone());
        let change = Change {
            id: &id,
            text: Some(&piece.text),
            prepared,
            patch: Some(&patch),
            vector: made.filter(|_| self.apart.is_none()),
            other: self.apart.zip(made),
            has_embedder: self.has_embedder,
            origin: Some(source),
            created_at: None,
        };
        match self.writer.record(&change, Mode::Add)? {
            Outcome::DuplicateOf(holder) => {
                // Another writer added the same text from the same place. It becomes the drawer of
                // this piece.
                self.adopt(&holder, source)?;
                counts.kept += 1;
            }
            _ => counts.new += 1,
        }
        Ok(())
    }

    /// Updates the place of a drawer that is still in the source.
    #[expect(
        clippy::too_many_arguments,
        reason = "all of them are one step of filing"
    )]
    fn refresh(
        &mut self,
        source: i64,
        change: &SourceChange,
        drawer: &Held,
        piece: &Piece,
        prepared: Option<&Prepared>,
        same_text: bool,
        counts: &mut Counts,
    ) -> Attempt<()> {
        let patch = drawer
            .metadata
            .as_ref()
            .map(|old| patch_to(old, piece, change))
            .unwrap_or_default();
        if same_text && patch.0.is_empty() && drawer.metadata.is_some() {
            if drawer.origin != source {
                self.set_origin(drawer, source)?;
            }
            counts.kept += 1;
            return Ok(());
        }
        let back = drawer
            .metadata
            .as_ref()
            .map(|old| inverse(&patch, old))
            .unwrap_or_default();
        keep(self.db, self.step, drawer.row, Some(&back), !same_text)?;
        let made = if same_text {
            None
        } else {
            self.vector(&content_hash(&piece.text))?
        };
        let updated = Change {
            id: &drawer.id,
            text: (!same_text).then_some(piece.text.as_str()),
            prepared,
            patch: Some(&patch),
            vector: made.filter(|_| self.apart.is_none()),
            other: self.apart.zip(made),
            has_embedder: self.has_embedder,
            origin: Some(source),
            created_at: None,
        };
        match self.writer.record(&updated, Mode::Upsert)? {
            Outcome::DuplicateOf(holder) => {
                self.db
                    .prepare_cached("DELETE FROM kept_drawers WHERE id = last_insert_rowid()")?
                    .execute([])?;
                keep(self.db, self.step, drawer.row, None, true)?;
                self.writer.remove(drawer.row)?;
                self.adopt(&holder, source)?;
                counts.removed += 1;
                counts.kept += 1;
            }
            Outcome::Unchanged => counts.kept += 1,
            _ => counts.updated += 1,
        }
        Ok(())
    }

    /// Makes a drawer that another writer added a drawer of this source, unless it belongs to
    /// another machine. That machine filed it first, and when it removes the drawer, this source is
    /// read again.
    fn adopt(&self, holder: &str, source: i64) -> Attempt<()> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, id, metadata, origin FROM drawers WHERE collection = ?1 AND id = ?2",
        )?;
        let mut rows = statement.query(params![self.writer.collection(), holder])?;
        match rows.next()? {
            Some(columns) => {
                let held = Held::read(columns)?;
                if sources::is_of_another_machine(self.db, held.origin, source)? {
                    return Ok(());
                }
                self.set_origin(&held, source)
            }
            None => Ok(()),
        }
    }

    fn vector(&self, hash: &[u8]) -> Attempt<Option<&'a [f32]>> {
        match self.vectors.get(hash) {
            Some(vector) => Ok(Some(vector)),
            None if self.has_embedder => Err(Fault::EmbedAgain),
            None => Ok(None),
        }
    }

    fn remove(&mut self, drawer: &Held, counts: &mut Counts) -> Attempt<()> {
        // The old state is kept before the drawer is removed, for undo.
        keep(self.db, self.step, drawer.row, None, true)?;
        if self.writer.remove(drawer.row)? {
            counts.removed += 1;
        }
        Ok(())
    }

    fn defer(&self, drawer: &Held, record: &SourceRecord) -> Attempt<()> {
        let leftovers = SourceRecord {
            section: LEFTOVERS,
            ..record.clone()
        };
        let id = sources::ensure(self.db, self.writer.collection(), &leftovers)?;
        self.set_origin(drawer, id)
    }

    /// Changes only the row of the ledger that holds the drawer. An undo restores that, too.
    fn set_origin(&self, drawer: &Held, source: i64) -> Attempt<()> {
        let nothing = MetadataPatch::default();
        keep(self.db, self.step, drawer.row, Some(&nothing), false)?;
        self.db
            .prepare_cached("UPDATE drawers SET origin = ?2 WHERE row = ?1")?
            .execute(params![drawer.row as i64, source])?;
        Ok(())
    }
}

fn held_keys(db: &Connection, held: &[Held]) -> Attempt<Vec<PieceKey>> {
    let mut statement = db.prepare_cached("SELECT content_hash FROM drawers WHERE row = ?1")?;
    let mut keys = Vec::with_capacity(held.len());
    for drawer in held {
        let metadata = drawer.metadata.clone().unwrap_or_default();
        let hash = statement.query_row([drawer.row as i64], |row| row.get(0))?;
        keys.push(PieceKey::of_drawer(hash, &metadata));
    }
    Ok(keys)
}
