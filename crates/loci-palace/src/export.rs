//! The verb `export`: writes every drawer with all its data, one JSON object per line, in the order
//! added. The projects of wings come before the drawers of a collection, so that an importer knows
//! which project a drawer belongs to. Mined sources follow the drawers; facts and links come last.

use std::io::Write;

use loci_core::{
    Collection, Error, FactQuery, Get, Include, Ledger, LeftOut, Metric, Projects, Relations,
    Result, Selection, Warning, printable_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Palace;
use crate::record::source::{JsonSource, JsonSourceLine};
use crate::record::{JsonProjectLine, JsonRecord, JsonRelation};

/// What to export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// The collection; the whole palace, with its facts and links, if absent.
    pub collection: Option<String>,
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// Drawers written.
    pub exported: u64,
    /// Rows of the ledger of mining written.
    pub sources: u64,
    /// Projects written.
    pub projects: u64,
    /// Facts written.
    pub facts: u64,
    /// Links written.
    pub links: u64,
    /// Data of the palace that JSON lines do not contain.
    pub left_out: Vec<LeftOut>,
    /// Missing data. An export with warnings is not complete.
    pub warnings: Vec<Warning>,
}

/// Drawers read per transaction. No read transaction is open while the output is written.
const PAGE: usize = 500;
/// Sources read per transaction; one source may have thousands of sections.
const SOURCES: usize = 100;

impl Palace {
    /// Writes all drawers of one collection; or those of all collections, and then facts and links,
    /// which belong to the whole palace. A collection without drawers is one line without an id.
    /// Damaged drawers are left out, and the warnings list them.
    pub fn export(&self, request: &Request, output: &mut dyn Write) -> Result<Answer> {
        let collection = request.collection.as_deref();
        let mut report = Answer::default();
        for collection in self.scope(collection)? {
            export_collection(collection.as_ref(), output, &mut report)?;
            if let Some(ledger) = collection.ledger() {
                export_sources(collection.name(), ledger, output, &mut report)?;
                note_left_out(collection.name(), ledger, &mut report)?;
            }
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
    report: &mut Answer,
) -> Result<()> {
    let metric =
        (collection.metric() != Metric::default()).then(|| collection.metric().as_str().to_owned());
    // Written once, on the first line.
    let mut embedder = collection.embedder()?;
    let mut named = |record: JsonRecord| JsonRecord {
        collection: Some(collection.name().to_owned()),
        metric: metric.clone(),
        embedder: embedder.take(),
        ..record
    };
    // The list of ids is read first. A drawer that is removed meanwhile is left out, one that is
    // added meanwhile is not in this export, and no drawer is skipped because pages shift.
    let listed = collection.get(&Get {
        include: Include::NONE,
        ..Get::new(Selection::all())
    })?;
    report.warnings.extend(listed.warnings);
    // Read after the list, because a project claims its wing before it has drawers in it.
    let projects = collection
        .projects()
        .map_or(Ok(Vec::new()), Projects::projects)?;
    // The line of a project does not describe the collection, so a line before it does.
    if listed.ids.is_empty() || !projects.is_empty() {
        write_line(output, &named(JsonRecord::default()))?;
    }
    for project in projects {
        let line = JsonProjectLine {
            collection: Some(collection.name().to_owned()),
            project,
        };
        write_line(output, &line)?;
        report.projects += 1;
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
        let histories = collection.histories(&got.ids)?;
        let vectors = got.embeddings.unwrap_or_default();
        for ((((id, document), metadata), vector), history) in got
            .ids
            .into_iter()
            .zip(got.documents)
            .zip(&got.metadatas)
            .zip(vectors)
            .zip(histories)
        {
            let vector = (!vector.is_empty()).then_some(vector);
            // A drawer without text is written without one: an empty text could be a duplicate of
            // another.
            let document = (!document.is_empty()).then_some(document);
            let record = JsonRecord::of(id, document, metadata, vector).with_history(history);
            write_line(output, &named(record))?;
            report.exported += 1;
        }
    }
    Ok(())
}

/// Writes the sections of a source before its head, because an importer treats the head as the sign
/// that the source is complete.
fn export_sources(
    collection: &str,
    ledger: &dyn Ledger,
    output: &mut dyn Write,
    report: &mut Answer,
) -> Result<()> {
    let mut last: Option<String> = None;
    loop {
        let page = ledger.sources_after(last.as_deref(), SOURCES)?;
        let Some(end) = page.last() else {
            return Ok(());
        };
        last = Some(end.record.name.clone());
        for source in page {
            let line = JsonSourceLine {
                collection: Some(collection.to_owned()),
                source: JsonSource::of(source),
            };
            write_line(output, &line)?;
            report.sources += 1;
        }
    }
}

fn note_left_out(collection: &str, ledger: &dyn Ledger, report: &mut Answer) -> Result<()> {
    let runs = ledger.runs(usize::MAX)?.len();
    if runs > 0 {
        report.left_out.push(LeftOut {
            what: "runs".into(),
            count: runs as u64,
            reason: format!(
                "the recorded runs of `{collection}` and their undo data refer to numbers of this palace"
            ),
        });
    }
    if ledger.has_forgotten()? {
        report.left_out.push(LeftOut {
            what: "forgotten".into(),
            count: 0,
            reason: format!(
                "hashes of texts that were forgotten in `{collection}` are keyed with a secret of this palace, which is not exported"
            ),
        });
    }
    Ok(())
}

/// Reads each kind at once: pages by offset would skip some if others are removed meanwhile.
fn export_relations(
    relations: &dyn Relations,
    output: &mut dyn Write,
    report: &mut Answer,
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
        report
            .warnings
            .push(Warning::DamagedRelations { names: damaged });
    }
    Ok(())
}

fn write_line(output: &mut dyn Write, record: &impl Serialize) -> Result<()> {
    // A line may be shown on a terminal, so control characters are escaped. A parser reads the
    // same.
    serde_json::to_string(record)
        .map_err(std::io::Error::from)
        .and_then(|line| output.write_all(printable_json(line).as_bytes()))
        .and_then(|()| output.write_all(b"\n"))
        .map_err(|source| Error::io("cannot write", "the export", source))
}
