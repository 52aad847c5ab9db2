//! Drawers per value of a metadata key.
//!
//! The rows of each value are kept in memory between calls, as bitmaps. A call reads only the
//! drawers that changed since the last one, inside its own transaction, so the counts are always
//! those of that transaction. A transaction that is older than what is kept counts for itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{FacetCounts, MetaValue, Metadata, Selection};
use roaring::RoaringTreemap;
use rusqlite::types::Value;
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::read::fetch;
use super::record::{LabelType, find_key, label, labels, unlabel};
use super::rowset::RowSet;
use crate::fault::Attempt;
use crate::store::Head;
use crate::store::connection::Db;

/// The largest number of keys that are kept.
const KEPT_KEYS: usize = 8;
/// A key with more values is counted at every call.
const KEPT_VALUES: usize = 4_096;
/// If more drawers changed since the last call, all are read again.
const MOST_CHANGES: i64 = 10_000;

/// The rows of values, kept between calls. The one that was read last comes last.
#[derive(Default)]
pub(crate) struct FacetCache {
    kept: Mutex<Vec<Arc<Facet>>>,
}

/// The rows of each value of a key, as of one sequence number.
#[derive(Clone)]
struct Facet {
    epoch: u64,
    generation: u64,
    collection: i64,
    key: String,
    seq: u64,
    values: BTreeMap<FacetKey, Holders>,
    /// Rows that have the key.
    all: RoaringTreemap,
}

/// The rows of a value.
#[derive(Clone)]
struct Holders {
    kind: LabelType,
    value: Value,
    rows: RoaringTreemap,
}

pub(crate) fn facet_counts(
    collection: &SqliteCollection,
    key: &str,
    selection: &Selection,
    limit: usize,
) -> loci_core::Result<FacetCounts> {
    collection.read("counting facets", |db, row| {
        let set = collection.evaluator(db, row).selection(selection)?;
        count(&collection.store.facets, db, row, set.as_ref(), key, limit)
    })
}

/// Number of drawers of a set per value of a key.
pub(crate) fn count(
    cache: &FacetCache,
    db: &Db,
    row: &CollectionRow,
    set: Option<&RowSet>,
    key: &str,
    limit: usize,
) -> Attempt<FacetCounts> {
    let total = set.map_or(row.drawers, |set| set.len(row.drawers));
    let facet = cache.current(db, row, key)?;
    let mut counts: Vec<(u64, &FacetKey, &Holders)> = facet
        .values
        .iter()
        .map(|(key, holders)| (in_set(&holders.rows, set), key, holders))
        .filter(|(count, ..)| *count > 0)
        .collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let more = counts.len().saturating_sub(limit) as u64;
    let mut values: Vec<(MetaValue, u64)> = Vec::new();
    for (count, _, holders) in counts.into_iter().take(limit) {
        let value = match (unlabel(holders.kind, holders.value.clone()), &holders.value) {
            (Some(value), _) => Some(value),
            (None, Value::Blob(hash)) => long_text(&db.sql, &holders.rows, key, hash)?,
            (None, _) => None,
        };
        values.extend(value.map(|value| (value, count)));
    }
    Ok(FacetCounts {
        values,
        missing: total.saturating_sub(in_set(&facet.all, set)),
        more,
    })
}

fn in_set(rows: &RoaringTreemap, set: Option<&RowSet>) -> u64 {
    let Some(set) = set else { return rows.len() };
    match (set.listed(), set.excluded()) {
        (Some(listed), _) => rows.intersection_len(listed),
        (None, Some(excluded)) => rows.difference_len(excluded),
        (None, None) => 0,
    }
}

