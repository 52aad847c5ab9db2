//! query: the nearest drawers by vector, as of the last commit.
//!
//! Candidates come from the snapshot, without rows that have changed since. Newer vectors are
//! compared exactly. Every distance in an answer is computed from the vector in the database.

use std::sync::PoisonError;

use loci_core::{
    Compatibility, EmbedderIdentity, Error, MAX_RESULTS, Query, QueryInput, QueryResult, Warning,
    validate_vector,
};
use loci_index::{QueryVector, SlotSet, TopK, VectorIndex};
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::meta::{CollectionRow, changed_embedder};
use super::other;
use super::read::{Damaged, Intact};
use super::rowset::RowSet;
use crate::fault::Attempt;
use crate::index::live::{Findings, TAIL_SQL, Tail, View};
use crate::index::{build, recover, registry};
use crate::store::Head;
use crate::store::connection::Db;

/// Row sets up to this size are answered from the database alone.
const EXACT_ROWS: u64 = 128;
/// Which vectors a caller needs, and so how many candidates are compared exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The nearest, for an answer.
    Answer,
    /// Near ones, which a search ranks by more than their distance. Measured at 199,000 drawers: a
    /// third of the reads gives the same first five hits.
    Ranking,
}

impl Purpose {
    /// The number of candidates for `k` results, with the codes in memory.
    fn warm(self, k: usize) -> usize {
        match self {
            Self::Answer => (2 * k + 30).max(50),
            Self::Ranking => k + 30,
        }
    }

    /// The same in an index of this many rows while only its 1-bit codes are loaded.
    fn cold(self, k: usize, rows: usize) -> usize {
        let (least, share) = match self {
            Self::Answer => (1_000, 100),
            Self::Ranking => (600, 300),
        };
        (4 * k).max(least).max(rows / share)
    }
}

/// Extra hits, in case some turn out to be damaged when they are fetched.
const SPARE: usize = 8;

pub(crate) fn query(
    collection: &SqliteCollection,
    query: &Query,
) -> loci_core::Result<QueryResult> {
    if query.k == 0 || query.k > MAX_RESULTS {
        return Err(Error::invalid(
            "k",
            format!("{}; must be 1 to {MAX_RESULTS}", query.k),
        ));
    }
    if query.input.is_empty() {
        return Err(Error::invalid("query", "needs at least one text or vector"));
    }
    let (vectors, embedded_for) = vectors_of(collection, &query.input)?;
    with_index(collection, "querying vectors", |reading, damaged| {
        for vector in &vectors {
            reading.row.check_dimension(vector.len())?;
        }
        if let Some(pinned) = embedded_for.filter(|pinned| *pinned != reading.row.embedder) {
            return Err(changed_embedder(reading.row, pinned.as_ref()).into());
        }
        let set = collection
            .evaluator(reading.db, reading.row)
            .selection(&query.selection)?;
        let mut result = QueryResult {
            embeddings: query.include.embeddings.then(Vec::new),
            ..QueryResult::default()
        };
        result
            .warnings
            .extend(missing_vectors(&reading.db.sql, reading.row)?);
        result
            .warnings
            .extend(excludes_all(reading.row, set.as_ref()));
        for vector in &vectors {
            let (k, purpose) = (query.k + SPARE, Purpose::Answer);
            let hits = reading.nearest(vector, k, purpose, set.as_ref(), damaged)?;
            let hits = fetch_hits(&reading.db.sql, hits, query.k, damaged)?;
            push_hits(&mut result, hits, query);
        }
        Ok(result)
    })
    .map(|(mut result, warnings)| {
        result.warnings.extend(warnings);
        result
    })
}

/// The input of a vector search inside one transaction.
pub(crate) struct Reading<'a> {
    pub(crate) db: &'a Db,
    pub(crate) row: &'a CollectionRow,
    view: &'a View,
}

