//! A collection of the SQLite backend. Each call of the contract is in a module of its own.
//!
//! A handle caches no rows. Each call reads the collection's row in its own transaction, so it sees
//! the commits of all processes.

pub(crate) mod facets;
mod history;
pub(crate) mod meta;
pub(crate) mod other;
pub(crate) mod passage;
mod postings;
mod query;
pub(crate) mod read;
pub(crate) mod record;
pub(crate) mod remove;
mod revision;
pub(crate) mod rows;
pub(crate) mod rowset;
mod tokens;
pub(crate) mod usage;
mod view;
pub(crate) mod write;
pub(crate) mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{
    Batch, Changes, Collection, CollectionInfo, Compatibility, DeleteResult, Embedder,
    EmbedderIdentity, Error, Existing, FacetCounts, Fact, Get, GetResult, Health, History, Include,
    Link, MaintenanceKind, MaintenanceResult, MaintenanceState, MaintenanceStatus, Metric, Query,
    QueryResult, Related, Result, SearchView, Selection, ViewRequest, Warning, WriteResult,
    validate_facts, validate_links,
};

use rusqlite::Connection;

use self::meta::CollectionRow;
use self::write::Mode;
use crate::fault::Attempt;
use crate::index::build::{self, When};
use crate::index::registry;
use crate::relations::Companions;
use crate::store::connection::Db;
use crate::store::{Head, Store};

/// Handle of one collection. Every call reads the current state.
pub struct SqliteCollection {
    pub(crate) store: Arc<Store>,
    pub(crate) name: String,
    pub(crate) metric: Metric,
    /// As of opening.
    pub(crate) info: CollectionInfo,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// Generation of the palace and number of the collection when the handle was opened.
    pub(crate) opened: (u64, i64),
}

impl SqliteCollection {
    /// The collection's row. A collection that was deleted and created again under the same name is
    /// another one. In a restored palace the collection is found by name.
    pub(crate) fn require(&self, db: &Connection, head: &Head) -> Attempt<CollectionRow> {
        let row = CollectionRow::require(db, head, &self.name)?;
        let (generation, id) = self.opened;
        if head.generation == generation && row.id != id {
            return Err(Error::CollectionNotInitialized {
                collection: self.name.clone(),
            }
            .into());
        }
        Ok(row)
    }

    /// How the vectors of this handle's embedder relate to those of the collection.
    pub(crate) fn compatibility(&self, row: &CollectionRow) -> Compatibility {
        match (&self.embedder, &row.embedder) {
            (Some(given), Some(pinned)) => given.compatibility(pinned),
            _ => Compatibility::Same,
        }
    }

    /// Runs `work` in one read transaction, with the collection's row.
    pub(crate) fn read<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Db, &CollectionRow) -> Attempt<T>,
    ) -> Result<T> {
        self.read_with_head(doing, |db, row, _| work(db, row))
    }

    /// Runs `work` in one read transaction, with the rows of the collection and the palace.
    pub(crate) fn read_with_head<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Db, &CollectionRow, &Head) -> Attempt<T>,
    ) -> Result<T> {
        self.store.read(doing, |db| {
            let head = Head::read(&db.sql)?;
            let row = self.require(&db.sql, &head)?;
            work(db, &row, &head)
        })
    }

    fn write(&self, batch: &Batch, mode: Mode) -> Result<WriteResult> {
        self.write_with(batch, mode, &Companions::default(), &[])
            .map(|(result, _)| result)
    }

    fn write_with(
        &self,
        batch: &Batch,
        mode: Mode,
        companions: &Companions,
        histories: &[History],
    ) -> Result<(WriteResult, Related)> {
        let result = write::write(self, batch, mode, companions, histories)?;
        self.store.wrote(&self.name, batch.len() as u64);
        self.build_if_far_behind();
        Ok(result)
    }

    /// Builds the index if its exact tail has grown too long while this process continues to write.
    pub(crate) fn build_if_far_behind(&self) {
        if !self.store.should_check_tail() {
            return;
        }
        let due = self.read_with_head("looking at the tail", |db, row, head| {
            registry::is_due(&db.sql, head, row, build::PATIENCE_WHILE_RUNNING)
        });
        if due.unwrap_or(false) {
            build::request(&self.store, &self.name, build::PATIENCE_WHILE_RUNNING);
        }
    }
}

