//! Checks that filters, distances and updates give the same results as in ChromaDB. The real
//! chromadb and Loci get the same random records and filters, and their answers are compared.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use loci_palace::{
    Batch, CollectionOptions, DocumentFilter, Filter, Get, MetadataPatch, Metric, OpenOptions,
    Palace, Query, Selection,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Answers {
    version: String,
    metric: String,
    records: Vec<Record>,
    updates: Vec<Record>,
    gets: Vec<GetCase>,
    queries: Vec<QueryCase>,
}

#[derive(Deserialize)]
struct Record {
    id: String,
    document: Option<String>,
    metadata: Option<Value>,
    embedding: Option<Vec<f32>>,
}

#[derive(Deserialize)]
struct GetCase {
    #[serde(rename = "where")]
    filter: Option<Value>,
    where_document: Option<Value>,
    ids: Vec<String>,
}

#[derive(Deserialize)]
struct QueryCase {
    #[serde(rename = "where")]
    filter: Option<Value>,
    embedding: Vec<f32>,
    ids: Vec<String>,
    distances: Vec<f32>,
}

/// Runs the script once per metric and compares. Returns a line that describes what was compared.
pub(crate) fn compare(python: &Path) -> anyhow::Result<String> {
    let (mut gets, mut queries, mut version) = (0, 0, String::new());
    for metric in ["cosine", "l2", "ip"] {
        let directory = tempfile::tempdir()?;
        let output = directory.path().join("answers.json");
        let status = Command::new(python)
            .arg(super::script("chroma_answers.py"))
            .arg(directory.path().join("chroma"))
            .arg(&output)
            .arg(metric)
            .status()
            .context("running the chromadb script")?;
        ensure!(status.success(), "the chromadb script failed");
        let answers: Answers = serde_json::from_slice(&std::fs::read(&output)?)?;
        replay(&answers, &directory.path().join("palace"))
            .with_context(|| format!("metric {metric}"))?;
        gets += answers.gets.len();
        queries += answers.queries.len();
        version = answers.version;
    }
    Ok(format!(
        "chromadb {version}: {gets} filters and {queries} queries gave the same answers"
    ))
}

fn replay(answers: &Answers, path: &Path) -> anyhow::Result<()> {
    let palace = Palace::open(path, &OpenOptions::create())?;
    let options = CollectionOptions {
        metric: Some(Metric::parse(&answers.metric)?),
        embedder: None,
    };
    let drawers = palace.collection_with("drawers", true, &options)?;
    for records in answers.records.chunks(100) {
        drawers.add(&batch(records)?)?;
    }
    for update in &answers.updates {
        drawers.update(&batch(std::slice::from_ref(update))?)?;
    }
    for case in &answers.gets {
        let selection = Selection {
            period: None,
            ids: None,
            filter: case.filter.as_ref().map(Filter::parse).transpose()?,
            document: case
                .where_document
                .as_ref()
                .map(DocumentFilter::parse)
                .transpose()?,
        };
        let found = drawers.get(&Get::new(selection))?.ids;
        if found != case.ids {
            bail!(
                "{:?} {:?}: chromadb {:?}, loci {found:?}",
                case.filter,
                case.where_document,
                case.ids
            );
        }
    }
    for case in &answers.queries {
        let selection = Selection {
            filter: case.filter.as_ref().map(Filter::parse).transpose()?,
            ..Selection::all()
        };
        let query = Query::vector(case.embedding.clone())
            .k(case.ids.len().max(1))
            .selection(selection);
        let found = drawers.query(&query)?;
        let (ids, distances) = (found.ids.concat(), found.distances.concat());
        ensure!(
            ids.len() == case.ids.len(),
            "{:?}: chromadb {:?}, loci {ids:?}",
            case.filter,
            case.ids
        );
        for (ours, theirs) in distances.iter().zip(&case.distances) {
            ensure!(
                (ours - theirs).abs() <= 1e-4 * theirs.abs().max(1.0),
                "distances {distances:?} {:?}",
                case.distances
            );
        }
    }
    palace.close()?;
    Ok(())
}

fn batch(records: &[Record]) -> anyhow::Result<Batch> {
    let mut batch = Batch::new(records.iter().map(|record| record.id.clone()));
    let metadatas: Result<Vec<_>, _> = records
        .iter()
        .map(|record| {
            record
                .metadata
                .as_ref()
                .map_or_else(|| Ok(MetadataPatch::default()), MetadataPatch::from_json)
        })
        .collect();
    batch.documents = Some(
        records
            .iter()
            .map(|record| record.document.clone())
            .collect(),
    );
    batch.metadatas = Some(metadatas?);
    batch.embeddings = Some(
        records
            .iter()
            .map(|record| record.embedding.clone())
            .collect(),
    );
    Ok(batch)
}
