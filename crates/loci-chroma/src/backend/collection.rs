//! A handle on a collection: reads come from the mirror, writes are refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{
    Batch, Capability, Changes, Collection, CollectionInfo, CollectionOptions, DeleteResult,
    Embedder, EmbedderIdentity, Error, FacetCounts, Get, GetResult, Health, History, Include,
    MaintenanceKind, MaintenanceResult, MaintenanceState, MetaValue, Metric, Query, QueryResult,
    Result, SearchView, Selection, ViewRequest, Warning, WriteResult,
};

use super::OpenPalace;
use super::duplicates::restore;
use super::mirror::Mirror;
use super::restored_view::RestoredView;

pub(super) struct ChromaCollection {
    palace: Arc<OpenPalace>,
    name: String,
    id: String,
    metric: Metric,
    info: CollectionInfo,
    options: CollectionOptions,
    current: Mutex<View>,
}

/// The collection in one mirror.
#[derive(Clone)]
struct View {
    mirror: Arc<Mirror>,
    collection: Arc<dyn Collection>,
}

impl View {
    fn warnings(&self) -> Vec<Warning> {
        self.mirror.warnings(self.collection.name())
    }

    /// Drawers whose part in the mirror differs from the source.
    fn parts(&self) -> Option<&BTreeMap<String, Option<MetaValue>>> {
        let about = self.mirror.named(self.collection.name())?;
        (!about.parts.is_empty()).then_some(&about.parts)
    }
}

impl ChromaCollection {
    pub(super) fn open(
        palace: Arc<OpenPalace>,
        mirror: Arc<Mirror>,
        name: String,
        id: String,
        options: &CollectionOptions,
    ) -> Result<Self> {
        let collection = mirror.collection(&name, options)?;
        Ok(Self {
            palace,
            id,
            metric: collection.metric(),
            info: CollectionInfo {
                name: name.clone(),
                ..collection.info().clone()
            },
            name,
            options: options.clone(),
            current: Mutex::new(View { mirror, collection }),
        })
    }

    /// The collection in the mirror of the directory's current state.
    fn view(&self) -> Result<View> {
        let mirror = self.palace.mirror()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&current.mirror, &mirror) {
            let same = mirror.named(&self.name).filter(|about| about.id == self.id);
            if same.is_none() {
                return Err(Error::CollectionNotInitialized {
                    collection: self.name.clone(),
                });
            }
            let collection = mirror.collection(&self.name, &self.options)?;
            *current = View { mirror, collection };
        }
        Ok(current.clone())
    }

    /// Reads from the mirror, and tries again if another process has replaced it in the meantime.
    fn read<T>(&self, mut read: impl FnMut(&View) -> Result<T>) -> Result<T> {
        let view = self.view()?;
        match read(&view) {
            Err(_) if view.mirror.is_gone() => read(&self.view()?),
            answer => answer,
        }
    }

    fn refuse<T>(&self, call: &str) -> Result<T> {
        self.view()?;
        Err(self.palace.refusal(call))
    }
}

fn as_in_the_source(view: &View, mut answer: GetResult) -> GetResult {
    if let Some(parts) = view.parts() {
        for (id, metadata) in answer.ids.iter().zip(&mut answer.metadatas) {
            restore(parts, id, metadata);
        }
    }
    answer.warnings.extend(view.warnings());
    answer
}

impl Collection for ChromaCollection {
    fn name(&self) -> &str {
        &self.name
    }

    fn metric(&self) -> Metric {
        self.metric
    }

    fn info(&self) -> &CollectionInfo {
        &self.info
    }

    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>> {
        let view = self.view()?;
        Ok(Arc::new(Self {
            palace: Arc::clone(&self.palace),
            name: self.name.clone(),
            id: self.id.clone(),
            metric: self.metric,
            info: self.info.clone(),
            options: CollectionOptions {
                metric: self.options.metric,
                embedder: Some(Arc::clone(&embedder)),
            },
            current: Mutex::new(View {
                collection: view.collection.with_embedder(embedder)?,
                mirror: view.mirror,
            }),
        }))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        self.read(|view| view.collection.dimension())
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        self.read(|view| view.collection.embedder())
    }

    fn pin_embedder(&self, _identity: &EmbedderIdentity) -> Result<()> {
        self.refuse("pinning an embedder")
    }

    fn add(&self, _batch: &Batch) -> Result<WriteResult> {
        self.refuse("adding drawers")
    }

    fn upsert(&self, _batch: &Batch) -> Result<WriteResult> {
        self.refuse("changing drawers")
    }

    fn update(&self, _batch: &Batch) -> Result<WriteResult> {
        self.refuse("changing drawers")
    }

    fn delete(&self, _selection: &Selection) -> Result<DeleteResult> {
        self.refuse("deleting drawers")
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        self.read(|view| {
            let mut answer = view.collection.query(query)?;
            if let Some(parts) = view.parts() {
                for (ids, metadatas) in answer.ids.iter().zip(&mut answer.metadatas) {
                    for (id, metadata) in ids.iter().zip(metadatas) {
                        restore(parts, id, metadata);
                    }
                }
            }
            answer.warnings.extend(view.warnings());
            Ok(answer)
        })
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        self.read(|view| Ok(as_in_the_source(view, view.collection.get(get)?)))
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        self.read(|view| {
            let answer = view.collection.get_recent(limit, selection, include)?;
            Ok(as_in_the_source(view, answer))
        })
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        self.read(|view| {
            let mut warnings = match view.parts() {
                None => view.collection.with_view(request, work)?,
                Some(parts) => view.collection.with_view(request, &mut |inner| {
                    work(&mut RestoredView { inner, parts })
                })?,
            };
            warnings.extend(view.warnings());
            Ok(warnings)
        })
    }

    fn note_access(&self, records: &[u64]) {
        if let Ok(view) = self.view() {
            view.collection.note_access(records);
        }
    }

    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        self.read(|view| view.collection.access_counts(ids))
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        self.read(|view| view.collection.histories(ids))
    }

    fn count(&self) -> Result<u64> {
        self.read(|view| view.collection.count())
    }

    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        self.read(|view| view.collection.count_selected(selection))
    }

    fn estimated_count(&self) -> Result<u64> {
        self.count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        self.read(|view| view.collection.facet_counts(key, selection, limit))
    }

    fn changes_since(&self, _seq: u64, _limit: usize) -> Result<Changes> {
        self.refuse("the change feed")
    }

    fn ledger(&self) -> Option<&dyn loci_core::Ledger> {
        None
    }

    fn projects(&self) -> Option<&dyn loci_core::Projects> {
        None
    }

    fn health(&self) -> Health {
        match self.view() {
            Ok(view) => view.collection.health(),
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        self.read(|view| view.collection.maintenance_state())
    }

    fn run_maintenance(&self, _kind: MaintenanceKind) -> Result<MaintenanceResult> {
        self.refuse("maintenance")
    }

    fn lacks(&self, capability: Capability) -> Error {
        self.palace.refusal(capability.words())
    }
}
