//! A collection as rows in memory, read by brute force.
//!
//! This is the shortest implementation of the reading half of the contract. [`Rows`] answers `get`,
//! `query`, `facet_counts` and searches ([`Rows::with_view`]) from [`Row`]s. It keeps no index on
//! disk and never writes.
//!
//! A small read-only backend implements [`Source`], which reads records into rows, and wraps it in
//! a [`RowsBackend`]. `crates/loci-contract/src/json_lines.rs` is an example.
//!
//! ```
//! use loci_core::rows::{Row, Rows};
//! use loci_core::{Get, Metric, Selection};
//! let row = Row { record: 1, id: "a".into(), document: Some("Lyon".into()), ..Row::default() };
//! let rows = Rows::new("drawers", Metric::Cosine, vec![row]);
//! assert_eq!(rows.get(&Get::new(Selection::all())).ids, ["a"]);
//! ```

mod backend;
mod collection;
mod loaded;
mod nearest;
mod postings;
mod source;
mod view;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

pub use self::backend::RowsBackend;
use self::postings::Derived;
pub use self::source::{Source, SourceCollection};
use crate::collection::{Get, Metric, Selection};
use crate::embedder::EmbedderIdentity;
use crate::error::Result;
use crate::history::History;
use crate::metadata::{MetaValue, Metadata};
use crate::result::{FacetCounts, GetResult, Include};
use crate::search_view::{SearchView, ViewRequest};
use crate::warning::Warning;

/// One drawer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its number: unique in the palace, in insertion order, never reused.
    pub record: u64,
    /// Its id.
    pub id: String,
    /// Its text.
    pub document: Option<String>,
    /// Its metadata.
    pub metadata: Metadata,
    /// Its vector.
    pub vector: Option<Vec<f32>>,
    /// When it was added, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at: i64,
    /// The number of its last change, if the format has such numbers. [`Rows::get_recent`] orders
    /// by it, then by `updated_at`, then by `record`.
    pub seq: u64,
}

/// The drawers of one collection.
///
/// Search data is derived when the first view is opened, and then cached. Keep the value for as
/// long as the rows do not change.
#[derive(Debug)]
pub struct Rows {
    name: String,
    metric: Metric,
    dimension: Option<usize>,
    embedder: Option<EmbedderIdentity>,
    /// Ordered by record.
    own: Arc<Vec<Row>>,
    /// The rows of the other collections of the palace.
    beside: Vec<Arc<Vec<Row>>>,
    derived: OnceLock<Derived>,
}

impl Rows {
    /// A collection of these rows, in any order.
    pub fn new(name: impl Into<String>, metric: Metric, mut rows: Vec<Row>) -> Self {
        rows.sort_by_key(|row| row.record);
        Self {
            name: name.into(),
            metric,
            dimension: None,
            embedder: None,
            own: Arc::new(rows),
            beside: Vec::new(),
            derived: OnceLock::new(),
        }
    }

    /// Sets the dimension, for a collection that may have no vectors.
    #[must_use]
    pub fn dimension(mut self, dimension: Option<usize>) -> Self {
        self.dimension = dimension;
        self
    }

