//! `loci add`: one drawer, into a palace that is created when missing, with a look for drawers that say the same.

use std::fmt::Write as _;

use loci_palace::{
    Batch, Comparison, DuplicateCheck, Error, MaskTally, Memory, Outcome, Palace, Twin, Warning,
    new_id, validate_collection_name,
};
use serde::Serialize;

use crate::args::AddArguments;
use crate::commands::update::refuse_two_readers_of_stdin;
use crate::failure::{Exit, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a str,
    outcome: &'a str,
    collection: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<&'a str>,
    twins: &'a [Twin],
    threshold: f32,
    warnings: &'a [Warning],
    masked: &'a MaskTally,
}

#[derive(Serialize)]
struct Checked<'a> {
    duplicate: bool,
    collection: &'a str,
    #[serde(flatten)]
    check: &'a DuplicateCheck,
}

pub(crate) fn run(arguments: &AddArguments, session: &Session<'_>) -> Result<Reply> {
    refuse_threshold(arguments.threshold)?;
    session.secrets(arguments.secrets);
    if arguments.check {
        return check(arguments, session);
    }
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

    let palace = session.created()?;
    let (memory, about_embedder) = palace.memory(&arguments.collection, true)?;
    let mut warnings = Vec::new();
    let document = batch.documents.iter().flatten().flatten().next();
    let compared = match document {
        Some(text) => compared(palace, &memory, arguments.threshold, text, &mut warnings),
        None => Comparison::default(),
    };
    let twins = compared.twins;
    if let (Some(vector), Some(embedder)) = (compared.embedded, &memory.embedder) {
        batch = batch.embedded(embedder.identity(), vec![vector]);
    }
    let result = memory.collection.add(&batch)?;
    warnings.extend(result.warnings);
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
                printer.name(&id)
            ),
            None,
        ),
        Outcome::DuplicateOf(other) => (
            format!(
                "the same text from the same source is already kept as `{}`; nothing was added",
                printer.name(other)
            ),
            Some(other.as_str()),
        ),
        _ => {
            let said = format!("added {}", printer.strong(&id));
            (
                format!("{said}{}", told(printer, &twins, arguments.threshold)),
                None,
            )
        }
    };
    let answer = Answer {
        id: &id,
        outcome: outcome.as_str(),
        collection: &arguments.collection,
        duplicate_of,
        twins: &twins,
        threshold: arguments.threshold,
        warnings: &warnings,
        masked: &result.masked,
    };
    Ok(Reply::new(&answer, text)?
        .masked(&result.masked)
        .warnings(&warnings))
}

/// Only looks; exit code 1 says that there is a twin.
fn check(arguments: &AddArguments, session: &Session<'_>) -> Result<Reply> {
    let text = input::text(arguments.text.as_deref(), true)?.unwrap_or_default();
    let check =
        session
            .existing()?
            .check_duplicate(&arguments.collection, &text, arguments.threshold)?;
    let said = if check.twins.is_empty() {
        format!("no drawer says nearly the same ({:.2})", check.threshold)
    } else {
        let told = told(session.printer, &check.twins, check.threshold);
        told.trim_start().to_owned()
    };
    let answer = Checked {
        duplicate: !check.twins.is_empty(),
        collection: &arguments.collection,
        check: &check,
    };
    Ok(Reply::new(&answer, said)?
        .warnings(&check.warnings)
        .exit_if(!check.twins.is_empty(), Exit::Nothing))
}

/// Drawers that say the same. Adding never fails because they cannot be looked for.
fn compared(
    palace: &Palace,
    memory: &Memory,
    threshold: f32,
    text: &str,
    warnings: &mut Vec<Warning>,
) -> Comparison {
    match palace.compare(memory, text, threshold) {
        Ok(compared) => compared,
        Err(error) => {
            warnings.push(Warning::DuplicatesUnknown {
                problem: error.to_string(),
            });
            Comparison::default()
        }
    }
}

/// A line for each twin.
fn told(printer: Printer, twins: &[Twin], threshold: f32) -> String {
    let mut text = String::new();
    for twin in twins.iter().take(3) {
        let id = printer.name(&twin.id);
        let place = [twin.wing.as_str(), twin.room.as_str()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        let place = match place.as_str() {
            "" => String::new(),
            place => format!(" in {}", printer.name(place)),
        };
        let _ = if twin.exact {
            write!(text, "\na drawer that says the same: {id}{place}")
        } else {
            let similarity = twin.similarity;
            write!(
                text,
                "\na drawer that says nearly the same: {id}{place} ({similarity:.2} \u{2265} {threshold:.2})"
            )
        };
    }
    text
}

fn refuse_threshold(threshold: f32) -> Result<()> {
    if (0.0..=1.0).contains(&threshold) {
        return Ok(());
    }
    let what = format!("`--threshold {threshold}`");
    Err(Error::invalid(what, "is not a number from 0 to 1").into())
}
