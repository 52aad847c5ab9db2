//! `loci pin`: pins drawers, takes pins off, and lists the pinned drawers.

use std::fmt::Write as _;

use loci_palace::list::{self, Order};
use loci_palace::pin::{Request, pinned_filter};
use loci_palace::{Filter, OutcomeKind, Selection};

use super::list::render;
use crate::args::PinArguments;
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// Maximum number of drawers in a list.
const LISTED: usize = 100;

pub(crate) fn run(arguments: &PinArguments, session: &Session<'_>) -> Result<Reply> {
    if arguments.ids.is_empty() {
        return listed(arguments, session);
    }
    let answer = session.existing()?.pin(&Request {
        ids: session.ids(arguments.collection.as_deref(), &arguments.ids)?,
        off: arguments.off,
        collection: arguments.collection.clone(),
    })?;
    let mut text = String::new();
    for drawer in &answer.drawers {
        let id = session.printer.strong(&drawer.id);
        let _ = match (drawer.outcome, answer.pinned) {
            (OutcomeKind::Unknown, _) => {
                writeln!(text, "no drawer `{}`", session.printer.name(&drawer.id))
            }
            (OutcomeKind::Unchanged, true) => writeln!(text, "{id} is already pinned"),
            (OutcomeKind::Unchanged, false) => writeln!(text, "{id} is not pinned"),
            (_, true) => writeln!(text, "pinned {id}"),
            (_, false) => writeln!(text, "unpinned {id}"),
        };
    }
    let is_unknown = |outcome| outcome == OutcomeKind::Unknown;
    let nothing = answer
        .drawers
        .iter()
        .all(|drawer| is_unknown(drawer.outcome));
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(nothing, Exit::Nothing))
}

fn listed(arguments: &PinArguments, session: &Session<'_>) -> Result<Reply> {
    let mut conditions = vec![pinned_filter()];
    if let Some(wing) = &arguments.wing {
        conditions.push(Filter::eq("wing", wing.as_str()));
    }
    let answer = session.existing()?.list(&list::Request {
        collection: arguments.collection.clone(),
        selection: Selection {
            filter: Filter::all(conditions),
            ..Selection::default()
        },
        limit: LISTED,
        order: Order::Recent,
        ..list::Request::default()
    })?;
    let text = render(session.printer, &answer);
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.drawers.is_empty(), Exit::Nothing))
}
