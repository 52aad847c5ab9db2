//! `loci forget`: deletes drawers, and their text from every file of the palace.

use std::fmt::Write as _;

use loci_palace::forget::preview::Preview;
use loci_palace::forget::{Answer, Request};
use loci_palace::{Error, Filter, Palace, Selection, status, validate_id};
use serde_json::Value;

use crate::args::ForgetArguments;
use crate::failure::{Exit, Failure, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::{Reply, json_of};
use crate::session::Session;
use crate::units::count;

/// Wings and rooms that are shown; JSON has all of them.
const PLACES: usize = 10;
/// Columns of a name or a line of text.
const WIDTH: usize = 72;

pub(crate) fn run(arguments: &ForgetArguments, session: &Session<'_>) -> Result<Reply> {
    arguments.ids.iter().try_for_each(|id| validate_id(id))?;
    let filters = where_filters(arguments)?;
    let palace = session.existing()?;
    let ids = session.ids(arguments.collection.as_deref(), &arguments.ids)?;
    // The beginning of an id may be the id of a drawer that is gone already.
    let is_guessed = ids != arguments.ids;
    let request = Request {
        selection: selection(arguments, ids, filters, palace)?,
        collection: arguments.collection.clone(),
    };
    if arguments.dry_run {
        return shown(&palace.preview_forget(&request)?, session.printer);
    }
    if (arguments.ids.is_empty() || is_guessed) && !arguments.yes {
        let preview = palace.preview_forget(&request)?;
        if !confirmed(&preview, session)? {
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
    let working = session
        .printer
        .working("forgetting, and rewriting the palace");
    let answer = palace.forget(&request)?;
    drop(working);
    let text = if answer.is_nothing() {
        "nothing to forget".to_owned()
    } else {
        format!("forgot {} drawer(s)", answer.forgotten)
    };
    let mut reply = reply(&answer, &text)?;
    reply.note(notes(&answer));
    Ok(reply)
}

/// The conditions that need no palace. An empty name is refused: a script that lost it must not
/// forget the drawers without a wing.
fn where_filters(arguments: &ForgetArguments) -> Result<Vec<Filter>> {
    for (flag, name) in [("--source", &arguments.source), ("--wing", &arguments.wing)] {
        if name.as_deref() == Some("") {
            let error = Error::invalid(format!("`{flag}`"), "is empty; name what to forget");
            return Err(Failure::Argument(error));
        }
    }
    let mut filters = Vec::new();
    if let Some(text) = &arguments.metadata {
        filters.push(input::where_filter(text)?);
    }
    if let Some(wing) = &arguments.wing {
        filters.push(Filter::eq("wing", wing.as_str()));
    }
    Ok(filters)
}

fn selection(
    arguments: &ForgetArguments,
    ids: Vec<String>,
    mut filters: Vec<Filter>,
    palace: &Palace,
) -> Result<Selection> {
    if let Some(source) = &arguments.source {
        let found = palace.match_source(source, arguments.collection.as_deref())?;
        filters.push(found.widest_filter());
    }
    Ok(match Filter::all(filters) {
        Some(filter) => Selection::matching(filter),
        None => Selection::ids(ids),
    })
}

/// The answer of `--dry-run`.
fn shown(preview: &Preview, printer: Printer) -> Result<Reply> {
    let mut json = json_of(preview)?;
    if let Value::Object(json) = &mut json {
        json.insert("dry_run".into(), true.into());
    }
    let text = if preview.drawers == 0 {
        "nothing to forget\n".to_owned()
    } else {
        format!("{}nothing was changed\n", described(preview, printer))
    };
    Ok(Reply::new(&json, text)?.exit_if(preview.drawers == 0, Exit::Nothing))
}

/// How many drawers, where they are, and some of them.
fn described(preview: &Preview, printer: Printer) -> String {
    let mut text = format!(
        "{} from {}\n",
        count(preview.drawers, "drawer"),
        count(preview.sources, "source")
    );
    for place in preview.places.iter().take(PLACES) {
        let name = match (place.wing.as_str(), place.room.as_str()) {
            ("", "") => "without a wing".to_owned(),
            ("", room) => format!("room {}", printer.stored_line(room, WIDTH)),
            (wing, "") => printer.stored_line(wing, WIDTH),
            (wing, room) => format!(
                "{}  {}",
                printer.stored_line(wing, WIDTH),
                printer.stored_line(room, WIDTH)
            ),
        };
        let _ = writeln!(text, "{:>9}  {name}", place.drawers);
    }
    if preview.places.len() > PLACES {
        let more = (preview.places.len() - PLACES) as u64;
        let _ = writeln!(text, "           and {}", count(more, "more room"));
    }
    text.push_str("for example\n");
    for example in &preview.examples {
        let source = example.source.as_deref().unwrap_or_default();
        let gap = if source.is_empty() { "" } else { "  " };
        let _ = writeln!(
            text,
            "  {}{gap}{}\n      {}",
            printer.name(&example.id),
            printer.stored_line(source, WIDTH),
            printer.stored_line(&example.text, WIDTH)
        );
    }
    text
}

/// Asks for confirmation before drawers that were not named by id are deleted permanently.
fn confirmed(preview: &Preview, session: &Session<'_>) -> Result<bool> {
    if preview.drawers == 0 {
        return Ok(true);
    }
    let printer = session.printer;
    if !printer.can_ask() {
        return Err(Failure::usage(
            format!(
                "this selects {}, and there is no terminal to ask for confirmation",
                count(preview.drawers, "drawer")
            ),
            "`--yes` forgets them, `--dry-run` shows them; nothing was changed",
        ));
    }
    printer.note(described(preview, printer).trim_end());
    let question = format!("forget {} drawer(s) permanently?", preview.drawers);
    Ok(printer.confirm(&question).unwrap_or(false))
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
    if let Some(backup) = &answer.backup {
        notes.push(format!(
            "note: the backup `{backup}` and older ones may still hold the text; make a new one and \
             delete them if it must be gone"
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
