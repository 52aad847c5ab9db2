//! `loci get`: drawers by id, in the order asked for.

use std::collections::HashMap;
use std::fmt::Write as _;

use loci_palace::{Collection, Get, GetResult, Include, Selection, Warning, validate_id};
use serde::Serialize;

use crate::args::GetArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::{Drawer, Reply};
use crate::session::Session;

#[derive(Serialize)]
struct Answer {
    drawers: Vec<Drawer>,
    missing: Vec<String>,
    warnings: Vec<Warning>,
}

pub(crate) fn run(arguments: &GetArguments, session: &Session<'_>) -> Result<Reply> {
    arguments.ids.iter().try_for_each(|id| validate_id(id))?;
    let mut positions = HashMap::new();
    for id in &arguments.ids {
        let next = positions.len();
        positions.entry(id.as_str()).or_insert(next);
    }
    let palace = session.existing()?;
    let mut drawers = Vec::new();
    let mut warnings = Vec::new();
    for collection in palace.scope(arguments.collection.as_deref())? {
        let result = collection.get(&Get {
            include: Include {
                embeddings: arguments.vectors,
                ..Include::GET
            },
            ..Get::new(Selection::ids(positions.keys().copied()))
        })?;
        drawers.extend(drawers_of(collection.as_ref(), result, &mut warnings));
    }
    drawers.sort_by_key(|drawer| positions.get(drawer.id.as_str()).copied());
    let mut missing: Vec<String> = positions
        .keys()
        .filter(|id| !drawers.iter().any(|drawer| drawer.id == **id))
        .map(|id| (*id).to_owned())
        .collect();
    missing.sort_by_key(|id| positions.get(id.as_str()).copied());

    let mut text = String::new();
    for drawer in &drawers {
        show(session.printer, drawer, &mut text);
    }
    let notes: Vec<String> = missing
        .iter()
        .map(|id| format!("there is no `{}`", session.printer.name(id)))
        .collect();
    let nothing = drawers.is_empty();
    let answer = Answer {
        drawers,
        missing,
        warnings,
    };
    let mut reply = Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(nothing, Exit::Nothing);
    reply.notes.extend(notes);
    Ok(reply)
}

/// The rows of an answer as drawers.
pub(crate) fn drawers_of(
    collection: &dyn Collection,
    result: GetResult,
    warnings: &mut Vec<Warning>,
) -> Vec<Drawer> {
    warnings.extend(result.warnings);
    let mut vectors = result.embeddings.map(Vec::into_iter);
    result
        .ids
        .into_iter()
        .zip(result.documents)
        .zip(result.metadatas)
        .map(|((id, text), metadata)| Drawer {
            id,
            text,
            metadata,
            collection: collection.name().to_owned(),
            embedding: vectors.as_mut().and_then(Iterator::next),
        })
        .collect()
}

fn show(printer: Printer, drawer: &Drawer, text: &mut String) {
    let _ = writeln!(
        text,
        "{}  {}",
        printer.strong(&drawer.id),
        drawer.collection
    );
    if !drawer.metadata.0.is_empty() {
        let _ = writeln!(text, "{}", printer.name(&drawer.metadata.to_json_text()));
    }
    if let Some(vector) = &drawer.embedding {
        let _ = writeln!(text, "{vector:?}");
    }
    let _ = writeln!(
        text,
        "{}\n",
        printer.stored(drawer.text.trim_end_matches('\n'))
    );
}
