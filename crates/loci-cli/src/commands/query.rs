//! `loci query`: hits by words or by vector.

use std::fmt::Write as _;

use loci_palace::query::{Hit, Input, Request};

use crate::args::QueryArguments;
use crate::failure::{Exit, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Columns of the text shown under a hit.
const WIDTH: usize = 200;

pub(crate) fn run(arguments: &QueryArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = input::selection(&arguments.filter)?;
    let input = match &arguments.vector {
        Some(path) => Input::Vector(input::vector(path)?),
        None => Input::Words(arguments.words.join(" ")),
    };
    let answer = session.existing()?.query(&Request {
        collection: arguments.collection.clone(),
        input,
        k: usize::from(arguments.k),
        selection,
    })?;
    let text = render(session.printer, &answer.hits);
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.hits.is_empty(), Exit::Nothing))
}

/// Four significant digits: BM25 scores of a small collection are far below one.
fn digits(score: f64) -> String {
    if score != 0.0 && score.abs() < 0.001 {
        format!("{score:.3e}")
    } else {
        format!("{score:.4}")
    }
}

fn render(printer: Printer, hits: &[Hit]) -> String {
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
