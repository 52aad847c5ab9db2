//! What the tests and the worker say to each other: operations, answers, and random data from a seed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loci_palace::{
    Batch, Collection, CollectionOptions, Compatibility, Embedder, EmbedderIdentity, Error, Fact,
    Filter, Get, Include, Link, LinkEnd, MaintenanceKind, Metadata, MetadataPatch, Meter,
    MineOptions, Palace, Period, Query, Reading, RepairOptions, Result, Selection, Tree, mine,
    search, undo,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A small generator of our own: the worker has no dev-dependencies, and seeds must mean the same
/// on both sides.
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension)
            .map(|_| (self.next() % 20_001) as f32 / 10_000.0 - 1.0)
            .collect()
    }
}

/// One drawer as an operation carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Vec<f32>>,
}

/// One change, or one act of housekeeping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    Add { rows: Vec<Row> },
    Upsert { rows: Vec<Row> },
    Update { rows: Vec<Row> },
    Delete { ids: Vec<String> },
    DeleteWhere { key: String, value: Value },
    Forget { ids: Vec<String> },
    Reindex,
    Compact,
    Analyze,
}

fn batch(rows: &[Row]) -> Result<Batch> {
    let metas = rows
        .iter()
        .map(|row| MetadataPatch::from_json(&json!(row.meta)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Batch {
        ids: rows.iter().map(|row| row.id.clone()).collect(),
        documents: Some(rows.iter().map(|row| row.text.clone()).collect()),
        metadatas: Some(metas),
        embeddings: Some(rows.iter().map(|row| row.vector.clone()).collect()),
        embedded: None,
    })
}

impl Op {
    /// Does it; the answer is what the call gave back, in few words.
    pub fn run(&self, palace: &Palace, collection: &dyn Collection) -> Result<Value> {
        let outcomes = |result: loci_palace::WriteResult| {
            json!({
                "seq": result.seq,
                "outcomes": result.outcomes.iter().map(loci_palace::Outcome::as_str).collect::<Vec<_>>(),
            })
        };
        Ok(match self {
            Self::Add { rows } => outcomes(collection.add(&batch(rows)?)?),
            Self::Upsert { rows } => outcomes(collection.upsert(&batch(rows)?)?),
            Self::Update { rows } => outcomes(collection.update(&batch(rows)?)?),
            Self::Delete { ids } => json!(
                collection
                    .delete(&Selection::ids(ids.iter().cloned()))?
                    .deleted
            ),
            Self::DeleteWhere { key, value } => {
                let filter = Filter::parse(&json!({ key: value }))?;
                json!(collection.delete(&Selection::matching(filter))?.deleted)
            }
            Self::Forget { ids } => {
                let outcome = palace.forget(&loci_palace::forget::Request::in_collection(
                    collection.name(),
                    Selection::ids(ids.iter().cloned()),
                ))?;
                json!({
                    "forgotten": outcome.forgotten,
                    "purge_pending": outcome.purge_pending,
                    "reason": outcome.pending_reason.map(|reason| reason.code()),
                })
            }
            Self::Reindex => {
                json!(collection.run_maintenance(MaintenanceKind::Reindex)?.status)
            }
            Self::Compact => {
                json!(collection.run_maintenance(MaintenanceKind::Compact)?.status)
            }
            Self::Analyze => {
                json!(collection.run_maintenance(MaintenanceKind::Analyze)?.status)
            }
        })
    }
}

/// A line that the parent sends to a serving worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    Run {
        collection: String,
        #[serde(flatten)]
        op: Op,
    },
    Query {
        collection: String,
        vector: Vec<f32>,
        k: usize,
        #[serde(default)]
        filter: Option<Value>,
    },
    Words {
        collection: String,
        query: String,
        k: usize,
    },
    Get {
        collection: String,
        ids: Option<Vec<String>>,
    },
    Status,
    Verify {
        deep: bool,
    },
    Repair,
    Replace,
    Backup {
        to: String,
    },
    Restore {
        from: String,
    },
    Drop {
        collection: String,
    },
    /// A change whose texts get their vectors from the palace's embedder.
    Embed {
        collection: String,
        #[serde(flatten)]
        op: Op,
    },
    Search {
        collection: String,
        query: String,
        k: usize,
        #[serde(default)]
        filter: Option<Value>,
        #[serde(default)]
        since: Option<i64>,
        #[serde(default)]
        before: Option<i64>,
    },
    Counts {
        collection: String,
        ids: Vec<String>,
    },
    Reembed {
        collection: String,
        embedder: String,
    },
    /// Reads what is new below some folders.
    Mine {
        collection: String,
        roots: Vec<PathBuf>,
    },
    /// Takes back what a run did.
    Undo {
        collection: String,
        run: u64,
    },
}

