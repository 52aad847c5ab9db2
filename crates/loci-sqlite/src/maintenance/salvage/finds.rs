//! Rows that a salvage finds on the pages of a damaged database. Tables are recognised by the shape
//! of their rows, because the schema may be lost.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_core::{History, Machine, Metric, Origin, ProjectRecord, SourceHash, SourceRecord, Stat};
use loci_salvage::Value;

use super::relations::FoundRelations;
use crate::collection::record::{checksum, content_hash};

/// One version of a drawer.
#[derive(Debug, Clone)]
pub(super) struct FoundDrawer {
    pub(super) collection: i64,
    pub(super) id: String,
    pub(super) text: Option<String>,
    pub(super) metadata: String,
    pub(super) seq: i64,
    pub(super) checksum: i64,
    pub(super) content_hash: Vec<u8>,
    pub(super) created_at: i64,
    pub(super) updated_at: i64,
    pub(super) origin: i64,
}

pub(super) struct FoundCollection {
    pub(super) name: String,
    pub(super) metric: Metric,
    /// JSON.
    pub(super) embedder: Option<String>,
    /// Number of its drawers, as the counter has it.
    pub(super) drawers: u64,
}

pub(super) struct FoundSource {
    pub(super) collection: i64,
    pub(super) record: SourceRecord,
}

