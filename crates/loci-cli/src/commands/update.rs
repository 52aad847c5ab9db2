//! `loci update`: changes the text, the metadata or the vector of a drawer.

use std::path::Path;

use loci_palace::OutcomeKind;
use loci_palace::update::Request;

use crate::args::UpdateArguments;
use crate::failure::{Exit, Failure, Result};
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &UpdateArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let piped = arguments.text.as_deref() == Some("-");
    refuse_two_readers_of_stdin(piped, arguments.vector.as_deref())?;
    let (given, place) = (arguments.metadata.as_deref(), &arguments.place);
    let metadata = if given.is_some() || place.wing.is_some() || place.room.is_some() {
        Some(input::metadata(given, place, None)?)
    } else {
        None
    };
    if arguments.text.is_none() && arguments.vector.is_none() && metadata.is_none() {
        return Err(Failure::usage(
            "nothing to change",
            "pass new text, `--metadata`, `--wing`, `--room` or `--vector`",
        ));
    }
    let vector = match &arguments.vector {
        Some(path) => Some(input::vector(path)?),
        None => None,
    };
    let text = input::text(arguments.text.as_deref(), false)?;
    let request = Request {
        id: arguments.id.clone(),
        collection: Some(arguments.collection.clone()),
        text,
        metadata,
        vector,
    };
    request.validate()?;
    let palace = session.existing()?;
    let request = Request {
        id: palace.complete_id(Some(&arguments.collection), &arguments.id)?,
        ..request
    };
    let answer = palace.update(&request)?;
    let id = session.printer.strong(&answer.id);
    let text = match answer.outcome {
        OutcomeKind::Unknown => format!(
            "no drawer `{}` in collection `{}`",
            session.printer.name(&answer.id),
            answer.collection
        ),
        OutcomeKind::Unchanged => format!("{id} is unchanged"),
        _ => format!("updated {id}"),
    };
    Ok(Reply::new(&answer, text)?
        .masked(&answer.masked)
        .warnings(&answer.warnings)
        .exit_if(answer.outcome == OutcomeKind::Unknown, Exit::Nothing))
}

/// Refuses to read both the text and the vector from stdin, which can be read only once.
pub(crate) fn refuse_two_readers_of_stdin(text: bool, vector: Option<&Path>) -> Result<()> {
    if text && vector == Some(Path::new("-")) {
        return Err(Failure::usage(
            "text and vector cannot both come from stdin",
            "pass the text as an argument, or the vector as a file",
        ));
    }
    Ok(())
}