impl Request {
    pub fn run(&self, palace: &Palace) -> Result<Value> {
        match self {
            Self::Run { collection, op } => {
                op.run(palace, palace.collection(collection, true)?.as_ref())
            }
            Self::Query {
                collection,
                vector,
                k,
                filter,
            } => {
                let mut query = Query::vector(vector.clone()).k(*k);
                query.include = Include {
                    distances: true,
                    ..Include::NONE
                };
                if let Some(filter) = filter {
                    query.selection = Selection::matching(Filter::parse(filter)?);
                }
                let answer = palace.collection(collection, false)?.query(&query)?;
                Ok(json!({
                    "ids": answer.ids.first(),
                    "distances": answer.distances.first(),
                    "warnings": warnings(&answer.warnings),
                }))
            }
            Self::Words {
                collection,
                query,
                k,
            } => {
                let drawers = palace.collection(collection, false)?;
                let found = loci_palace::search_words(&*drawers, query, *k, &Selection::all())?;
                Ok(json!({
                    "ids": found.hits.iter().map(|hit| &hit.id).collect::<Vec<_>>(),
                    "warnings": warnings(&found.warnings),
                }))
            }
            Self::Get { collection, ids } => {
                let rows = rows_of(palace.collection(collection, false)?.as_ref(), ids.clone())?;
                Ok(json!(rows))
            }
            Self::Status => {
                let status = palace.status(&loci_palace::status::Request::default())?;
                Ok(json!({
                    "drawers": status.total,
                    "purge_pending": status.state.purge_pending,
                    "drift_files": status.state.drift_files,
                    "indexes": status.state.indexes,
                    "held_back": status.collections.iter().filter_map(|c| c.index.held_back.clone()).collect::<Vec<_>>(),
                }))
            }
            Self::Verify { deep } => {
                let report = palace.verify(&loci_palace::verify::Request { deep: *deep })?;
                Ok(json!({"ok": report.ok(), "findings": report.findings}))
            }
            Self::Repair => {
                let report = palace.repair(&loci_palace::repair::Request::default())?;
                Ok(json!({"actions": report.actions, "remaining": report.remaining}))
            }
            Self::Replace => {
                let report = palace.repair(&RepairOptions { replace: true })?;
                Ok(json!({"actions": report.actions, "remaining": report.remaining}))
            }
            Self::Backup { to } => {
                let target = to.into();
                let request = loci_palace::backup::Request { target };
                Ok(json!(palace.backup(&request)?.bytes))
            }
            Self::Restore { from } => {
                let request = loci_palace::restore::Request {
                    backup: from.into(),
                    replace: true,
                };
                Ok(json!(palace.restore(&request)?.restored))
            }
            Self::Drop { collection } => {
                palace.delete_collection(collection)?;
                Ok(json!(null))
            }
            Self::Embed { collection, op } => {
                let (memory, _) = palace.memory(collection, true)?;
                op.run(palace, memory.collection.as_ref())
            }
            Self::Search {
                collection,
                query,
                k,
                filter,
                since,
                before,
            } => {
                let mut request = search::Request::new(query.clone());
                request.collection.clone_from(collection);
                request.k = *k;
                if let Some(filter) = filter {
                    request.selection = Selection::matching(Filter::parse(filter)?);
                }
                if since.is_some() || before.is_some() {
                    request.selection.period = Some(Period {
                        since: *since,
                        before: *before,
                    });
                }
                let found = palace.search(&request)?;
                Ok(told(&found))
            }
            Self::Counts { collection, ids } => Ok(json!(
                palace.collection(collection, false)?.access_counts(ids)?
            )),
            Self::Reembed {
                collection,
                embedder,
            } => {
                let embedder = embedder_named(palace, embedder)?;
                let request = loci_palace::reembed::Request {
                    collection,
                    embedder: embedder.as_ref(),
                };
                Ok(reembedded(&palace.reembed(&request, &mut |_| ())?))
            }
            Self::Mine { collection, roots } => {
                let report = palace.mine(&mine::Request {
                    collection,
                    source: &Tree::new(roots, Reading::default())?,
                    options: &MineOptions::default(),
                    meter: &Meter::default(),
                    stop: &AtomicBool::new(false),
                })?;
                Ok(json!(report))
            }
            Self::Undo { collection, run } => {
                let collection = collection.clone();
                Ok(json!(palace.undo(&undo::Request {
                    collection,
                    run: *run
                })?))
            }
        }
    }
}