impl FacetCache {
    /// The rows of each value as of this transaction.
    fn current(&self, db: &Db, row: &CollectionRow, key: &str) -> Attempt<Arc<Facet>> {
        let mut facet = match self.get(row.id, key).filter(|facet| facet.is_of(db, row)) {
            // The transaction is older than what is kept, which is left to newer ones.
            Some(newer) if newer.seq > row.seq => return Ok(Arc::new(Facet::read(db, row, key)?)),
            Some(same) if same.seq == row.seq => return Ok(same),
            Some(older) => older,
            None => Arc::new(Facet::read(db, row, key)?),
        };
        if facet.seq < row.seq && !Arc::make_mut(&mut facet).catch_up(db, row)? {
            facet = Arc::new(Facet::read(db, row, key)?);
        }
        self.keep(Arc::clone(&facet));
        Ok(facet)
    }

    fn get(&self, collection: i64, key: &str) -> Option<Arc<Facet>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |facet: &&Arc<Facet>| facet.collection == collection && facet.key == key;
        kept.iter().find(same).cloned()
    }

    fn keep(&self, facet: Arc<Facet>) {
        if facet.values.len() > KEPT_VALUES {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.collection != facet.collection || other.key != facet.key);
        kept.push(facet);
        if kept.len() > KEPT_KEYS {
            kept.remove(0);
        }
    }
}

impl Facet {
    /// Whether it is of the same history as this transaction.
    fn is_of(&self, db: &Db, row: &CollectionRow) -> bool {
        self.epoch == db.epoch && self.generation == row.generation
    }

    /// Reads all labels of the key, in the order of their values.
    fn read(db: &Db, row: &CollectionRow, key: &str) -> Attempt<Self> {
        let mut facet = Self {
            epoch: db.epoch,
            generation: row.generation,
            collection: row.id,
            key: key.to_owned(),
            seq: row.seq,
            values: BTreeMap::new(),
            all: RoaringTreemap::new(),
        };
        let Some(key) = find_key(&db.sql, key)? else {
            return Ok(facet);
        };
        let mut statement = db.sql.prepare_cached(
            "SELECT type, value, row FROM labels WHERE collection = ?1 AND key = ?2",
        )?;
        let mut found = statement.query(params![row.id, key])?;
        let mut rows: Vec<u64> = Vec::new();
        let mut current: Option<(LabelType, Value)> = None;
        while let Some(columns) = found.next()? {
            let kind = LabelType(columns.get(0)?);
            let value = columns.get_ref(1)?;
            let is_same = current
                .as_ref()
                .is_some_and(|(last, held)| *last == kind && value == held.into());
            if !is_same {
                facet.add_all(current.take(), &mut rows);
                current = Some((kind, columns.get(1)?));
            }
            rows.push(columns.get::<_, i64>(2)? as u64);
        }
        facet.add_all(current, &mut rows);
        Ok(facet)
    }

    /// Adds the rows of a label, ascending.
    fn add_all(&mut self, label: Option<(LabelType, Value)>, rows: &mut Vec<u64>) {
        let Some((kind, value)) = label else { return };
        self.all.extend(rows.iter().copied());
        if kind != LabelType::EMPTY_LIST {
            let holders = self.holders(kind, value);
            holders.rows.extend(rows.iter().copied());
        }
        rows.clear();
    }

    fn holders(&mut self, kind: LabelType, value: Value) -> &mut Holders {
        let key = FacetKey::of(kind, &value);
        self.values.entry(key).or_insert_with(|| Holders {
            kind,
            value,
            rows: RoaringTreemap::new(),
        })
    }

