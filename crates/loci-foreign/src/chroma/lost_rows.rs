//! Recovers records whose row of `embeddings` is lost while other files still name them.
//!
//! The row joins an id with its text. Without it, the text remains in `embedding_metadata` under
//! the row's number, and the id in the labels of the index or in the queue. This module joins both
//! again if the match is certain: a record with the text of another is worse than a missing record.
//! Texts of uncertain id become candidates.

mod content;
mod expected;
mod order;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_core::{Metadata, Result};
use loci_salvage::snapshot::{Snapshot, unreadable};
use rusqlite::Connection;
use serde::Serialize;

use crate::chroma::catalog::CollectionRow;
use crate::chroma::directory::Directory;
use crate::chroma::records::Reader;
use crate::chroma::survey::live;
use content::Content;
use expected::{Expected, Missing};
use order::Others;

/// The maximum number of possible ids of a candidate.
const MOST_IDS: usize = 20;

/// The evidence that joins a text with its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// SQLite's index of the table still has the id with its row number.
    Index,
    /// The queue has the id with its text and metadata.
    Queue,
    /// Rows and labels are in the same order between two known neighbours.
    Order,
}

/// A recovered record whose row is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestoredRow {
    /// The number of the lost row; `None` if only the queue has the text.
    pub(crate) row: Option<i64>,
    pub(crate) id: String,
    /// The number of its last change, if the queue has it.
    pub(crate) seq: Option<u64>,
    pub(crate) evidence: Evidence,
}

/// A text that may belong to a record whose row is lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The collection, if only one is possible.
    pub collection: Option<String>,
    /// The number of its row.
    pub row: Option<i64>,
    /// The text.
    pub document: Option<String>,
    /// The metadata.
    pub metadata: Metadata,
    /// All ids that it may have. Empty if they are unknown or more than twenty.
    pub ids: Vec<String>,
    /// The labels of the vectors that it may have, in the order of `ids`, for ids in the index.
    pub labels: Vec<u64>,
    /// Why it is uncertain.
    pub reason: &'static str,
}

/// Whether a text is a configuration that ChromaDB stores, not a text of a user. Without the
/// schema, `embeddings_queue_config` looks like a table of texts.
fn is_configuration(text: &str) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let kind = value
        .as_ref()
        .and_then(|value| value.get("_type")?.as_str());
    kind.is_some_and(|kind| kind.ends_with("ConfigurationInternal"))
}

/// The results about lost rows.
#[derive(Debug, Default)]
pub(crate) struct LostRows {
    /// For each collection, the records that are certain.
    pub(crate) restored: Vec<Vec<RestoredRow>>,
    /// For each collection, the ids whose row is lost and whose text is not certain.
    pub(crate) unresolved: Vec<Vec<String>>,
    pub(crate) candidates: Vec<Candidate>,
    /// Numbers of rows with metadata that belong to no record, not even to a lost one.
    pub(crate) left_over: BTreeSet<i64>,
    pub(crate) strays: Vec<Stray>,
}

/// A row whose segment is not in the catalog, with an id that one collection lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    pub(crate) id: String,
    row: i64,
    /// The position of the collection that stands for the segment.
    pub(crate) segment: usize,
    /// The position of the collection whose index or queue has the id.
    pub(crate) collection: usize,
}

impl LostRows {
    /// The row numbers of restored records.
    pub(crate) fn restored_rows(&self) -> HashSet<i64> {
        let restored = self.restored.iter().flatten();
        restored.filter_map(|restored| restored.row).collect()
    }

    /// Searches all collections at once, because they share row numbers.
    pub(crate) fn find(directory: &Directory) -> Result<Self> {
        let failed = |error: rusqlite::Error| unreadable(directory.snapshot().path(), &error);
        let read = || -> rusqlite::Result<Self> {
            let orphans = orphans(directory.snapshot())?;
            let indexed = &directory.index_entries().rows;
            let mut collections = directory.collections().iter();
            let stray = collections.any(CollectionRow::is_stray_segment);
            let with_labels = !orphans.is_empty() || !indexed.is_empty() || stray;
            if !with_labels && !has_queue(directory.snapshot())? {
                return Ok(Self::default());
            }
            let expected = (0..directory.collections().len())
                .map(|at| Expected::of(directory, at, with_labels))
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Search {
                directory,
                reader: Reader::new(directory)?,
                expected,
                orphans,
                found: Self::default(),
            }
            .run()
        };
        read().map_err(failed)
    }
}