/// A row of `forgotten`. Rows from before format 5 have no place.
#[derive(Default)]
pub(super) struct ForgottenText {
    pub(super) collection: i64,
    pub(super) hash: Vec<u8>,
    pub(super) lines: Vec<u8>,
    pub(super) at: i64,
    pub(super) sequence: Vec<u8>,
    pub(super) source: Vec<u8>,
    pub(super) exchange: i64,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Finds {
    pub(super) collections: BTreeMap<i64, FoundCollection>,
    /// Deleted collections whose rows were still being removed.
    pub(super) dropped: BTreeSet<i64>,
    /// All versions of each row. Damaged pages can hold several.
    pub(super) drawers: BTreeMap<i64, Vec<FoundDrawer>>,
    ids: HashMap<i64, HashSet<String>>,
    vectors: HashMap<i64, Vec<Vec<u8>>>,
    accesses: HashMap<i64, u64>,
    pub(super) sources: BTreeMap<i64, FoundSource>,
    pub(super) forgotten: Vec<ForgottenText>,
    /// Projects by row, each with its collection.
    pub(super) projects: BTreeMap<i64, (i64, ProjectRecord)>,
    pub(super) forget_key: Option<Vec<u8>>,
    /// The last number drawn.
    pub(super) seq: Option<i64>,
    pub(super) identity: Option<(Vec<u8>, i64)>,
    pub(super) tombstone_floor: i64,
    pub(super) relations: FoundRelations,
}

impl Finds {
    pub(super) fn take(&mut self, row: i64, values: &[Value]) {
        match values {
            [
                Value::Null,
                Value::Integer(collection),
                Value::Text(id),
                text,
                Value::Text(metadata),
                Value::Integer(seq),
                Value::Integer(checksum),
                Value::Integer(created_at),
                Value::Integer(updated_at),
                Value::Text(_),
                Value::Text(_),
                hash,
                _,
                // Format 3 added a column; older rows may lack it.
                rest @ ..,
            ] if values.len() <= 14 => {
                let text = match text {
                    Value::Text(text) => Some(text.clone()),
                    Value::Null => None,
                    _ => Some(String::new()),
                };
                self.ids.entry(*collection).or_default().insert(id.clone());
                self.drawers.entry(row).or_default().push(FoundDrawer {
                    collection: *collection,
                    id: id.clone(),
                    text,
                    metadata: metadata.clone(),
                    seq: *seq,
                    checksum: *checksum,
                    content_hash: match hash {
                        Value::Blob(hash) => hash.clone(),
                        _ => Vec::new(),
                    },
                    created_at: *created_at,
                    updated_at: *updated_at,
                    origin: match rest.first() {
                        Some(Value::Integer(origin)) => *origin,
                        _ => 0,
                    },
                });
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Blob(hash),
                Value::Blob(lines),
                Value::Integer(at),
            ] => {
                self.forgotten.push(ForgottenText {
                    collection: *collection,
                    hash: hash.clone(),
                    lines: lines.clone(),
                    at: *at,
                    ..ForgottenText::default()
                });
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Blob(hash),
                Value::Blob(lines),
                Value::Integer(at),
                Value::Blob(sequence),
                Value::Blob(source),
                Value::Integer(exchange),
                Value::Blob(before),
                Value::Blob(after),
            ] => {
                self.forgotten.push(ForgottenText {
                    collection: *collection,
                    hash: hash.clone(),
                    lines: lines.clone(),
                    at: *at,
                    sequence: sequence.clone(),
                    source: source.clone(),
                    exchange: *exchange,
                    before: before.clone(),
                    after: after.clone(),
                });
            }
            [
                Value::Null,
                Value::Blob(identity),
                Value::Integer(generation),
                Value::Integer(seq),
                Value::Integer(floor),
                Value::Integer(_),
                Value::Integer(_),
                rest @ ..,
            ] if identity.len() == 16 && rest.len() <= 1 => {
                self.seq = Some(*seq);
                self.identity = Some((identity.clone(), *generation));
                self.tombstone_floor = *floor;
                if let Some(Value::Blob(key)) = rest.first().filter(|_| self.forget_key.is_none())
                    && key.len() == 32
                {
                    self.forget_key = Some(key.clone());
                }
            }
            [
                Value::Null,
                Value::Integer(_),
                Value::Integer(_),
                Value::Blob(vector),
            ] => {
                self.vectors.entry(row).or_default().push(vector.clone());
            }
            [
                Value::Null,
                Value::Integer(accesses),
                Value::Integer(_),
                Value::Integer(_) | Value::Null,
            ] => {
                self.accesses
                    .insert(row, u64::try_from(*accesses).unwrap_or_default());
            }
            [
                Value::Null,
                Value::Text(name),
                Value::Text(metric),
                _,
                embedder,
                Value::Integer(drawers),
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(dropped),
                // Format 2 added a column; older rows may lack it.
                ..,
            ] if values.len() <= 10 => {
                self.take_collection(row, name, metric, embedder, *drawers, *dropped);
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Text(wing),
                Value::Text(name),
                remote @ (Value::Text(_) | Value::Null),
                first_commit @ (Value::Text(_) | Value::Null),
                Value::Text(path),
                Value::Integer(since),
            ] => {
                let text = |value: &Value| match value {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                };
                let record = ProjectRecord {
                    wing: wing.clone(),
                    name: name.clone(),
                    remote: text(remote),
                    first_commit: text(first_commit),
                    path: path.clone(),
                    since: *since,
                };
                // A record that no claim would write is left out; the project claims its wing
                // again.
                if record.validate().is_ok() {
                    self.projects.insert(row, (*collection, record));
                }
            }
            _ if matches!(values.len(), 17 | 19) => self.take_source(row, values),
            _ => self.relations.take(row, values),
        }
    }

    fn take_collection(
        &mut self,
        row: i64,
        name: &str,
        metric: &str,
        embedder: &Value,
        drawers: i64,
        dropped: i64,
    ) {
        let Ok(metric) = Metric::parse(metric) else {
            return;
        };
        if dropped != 0 {
            self.dropped.insert(row);
            return;
        }
        let found = FoundCollection {
            name: name.to_owned(),
            metric,
            embedder: match embedder {
                Value::Text(json) => Some(json.clone()),
                _ => None,
            },
            drawers: u64::try_from(drawers).unwrap_or_default(),
        };
        self.collections.insert(row, found);
    }

