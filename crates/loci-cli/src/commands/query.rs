//! `loci query`: hits by words or by vector.

use std::fmt::Write as _;

use loci_palace::query::{Hit, Input, Request};
use loci_palace::{MetaValue, date_of};

use crate::args::QueryArguments;
use crate::failure::{Exit, Result};
use crate::input::{self, Sources};
use crate::passage::{self, Passage};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Columns of a name.
const WIDTH: usize = 70;

pub(crate) fn run(arguments: &QueryArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = input::selection(
        &arguments.filter,
        Sources::Palace(session, Some(&arguments.collection)),
    )?;
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
        for key in ["wing", "room"] {
            if let Some(name) = named(hit, key) {
                let _ = write!(text, "  {}", printer.stored_line(name, WIDTH));
            }
        }
        // The score of a word search only orders the hits of one answer; JSON has it.
        if let Some(distance) = hit.distance {
            let _ = write!(text, "  score {}", digits(hit.score));
            let _ = write!(text, "  distance {distance:.4}");
        }
        text.push('\n');
        let mut origin = Vec::new();
        if let Some(source) = named(hit, "source_file") {
            let line = match hit.metadata.get("start_line") {
                Some(MetaValue::Int(line)) => Some(*line),
                _ => None,
            };
            origin.push(printer.path(source, line));
        }
        let day = hit.metadata.authored_at().map(date_of);
        origin.extend(
            day.as_ref()
                .and_then(|day| day.get(..10))
                .map(str::to_owned),
        );
        if !origin.is_empty() {
            let _ = writeln!(text, "   {}", origin.join("  "));
        }
        text.push_str(&passage::render(
            printer,
            Passage::beginning(&hit.text),
            printer.columns(),
        ));
    }
    text
}

/// A name in the metadata of a hit, unless it is empty.
fn named<'a>(hit: &'a Hit, key: &str) -> Option<&'a str> {
    hit.metadata.get_str(key).filter(|name| !name.is_empty())
}
