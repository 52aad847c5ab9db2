//! `loci query`: hits by words or by vector.

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::{Collection, Metadata, Metric, Query, Selection, Warning, search_words};
use serde::Serialize;

use crate::args::QueryArguments;
use crate::failure::{Exit, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Columns of the text shown under a hit.
const WIDTH: usize = 200;

/// One hit. `distance` is null when the search was by words.
#[derive(Serialize)]
pub(crate) struct Hit {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) score: f64,
    pub(crate) distance: Option<f32>,
    pub(crate) metadata: Metadata,
}

#[derive(Serialize)]
struct Answer {
    hits: Vec<Hit>,
    warnings: Vec<Warning>,
}

pub(crate) fn run(arguments: &QueryArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = input::selection(&arguments.filter)?;
    let vector = arguments
        .vector
        .as_deref()
        .map(|path: &Path| input::vector(path))
        .transpose()?;
    let collection = session
        .existing()?
        .collection(&arguments.collection, false)?;
    let k = usize::from(arguments.k);
    let (hits, warnings) = match vector {
        Some(vector) => by_vector(collection.as_ref(), vector, k, selection)?,
        None => by_words(
            collection.as_ref(),
            &arguments.words.join(" "),
            k,
            &selection,
        )?,
    };
    let answer = Answer { hits, warnings };
    let text = shown(session.printer, &answer.hits);
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.hits.is_empty(), Exit::Nothing))
}

/// The best drawers by words.
pub(crate) fn by_words(
    collection: &dyn Collection,
    words: &str,
    k: usize,
    selection: &Selection,
) -> Result<(Vec<Hit>, Vec<Warning>)> {
    let result = search_words(collection, words, k, selection)?;
    let hits = result.hits.into_iter().map(|hit| Hit {
        id: hit.id,
        text: hit.document,
        score: hit.score,
        distance: None,
        metadata: hit.metadata,
    });
    Ok((hits.collect(), result.warnings))
}

/// The nearest drawers.
pub(crate) fn by_vector(
    collection: &dyn Collection,
    vector: Vec<f32>,
    k: usize,
    selection: Selection,
) -> Result<(Vec<Hit>, Vec<Warning>)> {
    let result = collection.query(&Query::vector(vector).k(k).selection(selection))?;
    let metric = collection.metric();
    let hits = result
        .ids
        .into_iter()
        .flatten()
        .zip(result.documents.into_iter().flatten())
        .zip(result.metadatas.into_iter().flatten())
        .zip(result.distances.into_iter().flatten())
        .map(|(((id, text), metadata), distance)| Hit {
            id,
            text,
            score: score(metric, distance),
            distance: Some(distance),
            metadata,
        });
    Ok((hits.collect(), result.warnings))
}

/// Larger is better, whatever the metric.
fn score(metric: Metric, distance: f32) -> f64 {
    match metric {
        Metric::Cosine | Metric::Ip => 1.0 - f64::from(distance),
        Metric::L2 => 1.0 / (1.0 + f64::from(distance)),
    }
}

/// Four digits that say something: BM25 of a small collection is far below one.
fn digits(score: f64) -> String {
    if score != 0.0 && score.abs() < 0.001 {
        format!("{score:.3e}")
    } else {
        format!("{score:.4}")
    }
}

fn shown(printer: Printer, hits: &[Hit]) -> String {
    if hits.is_empty() {
        return "nothing found\n".to_owned();
    }
    let mut text = String::new();
    for (hit, rank) in hits.iter().zip(1..) {
        let _ = write!(text, "{rank}. {}", printer.strong(&hit.id));
        // The score of a word search only orders the hits of one answer; JSON has it.
        if let Some(distance) = hit.distance {
            let _ = write!(text, "  score {}", digits(hit.score));
            let _ = write!(text, "  distance {distance:.4}");
        }
        if !hit.metadata.0.is_empty() {
            let _ = write!(text, "  {}", printer.name(&hit.metadata.to_json_text()));
        }
        let _ = writeln!(text, "\n   {}", printer.stored_line(&hit.text, WIDTH));
    }
    text
}