    /// Applies the changes up to this transaction. Returns false if everything must be read again.
    fn catch_up(&mut self, db: &Db, row: &CollectionRow) -> Attempt<bool> {
        // Deletes below the floor are not known any more.
        if self.seq < Head::read(&db.sql)?.tombstone_floor {
            return Ok(false);
        }
        let mut statement = db.sql.prepare_cached(CHANGED_SQL)?;
        let mut found = statement.query(params![row.id, self.seq as i64, MOST_CHANGES + 1])?;
        let mut changed: Vec<(u64, Option<Metadata>)> = Vec::new();
        while let Some(columns) = found.next()? {
            if changed.len() as i64 == MOST_CHANGES {
                return Ok(false);
            }
            let metadata = match columns.get_ref(1)?.as_str_or_null() {
                Ok(None) => None,
                Ok(Some(json)) => match serde_json::from_str(json) {
                    Ok(metadata) => Some(metadata),
                    Err(_) => return Ok(false),
                },
                Err(_) => return Ok(false),
            };
            changed.push((columns.get::<_, i64>(0)? as u64, metadata));
        }
        drop(found);
        for (row, metadata) in changed {
            if self.all.remove(row) {
                for holders in self.values.values_mut() {
                    holders.rows.remove(row);
                }
            }
            let Some(metadata) = metadata else { continue };
            let key = self.key.clone();
            for (_, kind, value) in labels(&metadata).into_iter().filter(|of| of.0 == key) {
                self.all.insert(row);
                if kind != LabelType::EMPTY_LIST {
                    self.holders(kind, value).rows.insert(row);
                }
            }
        }
        self.values.retain(|_, holders| !holders.rows.is_empty());
        self.seq = row.seq;
        Ok(true)
    }
}

/// Rows that were written or deleted after a sequence number, with the metadata of those that
/// exist.
pub(crate) const CHANGED_SQL: &str = "SELECT c.row, d.metadata FROM (
         SELECT row FROM drawers INDEXED BY drawers_seq WHERE collection = ?1 AND seq > ?2
         UNION
         SELECT row FROM tombstones INDEXED BY tombstones_collection
         WHERE collection = ?1 AND seq > ?2
     ) c LEFT JOIN drawers d ON d.row = c.row LIMIT ?3";

/// A value as facets count it: the same alone and in a list, and 1 equals 1.0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum FacetKey {
    Bool(i64),
    Whole(i64),
    Fraction(u64),
    Text(String),
    LongText(Vec<u8>),
}

impl FacetKey {
    fn of(kind: LabelType, value: &Value) -> Self {
        match value {
            Value::Integer(truth) if kind.is_bool() => Self::Bool(*truth),
            Value::Integer(number) => Self::Whole(*number),
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 9e18 => {
                Self::Whole(*number as i64)
            }
            Value::Real(number) => Self::Fraction(number.to_bits()),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Blob(hash) => Self::LongText(hash.clone()),
            Value::Null => Self::LongText(Vec::new()),
        }
    }
}

