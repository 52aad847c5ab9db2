//! `loci forget`: drawers go, and with them every trace of their text.

use loci_palace::{ForgetOutcome, Get, Include, Palace, Selection, status, validate_id};
use serde_json::json;

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
    let palace = session.existing()?;
    let matches = matches(palace, arguments.collection.as_deref(), &selection)?;
    let total: usize = matches.iter().map(|(_, count)| count).sum();
    if total > 0 && arguments.metadata.is_some() && !arguments.yes {
        match session
            .printer
            .confirm(&format!("forget {total} drawer(s) for good?"))
        {
            Some(true) => {}
            Some(false) => {
                let nothing = ForgetOutcome {
                    purge_pending: palace
                        .status(&status::Request::default())?
                        .state
                        .purge_pending,
                    ..ForgetOutcome::default()
                };
                return reply(&nothing, "nothing done");
            }
            None => {
                return Err(Failure::usage(
                    format!("`--where` matches {total} drawer(s), and nobody is there to ask"),
                    "pass `--yes` to forget them",
                ));
            }
        }
    }
    let mut outcome = ForgetOutcome {
        purge_pending: palace
            .status(&status::Request::default())?
            .state
            .purge_pending,
        ..ForgetOutcome::default()
    };
    // Every collection is asked: a repair or a run may have taken a drawer out and kept a copy.
    for collection in palace.scope(arguments.collection.as_deref())? {
        let done = palace.forget(collection.name(), &selection)?;
        outcome.forgotten += done.forgotten;
        outcome.facts += done.facts;
        outcome.links += done.links;
        outcome.purge_pending = done.purge_pending;
        outcome.pending_reason = done.pending_reason;
        outcome.removed_files.extend(done.removed_files);
    }
    let text = if is_nothing(&outcome) {
        "there is nothing to forget".to_owned()
    } else {
        format!("forgot {} drawer(s)", outcome.forgotten)
    };
    let mut reply = reply(&outcome, &text)?;
    if outcome.purge_pending {
        let reason = outcome.pending_reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        reply.notes.push(format!(
            "note: the text may still be in a file of the palace{reason}; the next process that \
             uses the palace removes it"
        ));
    }
    if outcome.facts + outcome.links > 0 {
        reply.notes.push(format!(
            "note: forgot {} fact(s) and {} link(s) with them",
            outcome.facts, outcome.links
        ));
    }
    if !outcome.removed_files.is_empty() {
        reply.notes.push(format!(
            "note: removed {} set-aside file(s) that could hold the text too: {}",
            outcome.removed_files.len(),
            outcome.removed_files.join(", ")
        ));
    }
    let kept = palace.status(&status::Request::default())?.state.set_aside;
    if is_nothing(&outcome) && !kept.is_empty() {
        reply.notes.push(format!(
            "note: {} set-aside file(s) of earlier repairs and restores are kept and were not searched: {}",
            kept.len(),
            kept.join(", ")
        ));
    }
    Ok(reply)
}

fn reply(outcome: &ForgetOutcome, text: &str) -> Result<Reply> {
    let mut answer = json!({
        "forgotten": outcome.forgotten,
        "facts": outcome.facts,
        "links": outcome.links,
        "purge_pending": outcome.purge_pending,
        "removed_files": outcome.removed_files,
    });
    if let Some((reason, answer)) = outcome.pending_reason.as_ref().zip(answer.as_object_mut()) {
        answer.insert("pending_reason".into(), reason.code().into());
        answer.insert("pending_detail".into(), reason.to_string().into());
    }
    Ok(Reply::new(&answer, text)?.exit_if(is_nothing(outcome), Exit::Nothing))
}

fn is_nothing(outcome: &ForgetOutcome) -> bool {
    outcome.forgotten + outcome.facts + outcome.links == 0
}

/// The collections in which something matches, with how much. Forgetting rewrites the palace, so it
/// is not done where there is nothing to forget.
fn matches(
    palace: &Palace,
    collection: Option<&str>,
    selection: &Selection,
) -> Result<Vec<(String, usize)>> {
    let mut found = Vec::new();
    for collection in palace.scope(collection)? {
        let get = Get {
            include: Include::NONE,
            ..Get::new(selection.clone())
        };
        let count = collection.get(&get)?.ids.len();
        if count > 0 {
            found.push((collection.name().to_owned(), count));
        }
    }
    Ok(found)
}
