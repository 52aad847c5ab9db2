//! The collection handle. It checks that it is still valid, checks the input, then reads or writes
//! the state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use loci_core::rows::Rows;
use loci_core::{
    Batch, Changes, Collection, CollectionInfo, DeleteResult, Embedder, EmbedderIdentity, Error,
    Existing, FacetCounts, Fact, Get, GetResult, Health, History, Include, Link, LinkEnd,
    MaintenanceKind, MaintenanceResult, MaintenanceState, MaintenanceStatus, Metric, Outcome,
    PalaceRef, Query, QueryInput, QueryResult, Related, Result, SearchView, Selection, ViewRequest,
    Warning, WriteResult, validate_facts, validate_links,
};

use super::ledger::Vectors;
use super::state::{Palace, State};
use super::write::{Embedded, Mode};
use super::{Session, Store, lock, no_collection, no_palace, search, write};

#[derive(Clone)]
pub(super) struct MemoryCollection {
    pub(super) backend: &'static str,
    pub(super) store: Arc<Mutex<Store>>,
    pub(super) place: PalaceRef,
    pub(super) session: Arc<Session>,
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) metric: Metric,
    pub(super) info: CollectionInfo,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
}

impl MemoryCollection {
    /// The palace, if this handle is still valid for it.
    fn palace<'a>(&self, store: &'a mut Store) -> Result<&'a mut Palace> {
        self.session.check(self.backend)?;
        let palace = store
            .palaces
            .get_mut(&self.place)
            .ok_or_else(|| no_palace(&self.place))?;
        if palace.collection(&self.name)?.number != self.number {
            return Err(no_collection(&self.name));
        }
        Ok(palace)
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        let mut store = lock(&self.store);
        read(self.palace(&mut store)?.collection(&self.name)?)
    }

    /// A copy of the drawers, so that a reader sees one state and holds no lock.
    fn rows(&self) -> Result<Rows> {
        let mut store = lock(&self.store);
        let palace = self.palace(&mut store)?;
        let state = palace.collection(&self.name)?;
        Ok(search::rows(palace, &self.name, state))
    }

    /// Runs `change` on a copy of the palace, and keeps the copy if it succeeds.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Palace) -> Result<T>) -> Result<T> {
        let mut store = lock(&self.store);
        let palace = self.palace(&mut store)?;
        let mut copy = palace.clone();
        let result = change(&mut copy)?;
        *palace = copy;
        Ok(result)
    }

    fn write(&self, batch: &Batch, mode: Mode) -> Result<WriteResult> {
        self.read(|_| Ok(()))?;
        match mode {
            Mode::Update => batch.validate_update()?,
            Mode::Add | Mode::Upsert => batch.validate()?,
        }
        let embedded = self.embed_missing(batch)?;
        self.change(|palace| write::write(palace, &self.name, batch, embedded.as_ref(), mode))
    }

    fn embed_missing(&self, batch: &Batch) -> Result<Option<Embedded>> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        let mut vectors = Vec::with_capacity(batch.len());
        for at in 0..batch.len() {
            let text = batch.document(at).filter(|_| batch.embedding(at).is_none());
            vectors.push(match text {
                Some(text) => embedder.embed(&[text])?.pop(),
                None => None,
            });
        }
        Ok(Some(Embedded {
            identity: embedder.identity(),
            vectors,
        }))
    }

    /// Vectors of texts; `None` without an embedder.
    pub(super) fn vectors_of(&self, texts: &[&str]) -> Result<Vectors> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        let vectors = embedder.embed(texts)?;
        let by_text = texts.iter().map(|text| (*text).to_owned()).zip(vectors);
        Ok(Some((embedder.identity(), by_text.collect())))
    }

    pub(super) fn forget_key(&self) -> Result<[u8; 32]> {
        let mut store = lock(&self.store);
        Ok(self.palace(&mut store)?.forget_key)
    }

    fn query_vectors(&self, input: &QueryInput) -> Result<Vec<Vec<f32>>> {
        match (input, &self.embedder) {
            (QueryInput::Vectors(vectors), _) => Ok(vectors.clone()),
            (QueryInput::Texts(texts), Some(embedder)) => {
                embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>())
            }
            (QueryInput::Texts(_), None) => Err(Error::UnsupportedCapability {
                capability: "query by text".into(),
                reason: format!("collection `{}` was opened without an embedder", self.name),
            }),
        }
    }
}

impl Collection for MemoryCollection {
    fn name(&self) -> &str {
        &self.name
    }

    fn projects(&self) -> Option<&dyn loci_core::Projects> {
        Some(self)
    }

    fn metric(&self) -> Metric {
        self.metric
    }

    fn info(&self) -> &CollectionInfo {
        &self.info
    }

