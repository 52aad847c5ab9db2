//! `loci add`: adds one drawer, and creates the palace if it is missing.

use std::fmt::Write as _;

use loci_palace::add::{self, Added, Duplicates, Similar};
use loci_palace::pin::pin_patch;
use loci_palace::{Advice, Error, Metadata, OutcomeKind, check_duplicate, quoted};

use crate::args::AddArguments;
use crate::commands::update::refuse_two_readers_of_stdin;
use crate::failure::{Exit, Failure, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &AddArguments, session: &Session<'_>) -> Result<Reply> {
    refuse_threshold(arguments.threshold)?;
    session.secrets(arguments.secrets);
    if arguments.check {
        return check(arguments, session);
    }
    let request = request(arguments)?;
    // All input is checked before a palace is created for it.
    request.validate()?;
    let answer = session.created()?.add(&request)?;
    if let Some(failure) = taken_id(&answer) {
        // Nothing was stored, which a script must notice. The answer keeps its form.
        let exit = session.printer.failure(&failure);
        return Ok(Reply::new(&answer, "")?.exit_if(true, exit));
    }
    let text = match &answer.only {
        Some(drawer) => line(session.printer, drawer, &request),
        None => String::new(),
    };
    Ok(Reply::new(&answer, text)?
        .masked(&answer.masked)
        .warnings(&answer.warnings))
}

fn request(arguments: &AddArguments) -> Result<add::Request> {
    let piped = arguments.text.as_deref().is_none_or(|text| text == "-");
    refuse_two_readers_of_stdin(piped, arguments.vector.as_deref())?;
    let metadata = input::metadata(
        arguments.metadata.as_deref(),
        &arguments.place,
        arguments.source.as_deref(),
    )?;
    let vector = match &arguments.vector {
        Some(path) => Some(input::vector(path)?),
        None => None,
    };
    let mut metadata = Metadata::default().merged(&metadata);
    if arguments.pin {
        metadata = metadata.merged(&pin_patch(true));
    }
    let drawer = add::Drawer {
        id: arguments.id.clone(),
        text: input::text(arguments.text.as_deref(), true)?,
        metadata,
        vector,
        facts: Vec::new(),
    };
    Ok(add::Request {
        collection: arguments.collection.clone(),
        drawers: vec![drawer],
        threshold: arguments.threshold,
        duplicates: if arguments.allow_duplicate {
            Duplicates::Add
        } else {
            Duplicates::Skip
        },
        ..add::Request::default()
    })
}

/// The error about an id that belongs to another text.
fn taken_id(answer: &add::Answer) -> Option<Failure> {
    let taken = |drawer: &&Added| drawer.outcome == OutcomeKind::Exists;
    let drawer = answer.only.as_ref().filter(taken)?;
    let error = Error::Conflict {
        what: format!(
            "the id {} belongs to a drawer with another text or wing; nothing was stored",
            quoted(&drawer.id)
        ),
    };
    let advice = Advice::UpdateDrawer {
        id: drawer.id.clone(),
    };
    Some(error.advise(advice).into())
}

/// The outcome for a drawer.
fn line(printer: Printer, drawer: &Added, request: &add::Request) -> String {
    let id = printer.name(&drawer.id);
    match drawer.outcome {
        OutcomeKind::Duplicate
            if request
                .drawers
                .iter()
                .any(|new| new.id.as_ref() == Some(&drawer.id)) =>
        {
            format!("`{id}` already holds the same text; nothing was added")
        }
        OutcomeKind::Duplicate if request.duplicates == Duplicates::Add => format!(
            "the same text from the same source is already stored as `{id}`; nothing was added"
        ),
        OutcomeKind::Duplicate | OutcomeKind::NearDuplicate => format!(
            "the same text is already stored as `{id}`; nothing was added (`--allow-duplicate` adds \
             it again)"
        ),
        _ => format!(
            "added {}{}",
            printer.strong(&drawer.id),
            listed(printer, &drawer.similar, request.threshold)
        ),
    }
}

/// Only looks for drawers with the same or nearly the same text. The exit code is 1 if there are
/// any.
fn check(arguments: &AddArguments, session: &Session<'_>) -> Result<Reply> {
    let text = input::text(arguments.text.as_deref(), true)?.unwrap_or_default();
    let answer = session
        .existing()?
        .check_duplicate(&check_duplicate::Request {
            collection: arguments.collection.clone(),
            threshold: arguments.threshold,
            ..check_duplicate::Request::new(text)
        })?;
    let text = if answer.duplicate {
        let listed = listed(session.printer, &answer.similar, answer.threshold);
        listed.trim_start().to_owned()
    } else {
        format!(
            "no drawer has nearly the same text ({:.2})",
            answer.threshold
        )
    };
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.duplicate, Exit::Nothing))
}

/// A line for each similar drawer.
fn listed(printer: Printer, similar: &[Similar], threshold: f32) -> String {
    let mut text = String::new();
    for drawer in similar.iter().take(3) {
        let id = printer.name(&drawer.id);
        let place = [&drawer.wing, &drawer.room]
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("/");
        let place = match place.as_str() {
            "" => String::new(),
            place => format!(" in {}", printer.name(place)),
        };
        let _ = if drawer.exact {
            write!(text, "\nsame text: {id}{place}")
        } else {
            let similarity = drawer.similarity;
            write!(
                text,
                "\nnearly the same text: {id}{place} ({similarity:.2} \u{2265} {threshold:.2})"
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
    Err(Error::invalid(what, "not a number from 0 to 1").into())
}
