//! Reads the store `sqlite_exact`: collections and documents in one SQLite database, vectors as
//! little-endian f32.

use loci_core::finding::{Finding, Severity};
use loci_core::{EmbedderIdentity, MAX_DIMENSION, Metadata, Metric, Result};
use loci_salvage::{Snapshot, Table, Value as Cell};
use rusqlite::Row;
use serde_json::Value;

use super::companions::Companions;
use super::target;
use crate::batches::Batches;
use crate::palace::{ForeignCollection, ForeignRecord, OnBatch, ReadSummary, VectorOrigin, added};
use crate::{cells, fields, vector};

/// The tables to salvage if SQLite cannot read the file.
pub(super) const WANTED: &[Table] = &[
    Table {
        name: "documents",
        sql: "CREATE TABLE documents (collection_id INTEGER, id TEXT, document TEXT, metadata_json TEXT, embedding BLOB, dim INTEGER, \
              created_at TEXT, updated_at TEXT, PRIMARY KEY (collection_id, id))",
        fits: |values| {
            matches!(
                values,
                [
                    Cell::Integer(_),
                    Cell::Text(_),
                    Cell::Text(_),
                    Cell::Text(_),
                    Cell::Blob(vector),
                    Cell::Integer(dimension),
                    ..
                ] if usize::try_from(*dimension).is_ok_and(|dimension| dimension == vector.len() / 4)
            )
        },
        key_index: None,
    },
    Table {
        name: "collections",
        sql: "CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT, dimension INTEGER, created_at TEXT)",
        fits: |values| {
            matches!(
                values,
                [
                    _,
                    Cell::Text(_),
                    Cell::Integer(_) | Cell::Null,
                    Cell::Text(_)
                ]
            )
        },
        key_index: None,
    },
    Table {
        name: "meta",
        sql: "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
        fits: |_| false,
        key_index: None,
    },
];

/// The collections with their ids. Documents of a lost collection get one that is named after its
/// id.
pub(super) fn collections(
    snapshot: &Snapshot,
    companions: &Companions,
) -> (Vec<i64>, Vec<ForeignCollection>) {
    let columns = cells::list(snapshot, "collections", &["id", "name", "dimension"]);
    let sql = format!(
        "SELECT {columns}, (SELECT count(*) FROM documents d WHERE d.collection_id = t.id) AS documents \
         FROM collections t ORDER BY t.id"
    );
    let orphaned = "SELECT collection_id AS id, NULL AS name, max(dim) AS dimension, count(*) AS documents FROM documents \
                    WHERE collection_id NOT IN (SELECT id FROM collections) GROUP BY collection_id ORDER BY collection_id";
    let mut numbers = Vec::new();
    let mut found = Vec::new();
    for sql in [sql.as_str(), orphaned] {
        let rows = cells::collect(snapshot, sql, [], |row| {
            let number = cells::integer(row, "id")?;
            Some((number, collection(row, number, snapshot, companions)))
        });
        for (number, collection) in rows {
            numbers.push(number);
            found.push(collection);
        }
    }
    (numbers, found)
}

fn collection(
    row: &Row<'_>,
    number: i64,
    snapshot: &Snapshot,
    companions: &Companions,
) -> ForeignCollection {
    let name = cells::filled(row, "name").unwrap_or_else(|| format!("collection_{number}"));
    let dimension = cells::integer(row, "dimension")
        .and_then(|dimension| usize::try_from(dimension).ok())
        .filter(|dimension| (1..=MAX_DIMENSION).contains(dimension));
    let records = cells::integer(row, "documents").and_then(|count| u64::try_from(count).ok());
    ForeignCollection {
        target: target(&name),
        metric: Metric::Cosine,
        dimension,
        embedder: embedder(snapshot, companions, &name, dimension),
        records: records.unwrap_or_default(),
        name,
    }
}

/// The embedder that is recorded in the database, or else beside it.
fn embedder(
    snapshot: &Snapshot,
    companions: &Companions,
    collection: &str,
    dimension: Option<usize>,
) -> Option<EmbedderIdentity> {
    let key = format!("embedder_model:{collection}");
    let sql = "SELECT value FROM meta WHERE key = ?1";
    let noted = cells::first(snapshot, sql, [key], |row| cells::filled(row, "value"));
    match (noted, dimension) {
        (Some(name), Some(dimension)) => Some(EmbedderIdentity {
            name,
            dimension,
            digest: String::new(),
        }),
        _ => companions.embedder_of(collection).cloned(),
    }
}

/// What of a document is lost, and why.
enum Loss {
    /// Its vector. The phrase says why.
    Vector(String),
    Metadata,
    /// Everything, because its id is empty.
    Document,
    /// This document and all that follow it.
    Rest(rusqlite::Error),
}

impl Loss {
    fn reason(&self) -> String {
        match self {
            Self::Vector(problem) => format!("its vector {problem}"),
            Self::Metadata => "its metadata is damaged".into(),
            Self::Document => "a row of the table `documents` has no id".into(),
            Self::Rest(error) => format!("the rest of the table `documents`: {error}"),
        }
    }
}

/// Losses with the id of the document, if it is known.
type Losses = Vec<(Option<String>, Loss)>;

