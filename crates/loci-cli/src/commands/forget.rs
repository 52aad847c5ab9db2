//! `loci forget`: drawers go, and with them every trace of their text.

use loci_palace::{Get, Include, Palace, Selection, validate_id};
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
            Some(false) => return reply(0, palace.status()?.state.purge_pending, "nothing done"),
            None => {
                return Err(Failure::usage(
                    format!("`--where` matches {total} drawer(s), and nobody is there to ask"),
                    "pass `--yes` to forget them",
                ));
            }
        }
    }
    let mut forgotten = 0;
    let mut pending = None;
    for (collection, _) in &matches {
        let outcome = palace.forget(collection, &selection)?;
        forgotten += outcome.forgotten;
        pending = Some(outcome.purge_pending);
    }
    let pending = match pending {
        Some(pending) => pending,
        None => palace.status()?.state.purge_pending,
    };
    let text = match (forgotten, pending) {
        (0, _) => "there is nothing to forget".to_owned(),
        (_, false) => format!("forgot {forgotten} drawer(s)"),
        (_, true) => format!(
            "forgot {forgotten} drawer(s); another process still reads an older state, the next one \
             to use the palace removes the last traces of the text"
        ),
    };
    reply(forgotten, pending, &text)
}

fn reply(forgotten: usize, purge_pending: bool, text: &str) -> Result<Reply> {
    let answer = json!({"forgotten": forgotten, "purge_pending": purge_pending});
    Ok(Reply::new(&answer, text)?.exit_if(forgotten == 0, Exit::Nothing))
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
