//! export: every drawer with everything it has, one JSON object per line, in the order added.

use std::io::Write;

use loci_core::{Collection, Error, Get, Include, Metric, Result, Selection, Warning};

use crate::Palace;
use crate::record::JsonRecord;

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Drawers written.
    pub exported: u64,
    /// What is missing: an export with warnings is not complete.
    pub warnings: Vec<Warning>,
}

/// Drawers read per transaction: no read transaction spans the writing of the output.
const PAGE: usize = 500;

impl Palace {
    /// Writes all drawers of the named collection, or of all. A collection without drawers is one
    /// line without an id. Damaged drawers are left out and said in the warnings.
    pub fn export(&self, collection: Option<&str>, output: &mut dyn Write) -> Result<ExportReport> {
        let mut report = ExportReport::default();
        for collection in self.scope(collection)? {
            export_collection(collection.as_ref(), output, &mut report)?;
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

fn write_line(output: &mut dyn Write, record: &JsonRecord) -> Result<()> {
    serde_json::to_writer(&mut *output, record)
        .map_err(std::io::Error::from)
        .and_then(|()| output.write_all(b"\n"))
        .map_err(|source| Error::io("cannot write", "the export", source))
}