/// Passes the documents of a collection to a callback.
pub(super) fn read(
    snapshot: &Snapshot,
    collection: i64,
    dimension: Option<usize>,
    batch: usize,
    take: OnBatch<'_, ForeignRecord>,
) -> Result<ReadSummary> {
    let (mut summary, losses) = read_with_losses(snapshot, collection, dimension, batch, take)?;
    for (id, loss) in losses {
        summary.lose(id, loss.reason());
    }
    Ok(summary)
}

fn read_with_losses(
    snapshot: &Snapshot,
    collection: i64,
    dimension: Option<usize>,
    batch: usize,
    take: OnBatch<'_, ForeignRecord>,
) -> Result<(ReadSummary, Losses)> {
    let (mut summary, mut losses) = (ReadSummary::default(), Losses::new());
    let mut batches = Batches::new(batch, take);
    let wanted = [
        "id",
        "document",
        "metadata_json",
        "embedding",
        "dim",
        "created_at",
        "updated_at",
    ];
    let columns = cells::list(snapshot, "documents", &wanted);
    let sql =
        format!("SELECT {columns} FROM documents t WHERE t.collection_id = ?1 ORDER BY t._rowid_");
    let unread =
        cells::for_each_row_of(
            "documents",
            snapshot,
            &sql,
            [collection],
            |row| match record(row, dimension, &mut summary, &mut losses) {
                Some(record) => batches.push(record),
                None => Ok(()),
            },
        )?;
    losses.extend(unread.map(|error| (None, Loss::Rest(error))));
    summary.read = batches.finish()?;
    Ok((summary, losses))
}

fn record(
    row: &Row<'_>,
    dimension: Option<usize>,
    summary: &mut ReadSummary,
    losses: &mut Losses,
) -> Option<ForeignRecord> {
    let Some(id) = cells::filled(row, "id") else {
        losses.push((None, Loss::Document));
        return None;
    };
    let vector = match vector_of(row, dimension) {
        Ok(vector) => Some(vector),
        Err(problem) => {
            losses.push((Some(id.clone()), Loss::Vector(problem)));
            None
        }
    };
    let mut metadata = Metadata::default();
    let text = cells::filled(row, "metadata_json").unwrap_or_default();
    match serde_json::from_str(&text) {
        Ok(Value::Object(pairs)) => {
            for (key, value) in &pairs {
                fields::put_json(&mut metadata, key, value, summary);
            }
        }
        _ => losses.push((Some(id.clone()), Loss::Metadata)),
    }
    for key in ["created_at", "updated_at"] {
        if metadata.get(key).is_none() {
            fields::put_text(&mut metadata, key, cells::filled(row, key));
        }
    }
    Some(ForeignRecord {
        id,
        document: cells::text(row, "document"),
        added: added(&metadata),
        metadata,
        origin: match vector {
            Some(_) => VectorOrigin::Exact,
            None => VectorOrigin::Missing,
        },
        vector,
    })
}

fn vector_of(row: &Row<'_>, dimension: Option<usize>) -> std::result::Result<Vec<f32>, String> {
    let bytes = cells::blob(row, "embedding").unwrap_or_default();
    let noted = cells::integer(row, "dim").and_then(|noted| usize::try_from(noted).ok());
    if noted.is_some_and(|noted| noted.checked_mul(4) != Some(bytes.len())) {
        let noted = noted.unwrap_or_default();
        return Err(format!(
            "has {} bytes, but {noted} numbers are recorded",
            bytes.len()
        ));
    }
    vector::read(bytes, dimension)
}

/// The problems of the documents.
pub(super) fn findings(
    snapshot: &Snapshot,
    numbers: &[i64],
    collections: &[ForeignCollection],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, collection) in numbers.iter().zip(collections) {
        let mut none = |_| Ok(());
        let read = read_with_losses(snapshot, *number, collection.dimension, 1000, &mut none);
        let (vectors, other): (Losses, Losses) = read
            .map(|(_, losses)| losses)
            .unwrap_or_default()
            .into_iter()
            .partition(|(_, loss)| matches!(loss, Loss::Vector(_)));
        if !vectors.is_empty() {
            findings.push(
                Finding::new("vectors_damaged", Severity::Error, "vectors cannot be used")
                    .of(&collection.name)
                    .list("documents", described(vectors))
                    .then("MemPalace leaves the documents out of its answers, or fails"),
            );
        }
        if !other.is_empty() {
            findings.push(
                Finding::new(
                    "metadata_damaged",
                    Severity::Error,
                    "metadata or ids cannot be read",
                )
                .of(&collection.name)
                .list("documents", described(other))
                .then("MemPalace treats the metadata of these documents as empty"),
            );
        }
    }
    let sql = "SELECT count(*) AS documents FROM documents WHERE collection_id NOT IN (SELECT id FROM collections)";
    let orphaned = cells::first(snapshot, sql, [], |row| cells::integer(row, "documents"));
    if let Some(orphaned) = orphaned.filter(|orphaned| *orphaned > 0) {
        findings.push(
            Finding::new(
                "documents_orphaned",
                Severity::Error,
                "documents belong to no collection",
            )
            .with("documents", orphaned)
            .then("MemPalace never finds them"),
        );
    }
    findings
}

fn described(losses: Losses) -> impl Iterator<Item = String> {
    losses
        .into_iter()
        .map(|(id, loss)| format!("`{}`: {}", id.unwrap_or_default(), loss.reason()))
}
