//! A handle on a collection of rows.

use std::sync::Arc;

use super::Rows;
use super::backend::{OpenPalace, no_collection};
use super::loaded::LoadedCollection;
use super::source::Source;
use crate::backend::{CollectionInfo, CollectionOptions, lacking};
use crate::capability::Capability;
use crate::collection::{Collection, Get, Metric, Query, QueryInput, Selection};
use crate::embedder::{Embedder, EmbedderIdentity};
use crate::error::{Error, Result};
use crate::history::History;
use crate::ledger::Ledger;
use crate::maintenance::MaintenanceState;
use crate::project::Projects;
use crate::quote::quoted;
use crate::result::{FacetCounts, GetResult, Health, Include, QueryResult};
use crate::search_view::{SearchView, ViewRequest};
use crate::warning::Warning;

pub(super) struct RowsCollection<S: Source> {
    palace: Arc<OpenPalace<S>>,
    /// Distinguishes the collection from a later one with the same name.
    number: u64,
    info: CollectionInfo,
    embedder: Option<Arc<dyn Embedder>>,
}

impl<S: Source> RowsCollection<S> {
    /// Fails if the options do not match the collection.
    pub(super) fn open(
        palace: Arc<OpenPalace<S>>,
        found: &LoadedCollection,
        options: &CollectionOptions,
    ) -> Result<Self> {
        let info = found.info.clone();
        if let Some(metric) = options.metric.filter(|metric| *metric != info.metric) {
            return Err(Error::Conflict {
                what: format!(
                    "collection {} has metric {}, not {}",
                    quoted(&info.name),
                    info.metric.as_str(),
                    metric.as_str()
                ),
            });
        }
        if let Some(embedder) = &options.embedder {
            info.check_embedder(embedder.as_ref())?;
        }
        Ok(Self {
            palace,
            number: found.number,
            info,
            embedder: options.embedder.clone(),
        })
    }

    /// The current state of the collection.
    fn now(&self) -> Result<Arc<LoadedCollection>> {
        let loaded = self.palace.loaded()?;
        let found = loaded.collections.get(&self.info.name);
        let same = found.filter(|found| found.number == self.number);
        same.cloned().ok_or_else(|| no_collection(&self.info.name))
    }

    fn read<T>(&self, read: impl FnOnce(&Rows) -> Result<T>) -> Result<T> {
        read(&self.now()?.rows)
    }

    fn query_vectors(&self, input: &QueryInput) -> Result<Vec<Vec<f32>>> {
        match (input, &self.embedder) {
            (QueryInput::Vectors(vectors), _) => Ok(vectors.clone()),
            (QueryInput::Texts(texts), Some(embedder)) => {
                embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>())
            }
            (QueryInput::Texts(_), None) => Err(Error::UnsupportedCapability {
                capability: "query by text".into(),
                reason: format!(
                    "collection {} was opened without an embedder",
                    quoted(&self.info.name)
                ),
            }),
        }
    }
}

impl<S: Source> Collection for RowsCollection<S> {
    fn name(&self) -> &str {
        &self.info.name
    }

    fn metric(&self) -> Metric {
        self.info.metric
    }

    fn info(&self) -> &CollectionInfo {
        &self.info
    }

    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>> {
        self.info.check_embedder(embedder.as_ref())?;
        Ok(Arc::new(Self {
            palace: Arc::clone(&self.palace),
            number: self.number,
            info: self.info.clone(),
            embedder: Some(embedder),
        }))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        Ok(self.now()?.info.dimension)
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        Ok(self.now()?.info.embedder.clone())
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        self.read(|rows| {
            if query.input.is_empty() {
                return Err(Error::invalid("query", "needs at least one text or vector"));
            }
            rows.query(&self.query_vectors(&query.input)?, query)
        })
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        self.read(|rows| Ok(rows.get(get)))
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        self.read(|rows| Ok(rows.get_recent(limit, selection, include)))
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        self.read(|rows| rows.with_view(request, work))
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        self.read(|rows| Ok(rows.histories(ids)))
    }

    fn count(&self) -> Result<u64> {
        Ok(self.now()?.info.count)
    }

    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        self.read(|rows| Ok(rows.select(selection).len() as u64))
    }

    fn estimated_count(&self) -> Result<u64> {
        self.count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        self.read(|rows| Ok(rows.facet_counts(key, selection, limit)))
    }

    fn ledger(&self) -> Option<&dyn Ledger> {
        None
    }

    fn projects(&self) -> Option<&dyn Projects> {
        None
    }

    fn health(&self) -> Health {
        match self.now() {
            Ok(now) => Health {
                ok: true,
                detail: format!("{} drawer(s) in memory", now.info.count),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        let now = self.now()?;
        Ok(MaintenanceState {
            seq: now.seq,
            vectors: now.info.vectors,
            // There is no index: every vector is compared.
            tail: now.info.vectors,
            ..MaintenanceState::default()
        })
    }

    fn lacks(&self, capability: Capability) -> Error {
        let source = &self.palace.source;
        lacking(source.name(), capability, source.can_be_imported())
    }
}
