//! The in-memory part of a collection's index: the opened snapshot, which of its rows are outdated,
//! and the newer vectors that are compared exactly.
//!
//! A [`View`] is updated inside the read transaction of the query that uses it, under the lock of
//! its collection. So it never knows more or less than that transaction sees.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::Warning;
use loci_index::{Registration, SlotSet, VectorIndex};
use rusqlite::{Connection, params};

use super::registry;
use crate::collection::meta::CollectionRow;
use crate::collection::read::Damaged;
use crate::collection::record::vector_from_bytes;
use crate::fault::Attempt;
use crate::store::Head;
use crate::store::connection::Db;
use crate::store::palace_files::PalaceFiles;

/// Memory for vectors that the snapshot does not cover. A longer tail is read from the database.
const TAIL_BYTES: usize = 32 << 20;

/// The state of a collection's index that one process keeps between queries.
#[derive(Default)]
pub(crate) struct Live {
    view: Option<Arc<View>>,
}

/// The index as of one sequence number.
#[derive(Clone)]
pub(crate) struct View {
    epoch: u64,
    generation: u64,
    collection: i64,
    pub(crate) base: Option<Arc<dyn VectorIndex>>,
    /// Slots of the base that were changed or deleted after it was built.
    pub(crate) masked: SlotSet,
    pub(crate) tail: Tail,
    seq: u64,
    uses: u64,
}

/// Vectors newer than the base.
#[derive(Clone)]
pub(crate) enum Tail {
    /// All of them, in memory.
    Cached(Overlay),
    /// Too many for memory. The query reads those after this sequence number from the database.
    Streamed { after: u64 },
}

/// Vectors by row, contiguous.
#[derive(Clone, Default)]
pub(crate) struct Overlay {
    rows: Vec<u64>,
    vectors: Vec<f32>,
    dimension: usize,
    positions: HashMap<u64, usize>,
}

/// A registered file that could not be used.
pub(crate) struct Suspect {
    pub(crate) registration: Registration,
}

/// Problems that were found while a view was updated.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) warnings: Vec<Warning>,
    pub(crate) suspect: Option<Suspect>,
    pub(crate) damaged: Damaged,
}

impl Overlay {
    fn put(&mut self, row: u64, vector: &[f32]) {
        self.remove(row);
        self.dimension = vector.len();
        self.positions.insert(row, self.rows.len());
        self.rows.push(row);
        self.vectors.extend_from_slice(vector);
    }

    fn remove(&mut self, row: u64) {
        let Some(at) = self.positions.remove(&row) else {
            return;
        };
        let last = self.rows.len() - 1;
        self.rows.swap_remove(at);
        if let Some(moved) = self.rows.get(at) {
            self.positions.insert(*moved, at);
            let from = last * self.dimension;
            self.vectors
                .copy_within(from..from + self.dimension, at * self.dimension);
        }
        self.vectors.truncate(last * self.dimension);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &[f32])> {
        self.rows
            .iter()
            .copied()
            .zip(self.vectors.chunks_exact(self.dimension.max(1)))
    }

    fn has_room(&self, rows: u64, dimension: usize) -> bool {
        (self.rows.len() as u64 + rows) * (dimension as u64) * 4 <= TAIL_BYTES as u64
    }
}

impl Live {
    /// The view as of this transaction. The caller began the transaction after it locked `self`.
    pub(crate) fn advance(
        &mut self,
        db: &Db,
        place: &PalaceFiles,
        head: &Head,
        collection: &CollectionRow,
        findings: &mut Findings,
    ) -> Attempt<Arc<View>> {
        let epoch = db.epoch;
        let db = &db.sql;
        let registered = registry::find(db, head, collection.id)?;
        let registered = registered.filter(|registration| is_usable(registration, head, findings));
        let mut view = match self.view.take() {
            Some(view)
                if view.epoch == epoch
                    && view.still_fits(head, collection, registered.as_ref()) =>
            {
                view
            }
            _ => Arc::new(View {
                epoch,
                ..View::open(place, head, collection, registered, findings)
            }),
        };
        let current = Arc::make_mut(&mut view);
        current.uses += 1;
        current.warm_on_second_use(findings);
        current.catch_up(db, collection, findings)?;
        self.view = Some(Arc::clone(&view));
        Ok(view)
    }
}

/// Whether a registered snapshot can be updated to this transaction at all.
fn is_usable(registration: &Registration, head: &Head, findings: &mut Findings) -> bool {
    if registration.covered > head.seq {
        findings.warnings.push(Warning::TruthWentBack {
            covered: registration.covered,
            seq: head.seq,
        });
        findings.suspect = Some(Suspect {
            registration: registration.clone(),
        });
        return false;
    }
    // Deletes below the floor are not known any more, so an older snapshot could return deleted
    // rows.
    registration.covered >= head.tombstone_floor
}