/// The facts that a worker adds in one call.
pub fn facts_of(round: u64) -> Vec<Fact> {
    ["knows", "likes", "is"]
        .map(|predicate| Fact {
            subject: format!("person {round}"),
            predicate: predicate.into(),
            object: "somebody".into(),
            confidence: Some(0.5),
            ..Fact::default()
        })
        .into()
}

/// The link that a worker adds after them.
pub fn link_of(round: u64) -> Link {
    Link {
        from: LinkEnd::drawer("drawers", round.to_string()),
        to: LinkEnd::room("people", "somebody"),
        label: "about".into(),
        metadata: Metadata::default(),
    }
}

fn details(hit: &search::Hit) -> &search::HitDetails {
    hit.details.as_ref().expect("a full answer")
}

/// What a search answered, as far as tests look at it.
pub fn told(answer: &search::Answer) -> Value {
    let hits: Vec<Value> = answer
        .hits
        .iter()
        .map(|hit| {
            json!({
                "id": hit.id,
                "text": hit.text,
                "distance": details(hit).distance,
                "score": hit.score,
                "words": details(hit).matched_words,
                "lexical_rank": details(hit).lexical_rank,
                "semantic_rank": details(hit).semantic_rank,
                "also_in": hit.also_in,
            })
        })
        .collect();
    json!({"hits": hits, "in_scope": answer.in_scope, "warnings": warnings(&answer.warnings)})
}

pub fn reembedded(done: &loci_palace::reembed::Answer) -> Value {
    json!({"drawers": done.drawers, "made": done.made, "resumed": done.resumed})
}

/// An embedder of our own: a vector that depends on every byte of the text, and on who made it.
#[derive(Debug, Clone)]
pub struct Fake(pub EmbedderIdentity);

impl Fake {
    pub fn new(name: &str, dimension: usize) -> Self {
        Self(EmbedderIdentity {
            name: name.into(),
            dimension,
            digest: "forged".into(),
        })
    }

