//! `loci update`: change the text, the metadata or the vector of a drawer.

use std::path::Path;

use loci_palace::{Batch, MaskTally, Outcome, Warning};
use serde::Serialize;

use crate::args::UpdateArguments;
use crate::failure::{Exit, Failure, Result};
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a str,
    outcome: &'a str,
    collection: &'a str,
    warnings: &'a [Warning],
    masked: &'a MaskTally,
}

pub(crate) fn run(arguments: &UpdateArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let piped = arguments.text.as_deref() == Some("-");
    refuse_two_readers_of_stdin(piped, arguments.vector.as_deref())?;
    let place = &arguments.place;
    let changes_metadata =
        arguments.metadata.is_some() || place.wing.is_some() || place.room.is_some();
    if arguments.text.is_none() && arguments.vector.is_none() && !changes_metadata {
        return Err(Failure::usage(
            "there is nothing to change",
            "give new text, `--metadata`, `--wing`, `--room` or `--vector`",
        ));
    }
    let mut batch = Batch::new([arguments.id.clone()]);
    if changes_metadata {
        let metadata = arguments.metadata.as_deref();
        batch = batch.metadatas([input::metadata(metadata, place, None)?]);
    }
    if let Some(path) = &arguments.vector {
        batch = batch.embeddings([input::vector(path)?]);
    }
    if let Some(text) = input::text(arguments.text.as_deref(), false)? {
        batch = batch.documents([text]);
    }
    batch.validate_update()?;

    let (memory, about_embedder) = session.existing()?.memory(&arguments.collection, false)?;
    let result = memory.collection.update(&batch)?;
    let mut warnings = result.warnings;
    // What embeds matters only where a text needs a vector.
    if batch.documents.is_some() && batch.embeddings.is_none() {
        warnings.extend(about_embedder);
    }
    let outcome = result.outcomes.first().unwrap_or(&Outcome::Unchanged);
    let id = session.printer.strong(&arguments.id);
    let text = match outcome {
        Outcome::Unknown => format!(
            "there is no `{}` in collection `{}`",
            session.printer.name(&arguments.id),
            arguments.collection
        ),
        Outcome::Unchanged => format!("{id} was so already"),
        _ => format!("updated {id}"),
    };
    let answer = Answer {
        id: &arguments.id,
        outcome: outcome.as_str(),
        collection: &arguments.collection,
        warnings: &warnings,
        masked: &result.masked,
    };
    Ok(Reply::new(&answer, text)?
        .masked(&result.masked)
        .warnings(&warnings)
        .exit_if(*outcome == Outcome::Unknown, Exit::Nothing))
}

/// stdin can be read once: as text or as a vector.
pub(crate) fn refuse_two_readers_of_stdin(text: bool, vector: Option<&Path>) -> Result<()> {
    if text && vector == Some(Path::new("-")) {
        return Err(Failure::usage(
            "text and vector cannot both come from stdin",
            "give the text as an argument, or the vector as a file",
        ));
    }
    Ok(())
}
