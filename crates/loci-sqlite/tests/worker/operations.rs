//! The operations that tests and their worker processes exchange, and random data from a seed.
//!
//! The tests of `loci-palace` compile this file too: their worker serves the same requests through
//! `Palace`, and more of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Batch, Collection, CollectionInfo, Error, Filter, ForgetOutcome, Get, Include, MaintenanceKind,
    Metadata, MetadataPatch, PalaceState, Query, RepairOptions, RepairReport, Restored, Result,
    Selection, TermQuery, VerifyReport, ViewRequest, Warning,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What an operation needs of a palace, which it reaches through the backend alone or through
/// `Palace`.
pub trait Access {
    fn collection(&self, name: &str, create: bool) -> Result<Arc<dyn Collection>>;
    fn collections(&self) -> Result<Vec<CollectionInfo>>;
    fn delete_collection(&self, name: &str) -> Result<()>;
    fn state(&self) -> Result<PalaceState>;
    fn forget(&self, collection: &str, selection: &Selection) -> Result<ForgetOutcome>;
    fn verify(&self, deep: bool) -> Result<VerifyReport>;
    fn repair(&self, options: RepairOptions) -> Result<RepairReport>;
    fn backup(&self, target: &Path) -> Result<u64>;
    fn restore(&self, backup: &Path, replace: bool) -> Result<Restored>;
    fn close(&self) -> Result<()>;
}

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

/// One change, or one maintenance step.
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
    /// Runs the operation and returns the answer in short form.
    pub fn run(&self, palace: &dyn Access, collection: &dyn Collection) -> Result<Value> {
        let outcomes = |result: loci_core::WriteResult| {
            json!({
                "seq": result.seq,
                "outcomes": result.outcomes.iter().map(loci_core::Outcome::as_str).collect::<Vec<_>>(),
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
                let outcome =
                    palace.forget(collection.name(), &Selection::ids(ids.iter().cloned()))?;
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
    },
    /// The newest drawers that contain one of these terms, read through a search view.
    Newest {
        collection: String,
        terms: Vec<String>,
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
}

impl Request {
    pub fn run(&self, palace: &dyn Access) -> Result<Value> {
        match self {
            Self::Run { collection, op } => {
                op.run(palace, palace.collection(collection, true)?.as_ref())
            }
            Self::Query {
                collection,
                vector,
                k,
            } => {
                let mut query = Query::vector(vector.clone()).k(*k);
                query.include = Include {
                    distances: true,
                    ..Include::NONE
                };
                let answer = palace.collection(collection, false)?.query(&query)?;
                Ok(json!({
                    "ids": answer.ids.first(),
                    "distances": answer.distances.first(),
                    "warnings": messages(&answer.warnings),
                }))
            }
            Self::Newest {
                collection,
                terms,
                k,
            } => newest(palace.collection(collection, false)?.as_ref(), terms, *k),
            Self::Get { collection, ids } => {
                let rows = rows_of(palace.collection(collection, false)?.as_ref(), ids.clone())?;
                Ok(json!(rows))
            }
            Self::Status => status(palace),
            Self::Verify { deep } => {
                let report = palace.verify(*deep)?;
                Ok(json!({"ok": report.ok(), "findings": report.findings}))
            }
            Self::Repair => repair(palace, RepairOptions::default()),
            Self::Replace => repair(palace, RepairOptions { replace: true }),
            Self::Backup { to } => Ok(json!(palace.backup(Path::new(to))?)),
            Self::Restore { from } => Ok(json!(palace.restore(Path::new(from), true)?.drawers)),
            Self::Drop { collection } => {
                palace.delete_collection(collection)?;
                Ok(json!(null))
            }
        }
    }
}

fn newest(collection: &dyn Collection, terms: &[String], k: usize) -> Result<Value> {
    let selection = Selection::all();
    let request = ViewRequest {
        selection: &selection,
        vectors: false,
    };
    let terms: Vec<TermQuery> = terms
        .iter()
        .map(|term| TermQuery {
            term: term.clone(),
            longer: false,
        })
        .collect();
    let mut found = Vec::new();
    collection.with_view(&request, &mut |view| {
        let records = view.newest(&terms, k)?.concat();
        found = view.fetch(&records)?;
        Ok(())
    })?;
    let ids: Vec<&String> = found.iter().map(|drawer| &drawer.id).collect();
    Ok(json!({ "ids": ids }))
}

fn status(palace: &dyn Access) -> Result<Value> {
    let state = palace.state()?;
    let collections = palace.collections()?;
    let mut held_back = Vec::new();
    for info in &collections {
        let collection = palace.collection(&info.name, false)?;
        held_back.extend(collection.maintenance_state()?.held_back);
    }
    Ok(json!({
        "drawers": collections.iter().map(|info| info.count).sum::<u64>(),
        "purge_pending": state.purge_pending,
        "drift_files": state.drift_files,
        "indexes": state.indexes,
        "held_back": held_back,
    }))
}

fn repair(palace: &dyn Access, options: RepairOptions) -> Result<Value> {
    let report = palace.repair(options)?;
    Ok(json!({"actions": report.actions, "remaining": report.remaining}))
}

/// What a worker does that only opens a palace: it adds one drawer.
pub fn opened(palace: &dyn Access) -> Result<Value> {
    let id = std::process::id().to_string();
    let op = Op::Add {
        rows: vec![Row {
            id: id.clone(),
            text: Some(format!("opened by {id}")),
            meta: [].into(),
            vector: Some(vec![1.0, id.parse().unwrap()]),
        }],
    };
    op.run(palace, palace.collection("drawers", true)?.as_ref())
}

/// The answer of a worker as one line.
pub fn answered(result: Result<Value>) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => {
            json!({"error": {"kind": error.kind().as_str(), "message": error.to_string(), "debug": format!("{error:?}")}})
        }
    }
}

/// Writes one line to the parent.
pub fn print_line(value: &Value) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").unwrap();
    out.flush().unwrap();
}

pub fn messages(warnings: &[Warning]) -> Vec<String> {
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