    fn with_embedder(&self, embedder: Arc<dyn Embedder>) -> Result<Arc<dyn Collection>> {
        self.info.check_embedder(embedder.as_ref())?;
        Ok(Arc::new(Self {
            embedder: Some(embedder),
            ..self.clone()
        }))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        self.read(|state| Ok(state.dimension))
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        self.read(|state| Ok(state.embedder.clone()))
    }

    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        self.change(|palace| {
            let state = palace.collection_mut(&self.name)?;
            if state.embedder.is_none() && state.dimension.is_none() {
                state.embedder = Some(identity.clone());
            }
            Ok(())
        })
    }

    fn add(&self, batch: &Batch) -> Result<WriteResult> {
        self.write(batch, Mode::Add)
    }

    fn add_with(
        &self,
        batch: &Batch,
        facts: &[Fact],
        links: &[Link],
    ) -> Result<(WriteResult, Related)> {
        self.read(|_| Ok(()))?;
        batch.validate()?;
        validate_facts(facts)?;
        validate_links(links)?;
        let embedded = self.embed_missing(batch)?;
        self.change(|palace| {
            let written = write::write(palace, &self.name, batch, embedded.as_ref(), Mode::Add)?;
            let (mut facts, mut links) = (facts.to_vec(), links.to_vec());
            let named = facts.iter_mut().filter_map(|fact| fact.source.as_mut());
            let joined = links
                .iter_mut()
                .flat_map(|link| [&mut link.from, &mut link.to])
                .filter_map(|end| match end {
                    LinkEnd::Drawer(drawer) => Some(drawer),
                    LinkEnd::Room { .. } => None,
                });
            for drawer in named.chain(joined) {
                let at = batch.ids.iter().position(|id| *id == drawer.id);
                let outcome = at.and_then(|at| written.outcomes.get(at));
                if let Some(Outcome::DuplicateOf(holder)) = outcome
                    && drawer.collection == self.name
                {
                    drawer.id.clone_from(holder);
                }
            }
            let (facts, links) = (palace.add_facts(&facts), palace.add_links(&links));
            let related = Related {
                added: facts.added + links.added,
                known: facts.known + links.known,
            };
            Ok((written, related))
        })
    }

    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        self.write(batch, Mode::Upsert)
    }

    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        self.write(batch, Mode::Update)
    }

    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        self.change(|palace| {
            if selection.is_all() {
                return Err(Error::invalid("delete", "needs ids or a filter"));
            }
            write::delete(palace, &self.name, selection)
        })
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        let rows = self.rows()?;
        if query.input.is_empty() {
            return Err(Error::invalid("query", "needs at least one text or vector"));
        }
        rows.query(&self.query_vectors(&query.input)?, query)
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        Ok(self.rows()?.get(get))
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        Ok(self.rows()?.get_recent(limit, selection, include))
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        self.rows()?.with_view(request, work)
    }

    fn count(&self) -> Result<u64> {
        self.read(|state| Ok(state.drawers.len() as u64))
    }

    fn estimated_count(&self) -> Result<u64> {
        self.count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        Ok(self.rows()?.facet_counts(key, selection, limit))
    }

    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        self.read(|state| Ok(search::changes(state, seq, limit)))
    }

    fn ledger(&self) -> Option<&dyn loci_core::Ledger> {
        Some(self)
    }

    fn note_access(&self, records: &[u64]) {
        let mut store = lock(&self.store);
        let palace = self.palace(&mut store);
        // Access counts are best effort: a closed handle counts nothing.
        let Ok(state) = palace.and_then(|palace| palace.collection_mut(&self.name)) else {
            return;
        };
        for record in records {
            if let Some(drawer) = state.drawers.get_mut(record) {
                drawer.accesses += 1;
            }
        }
    }

    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        self.read(|state| {
            let count = |id: &String| state.drawer(id).map_or(0, |drawer| drawer.accesses);
            Ok(ids.iter().map(count).collect())
        })
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        self.read(|state| {
            let history = |id: &String| {
                let drawer = state.drawer(id);
                drawer.map_or_else(History::default, |drawer| state.history(drawer))
            };
            Ok(ids.iter().map(history).collect())
        })
    }

    fn import_records(
        &self,
        batch: &Batch,
        histories: &[History],
        existing: Existing,
    ) -> Result<WriteResult> {
        self.read(|_| Ok(()))?;
        if histories.len() != batch.len() {
            let found = format!("{} for {} record(s)", histories.len(), batch.len());
            return Err(Error::invalid("histories", found));
        }
        histories.iter().try_for_each(History::validate)?;
        batch.validate()?;
        let embedded = self.embed_missing(batch)?;
        let mode = match existing {
            Existing::Keep => Mode::Add,
            Existing::Change => Mode::Upsert,
        };
        self.change(|palace| {
            let written = write::write(palace, &self.name, batch, embedded.as_ref(), mode)?;
            let state = palace.collection_mut(&self.name)?;
            let records = batch.ids.iter().zip(histories).zip(&written.outcomes);
            for ((id, history), outcome) in records {
                if *outcome == Outcome::Added {
                    state.take_history(id, history);
                }
            }
            Ok(written)
        })
    }

    fn health(&self) -> Health {
        match self.read(|_| Ok(())) {
            Ok(()) => Health {
                ok: true,
                detail: "in memory".into(),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        self.read(|state| {
            Ok(MaintenanceState {
                seq: state.seq,
                vectors: state.vectors(),
                tail: state.vectors(),
                tombstones: state.tombstones.len() as u64,
                ..MaintenanceState::default()
            })
        })
    }

    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        self.read(|_| {
            Ok(MaintenanceResult {
                kind,
                status: MaintenanceStatus::Noop,
                stats: BTreeMap::new(),
            })
        })
    }
}