/// The state of a search.
struct Search<'a> {
    directory: &'a Directory,
    reader: Reader<'a>,
    expected: Vec<Expected>,
    /// Numbers of unassigned rows that have metadata or a text.
    orphans: BTreeSet<i64>,
    found: LostRows,
}

impl Search<'_> {
    fn run(mut self) -> rusqlite::Result<LostRows> {
        self.found
            .restored
            .resize_with(self.expected.len(), Vec::new);
        self.found.strays = self.strays()?;
        // Strongest evidence first: each pair is a known neighbour for the following steps.
        self.by_index();
        self.settle();
        let mut contents = self.contents()?;
        self.by_content(&mut contents);
        self.settle();
        self.by_order(&contents)?;
        self.settle();
        self.by_queue_alone(&contents);
        self.settle();
        self.leave_the_rest()?;
        for restored in &mut self.found.restored {
            restored.sort_by_key(|restored| (restored.row.is_none(), restored.row, restored.seq));
        }
        Ok(self.found)
    }

    /// Rows of stray segments. An id that several rows have, or that several collections lack,
    /// proves nothing.
    fn strays(&self) -> rusqlite::Result<Vec<Stray>> {
        let mut rows: HashMap<String, Vec<(usize, i64)>> = HashMap::new();
        for (at, collection) in self.directory.collections().iter().enumerate() {
            let Some(segment) = collection.record_segment() else {
                continue;
            };
            if collection.is_stray_segment() {
                for record in live::rows(self.directory.snapshot(), segment)?.stored {
                    let places = rows.entry(record.id).or_default();
                    places.extend(record.row.map(|row| (at, row)));
                }
            }
        }
        let mut lacking: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, expected) in self.expected.iter().enumerate() {
            for missing in expected.missing() {
                lacking.entry(&missing.id).or_default().push(at);
            }
        }
        let mut strays: Vec<Stray> = rows
            .into_iter()
            .filter_map(|(id, places)| {
                let ([(segment, row)], [collection]) =
                    (places.as_slice(), lacking.get(id.as_str())?.as_slice())
                else {
                    return None;
                };
                Some(Stray {
                    row: *row,
                    segment: *segment,
                    collection: *collection,
                    id,
                })
            })
            .collect();
        strays.sort_by_key(|stray| stray.row);
        Ok(strays)
    }

    fn settle(&mut self) {
        self.expected.iter_mut().for_each(Expected::settle);
    }

    fn give(&mut self, collection: usize, id: &str, row: Option<i64>, evidence: Evidence) {
        let Some(expected) = self.expected.get_mut(collection) else {
            return;
        };
        let seq = expected.found(id, row);
        if let Some(row) = row {
            self.orphans.remove(&row);
        }
        if let Some(restored) = self.found.restored.get_mut(collection) {
            restored.push(RestoredRow {
                row,
                id: id.to_owned(),
                seq,
                evidence,
            });
        }
    }

    fn by_index(&mut self) {
        let mut taken = HashSet::new();
        // A record without metadata never had any only if no metadata was lost.
        let whole = self.directory.snapshot().is_whole("embedding_metadata");
        for entry in &self.directory.index_entries().rows {
            let at = self.expected.iter().position(|expected| {
                expected.segment.as_deref() == Some(&entry.segment) && !expected.has_row(&entry.id)
            });
            let has_content = whole || self.orphans.contains(&entry.row);
            if let Some(at) = at.filter(|_| has_content && taken.insert(entry.row)) {
                self.give(at, &entry.id, Some(entry.row), Evidence::Index);
            }
        }
    }

    /// The contents of the records that the queue created.
    fn contents(&self) -> rusqlite::Result<HashMap<(usize, String), Content>> {
        let connection = self.directory.snapshot().connection();
        let mut contents = HashMap::new();
        for (at, expected) in self.expected.iter().enumerate() {
            for missing in expected.missing() {
                if let Some(content) = Content::of(connection, missing)? {
                    contents.insert((at, missing.id.clone()), content);
                }
            }
        }
        Ok(contents)
    }

    /// Assigns rows to records whose complete content is in the queue. Rows with the same content
    /// are interchangeable.
    fn by_content(&mut self, contents: &mut HashMap<(usize, String), Content>) {
        let mut wanted: BTreeMap<u128, Vec<(usize, &Missing)>> = BTreeMap::new();
        for (at, expected) in self.expected.iter().enumerate() {
            for missing in expected.missing() {
                let content = contents.get(&(at, missing.id.clone()));
                if let Some(content) = content.filter(|content| content.is_telling()) {
                    wanted.entry(content.key()).or_default().push((at, missing));
                }
            }
        }
        if wanted.is_empty() {
            return;
        }
        let mut rows: HashMap<u128, Vec<i64>> = HashMap::new();
        for row in &self.orphans {
            if let Ok(content) = self.reader.content(*row) {
                rows.entry(content.key()).or_default().push(*row);
            }
        }
        let mut pairs = Vec::new();
        for (key, ids) in wanted {
            let Some(rows) = rows.get(&key) else {
                continue;
            };
            // The queue holds the newest records, which have the highest numbers.
            let newest = rows.len().saturating_sub(ids.len());
            for ((at, missing), row) in ids.into_iter().zip(rows.iter().skip(newest)) {
                pairs.push((at, missing.id.clone(), *row));
            }
        }
        for (at, id, row) in pairs {
            contents.remove(&(at, id.clone()));
            self.give(at, &id, Some(row), Evidence::Queue);
        }
    }

    fn by_order(&mut self, contents: &HashMap<(usize, String), Content>) -> rusqlite::Result<()> {
        let mut pairs = Vec::new();
        for (at, expected) in self.expected.iter().enumerate() {
            let gaps = expected.gaps();
            if !expected.is_ordered() || gaps.is_empty() || self.orphans.is_empty() {
                continue;
            }
            let others = self.others(at);
            let compressed = expected.is_compressed();
            let metadata_whole = self.directory.snapshot().is_whole("embedding_metadata");
            for gap in gaps {
                // Equal counts prove nothing if metadata was lost too, or if queue entries that
                // created or deleted records were lost. Records that the queue created come after
                // everything that has a label.
                let by_count = metadata_whole && (expected.queue_whole || gap.is_before_a_label());
                let rows: Vec<i64> = gap.rows(&self.orphans).collect();
                let disputed = rows.iter().any(|row| self.claims(*row) != [at]);
                if disputed {
                    continue;
                }
                let found = order::pairs(&gap, &rows, &others, (by_count, compressed));
                let mut agrees = true;
                for (id, row) in &found {
                    let Some(content) = contents.get(&(at, (*id).to_owned())) else {
                        continue;
                    };
                    agrees &= content.agrees_with(&self.reader.content(*row)?);
                }
                if agrees {
                    pairs.extend(found.into_iter().map(|(id, row)| (at, id.to_owned(), row)));
                }
            }
        }
        for (at, id, row) in pairs {
            self.give(at, &id, Some(row), Evidence::Order);
        }
        Ok(())
    }

    /// The rows of other collections.
    fn others(&self, collection: usize) -> Others {
        let others = self.expected.iter().enumerate();
        let mut rows: Vec<i64> = others
            .filter(|(at, _)| *at != collection)
            .flat_map(|(_, expected)| expected.numbers().iter().copied())
            .collect();
        rows.sort_unstable();
        Others(rows)
    }

    /// Recovers records that are complete in the queue and have left no row behind.
    fn by_queue_alone(&mut self, contents: &HashMap<(usize, String), Content>) {
        let mut ids = Vec::new();
        for (at, expected) in self.expected.iter().enumerate() {
            // If entries are lost, the one that deleted the record may be among them.
            if !expected.queue_whole {
                continue;
            }
            for missing in expected.missing() {
                let whole = contents
                    .get(&(at, missing.id.clone()))
                    .is_some_and(|content| content.whole);
                if whole {
                    ids.push((at, missing.id.clone()));
                }
            }
        }
        for (at, id) in ids {
            self.give(at, &id, None, Evidence::Queue);
        }
    }

    /// The collections that lack a row around this number.
    fn claims(&self, row: i64) -> Vec<usize> {
        let lacks = |expected: &Expected| expected.gap_at(row).is_some();
        let claims = self.expected.iter().enumerate();
        claims
            .filter(|(_, expected)| lacks(expected))
            .map(|(at, _)| at)
            .collect()
    }

    /// Turns rows that may belong to a record into candidates.
    fn leave_the_rest(&mut self) -> rusqlite::Result<()> {
        let named = self.leave_rows()?;
        self.leave_ids(&named)
    }

    /// Lists every row without a certain id as a candidate. Returns the ids that candidates name,
    /// with the position of their collection.
    fn leave_rows(&mut self) -> rusqlite::Result<HashSet<(usize, String)>> {
        let rows = std::mem::take(&mut self.orphans);
        let claims: BTreeMap<i64, Vec<usize>> =
            rows.iter().map(|row| (*row, self.claims(*row))).collect();
        // The rows of each gap, by collection and by the row before it. `None` for a gap in which
        // other collections may have rows.
        let mut gaps: HashMap<(usize, Option<i64>), Option<Vec<i64>>> = HashMap::new();
        let mut named: HashSet<(usize, String)> = HashSet::new();
        for row in rows.iter().copied() {
            let claims = claims.get(&row).map_or(&[][..], Vec::as_slice);
            let mut possible: Vec<(usize, &Missing)> = Vec::new();
            for at in claims {
                let Some(expected) = self.expected.get(*at) else {
                    continue;
                };
                let Some(gap) = expected.gap_at(row) else {
                    continue;
                };
                let before = gap.before.map(|anchor| anchor.row);
                let inside = gaps.entry((*at, before)).or_insert_with(|| {
                    let inside: Vec<i64> = gap.rows(&rows).collect();
                    let own = inside.iter().all(|row| self.claims(*row) == [*at]);
                    (own && inside.len() <= gap.missing.len()).then_some(inside)
                });
                let near = match inside {
                    Some(inside) if expected.is_ordered() => gap.near(row, inside),
                    _ => gap.missing,
                };
                possible.extend(near.iter().map(|missing| (*at, missing)));
            }
            // If labels or queue entries are lost, a row may belong to a record that only they
            // named.
            let known = self.expected.iter().all(|of| of.names_all_at(row));
            if possible.is_empty() && known {
                self.found.left_over.insert(row);
                continue;
            }
            let content = self.reader.content(row)?;
            if content.document.as_deref().is_some_and(is_configuration) {
                self.found.left_over.insert(row);
                continue;
            }
            let too_many = possible.len() > MOST_IDS;
            if !known || too_many {
                // An incomplete list of ids would be mistaken for a complete one.
                possible.clear();
            }
            named.extend(
                possible
                    .iter()
                    .map(|(at, missing)| (*at, missing.id.clone())),
            );
            let collection = match claims {
                [only] if known => self.name(*only),
                _ if self.expected.len() == 1 => self.name(0),
                _ => None,
            };
            let reason = if !known {
                "labels of the index or entries of the queue are lost, so its id may be one that no file names"
            } else if too_many {
                "more ids are possible than a line lists; each has a line of its own without a text"
            } else {
                "between its known neighbours, the number of ids without a row differs from the number of rows without an id"
            };
            self.found.candidates.push(Candidate {
                collection,
                row: Some(row),
                document: content.document,
                metadata: content.metadata,
                labels: possible
                    .iter()
                    .filter_map(|(_, missing)| missing.label())
                    .collect(),
                ids: possible
                    .iter()
                    .map(|(_, missing)| missing.id.clone())
                    .collect(),
                reason,
            });
        }
        Ok(named)
    }

    /// Lists every id without a certain row, except for those in `named`.
    fn leave_ids(&mut self, named: &HashSet<(usize, String)>) -> rusqlite::Result<()> {
        let texts: HashSet<String> = self
            .found
            .candidates
            .iter()
            .filter_map(|candidate| candidate.document.clone())
            .collect();
        let damaged = !self.found.candidates.is_empty()
            || self.found.restored.iter().any(|of| !of.is_empty());
        let strays: HashMap<(usize, &str), i64> = self
            .found
            .strays
            .iter()
            .map(|stray| ((stray.collection, stray.id.as_str()), stray.row))
            .collect();
        let mut without_row = Vec::new();
        for (at, expected) in self.expected.iter().enumerate() {
            let mut unresolved = Vec::new();
            for missing in expected.missing() {
                let stray = strays.get(&(at, missing.id.as_str()));
                let mut candidate = self.without_row(at, missing)?;
                // Its row exists under another segment, with everything known about it.
                if let Some(row) = stray
                    && (candidate.document.is_none()
                        || candidate.document == self.reader.content(*row)?.document)
                {
                    continue;
                }
                unresolved.push(missing.id.clone());
                if damaged && !named.contains(&(at, missing.id.clone())) {
                    // A text is listed once, on the line of its row.
                    if candidate
                        .document
                        .as_ref()
                        .is_some_and(|text| texts.contains(text))
                    {
                        candidate.document = None;
                        candidate.metadata = Metadata::default();
                    }
                    without_row.push(candidate);
                }
            }
            self.found.unresolved.push(unresolved);
        }
        self.found.candidates.extend(without_row);
        Ok(())
    }

    /// An id without a row, with what the queue still holds about it.
    fn without_row(&self, collection: usize, missing: &Missing) -> rusqlite::Result<Candidate> {
        let content = Content::of(self.directory.snapshot().connection(), missing)?;
        let content = content.unwrap_or_default();
        Ok(Candidate {
            collection: self.name(collection),
            row: None,
            document: content.document,
            metadata: content.metadata,
            ids: vec![missing.id.clone()],
            labels: missing.label().into_iter().collect(),
            reason: "its row is lost, and no text certainly belongs to it; either it had none, or the text is lost or on a \
                     line without an id, or the record was deleted",
        })
    }

    fn name(&self, collection: usize) -> Option<String> {
        let row = self.directory.collections().get(collection)?;
        Some(row.name.clone())
    }
}

/// Whether the queue has entries.
fn has_queue(snapshot: &Snapshot) -> rusqlite::Result<bool> {
    let there = snapshot.has_table("embeddings_queue");
    Ok(there
        && snapshot
            .connection()
            .prepare("SELECT 1 FROM embeddings_queue LIMIT 1")?
            .exists([])?)
}

/// Numbers of rows that have metadata or a text but no record.
fn orphans(snapshot: &Snapshot) -> rusqlite::Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    if !snapshot.has_table("embeddings") {
        return Ok(found);
    }
    for (table, also) in [
        ("embedding_metadata", ""),
        ("embedding_metadata_array", ""),
        ("embedding_fulltext_search_content", "AND c0 IS NOT NULL"),
    ] {
        if snapshot.has_table(table) {
            read_numbers(
                snapshot.connection(),
                &format!(
                    "SELECT DISTINCT id FROM {table} WHERE typeof(id) = 'integer' {also} AND id NOT IN (SELECT id FROM embeddings)"
                ),
                &mut found,
            )?;
        }
    }
    Ok(found)
}

fn read_numbers(
    connection: &Connection,
    sql: &str,
    found: &mut BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.insert(row.get(0)?);
    }
    Ok(())
}
