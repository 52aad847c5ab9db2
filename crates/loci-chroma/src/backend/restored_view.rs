//! A view of the mirror in which drawers have their original `part`.

use std::collections::BTreeMap;

use loci_core::{
    CandidateQuery, Candidates, FacetCounts, MetaValue, Outside, OutsideQuery, Recalled, Result,
    SearchView, SourceLimits, SpaceVector, Statistics, Surroundings, TermQuery,
};

use super::duplicates::restore;

pub(super) struct RestoredView<'a> {
    pub(super) inner: &'a mut dyn SearchView,
    /// Drawers whose part in the mirror differs from the source.
    pub(super) parts: &'a BTreeMap<String, Option<MetaValue>>,
}

impl SearchView for RestoredView<'_> {
    fn statistics(&self) -> &Statistics {
        self.inner.statistics()
    }

    fn admits(&self, record: u64) -> bool {
        self.inner.admits(record)
    }

    fn candidates(&mut self, query: &CandidateQuery<'_>) -> Result<Candidates> {
        self.inner.candidates(query)
    }

    fn newest(&mut self, terms: &[TermQuery], limit: usize) -> Result<Vec<Vec<u64>>> {
        self.inner.newest(terms, limit)
    }

    fn lengths(&mut self, records: &[u64]) -> Result<Vec<Option<u32>>> {
        self.inner.lengths(records)
    }

    fn surroundings(&mut self, records: &[u64], limits: SourceLimits) -> Result<Surroundings> {
        self.inner.surroundings(records, limits)
    }

    fn created_at(&mut self, records: &[u64]) -> Result<Vec<Option<i64>>> {
        self.inner.created_at(records)
    }

    fn expect_tokens(&mut self, records: &[u64]) {
        self.inner.expect_tokens(records);
    }

    fn distances(
        &mut self,
        vectors: &[SpaceVector],
        records: &[u64],
    ) -> Result<Vec<Option<(usize, f32)>>> {
        self.inner.distances(vectors, records)
    }

    fn tokens(&mut self, records: &[u64]) -> Result<Vec<Vec<u16>>> {
        self.inner.tokens(records)
    }

    fn fetch(&mut self, records: &[u64]) -> Result<Vec<Recalled>> {
        let mut drawers = self.inner.fetch(records)?;
        for drawer in &mut drawers {
            restore(self.parts, &drawer.id, &mut drawer.metadata);
        }
        Ok(drawers)
    }

    fn facets(&mut self, keys: &[&str], limit: usize) -> Result<Vec<FacetCounts>> {
        self.inner.facets(keys, limit)
    }

    fn outside(&mut self, query: &OutsideQuery<'_>) -> Result<Outside> {
        self.inner.outside(query)
    }
}
