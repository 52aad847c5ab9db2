//! The reads of a search: one view of a collection, inside one read transaction. Ranking is done by
//! the caller; nothing here writes.

use std::borrow::Cow;
use std::collections::HashSet;

use loci_core::{
    CandidateQuery, Candidates, Error, FacetCounts, Outside, OutsideQuery, PassageSummary,
    Recalled, Result, SearchView, SourceLimits, SourcePassages, SpaceVector, Statistics,
    Surroundings, TermQuery, ViewRequest, Warning, passage,
};
use loci_index::QueryVector;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::meta::CollectionRow;
use super::query::{Purpose, Reading, with_index};
use super::read::Damaged;
use super::rowset::RowSet;
use super::{SqliteCollection, facets, other, postings, tokens};
use crate::fault::{Attempt, Fault};
use crate::store::connection::Db;

/// [`loci_core::Collection::with_view`]. Only a view with vectors updates the index.
pub(crate) fn with_view(
    collection: &SqliteCollection,
    request: &ViewRequest<'_>,
    work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
) -> Result<Vec<Warning>> {
    if request.vectors {
        let ((), warnings) = with_index(collection, "searching", |reading, damaged| {
            let (db, row) = (reading.db, reading.row);
            View::open(collection, db, row, Some(reading), request, damaged)?.run(work)
        })?;
        return Ok(warnings);
    }
    collection.read("searching words", |db, row| {
        let mut damaged = Damaged::default();
        View::open(collection, db, row, None, request, &mut damaged)?.run(work)?;
        Ok(damaged.into_warning().into_iter().collect())
    })
}

struct View<'a> {
    collection: &'a SqliteCollection,
    db: &'a Db,
    row: &'a CollectionRow,
    /// `None` if the view was opened without vectors.
    reading: Option<&'a Reading<'a>>,
    set: Option<RowSet>,
    statistics: Statistics,
    damaged: &'a mut Damaged,
    /// The first fault of any call.
    fault: Option<Fault>,
}

impl<'a> View<'a> {
    fn open(
        collection: &'a SqliteCollection,
        db: &'a Db,
        row: &'a CollectionRow,
        reading: Option<&'a Reading<'a>>,
        request: &ViewRequest<'_>,
        damaged: &'a mut Damaged,
    ) -> Attempt<Self> {
        let set = collection.evaluator(db, row).selection(request.selection)?;
        let palace_drawers: i64 = db
            .sql
            .prepare_cached("SELECT coalesce(sum(drawers), 0) FROM collections")?
            .query_row([], |columns| columns.get(0))?;
        let statistics = Statistics {
            palace_drawers: palace_drawers as u64,
            drawers: row.drawers,
            terms: row.terms,
            vectors: row.vectors,
            in_scope: set.as_ref().map_or(row.drawers, |set| set.len(row.drawers)),
            metric: row.metric,
            dimension: row.vector_dimension(),
            embedder: row.embedder.clone(),
            foreign: match reading {
                Some(_) => other::counts(&db.sql, row.id)?,
                None => Vec::new(),
            },
        };
        Ok(Self {
            collection,
            db,
            row,
            reading,
            set,
            statistics,
            damaged,
            fault: None,
        })
    }

