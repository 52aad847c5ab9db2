//! The [`SearchView`] of rows.

use std::collections::HashSet;

use super::nearest::{distance, nearest};
use super::{Row, Rows, facets};
use crate::collection::Selection;
use crate::error::Result;
use crate::passage::Passage;
use crate::result::FacetCounts;
use crate::search_view::{
    CandidateQuery, Candidates, Outside, OutsideQuery, Recalled, SearchView, SourceLimits,
    SourcePassages, SpaceVector, Statistics, Surroundings, TermQuery,
};

pub(super) struct RowsView<'a> {
    rows: &'a Rows,
    selected: Vec<&'a Row>,
    admitted: HashSet<u64>,
    statistics: Statistics,
}

impl<'a> RowsView<'a> {
    pub(super) fn new(rows: &'a Rows, selection: &Selection) -> Self {
        let selected = rows.select(selection);
        Self {
            admitted: selected.iter().map(|row| row.record).collect(),
            statistics: Statistics {
                palace_drawers: (rows.own.len() + rows.drawers_beside()) as u64,
                drawers: rows.own.len() as u64,
                terms: rows.derived().terms,
                vectors: rows.vectors() as u64,
                in_scope: selected.len() as u64,
                metric: rows.metric,
                dimension: rows.vector_dimension(),
                embedder: rows.embedder.clone(),
                foreign: Vec::new(),
            },
            rows,
            selected,
        }
    }
}

impl SearchView for RowsView<'_> {
    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn admits(&self, record: u64) -> bool {
        self.admitted.contains(&record)
    }

    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        let derived = self.rows.derived();
        let postings = |term| derived.postings(term, query.common);
        let nearest = |vector: &SpaceVector| match vector.space {
            None => nearest(self.rows.metric, &vector.vector, &self.selected, query.near)
                .into_iter()
                .map(|(distance, row)| (distance, row.record))
                .collect(),
            Some(_) => Vec::new(),
        };
        Ok(Candidates {
            postings: query.terms.iter().map(postings).collect(),
            nearest: query.vectors.iter().map(nearest).collect(),
        })
    }

    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>> {
        let newest = |term| {
            let records = self.rows.derived().records(term).into_iter().rev();
            let admitted = records.filter(|record| self.admits(*record));
            admitted.take(limit).collect()
        };
        Ok(terms.iter().map(newest).collect())
    }

    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>> {
        let passages = &self.rows.derived().passages;
        let length = |record| passages.get(record).map(|passage| passage.length);
        Ok(records.iter().map(length).collect())
    }

    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings> {
        let derived = self.rows.derived();
        let mut found = Surroundings::default();
        let mut seen = HashSet::new();
        let mut read = 0;
        for record in records {
            let passage = derived.passages.get(record).cloned();
            let source = passage.as_ref().and_then(|passage| passage.source);
            found.passages.push(passage);
            let Some(source) = source.filter(|_| read < limits.total) else {
                continue;
            };
            if !seen.insert(source) {
                continue;
            }
            let members = derived.sources.get(&source).into_iter().flatten();
            let passages: Vec<_> = members
                .take(limits.per_source)
                .filter_map(|record| derived.passages.get(record).cloned())
                .collect();
            read += passages.len();
            found.sources.push(SourcePassages { source, passages });
        }
        Ok(found)
    }

    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>> {
        let created = |record: &u64| self.rows.find(*record).map(|row| row.created_at);
        Ok(records.iter().map(created).collect())
    }

    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>> {
        let own = vectors.iter().position(|vector| vector.space.is_none());
        let compared = |record: &u64| {
            let at = own?;
            let row = self.rows.find(*record)?.vector.as_deref()?;
            Some((
                at,
                distance(self.rows.metric, &vectors.get(at)?.vector, row),
            ))
        };
        Ok(records.iter().map(compared).collect())
    }

    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>> {
        let tokens = |record: &u64| {
            let row = self.rows.find(*record);
            row.map_or_else(Vec::new, |row| {
                Passage::derive(0, row.document.as_deref(), &row.metadata).tokens
            })
        };
        Ok(records.iter().map(tokens).collect())
    }

    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>> {
        let found = records.iter().filter_map(|record| self.rows.find(*record));
        Ok(found
            .map(|row| Recalled {
                record: row.record,
                id: row.id.clone(),
                document: row.document.clone().unwrap_or_default(),
                metadata: row.metadata.clone(),
                created_at: row.created_at,
                updated_at: row.updated_at,
            })
            .collect())
    }

    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>> {
        let counts = |key: &&str| facets(&self.selected, key, limit);
        Ok(keys.iter().map(counts).collect())
    }

    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside> {
        let all = self.rows.select(&Selection::all());
        let counts = query.selections.iter();
        Ok(Outside {
            facets: query
                .keys
                .iter()
                .map(|key| facets(&all, key, query.limit))
                .collect(),
            counts: counts
                .map(|selection| self.rows.select(selection).len() as u64)
                .collect(),
        })
    }
}
