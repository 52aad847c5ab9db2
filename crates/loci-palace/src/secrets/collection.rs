//! A collection that masks secrets before it writes. All other calls go to the inner collection.

use std::sync::Arc;

use loci_core::{
    Batch, Capability, Changes, Collection, CollectionInfo, DeleteResult, Embedder,
    EmbedderIdentity, Error, Existing, FacetCounts, Fact, Get, GetResult, Health, History, Include,
    Ledger, Link, MaintenanceKind, MaintenanceResult, MaintenanceState, Metric, Projects, Query,
    QueryResult, Related, Result, SearchView, Selection, ViewRequest, Warning, WriteResult,
};

use super::{Policy, Tally, mask_batch, mask_fact, mask_link, merge};

/// A collection with the owner's policy.
pub(crate) struct MaskingCollection {
    pub(super) inner: Arc<dyn Collection>,
    pub(super) policy: Policy,
}

impl MaskingCollection {
    pub(crate) fn around(inner: Arc<dyn Collection>, policy: Policy) -> Arc<dyn Collection> {
        Arc::new(Self { inner, policy })
    }
}

fn with_masked(mut written: WriteResult, masked: &Tally) -> WriteResult {
    merge(&mut written.masked, masked);
    written
}

impl Collection for MaskingCollection {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn metric(&self) -> Metric {
        self.inner.metric()
    }

    fn info(&self) -> &CollectionInfo {
        self.inner.info()
    }

    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>> {
        let inner = self.inner.with_embedder(embedder)?;
        Ok(Self::around(inner, self.policy))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        self.inner.dimension()
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        self.inner.embedder()
    }

    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        self.inner.pin_embedder(identity)
    }

    fn add(&self, batch: &Batch) -> Result<WriteResult> {
        let (batch, masked) = mask_batch(self.policy, batch);
        Ok(with_masked(self.inner.add(&batch)?, &masked))
    }

    fn add_with(
        &self,
        batch: &Batch,
        facts: &[Fact],
        links: &[Link],
    ) -> Result<(WriteResult, Related)> {
        let (batch, mut masked) = mask_batch(self.policy, batch);
        let (mut facts, mut links) = (facts.to_vec(), links.to_vec());
        for fact in &mut facts {
            mask_fact(self.policy, fact, &mut masked);
        }
        for link in &mut links {
            mask_link(self.policy, link, &mut masked);
        }
        let (written, related) = self.inner.add_with(&batch, &facts, &links)?;
        Ok((with_masked(written, &masked), related))
    }

    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        let (batch, masked) = mask_batch(self.policy, batch);
        Ok(with_masked(self.inner.upsert(&batch)?, &masked))
    }

    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        let (batch, masked) = mask_batch(self.policy, batch);
        Ok(with_masked(self.inner.update(&batch)?, &masked))
    }

    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        self.inner.delete(selection)
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        self.inner.query(query)
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        self.inner.get(get)
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        self.inner.get_recent(limit, selection, include)
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        self.inner.with_view(request, work)
    }

    fn note_access(&self, records: &[u64]) {
        self.inner.note_access(records);
    }

    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        self.inner.access_counts(ids)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>> {
        self.inner.ids_with_prefix(prefix, limit)
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        self.inner.histories(ids)
    }

    fn import_records(
        &self,
        batch: &Batch,
        histories: &[History],
        existing: Existing,
    ) -> Result<WriteResult> {
        let (batch, masked) = mask_batch(self.policy, batch);
        let written = self.inner.import_records(&batch, histories, existing)?;
        Ok(with_masked(written, &masked))
    }

    fn count(&self) -> Result<u64> {
        self.inner.count()
    }

    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        self.inner.count_selected(selection)
    }

    fn estimated_count(&self) -> Result<u64> {
        self.inner.estimated_count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        self.inner.facet_counts(key, selection, limit)
    }

    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        self.inner.changes_since(seq, limit)
    }

    fn ledger(&self) -> Option<&dyn Ledger> {
        self.inner.ledger()?;
        Some(self)
    }

    fn projects(&self) -> Option<&dyn Projects> {
        self.inner.projects()
    }

    fn health(&self) -> Health {
        self.inner.health()
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        self.inner.maintenance_state()
    }

    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        self.inner.run_maintenance(kind)
    }

    fn lacks(&self, capability: Capability) -> Error {
        self.inner.lacks(capability)
    }
}
