//! A handle on both backends. Writes go to the mirror, and reads to the backend under test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::{
    Batch, Capability, Changes, Collection, CollectionInfo, DeleteResult, Embedder,
    EmbedderIdentity, Error, Existing, FacetCounts, Fact, Get, GetResult, Health, History, Include,
    Link, MaintenanceKind, MaintenanceResult, MaintenanceState, Metric, PalaceRef, Query,
    QueryResult, Related, Result, SearchView, Selection, ViewRequest, Warning, WriteResult,
};

use super::mirror::Mirror;

pub(super) struct ThroughCollection {
    pub(super) palace: PalaceRef,
    pub(super) mirror: Arc<Mirror>,
    pub(super) writer: Arc<dyn Collection>,
    pub(super) reader: Arc<dyn Collection>,
    pub(super) closed: Arc<AtomicBool>,
}

impl ThroughCollection {
    /// The reader, after everything was written out.
    fn reader(&self) -> &dyn Collection {
        self.mirror.lay_out(&self.palace);
        &*self.reader
    }

    /// The target of a write. After `close` it is the reader, which must refuse the write itself.
    fn writer(&self) -> &dyn Collection {
        if self.closed.load(Ordering::Acquire) {
            return &*self.reader;
        }
        &*self.writer
    }
}

impl Collection for ThroughCollection {
    fn name(&self) -> &str {
        self.reader.name()
    }

    fn metric(&self) -> Metric {
        self.reader.metric()
    }

    fn info(&self) -> &CollectionInfo {
        self.reader.info()
    }

    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>> {
        Ok(Arc::new(Self {
            palace: self.palace.clone(),
            mirror: Arc::clone(&self.mirror),
            writer: self.writer.with_embedder(Arc::clone(&embedder))?,
            reader: self.reader.with_embedder(embedder)?,
            closed: Arc::clone(&self.closed),
        }))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        self.reader().dimension()
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        self.reader().embedder()
    }

    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        self.writer().pin_embedder(identity)
    }

    fn add(&self, batch: &Batch) -> Result<WriteResult> {
        self.writer().add(batch)
    }

    fn add_with(
        &self,
        batch: &Batch,
        facts: &[Fact],
        links: &[Link],
    ) -> Result<(WriteResult, Related)> {
        self.writer().add_with(batch, facts, links)
    }

    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        self.writer().upsert(batch)
    }

    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        self.writer().update(batch)
    }

    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        self.writer().delete(selection)
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        self.reader().query(query)
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        self.reader().get(get)
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        self.reader().get_recent(limit, selection, include)
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        self.reader().with_view(request, work)
    }

    fn note_access(&self, records: &[u64]) {
        self.reader().note_access(records);
    }

    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        self.reader().access_counts(ids)
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        self.reader().histories(ids)
    }

    fn import_records(
        &self,
        batch: &Batch,
        histories: &[History],
        existing: Existing,
    ) -> Result<WriteResult> {
        self.writer().import_records(batch, histories, existing)
    }

    fn lacks(&self, capability: Capability) -> Error {
        self.reader.lacks(capability)
    }

    fn count(&self) -> Result<u64> {
        self.reader().count()
    }

    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        self.reader().count_selected(selection)
    }

    fn estimated_count(&self) -> Result<u64> {
        self.reader().estimated_count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        self.reader().facet_counts(key, selection, limit)
    }

    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        self.reader().changes_since(seq, limit)
    }

    fn ledger(&self) -> Option<&dyn loci_core::Ledger> {
        None
    }

    fn projects(&self) -> Option<&dyn loci_core::Projects> {
        None
    }

    fn health(&self) -> Health {
        self.reader().health()
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        self.reader().maintenance_state()
    }

    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        self.reader().run_maintenance(kind)
    }
}