/// A string too long for the label table, read from a drawer that has it.
fn long_text(
    db: &Connection,
    rows: &RoaringTreemap,
    key: &str,
    hash: &[u8],
) -> Attempt<Option<MetaValue>> {
    let Some(row) = rows.min() else {
        return Ok(None);
    };
    let Some(Ok(stored)) = fetch(db, row)? else {
        return Ok(None);
    };
    let is_it = |value: &&MetaValue| match label(value) {
        Some((_, Value::Blob(found))) => found == hash,
        _ => false,
    };
    Ok(stored
        .metadata()
        .and_then(|metadata| match metadata.get(key) {
            Some(MetaValue::List(items)) => items.iter().find(is_it).cloned(),
            other => other.cloned(),
        }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use loci_core::{
        Backend, Batch, Collection, CollectionOptions, Filter, KeyTest, Metadata, PalaceRef,
    };

    use super::*;
    use crate::SqliteBackend;

    const KEYS: [&str; 3] = ["wing", "tags", "long"];

    fn open(palace: &Path) -> (SqliteBackend, Arc<dyn Collection>) {
        let backend = SqliteBackend::default();
        let options = CollectionOptions::default();
        let place = PalaceRef::local(palace);
        let collection = backend.get_collection(&place, "drawers", true, &options);
        (backend, collection.unwrap())
    }

    fn metadata(random: &mut fastrand::Rng) -> Metadata {
        let wings = ["north", "south", "east"];
        let wing = wings[random.usize(..wings.len())];
        let tags = ["a", "b", "c"];
        let tags = tags.get(..random.usize(..=tags.len())).unwrap();
        let long = "x".repeat(300 + random.usize(..2));
        let mut json = serde_json::json!({"tags": tags, "long": long});
        if random.bool() {
            json["wing"] = wing.into();
        }
        Metadata::from_json(&json).unwrap()
    }

    fn counts(collection: &dyn Collection) -> Vec<FacetCounts> {
        let south = KeyTest::Eq(MetaValue::Str("south".into()));
        let north = KeyTest::Ne(MetaValue::Str("north".into()));
        let of_wing = |test| {
            Selection::matching(Filter::Key {
                key: "wing".into(),
                test,
            })
        };
        let selections = [Selection::all(), of_wing(south), of_wing(north)];
        let keys = KEYS
            .iter()
            .flat_map(|key| selections.iter().map(move |of| (key, of)));
        keys.map(|(key, selection)| collection.facet_counts(key, selection, 10).unwrap())
            .collect()
    }

    #[test]
    fn kept_counts_are_those_of_the_last_commit_whoever_wrote_it() {
        let directory = tempfile::tempdir().unwrap();
        let palace = directory.path().join("palace");
        let (_reader, reading) = open(&palace);
        let (_writer, writing) = open(&palace);
        let mut random = fastrand::Rng::with_seed(8);
        let mut ids: Vec<String> = Vec::new();
        for step in 0..120 {
            let writer = if step % 3 == 0 { &reading } else { &writing };
            match random.u8(..6) {
                0 if !ids.is_empty() => {
                    let id = ids.swap_remove(random.usize(..ids.len()));
                    writer.delete(&Selection::ids([id])).unwrap();
                }
                1 if !ids.is_empty() => {
                    let id = ids[random.usize(..ids.len())].clone();
                    let batch = Batch::new([id]).documents(["changed"]);
                    writer
                        .upsert(&batch.metadatas([metadata(&mut random)]))
                        .unwrap();
                }
                _ => {
                    let id = format!("d{step}");
                    let batch = Batch::new([id.clone()]).documents(["text"]);
                    writer
                        .add(&batch.metadatas([metadata(&mut random)]))
                        .unwrap();
                    ids.push(id);
                }
            }
            let (_fresh, fresh) = open(&palace);
            assert_eq!(counts(&*reading), counts(&*fresh), "step {step}");
        }
    }

    #[test]
    fn a_transaction_that_is_older_than_the_kept_counts_counts_for_itself() {
        let directory = tempfile::tempdir().unwrap();
        let palace = directory.path().join("palace");
        let (backend, collection) = open(&palace);
        let add = |id: &str| {
            let wing = Metadata::from_json(&serde_json::json!({"wing": "w"})).unwrap();
            let batch = Batch::new([id]).documents(["text"]).metadatas([wing]);
            collection.add(&batch).unwrap();
        };
        add("a");
        let store = backend.store(&PalaceRef::local(&palace), false).unwrap();
        let of_view = |db: &Db| {
            let head = Head::read(&db.sql)?;
            let row = CollectionRow::require(&db.sql, &head, "drawers")?;
            let counts = count(&store.facets, db, &row, None, "wing", 5)?;
            Ok(counts.values.first().map(|(_, count)| *count))
        };
        let of_now = || {
            let counts = collection
                .facet_counts("wing", &Selection::all(), 5)
                .unwrap();
            counts.values.first().map(|(_, count)| *count)
        };
        let seen = store.read("testing", |db| {
            // Fixes the state that the transaction sees.
            Head::read(&db.sql)?;
            add("b");
            assert_eq!(of_now(), Some(2));
            of_view(db)
        });
        assert_eq!(seen.unwrap(), Some(1));
        assert_eq!(of_now(), Some(2));
    }
}