    /// Sets the embedder that made its vectors.
    #[must_use]
    pub fn embedder(mut self, embedder: Option<EmbedderIdentity>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Adds the rows of the other collections of the palace. The rarity of a word is counted over
    /// the whole palace.
    #[must_use]
    pub fn beside(mut self, others: Vec<Row>) -> Self {
        self.beside = vec![Arc::new(others)];
        self
    }

    /// Does the same for shared rows, without a copy.
    fn beside_shared(&mut self, others: Vec<Arc<Vec<Row>>>) {
        self.beside = others;
    }

    /// The selected rows in insertion order.
    pub fn select(&self, selection: &Selection) -> Vec<&Row> {
        self.own.iter().filter(|row| row.is_in(selection)).collect()
    }

    /// [`crate::Collection::get`].
    pub fn get(&self, get: &Get) -> GetResult {
        let page: Vec<&Row> = self
            .select(&get.selection)
            .into_iter()
            .skip(get.offset)
            .take(get.limit.unwrap_or(usize::MAX))
            .collect();
        fields(&page, get.include)
    }

    /// [`crate::Collection::get_recent`].
    pub fn get_recent(&self, limit: usize, selection: &Selection, include: Include) -> GetResult {
        let mut selected = self.select(selection);
        selected.sort_by_key(|row| Reverse((row.seq, row.updated_at, row.record)));
        selected.truncate(limit);
        fields(&selected, include)
    }

    /// [`crate::Collection::facet_counts`]. Values with equal counts are ordered by their JSON
    /// text.
    pub fn facet_counts(&self, key: &str, selection: &Selection, limit: usize) -> FacetCounts {
        facets(&self.select(selection), key, limit)
    }

    /// [`crate::Collection::histories`]: when drawers were added and changed. A time of 0 means
    /// unknown.
    pub fn histories(&self, ids: &[String]) -> Vec<History> {
        let by_id: HashMap<&str, &Row> = self.own.iter().map(|row| (&*row.id, row)).collect();
        let known = |moment: i64| History::added(Some(moment).filter(|moment| *moment != 0));
        let history = |id: &String| match by_id.get(&**id) {
            None => History::default(),
            Some(row) => History {
                updated_at: known(row.updated_at).updated_at,
                ..known(row.created_at)
            },
        };
        ids.iter().map(history).collect()
    }

    /// [`crate::Collection::with_view`].
    pub fn with_view(
        &self,
        request: &ViewRequest<'_>,
        work: &mut dyn FnMut(&mut dyn SearchView) -> Result<()>,
    ) -> Result<Vec<Warning>> {
        work(&mut view::RowsView::new(self, request.selection))?;
        Ok(Vec::new())
    }

    /// The dimension of its vectors, if it is known.
    fn vector_dimension(&self) -> Option<usize> {
        let pinned = self.embedder.as_ref().map(|embedder| embedder.dimension);
        let first = || self.own.iter().find_map(|row| row.vector.as_ref());
        let known = self.dimension.or(pinned);
        known.or_else(|| first().map(Vec::len))
    }

    fn vectors(&self) -> usize {
        let with = self.own.iter().filter(|row| row.vector.is_some());
        with.count()
    }

    fn derived(&self) -> &Derived {
        self.derived
            .get_or_init(|| Derived::of(&self.own, self.beside.iter().flat_map(|rows| rows.iter())))
    }

    fn drawers_beside(&self) -> usize {
        self.beside.iter().map(|rows| rows.len()).sum()
    }

    fn find(&self, record: u64) -> Option<&Row> {
        let at = self.own.binary_search_by_key(&record, |row| row.record);
        self.own.get(at.ok()?)
    }
}

/// Number of rows per value of a key.
fn facets(rows: &[&Row], key: &str, limit: usize) -> FacetCounts {
    let mut result = FacetCounts::default();
    let mut counts: BTreeMap<String, (MetaValue, u64)> = BTreeMap::new();
    for row in rows {
        let values = match row.metadata.get(key) {
            None => {
                result.missing += 1;
                continue;
            }
            Some(MetaValue::List(items)) => items.clone(),
            Some(scalar) => vec![scalar.clone()],
        };
        let distinct: BTreeMap<String, MetaValue> = values
            .into_iter()
            .map(|value| (serde_json::to_string(&value).unwrap_or_default(), value))
            .collect();
        for (text, value) in distinct {
            counts.entry(text).or_insert((value, 0)).1 += 1;
        }
    }
    result.values = counts.into_values().collect();
    result.values.sort_by_key(|(_, count)| Reverse(*count));
    result.more = result.values.len().saturating_sub(limit) as u64;
    result.values.truncate(limit);
    result
}

impl Row {
    /// Whether a selection contains it.
    pub fn is_in(&self, selection: &Selection) -> bool {
        let document = self.document.as_deref();
        selection.holds(&self.id, document, &self.metadata, self.created_at)
    }
}

/// The requested fields of these rows.
pub fn fields(rows: &[&Row], include: Include) -> GetResult {
    let each = rows.iter();
    GetResult {
        ids: each.clone().map(|row| row.id.clone()).collect(),
        documents: each
            .clone()
            .filter(|_| include.documents)
            .map(|row| row.document.clone().unwrap_or_default())
            .collect(),
        metadatas: each
            .clone()
            .filter(|_| include.metadatas)
            .map(|row| row.metadata.clone())
            .collect(),
        embeddings: include.embeddings.then(|| {
            each.map(|row| row.vector.clone().unwrap_or_default())
                .collect()
        }),
        warnings: Vec::new(),
    }
}