    fn take_source(&mut self, row: i64, values: &[Value]) {
        if let [
            Value::Null,
            Value::Integer(collection),
            Value::Text(name),
            Value::Integer(section),
            Value::Text(kind),
            Value::Text(root),
            Value::Text(wing),
            Value::Text(room),
            Value::Integer(size),
            Value::Integer(modified_ns),
            Value::Integer(changed_ns),
            Value::Integer(read_ns),
            Value::Blob(hash),
            Value::Text(recipe),
            Value::Text(mark),
            Value::Integer(complete),
            Value::Integer(_),
            machine @ ..,
        ] = values
            && let Some(machine) = machine_of(machine)
            && let Ok(section) = u32::try_from(*section)
        {
            let record = SourceRecord {
                name: name.clone(),
                section,
                machine,
                kind: kind.clone(),
                root: root.clone(),
                wing: wing.clone(),
                room: room.clone(),
                stat: Stat {
                    size: u64::try_from(*size).unwrap_or_default(),
                    modified_ns: *modified_ns,
                    changed_ns: *changed_ns,
                    read_ns: *read_ns,
                },
                hash: SourceHash::try_from(hash.as_slice()).unwrap_or_default(),
                recipe: recipe.clone(),
                mark: mark.clone(),
                complete: *complete != 0,
                revision: 0,
            };
            // A row that no miner would write is left out; its file is read again.
            if record.validate().is_ok() {
                let collection = *collection;
                self.sources.insert(row, FoundSource { collection, record });
            }
        }
    }

    /// Whether a drawer with this id was read, under any row number.
    pub(super) fn has_id(&self, collection: Option<i64>, id: Option<&str>) -> bool {
        let ids = collection.and_then(|collection| self.ids.get(&collection));
        ids.zip(id).is_some_and(|(ids, id)| ids.contains(id))
    }

    /// The history of a drawer. No checksum protects it, so impossible values are left out.
    pub(super) fn history(&self, row: i64, drawer: &FoundDrawer) -> History {
        let source = self
            .sources
            .get(&drawer.origin)
            .filter(|source| source.collection == drawer.collection);
        let history = History {
            created_at: Some(drawer.created_at),
            updated_at: Some(drawer.updated_at),
            accesses: self.accesses.get(&row).copied().unwrap_or_default(),
            origin: source.map(|source| Origin {
                name: source.record.name.clone(),
                section: source.record.section,
                machine: source.record.machine.id.clone(),
            }),
        };
        if history.validate().is_ok() {
            return history;
        }
        History {
            origin: history.origin,
            ..History::default()
        }
    }

    /// The best version of a row, with its vector: one whose checksum matches, else the newest.
    pub(super) fn best(
        &self,
        row: i64,
        versions: &[FoundDrawer],
    ) -> Option<(FoundDrawer, Verdict)> {
        let vectors = self
            .vectors
            .get(&row)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut newest_first: Vec<&FoundDrawer> = versions.iter().collect();
        newest_first.sort_by_key(|found| std::cmp::Reverse(found.seq));
        for found in &newest_first {
            let sum = |vector| checksum(&found.id, found.text.as_deref(), &found.metadata, vector);
            if sum(None) == found.checksum {
                return Some(((*found).clone(), Verdict::Whole(None)));
            }
            if let Some(vector) = vectors
                .iter()
                .find(|vector| sum(Some(vector)) == found.checksum)
            {
                return Some(((*found).clone(), Verdict::Whole(Some(vector.clone()))));
            }
        }
        let newest = newest_first.first()?;
        // Without the vector the checksum cannot be verified, but the text has a hash of its own.
        let text_is_whole =
            newest.text.as_deref().map(content_hash).unwrap_or_default() == newest.content_hash;
        let verdict = if vectors.is_empty() && text_is_whole {
            Verdict::VectorLost
        } else {
            Verdict::Damaged
        };
        Some(((*newest).clone(), verdict))
    }
}

/// The last columns of a source. Rows from before format 7 that were not changed since lack them.
fn machine_of(columns: &[Value]) -> Option<Machine> {
    match columns {
        [] => Some(Machine::default()),
        [Value::Text(id), Value::Text(host)] => Some(Machine {
            id: id.clone(),
            host: host.clone(),
        }),
        _ => None,
    }
}

pub(super) enum Verdict {
    Whole(Option<Vec<u8>>),
    VectorLost,
    Damaged,
}