impl View {
    fn open(
        place: &PalaceFiles,
        head: &Head,
        collection: &CollectionRow,
        registered: Option<Registration>,
        findings: &mut Findings,
    ) -> Self {
        let base = registered.and_then(|registration| {
            match loci_index::open(&place.index_directory(), &registration) {
                Ok(index) => Some(index),
                Err(damage) => {
                    tracing::debug!(%damage, name = registration.name, "the index cannot be used");
                    findings.suspect = Some(Suspect { registration });
                    None
                }
            }
        });
        let seq = base
            .as_ref()
            .map_or(0, |index| index.registration().covered);
        let masked = SlotSet::new(base.as_ref().map_or(0, |index| index.rows().len()));
        Self {
            epoch: 0,
            generation: head.generation,
            collection: collection.id,
            base,
            masked,
            tail: Tail::Cached(Overlay::default()),
            seq,
            uses: 0,
        }
    }

    fn still_fits(
        &self,
        head: &Head,
        collection: &CollectionRow,
        registered: Option<&Registration>,
    ) -> bool {
        self.generation == head.generation
            && self.collection == collection.id
            && self.seq <= head.seq
            // Below the floor, deletes are missing.
            && (self.seq >= head.tombstone_floor || self.seq >= collection.seq)
            && self.base.as_ref().map(|index| index.registration()) == registered
    }

    /// Reads the large section at the second query, which shows that the process continues.
    fn warm_on_second_use(&mut self, findings: &mut Findings) {
        if self.uses < 2 {
            return;
        }
        let Some(base) = &self.base else { return };
        if let Err(damage) = base.warm() {
            tracing::debug!(%damage, "the index cannot be used");
            findings.suspect = Some(Suspect {
                registration: base.registration().clone(),
            });
            self.base = None;
            self.masked = SlotSet::new(0);
            self.tail = Tail::Cached(Overlay::default());
            self.seq = 0;
        }
    }

    /// Applies the changes since the last update in one pass. Rows that are already covered are not
    /// touched.
    fn catch_up(
        &mut self,
        db: &Connection,
        collection: &CollectionRow,
        findings: &mut Findings,
    ) -> Attempt<()> {
        if collection.seq <= self.seq {
            return Ok(());
        }
        // Tombstones come first. One of them may stand for a dropped vector of a row that got a new
        // vector later, and that one must stay.
        self.apply_tombstones(db, collection)?;
        let dimension = collection.dimension.unwrap_or(1);
        let newer = registry::changes_after(
            db,
            collection.id,
            self.seq,
            (TAIL_BYTES / (4 * dimension) + 1) as u64,
        )?;
        let fits =
            matches!(&self.tail, Tail::Cached(overlay) if overlay.has_room(newer, dimension));
        if fits {
            self.cache_newer(db, collection, findings)?;
        } else {
            self.mask_newer(db, collection)?;
            self.tail = Tail::Streamed {
                after: self
                    .base
                    .as_ref()
                    .map_or(0, |index| index.registration().covered),
            };
        }
        self.seq = collection.seq;
        Ok(())
    }

    fn apply_tombstones(&mut self, db: &Connection, collection: &CollectionRow) -> Attempt<()> {
        let mut statement = db.prepare_cached(
            "SELECT row FROM tombstones INDEXED BY tombstones_collection WHERE collection = ?1 AND seq > ?2",
        )?;
        let mut rows = statement.query(params![collection.id, self.seq as i64])?;
        while let Some(columns) = rows.next()? {
            let row = columns.get::<_, i64>(0)? as u64;
            self.mask(row);
            if let Tail::Cached(overlay) = &mut self.tail {
                overlay.remove(row);
            }
        }
        Ok(())
    }

    fn cache_newer(
        &mut self,
        db: &Connection,
        collection: &CollectionRow,
        findings: &mut Findings,
    ) -> Attempt<()> {
        let mut statement = db.prepare_cached(TAIL_SQL)?;
        let mut rows = statement.query(params![collection.id, self.seq as i64])?;
        while let Some(columns) = rows.next()? {
            let row = columns.get::<_, i64>(0)? as u64;
            self.mask(row);
            let vector = columns
                .get_ref(1)?
                .as_blob()
                .ok()
                .and_then(vector_from_bytes);
            let Tail::Cached(overlay) = &mut self.tail else {
                continue;
            };
            match vector.filter(|vector| Some(vector.len()) == collection.dimension) {
                Some(vector) => overlay.put(row, &vector),
                None => {
                    overlay.remove(row);
                    findings.damaged.note(format!("row {row}"));
                }
            }
        }
        Ok(())
    }

    fn mask_newer(&mut self, db: &Connection, collection: &CollectionRow) -> Attempt<()> {
        let mut statement = db.prepare_cached(
            "SELECT row FROM vectors INDEXED BY vectors_seq WHERE collection = ?1 AND seq > ?2",
        )?;
        let mut rows = statement.query(params![collection.id, self.seq as i64])?;
        while let Some(columns) = rows.next()? {
            self.mask(columns.get::<_, i64>(0)? as u64);
        }
        Ok(())
    }

    fn mask(&mut self, row: u64) {
        if let Some(slot) = self.base.as_ref().and_then(|index| index.slot(row)) {
            self.masked.insert(slot);
        }
    }
}

/// Newer vectors, oldest change first.
pub(crate) const TAIL_SQL: &str = "SELECT row, vector FROM vectors INDEXED BY vectors_seq WHERE collection = ?1 AND seq > ?2 ORDER BY seq";
