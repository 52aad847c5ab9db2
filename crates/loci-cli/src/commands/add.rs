//! `loci add`: one drawer, into a palace that is created when missing.

use loci_palace::{Batch, Outcome, Warning, new_id, validate_collection_name};
use serde::Serialize;

use crate::args::AddArguments;
use crate::commands::update::refuse_two_readers_of_stdin;
use crate::failure::Result;
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a str,
    outcome: &'a str,
    collection: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<&'a str>,
    warnings: &'a [Warning],
}

pub(crate) fn run(arguments: &AddArguments, session: &Session<'_>) -> Result<Reply> {
    let piped = arguments.text.as_deref().is_none_or(|text| text == "-");
    refuse_two_readers_of_stdin(piped, arguments.vector.as_deref())?;
    // Everything that can be refused is refused before a palace is created for it.
    validate_collection_name(&arguments.collection)?;
    let id = arguments.id.clone().unwrap_or_else(new_id);
    let mut batch = Batch::new([id.clone()]).metadatas([input::metadata(
        arguments.metadata.as_deref(),
        &arguments.place,
        arguments.source.as_deref(),
    )?]);
    if let Some(path) = &arguments.vector {
        batch = batch.embeddings([input::vector(path)?]);
    }
    if let Some(text) = input::text(arguments.text.as_deref(), true)? {
        batch = batch.documents([text]);
    }
    batch.validate()?;

    let (memory, about_embedder) = session.created()?.memory(&arguments.collection, true)?;
    let result = memory.collection.add(&batch)?;
    let mut warnings = result.warnings;
    // What embeds matters only where a text needs a vector.
    if batch.documents.is_some() && batch.embeddings.is_none() {
        warnings.extend(about_embedder);
    }
    let outcome = result.outcomes.first().unwrap_or(&Outcome::Unchanged);
    let printer = session.printer;
    let (text, duplicate_of) = match outcome {
        Outcome::Exists => (
            format!(
                "`{}` exists; the old drawer was kept, use `loci update` to change it",
                printer.stored(&id)
            ),
            None,
        ),
        Outcome::DuplicateOf(other) => (
            format!(
                "the same text from the same source is already kept as `{}`; nothing was added",
                printer.stored(other)
            ),
            Some(other.as_str()),
        ),
        _ => (format!("added {}", printer.strong(&id)), None),
    };
    let answer = Answer {
        id: &id,
        outcome: outcome.as_str(),
        collection: &arguments.collection,
        duplicate_of,
        warnings: &warnings,
    };
    Ok(Reply::new(&answer, text)?.warnings(&warnings))
}
