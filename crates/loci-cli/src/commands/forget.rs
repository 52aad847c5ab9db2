//! `loci forget`: deletes drawers, and their text from every file of the palace.

use loci_palace::forget::{Answer, Request};
use loci_palace::{Selection, list, status, validate_id};

use crate::args::ForgetArguments;
use crate::failure::{Exit, Failure, Result};
use crate::input;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ForgetArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = match &arguments.metadata {
        Some(text) => Selection::matching(input::where_filter(text)?),
        None => {
            arguments.ids.iter().try_for_each(|id| validate_id(id))?;
            Selection::ids(arguments.ids.iter().cloned())
        }
    };
    let request = Request {
        selection,
        collection: arguments.collection.clone(),
    };
    let palace = session.existing()?;
    if arguments.metadata.is_some() && !arguments.yes {
        let matching = palace.list(&list::Request {
            collection: request.collection.clone(),
            selection: request.selection.clone(),
            limit: 0,
            ..list::Request::default()
        })?;
        if !confirmed(matching.total, session)? {
            let nothing = Answer {
                purge_pending: palace
                    .status(&status::Request::default())?
                    .state
                    .purge_pending,
                ..Answer::default()
            };
            return reply(&nothing, "nothing done");
        }
    }
    let answer = palace.forget(&request)?;
    let text = if answer.is_nothing() {
        "nothing to forget".to_owned()
    } else {
        format!("forgot {} drawer(s)", answer.forgotten)
    };
    let mut reply = reply(&answer, &text)?;
    reply.note(notes(&answer));
    Ok(reply)
}

/// Asks for confirmation before drawers that a filter matches are deleted permanently.
fn confirmed(matching: usize, session: &Session<'_>) -> Result<bool> {
    if matching == 0 {
        return Ok(true);
    }
    let question = format!("forget {matching} drawer(s) permanently?");
    session.printer.confirm(&question).ok_or_else(|| {
        Failure::usage(
            format!("`--where` matches {matching} drawer(s), and there is no terminal to ask for confirmation"),
            "pass `--yes` to forget them",
        )
    })
}

fn reply(answer: &Answer, text: &str) -> Result<Reply> {
    Ok(Reply::new(answer, text)?.exit_if(answer.is_nothing(), Exit::Nothing))
}

/// Notes for people.
fn notes(answer: &Answer) -> Vec<String> {
    let mut notes = Vec::new();
    if answer.purge_pending {
        let reason = answer.pending_detail.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        notes.push(format!(
            "note: the text may still be in a file of the palace{reason}; the next process that \
             uses the palace removes it"
        ));
    }
    if answer.facts + answer.links > 0 {
        notes.push(format!(
            "note: also forgot {} fact(s) and {} link(s)",
            answer.facts, answer.links
        ));
    }
    if !answer.removed_files.is_empty() {
        notes.push(format!(
            "note: deleted {} other file(s) that could contain the text: {}",
            answer.removed_files.len(),
            answer.removed_files.join(", ")
        ));
    }
    if !answer.kept_files.is_empty() {
        notes.push(format!(
            "note: {} file(s) of earlier repairs and restores are kept and were not searched: {}",
            answer.kept_files.len(),
            answer.kept_files.join(", ")
        ));
    }
    notes
}