impl Collection for SqliteCollection {
    fn name(&self) -> &str {
        &self.name
    }

    fn ledger(&self) -> Option<&dyn loci_core::Ledger> {
        Some(self)
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
            store: Arc::clone(&self.store),
            name: self.name.clone(),
            metric: self.metric,
            info: self.info.clone(),
            embedder: Some(embedder),
            opened: self.opened,
        }))
    }

    fn dimension(&self) -> Result<Option<usize>> {
        self.read("reading the dimension", |_, row| Ok(row.dimension))
    }

    fn embedder(&self) -> Result<Option<EmbedderIdentity>> {
        self.read("reading the embedder", |_, row| Ok(row.embedder.clone()))
    }

    fn pin_embedder(&self, identity: &EmbedderIdentity) -> Result<()> {
        self.store.write("pinning the embedder", |db| {
            let row = self.require(&db.sql, &Head::read(&db.sql)?)?;
            // The conditions are part of the statement: a collection that has vectors, a dimension
            // or an embedder by now keeps what it has.
            db.sql.execute(
                "UPDATE collections SET embedder = ?2
                 WHERE id = ?1 AND embedder IS NULL AND dimension IS NULL AND vectors = 0",
                rusqlite::params![row.id, other::to_json(identity)?],
            )?;
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
        validate_facts(facts)?;
        validate_links(links)?;
        let companions = Companions {
            facts: facts.to_vec(),
            links: links.to_vec(),
        };
        self.write_with(batch, Mode::Add, &companions, &[])
    }

    fn upsert(&self, batch: &Batch) -> Result<WriteResult> {
        self.write(batch, Mode::Upsert)
    }

    fn update(&self, batch: &Batch) -> Result<WriteResult> {
        self.write(batch, Mode::Update)
    }

    fn delete(&self, selection: &Selection) -> Result<DeleteResult> {
        let result = remove::delete(self, selection)?;
        self.store.wrote(&self.name, result.deleted as u64);
        Ok(result)
    }

    fn query(&self, query: &Query) -> Result<QueryResult> {
        query::query(self, query)
    }

    fn get(&self, get: &Get) -> Result<GetResult> {
        read::get(self, get)
    }

    fn get_recent(
        &self,
        limit: usize,
        selection: &Selection,
        include: Include,
    ) -> Result<GetResult> {
        read::get_recent(self, limit, selection, include)
    }

    fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        view::with_view(self, request, work)
    }

    fn note_access(&self, records: &[u64]) {
        self.store.usage.note(self.opened.0, records);
        usage::write_later(&self.store);
    }

    fn access_counts(&self, ids: &[String]) -> Result<Vec<u64>> {
        usage::counts(self, ids)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>> {
        self.read("reading ids", |db, row| {
            let mut statement = db.sql.prepare_cached(
                "SELECT id FROM drawers WHERE collection = ?1 AND id >= ?2 ORDER BY id LIMIT ?3",
            )?;
            let ids = statement.query_map((row.id, prefix, limit as i64), |columns| {
                columns.get::<_, String>(0)
            })?;
            let mut ids = ids.collect::<rusqlite::Result<Vec<String>>>()?;
            ids.retain(|id| id.starts_with(prefix));
            Ok(ids)
        })
    }

    fn histories(&self, ids: &[String]) -> Result<Vec<History>> {
        history::read(self, ids)
    }

    fn import_records(
        &self,
        batch: &Batch,
        histories: &[History],
        existing: Existing,
    ) -> Result<WriteResult> {
        history::validate(batch.len(), histories)?;
        let mode = match existing {
            Existing::Keep => Mode::Add,
            Existing::Change => Mode::Upsert,
        };
        self.write_with(batch, mode, &Companions::default(), histories)
            .map(|(result, _)| result)
    }

    fn count(&self) -> Result<u64> {
        self.read("counting drawers", |_, row| Ok(row.drawers))
    }

    fn count_selected(&self, selection: &Selection) -> Result<u64> {
        read::count(self, selection)
    }

    fn estimated_count(&self) -> Result<u64> {
        self.count()
    }

    fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> Result<FacetCounts> {
        facets::facet_counts(self, key, selection, limit)
    }

    fn changes_since(&self, seq: u64, limit: usize) -> Result<Changes> {
        read::changes_since(self, seq, limit)
    }

    fn health(&self) -> Health {
        match self.count() {
            Ok(count) => Health {
                ok: true,
                detail: format!("collection `{}` holds {count} drawers", self.name),
            },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn maintenance_state(&self) -> Result<MaintenanceState> {
        self.read_with_head("reading the state of the index", |db, row, head| {
            let registered = registry::find(&db.sql, head, row.id)?;
            let covered = registered.map(|registration| registration.covered);
            let tail: i64 = db.sql.query_row(
                "SELECT count(*) FROM vectors INDEXED BY vectors_seq WHERE collection = ?1 AND seq > ?2",
                (row.id, covered.unwrap_or(0) as i64),
                |columns| columns.get(0),
            )?;
            let tombstones: i64 = db.sql.query_row(
                "SELECT count(*) FROM tombstones WHERE collection = ?1",
                [row.id],
                |columns| columns.get(0),
            )?;
            Ok(MaintenanceState {
                seq: row.seq,
                covered,
                vectors: row.vectors,
                tail: tail as u64,
                due: registry::is_due(&db.sql, head, row, 1)?,
                tombstones: tombstones as u64,
                held_back: registry::held_back(&db.sql, row.id)?,
            })
        })
    }

    fn run_maintenance(&self, kind: MaintenanceKind) -> Result<MaintenanceResult> {
        self.count()?;
        match kind {
            MaintenanceKind::Reindex => {
                build::join(&self.store);
                build::build(&self.store, &self.name, When::Now)
            }
            MaintenanceKind::Analyze => crate::maintenance::tidy::analyze(&self.store),
            MaintenanceKind::Compact => crate::maintenance::tidy::compact(&self.store),
            other => Ok(MaintenanceResult {
                kind: other,
                status: MaintenanceStatus::Noop,
                stats: BTreeMap::default(),
            }),
        }
    }
}

#[cfg(test)]
mod counting {
    use loci_core::{Backend, Batch, CollectionOptions, Filter, Get, Metadata, PalaceRef};

    use super::*;
    use crate::SqliteBackend;

    #[test]
    fn a_selection_is_counted_without_reading_its_drawers() {
        let directory = tempfile::tempdir().unwrap();
        let palace = PalaceRef::local(directory.path().join("palace"));
        let backend = SqliteBackend::default();
        let collection = backend
            .get_collection(&palace, "drawers", true, &CollectionOptions::default())
            .unwrap();
        let wing = Metadata::from_json(&serde_json::json!({"wing": "w"})).unwrap();
        let batch = Batch::new(["a", "b"])
            .documents(["one", "two"])
            .metadatas([wing.clone(), wing]);
        collection.add(&batch).unwrap();
        let store = backend.store(&palace, false).unwrap();
        store
            .write("damaging a drawer", |db| {
                let damage = "UPDATE drawers SET text = 'other' WHERE id = 'b'";
                Ok(db.sql.execute(damage, [])?)
            })
            .unwrap();
        let selection = Selection::matching(Filter::eq("wing", "w"));
        let read = collection.get(&Get::new(selection.clone())).unwrap();
        assert_eq!(read.ids, ["a"]);
        assert_eq!(collection.count_selected(&selection).unwrap(), 2);
        assert_eq!(collection.count().unwrap(), 2);
    }
}

#[cfg(test)]
mod plans {
    //! The planner chooses the intended index on a palace that was never ANALYZEd. memtomem's
    //! search used the wrong index there and took 1,417 ms instead of 9.

    use loci_core::{Backend, Batch, CollectionOptions, Metadata, Ordering, PalaceRef};

    use super::*;
    use crate::SqliteBackend;
    use crate::collection::{facets, postings, rowset};
    use crate::index::live::TAIL_SQL;

    fn plan(store: &Store, sql: &str) -> String {
        store
            .read("explaining", |db| {
                let mut statement = db.sql.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                let count = statement.parameter_count();
                let parameters = vec![rusqlite::types::Value::Integer(1); count];
                let lines: Vec<String> = statement
                    .query_map(rusqlite::params_from_iter(parameters), |row| row.get(3))?
                    .collect::<rusqlite::Result<_>>()?;
                Ok(lines.join(" | "))
            })
            .unwrap()
    }

    #[test]
    fn hot_statements_use_their_index_without_analyze() {
        let directory = tempfile::tempdir().unwrap();
        let palace = PalaceRef::local(directory.path().join("palace"));
        let backend = SqliteBackend::default();
        for name in ["drawers", "other"] {
            let collection = backend
                .get_collection(&palace, name, true, &CollectionOptions::default())
                .unwrap();
            let metadata = Metadata::from_json(
                &serde_json::json!({"wing": "w", "source_file": "f", "start_line": 1}),
            );
            let batch = Batch::new(["a"])
                .documents(["text"])
                .metadatas([metadata.unwrap()])
                .embeddings([vec![1.0, 0.0]]);
            collection.add(&batch).unwrap();
        }
        let store = backend.store(&palace, false).unwrap();
        let by_key = "SEARCH labels USING PRIMARY KEY (collection=? AND key=? AND type=? AND value";
        for (sql, expected) in [
            (rowset::EQUAL_SQL, format!("{by_key}=?)")),
            (rowset::order_sql(Ordering::Greater), format!("{by_key}>?)")),
            (rowset::order_sql(Ordering::LessOrEqual), format!("{by_key}<?)")),
            (
                postings::LEAVES,
                "SEARCH main.postings_data USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)".into(),
            ),
            (
                postings::DIRECTORY,
                "SEARCH main.postings_idx USING PRIMARY KEY (segid=? AND term<?)".into(),
            ),
            (TAIL_SQL, "SEARCH vectors USING INDEX vectors_seq (collection=? AND seq>?)".into()),
            (build::CHUNK_SQL, "SEARCH vectors USING INDEX vectors_order (collection=? AND rowid>?)".into()),
            (
                "SELECT row FROM drawers WHERE collection = ?1 AND id = ?2",
                "SEARCH drawers USING COVERING INDEX drawers_id (collection=? AND id=?)".into(),
            ),
            (
                "SELECT id FROM drawers WHERE collection = ?1 AND wing = ?2 AND source_file = ?3
                 AND content_hash = ?4 AND start_line = ?5 AND source_file <> '' AND row <> ?6",
                "SEARCH drawers USING INDEX drawers_mined (collection=? AND wing=? AND source_file=? \
                 AND content_hash=? AND start_line=?)"
                    .into(),
            ),
        ] {
            let plan = plan(&store, sql);
            assert_eq!(plan, expected, "{sql}");
        }
        let plan = plan(&store, postings::NEWEST);
        assert!(
            plan.starts_with("SCAN postings VIRTUAL TABLE INDEX"),
            "{plan}"
        );
        assert!(!plan.contains("SCAN passages"), "{plan}");
        let plan = self::plan(&store, facets::CHANGED_SQL);
        let no_scan = !plan.contains("SCAN drawers") && !plan.contains("SCAN tombstones");
        assert!(no_scan, "{plan}");
    }
}