    /// Takes the place of the real model.
    pub fn minilm() -> Self {
        Self::new("minilm", 384)
    }

    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut seed = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.0.name.bytes().chain(text.bytes()) {
            seed = (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Rng(seed).vector(self.0.dimension)
    }
}

impl Embedder for Fake {
    fn identity(&self) -> EmbedderIdentity {
        self.0.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    fn compatibility(&self, other: &EmbedderIdentity) -> Compatibility {
        if self.0 == *other {
            Compatibility::Same
        } else {
            Compatibility::Foreign
        }
    }
}

/// `static`, or a forged one: `minilm`, or a name and a dimension as in `fake-8`.
pub fn embedder_named(palace: &Palace, name: &str) -> Result<Arc<dyn Embedder>> {
    match name.split_once('-') {
        Some((fake, dimension)) => Ok(Arc::new(Fake::new(
            fake,
            dimension.parse().unwrap_or_default(),
        ))),
        None if name == "minilm" => Ok(Arc::new(Fake::minilm())),
        None => palace
            .embedder(name)?
            .ok_or_else(|| Error::invalid("embedder", "none")),
    }
}

/// A collection whose texts this embedder embeds.
pub fn embedding(
    palace: &Palace,
    name: &str,
    embedder: impl Embedder + 'static,
) -> Result<Arc<dyn Collection>> {
    let options = CollectionOptions {
        metric: None,
        embedder: Some(Arc::new(embedder)),
    };
    palace.collection_with(name, true, &options)
}

fn warnings(warnings: &[loci_palace::Warning]) -> Vec<String> {
    warnings
        .iter()
        .map(|warning| format!("{}: {}", warning.code(), warning.message()))
        .collect()
}

/// Drawers as rows, in insertion order.
pub fn rows_of(collection: &dyn Collection, ids: Option<Vec<String>>) -> Result<Vec<Row>> {
    let selection = ids.map_or_else(Selection::all, Selection::ids);
    let got = collection.get(&Get {
        include: Include {
            distances: false,
            ..Include::ALL
        },
        ..Get::new(selection)
    })?;
    if let Some(warning) = got.warnings.first() {
        return Err(Error::invalid("get", warning.message().clone()));
    }
    let vectors = got.embeddings.unwrap_or_default();
    Ok(got
        .ids
        .into_iter()
        .zip(got.documents)
        .zip(&got.metadatas)
        .zip(vectors)
        .map(|(((id, text), meta), vector)| Row {
            id,
            text: Some(text),
            meta: meta_map(meta),
            vector: (!vector.is_empty()).then_some(vector),
        })
        .collect())
}

fn meta_map(metadata: &Metadata) -> BTreeMap<String, Value> {
    match serde_json::to_value(metadata) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

/// The next operation of a torture run. `alive` are ids that may exist, all with the prefix.
pub fn random_op(rng: &mut Rng, prefix: &str, dimension: usize, next: &mut u64) -> Op {
    let fresh = |rng: &mut Rng, next: &mut u64| {
        *next += 1;
        random_row(rng, prefix, *next, dimension)
    };
    let known = |rng: &mut Rng, next: u64| {
        // Mostly recent ids, so that updates and deletes often hit something alive.
        let back = if rng.below(3) == 0 {
            next
        } else {
            next.min(60)
        };
        next - rng.below(back.max(1) as usize) as u64
    };
    match rng.below(100) {
        0..=29 => Op::Add {
            rows: vec![fresh(rng, next)],
        },
        30..=44 => Op::Add {
            rows: (0..=rng.below(40)).map(|_| fresh(rng, next)).collect(),
        },
        45..=54 => {
            let mut rows: Vec<Row> = Vec::new();
            for _ in 0..=rng.below(5) {
                let number = if rng.below(2) == 0 {
                    *next += 1;
                    *next
                } else {
                    known(rng, *next)
                };
                let row = random_row(rng, prefix, number, dimension);
                if rows.iter().all(|other| other.id != row.id) {
                    rows.push(row);
                }
            }
            Op::Upsert { rows }
        }
        55..=74 => {
            let number = known(rng, *next);
            let full = random_row(rng, prefix, number, dimension);
            let row = match rng.below(5) {
                0 => Row {
                    text: None,
                    vector: None,
                    ..full
                },
                1 | 2 => Row {
                    text: None,
                    meta: BTreeMap::new(),
                    ..full
                },
                3 => full,
                // Text without a vector: the old vector is dropped.
                _ => Row {
                    vector: None,
                    meta: BTreeMap::new(),
                    ..full
                },
            };
            Op::Update { rows: vec![row] }
        }
        75..=86 => Op::Delete {
            ids: (0..=rng.below(3))
                .map(|_| format!("{prefix}{}", known(rng, *next)))
                .collect(),
        },
        87..=89 => Op::DeleteWhere {
            key: "group".into(),
            value: json!(format!("{prefix}{}", rng.below(12))),
        },
        90..=96 => Op::Reindex,
        97..=98 => Op::Compact,
        _ => Op::Analyze,
    }
}

/// Digits as letters: a word with both would be found by its parts, too.
pub fn letters(text: &str) -> String {
    text.chars()
        .map(|c| match c.to_digit(10) {
            Some(digit) => char::from(b'a' + digit as u8),
            None => c,
        })
        .collect()
}

/// A drawer whose text holds a word that no other version of any drawer has.
pub fn random_row(rng: &mut Rng, prefix: &str, number: u64, dimension: usize) -> Row {
    let version = rng.next() % 1_000_000_007;
    Row {
        id: format!("{prefix}{number}"),
        text: Some(format!(
            "common uq{}q tail",
            letters(&format!("{prefix}x{number}x{version}"))
        )),
        meta: [
            (
                "group".to_owned(),
                json!(format!("{prefix}{}", number % 12)),
            ),
            ("n".to_owned(), json!(number)),
            ("touched".to_owned(), json!(version)),
        ]
        .into(),
        vector: Some(rng.vector(dimension)),
    }
}