impl Reading<'_> {
    /// The rows of a set that are nearest to a vector, with exact distances.
    pub(crate) fn nearest(
        &self,
        vector: &[f32],
        k: usize,
        purpose: Purpose,
        set: Option<&RowSet>,
        damaged: &mut Damaged,
    ) -> Attempt<Vec<(f32, u64)>> {
        let scan = Scan {
            db: &self.db.sql,
            row: self.row,
            view: self.view,
            purpose,
            set,
        };
        scan.search(vector, k, damaged)
    }
}

/// Runs `work` with the collection's index as of one commit. Afterwards handles what was found:
/// damaged rows, an index that failed its check, or one that must be rebuilt. Returns warnings
/// about these as well.
pub(crate) fn with_index<T>(
    collection: &SqliteCollection,
    doing: &str,
    work: impl FnOnce(&Reading<'_>, &mut Damaged) -> Attempt<T>,
) -> loci_core::Result<(T, Vec<Warning>)> {
    let live = collection.store.live(&collection.name);
    collection.store.ensure_open()?;
    // Locked before the transaction begins, so that the view is never newer than the transaction.
    let mut live = live.lock().unwrap_or_else(PoisonError::into_inner);
    let mut findings = Findings::default();
    let mut warnings = Vec::new();
    let (result, build_due) = collection.read_with_head(doing, |db, row, head| {
        let view = live.advance(db, &collection.store.place, head, row, &mut findings)?;
        // The view does not change from here on, so other queries of this process need not wait for
        // this one.
        drop(live);
        let mut damaged = std::mem::take(&mut findings.damaged);
        let reading = Reading {
            db,
            row,
            view: &view,
        };
        let result = work(&reading, &mut damaged)?;
        warnings.extend(damaged.into_warning());
        let due = findings.suspect.is_some() || is_build_due(&db.sql, head, row)?;
        if due && let Some(reason) = registry::held_back(&db.sql, row.id)? {
            warnings.push(Warning::IndexHeldBack {
                collection: row.name.clone(),
                reason,
            });
        }
        Ok((result, due))
    })?;
    warnings.append(&mut findings.warnings);
    // The read transaction has ended. Quarantining takes `index.lock` and a write transaction.
    if let Some(suspect) = &findings.suspect {
        match recover::set_aside(&collection.store, suspect) {
            Ok(warning) => warnings.extend(warning),
            // A palace that cannot be written still answers.
            Err(error) => tracing::warn!(%error, "the damaged index could not be quarantined"),
        }
    }
    if build_due {
        // An index that existed and failed is rebuilt even if it is small.
        let patience = u64::from(findings.suspect.is_none());
        build::request(&collection.store, &collection.name, patience);
        collection.store.touch(&collection.name);
    }
    Ok((result, warnings))
}

/// The first `k` intact drawers.
fn fetch_hits(
    db: &Connection,
    nearest: Vec<(f32, u64)>,
    k: usize,
    damaged: &mut Damaged,
) -> Attempt<Vec<(f32, Intact)>> {
    let mut hits = Vec::with_capacity(k);
    for (distance, row) in nearest {
        if hits.len() == k {
            break;
        }
        if let Some(drawer) = damaged.fetch(db, row)? {
            hits.push((distance, drawer));
        }
    }
    Ok(hits)
}

/// The query vectors and, if texts were embedded, the embedder whose vectors they are compared
/// with.
#[expect(clippy::type_complexity, reason = "two things of one call")]
fn vectors_of(
    collection: &SqliteCollection,
    input: &QueryInput,
) -> loci_core::Result<(Vec<Vec<f32>>, Option<Option<EmbedderIdentity>>)> {
    let texts = match input {
        QueryInput::Vectors(vectors) => {
            for (at, vector) in vectors.iter().enumerate() {
                validate_vector(&format!("query vector {at}"), vector)?;
            }
            return Ok((vectors.clone(), None));
        }
        QueryInput::Texts(texts) => texts,
    };
    let Some(embedder) = &collection.embedder else {
        return Err(Error::UnsupportedCapability {
            capability: "query by text".into(),
            reason: format!(
                "collection `{}` is open without an embedder; query by vector or search words",
                collection.name
            ),
        });
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let pinned = loci_core::Collection::embedder(collection)?;
    let vectors = match &pinned {
        Some(pinned) if embedder.compatibility(pinned) == Compatibility::Foreign => {
            return Err(Error::EmbedderMismatch {
                collection: collection.name.clone(),
                pinned: pinned.to_string(),
                given: embedder.identity().to_string(),
            });
        }
        Some(pinned) => embedder.embed_queries(&texts, pinned)?,
        None => embedder.embed_queries(&texts, &embedder.identity())?,
    };
    Ok((vectors, Some(pinned)))
}

fn is_build_due(db: &Connection, head: &Head, row: &CollectionRow) -> Attempt<bool> {
    registry::is_due(db, head, row, 1)
}

fn push_hits(result: &mut QueryResult, hits: Vec<(f32, Intact)>, query: &Query) {
    let mut ids = Vec::with_capacity(hits.len());
    let (mut documents, mut metadatas, mut distances, mut embeddings) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (distance, drawer) in hits {
        ids.push(drawer.id);
        if query.include.documents {
            documents.push(drawer.text);
        }
        if query.include.metadatas {
            metadatas.push(drawer.metadata);
        }
        if query.include.distances {
            distances.push(distance);
        }
        embeddings.push(drawer.vector);
    }
    result.ids.push(ids);
    result.documents.push(documents);
    result.metadatas.push(metadatas);
    result.distances.push(distances);
    if let Some(all) = &mut result.embeddings {
        all.push(embeddings);
    }
}

/// Warns that some or all drawers cannot be found by vector.
fn missing_vectors(db: &Connection, row: &CollectionRow) -> Attempt<Option<Warning>> {
    let without = row.drawers.saturating_sub(row.vectors);
    if row.vectors == 0 {
        return Ok(Some(Warning::NoVectors {
            collection: row.name.clone(),
            drawers: row.drawers,
        }));
    }
    if without == 0 {
        return Ok(None);
    }
    let others = other::counts(db, row.id)?;
    Ok(Some(Warning::WithoutVector {
        collection: row.name.clone(),
        drawers: without,
        other_embedder: others.iter().map(|other| other.vectors).sum(),
        model: None,
    }))
}

/// Reports that a filter matches nothing, and what the collection holds.
fn excludes_all(row: &CollectionRow, set: Option<&RowSet>) -> Option<Warning> {
    set.filter(|set| set.len(row.drawers) == 0)
        .map(|_| Warning::FilterExcludesAll {
            collection: row.name.clone(),
            drawers: row.drawers,
        })
}

/// Compares one vector with one view, inside one transaction.
struct Scan<'a> {
    db: &'a Connection,
    row: &'a CollectionRow,
    view: &'a View,
    purpose: Purpose,
    set: Option<&'a RowSet>,
}

impl Scan<'_> {
    fn search(&self, vector: &[f32], k: usize, damaged: &mut Damaged) -> Attempt<Vec<(f32, u64)>> {
        let query = QueryVector::new(self.row.metric, vector);
        let mut top = TopK::new(k);
        match self.set.and_then(RowSet::listed) {
            Some(rows) if rows.len() <= EXACT_ROWS => {
                self.compare_rows(rows.iter(), &query, &mut top, damaged)?;
            }
            _ => {
                if let Some(base) = &self.view.base {
                    self.search_base(base.as_ref(), &query, k, &mut top, damaged)?;
                }
                self.search_tail(&query, &mut top, damaged)?;
            }
        }
        Ok(top.into_sorted())
    }

    fn search_base(
        &self,
        base: &dyn VectorIndex,
        query: &QueryVector,
        k: usize,
        top: &mut TopK,
        damaged: &mut Damaged,
    ) -> Attempt<()> {
        let allowed = self.set.map(|set| slots(base, set));
        let wanted = if base.is_warm() {
            self.purpose.warm(k)
        } else {
            self.purpose.cold(k, base.rows().len())
        };
        let candidates = base.candidates(query, wanted, allowed.as_ref(), &self.view.masked);
        let mut rows = candidates.rows;
        // In the order of the table, so that rows of one page are read together.
        rows.sort_unstable();
        self.compare_rows(rows.into_iter(), query, top, damaged)
    }

    fn search_tail(
        &self,
        query: &QueryVector,
        top: &mut TopK,
        damaged: &mut Damaged,
    ) -> Attempt<()> {
        let allowed = |row: u64| self.set.is_none_or(|set| set.contains(row));
        match &self.view.tail {
            Tail::Cached(overlay) => {
                for (row, vector) in overlay.iter().filter(|(row, _)| allowed(*row)) {
                    offer(top, Some(query.distance(vector)), row, damaged);
                }
            }
            Tail::Streamed { after } => {
                let sql = match *after {
                    0 if self.holds_most_vectors()? => WHOLE_TABLE_SQL,
                    0 => ALL_SQL,
                    _ => TAIL_SQL,
                };
                let mut statement = self.db.prepare_cached(sql)?;
                let mut rows = statement.query(params![self.row.id, *after as i64])?;
                while let Some(columns) = rows.next()? {
                    let row = columns.get::<_, i64>(0)? as u64;
                    if allowed(row) {
                        let bytes = columns.get_ref(1)?.as_blob().unwrap_or_default();
                        offer(top, query.distance_to_bytes(bytes), row, damaged);
                    }
                }
            }
        }
        Ok(())
    }

    fn holds_most_vectors(&self) -> Attempt<bool> {
        let mut statement = self
            .db
            .prepare_cached("SELECT coalesce(sum(vectors), 0) FROM collections")?;
        let total: i64 = statement.query_row([], |row| row.get(0))?;
        Ok(self.row.vectors * 2 >= total as u64)
    }

    /// Exact distances of single rows. A row without a vector is not a hit.
    fn compare_rows(
        &self,
        rows: impl Iterator<Item = u64>,
        query: &QueryVector,
        top: &mut TopK,
        damaged: &mut Damaged,
    ) -> Attempt<()> {
        let mut statement = self
            .db
            .prepare_cached("SELECT vector FROM vectors WHERE row = ?1")?;
        for row in rows {
            let mut found = statement.query([row as i64])?;
            if let Some(columns) = found.next()? {
                let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
                offer(top, query.distance_to_bytes(bytes), row, damaged);
            }
        }
        Ok(())
    }
}

/// The slots of an index that a row set allows.
fn slots(base: &dyn VectorIndex, set: &RowSet) -> SlotSet {
    match (set.listed(), set.excluded()) {
        (Some(rows), _) => SlotSet::from_sorted_rows(base.rows(), rows.iter()),
        (None, excluded) => {
            let mut slots = SlotSet::full(base.rows().len());
            for slot in excluded
                .into_iter()
                .flatten()
                .filter_map(|row| base.slot(row))
            {
                slots.remove(slot);
            }
            slots
        }
    }
}

/// The whole collection in row order.
const ALL_SQL: &str = "SELECT row, vector FROM vectors INDEXED BY vectors_order WHERE collection = ?1 AND seq > ?2 ORDER BY row";
/// The same, reading the table directly. Fastest if most of it is needed.
const WHOLE_TABLE_SQL: &str =
    "SELECT row, vector FROM vectors NOT INDEXED WHERE collection = ?1 AND seq > ?2 ORDER BY row";

fn offer(top: &mut TopK, distance: Option<f32>, row: u64, damaged: &mut Damaged) {
    match distance {
        Some(distance) if !distance.is_nan() => top.offer(distance, row),
        _ => damaged.note(format!("row {row}")),
    }
}
