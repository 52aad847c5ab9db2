//! export: every drawer with everything it has, one JSON object per line, in the order added; then facts and links.

use std::io::Write;

use loci_core::{
    Collection, Error, FactQuery, Get, Include, Metric, Relations, Result, Selection, Warning,
};
use serde::Serialize;

use crate::Palace;
use crate::record::{JsonRecord, JsonRelation};

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Drawers written.
    pub exported: u64,
    /// Facts written.
    pub facts: u64,
    /// Links written.
    pub links: u64,
    /// What is missing: an export with warnings is not complete.
    pub warnings: Vec<Warning>,
}

/// Drawers read per transaction: no read transaction spans the writing of the output.
const PAGE: usize = 500;

impl Palace {
    /// Writes all drawers of the named collection; or of all, and then facts and links, which belong to the palace as a
    /// whole. A collection without drawers is one line without an id. What is damaged is left out and said in the warnings.
    pub fn export(&self, collection: Option<&str>, output: &mut dyn Write) -> Result<ExportReport> {
        let mut report = ExportReport::default();
        for collection in self.scope(collection)? {
            export_collection(collection.as_ref(), output, &mut report)?;
        }
        if collection.is_none()
            && let Some(relations) = self.relations()?
        {
            export_relations(relations.as_ref(), output, &mut report)?;
        }
        output
            .flush()
            .map_err(|source| Error::io("cannot write", "the export", source))?;
        Ok(report)
    }
}

fn export_collection(
    collection: &dyn Collection,
    output: &mut dyn Write,
    report: &mut ExportReport,
) -> Result<()> {
    let metric =
        (collection.metric() != Metric::default()).then(|| collection.metric().as_str().to_owned());
    // Said once, on the first line.
    let mut embedder = collection.embedder()?;
    let mut named = |record: JsonRecord| JsonRecord {
        collection: Some(collection.name().to_owned()),
        metric: metric.clone(),
        embedder: embedder.take(),
        ..record
    };
    // The list of ids is fixed first: a drawer removed meanwhile is left out, one added meanwhile
    // is not in this export, and nothing is skipped because pages shifted.
    let listed = collection.get(&Get {
        include: Include::NONE,
        ..Get::new(Selection::all())
    })?;
    report.warnings.extend(listed.warnings);
    if listed.ids.is_empty() {
        write_line(output, &named(JsonRecord::default()))?;
    }
    for page in listed.ids.chunks(PAGE) {
        let selection = Selection::ids(page.iter().cloned());
        let include = Include {
            distances: false,
            ..Include::ALL
        };
        let got = collection.get(&Get {
            include,
            ..Get::new(selection)
        })?;
        report.warnings.extend(got.warnings);
        let vectors = got.embeddings.unwrap_or_default();
        for (((id, document), metadata), vector) in got
            .ids
            .into_iter()
            .zip(got.documents)
            .zip(&got.metadatas)
            .zip(vectors)
        {
            let vector = (!vector.is_empty()).then_some(vector);
            // A drawer without text stays one: as empty text it could be the twin of another.
            let document = (!document.is_empty()).then_some(document);
            write_line(
                output,
                &named(JsonRecord::of(id, document, metadata, vector)),
            )?;
            report.exported += 1;
        }
    }
    Ok(())
}

/// Each kind is read at once: a page that is asked for by its offset would skip some when others are removed meanwhile.
fn export_relations(
    relations: &dyn Relations,
    output: &mut dyn Write,
    report: &mut ExportReport,
) -> Result<()> {
    for fact in relations.facts(&FactQuery::default(), usize::MAX, 0)? {
        let line = JsonRelation {
            fact: Some(fact),
            ..JsonRelation::default()
        };
        write_line(output, &line)?;
        report.facts += 1;
    }
    for link in relations.links(None, usize::MAX, 0)? {
        let line = JsonRelation {
            link: Some(link),
            ..JsonRelation::default()
        };
        write_line(output, &line)?;
        report.links += 1;
    }
    let damaged = relations.damaged()?;
    if !damaged.is_empty() {
        let detail = format!(
            "damaged and left out: {}; `loci verify --deep` lists them, `loci repair` sets them aside",
            damaged.join(", ")
        );
        report
            .warnings
            .push(Warning::new("damaged_relation", detail));
    }
    Ok(())
}

fn write_line(output: &mut dyn Write, record: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *output, record)
        .map_err(std::io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .map_err(|source| Error::io("cannot write", "the export", source))
}