    /// A fault of any call becomes the result of the transaction, even if `work` handles the error.
    fn run(mut self, work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>) -> Attempt<()> {
        let result = work(&mut self);
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(result?),
        }
    }

    /// Keeps a fault and returns an error that ends the work.
    fn keep<T>(&mut self, result: Attempt<T>) -> Result<T> {
        result.map_err(|fault| {
            let error = Error::Internal {
                doing: "searching".into(),
                detail: format!("{fault:?}"),
            };
            self.fault.get_or_insert(fault);
            error
        })
    }

    fn look_outside(&self, query: &OutsideQuery<'_>) -> Attempt<Outside> {
        let (db, row) = (self.db, self.row);
        let cache = &self.collection.store.facets;
        let facets = query.keys.iter();
        let mut counts = Vec::with_capacity(query.selections.len());
        for selection in query.selections {
            let set = self.collection.evaluator(db, row).selection(selection)?;
            counts.push(set.map_or(row.drawers, |set| set.len(row.drawers)));
        }
        Ok(Outside {
            facets: facets
                .map(|key| facets::count(cache, db, row, None, key, query.limit))
                .collect::<Attempt<_>>()?,
            counts,
        })
    }

    fn find_candidates(&mut self, query: &CandidateQuery<'_>) -> Attempt<Candidates> {
        let postings = postings::read(self.db, query.terms, query.common)?;
        let mut nearest = Vec::with_capacity(query.vectors.len());
        for vector in query.vectors {
            let set = self.set.as_ref();
            let found = match (&vector.space, self.reading) {
                (None, Some(reading)) => {
                    let (vector, k) = (&vector.vector, query.near);
                    reading.nearest(vector, k, Purpose::Ranking, set, self.damaged)?
                }
                (None, None) => {
                    return Err(Error::Internal {
                        doing: "searching".into(),
                        detail: "the view was opened without vectors".into(),
                    }
                    .into());
                }
                (Some(embedder), _) => other::nearest(
                    &self.db.sql,
                    self.row,
                    embedder,
                    &vector.vector,
                    query.near,
                    set,
                    self.damaged,
                )?,
            };
            nearest.push(found);
        }
        Ok(Candidates { postings, nearest })
    }

    /// FTS5 stores the lengths in a table whose rows have ten bytes, so that a search reads few
    /// pages. They are those of all collections.
    fn read_lengths(&self, records: &[u64]) -> Attempt<Vec<Option<u32>>> {
        let mut lengths = vec![None; records.len()];
        if self.statistics.palace_drawers == self.statistics.drawers {
            postings::lengths(&self.db.sql, records, &mut lengths)?;
        }
        let sql = "SELECT terms FROM passages WHERE row = ?1 AND collection = ?2";
        let mut statement = self.db.sql.prepare_cached(sql)?;
        for (found, record) in lengths
            .iter_mut()
            .zip(records)
            .filter(|(found, _)| found.is_none())
        {
            *found = statement
                .query_row(params![*record as i64, self.row.id], |columns| {
                    length(columns, 0)
                })
                .optional()?;
        }
        Ok(lengths)
    }

    fn read_surroundings(&self, records: &[u64], limits: SourceLimits) -> Attempt<Surroundings> {
        let mut found = Surroundings::default();
        let mut seen = HashSet::new();
        let mut read = 0;
        let mut statement = self.db.sql.prepare_cached(
            "SELECT row, terms, authored_at, label, source FROM passages
             WHERE row = ?1 AND collection = ?2",
        )?;
        for record in records {
            let mut rows = statement.query(params![*record as i64, self.row.id])?;
            let passage = rows.next()?.map(summary).transpose()?;
            let source = passage.as_ref().and_then(|passage| passage.source);
            found.passages.push(passage);
            let Some(source) = source.filter(|_| read < limits.total) else {
                continue;
            };
            if seen.insert(source) {
                let passages = members(&self.db.sql, source, limits.per_source)?;
                read += passages.len();
                found.sources.push(SourcePassages { source, passages });
            }
        }
        Ok(found)
    }

    fn read_distances(
        &self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Attempt<Vec<Option<(usize, f32)>>> {
        let mut distances: Vec<Option<(usize, f32)>> = vec![None; records.len()];
        for (at, vector) in vectors.iter().enumerate() {
            let query = QueryVector::new(self.row.metric, &vector.vector);
            let mut statement = self.db.sql.prepare_cached(match &vector.space {
                None => "SELECT vector FROM vectors WHERE row = ?1 AND ?2 IS NULL",
                Some(_) => other::ONE_SQL,
            })?;
            let identity = vector.space.as_ref().map(other::comparable).transpose()?;
            let unknown = distances.iter_mut().zip(records);
            for (found, record) in unknown.filter(|(found, _)| found.is_none()) {
                let mut rows = statement.query(params![*record as i64, identity])?;
                if let Some(columns) = rows.next()? {
                    let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
                    *found = query
                        .distance_to_bytes(bytes)
                        .filter(|distance| !distance.is_nan())
                        .map(|distance| (at, distance));
                }
            }
        }
        Ok(distances)
    }

    /// Reads one value for each record. `?1` is the record and `?2` the collection, so a record of
    /// another collection has no value.
    fn each<T>(
        &self,
        sql: &str,
        records: &[u64],
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Attempt<Vec<Option<T>>> {
        let mut statement = self.db.sql.prepare_cached(sql)?;
        records
            .iter()
            .map(|record| {
                Ok(statement
                    .query_row(params![*record as i64, self.row.id], |columns| {
                        read(columns)
                    })
                    .optional()?)
            })
            .collect()
    }

    fn fetch_one(&mut self, record: u64) -> Attempt<Option<Recalled>> {
        let times = self
            .db
            .sql
            .prepare_cached(
                "SELECT created_at, updated_at FROM drawers WHERE row = ?1 AND collection = ?2",
            )?
            .query_row(params![record as i64, self.row.id], |columns| {
                Ok((moment(columns, 0)?, moment(columns, 1)?))
            })
            .optional()?;
        let Some((created_at, updated_at)) = times else {
            return Ok(None);
        };
        let Some(drawer) = self.damaged.fetch(&self.db.sql, record)? else {
            return Ok(None);
        };
        Ok(Some(Recalled {
            record,
            id: drawer.id,
            document: drawer.text,
            metadata: drawer.metadata,
            created_at,
            updated_at,
        }))
    }
}

impl SearchView for View<'_> {
    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn admits(&self, record: u64) -> bool {
        self.set.as_ref().is_none_or(|set| set.contains(record))
    }

    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        let found = self.find_candidates(query);
        self.keep(found)
    }

    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>> {
        let (db, collection) = (&self.db.sql, self.row.id);
        let newest =
            |term| postings::newest(db, collection, term, limit, |record| self.admits(record));
        let found = terms.iter().map(newest).collect();
        self.keep(found)
    }

    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>> {
        let found = self.read_lengths(records);
        self.keep(found)
    }

    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings> {
        let found = self.read_surroundings(records, limits);
        self.keep(found)
    }

    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>> {
        let sql = "SELECT created_at FROM drawers WHERE row = ?1 AND collection = ?2";
        let found = self.each(sql, records, |columns| moment(columns, 0));
        self.keep(found)
    }

    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>> {
        let found = self.read_distances(vectors, records);
        self.keep(found)
    }

    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>> {
        let sql = "SELECT tokens FROM passages WHERE row = ?1 AND collection = ?2";
        let found = self.each(sql, records, |columns| {
            let bytes = columns.get_ref(0)?.as_blob().unwrap_or_default();
            Ok(tokens::from_bytes(bytes))
        });
        self.keep(found)
            .map(|found| found.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>> {
        let mut drawers = Vec::with_capacity(records.len());
        for record in records {
            let fetched = self.fetch_one(*record);
            drawers.extend(self.keep(fetched)?);
        }
        Ok(drawers)
    }

    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>> {
        let (db, row, set) = (self.db, self.row, self.set.as_ref());
        let cache = &self.collection.store.facets;
        let counts = |key: &&str| facets::count(cache, db, row, set, key, limit);
        let found = keys.iter().map(counts).collect();
        self.keep(found)
    }

    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside> {
        let found = self.look_outside(query);
        self.keep(found)
    }
}

/// Passages of a source in order.
fn members(db: &Connection, source: u64, limit: usize) -> Attempt<Vec<PassageSummary>> {
    let mut statement = db.prepare_cached(MEMBERS_SQL)?;
    let mut rows = statement.query(params![source as i64, limit as i64])?;
    let mut members = Vec::new();
    while let Some(columns) = rows.next()? {
        members.push(summary(columns)?);
    }
    Ok(members)
}

/// Derived columns are not checked. A damaged passage affects the rank, not the content of an
/// answer.
fn summary(columns: &Row<'_>) -> Attempt<PassageSummary> {
    let source = columns.get_ref(4)?.as_i64().unwrap_or_default();
    Ok(PassageSummary {
        record: columns.get::<_, i64>(0)? as u64,
        length: length(columns, 1)?,
        authored_at: moment(columns, 2)?,
        label: label_of(columns.get_ref(3)?.as_str().unwrap_or_default()),
        source: (source != 0).then_some(source as u64),
    })
}

/// Most passages are turns of a chat; their labels are not copied.
fn label_of(label: &str) -> Cow<'static, str> {
    match label {
        "" => "".into(),
        passage::USER => passage::USER.into(),
        passage::ASSISTANT => passage::ASSISTANT.into(),
        _ => label.to_owned().into(),
    }
}

fn length(columns: &Row<'_>, at: usize) -> rusqlite::Result<u32> {
    let length = columns.get_ref(at)?.as_i64().unwrap_or_default();
    Ok(length.clamp(0, i64::from(u32::MAX)) as u32)
}

fn moment(columns: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(columns.get_ref(at)?.as_i64().unwrap_or_default())
}

/// Read entirely from the index, in order.
pub(crate) const MEMBERS_SQL: &str =
    "SELECT row, terms, authored_at, label, source FROM passages INDEXED BY passages_source
     WHERE source = ?1 AND source <> 0 ORDER BY line, row LIMIT ?2";
