//! `loci runs` and `loci undo`: lists the runs of mining, and undoes one.

use std::fmt::Write as _;

use loci_palace::runs::{self, RecordedRun};
use loci_palace::{RunState, undo};
use serde_json::Value;

use crate::args::{RunsArguments, UndoArguments};
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &RunsArguments, session: &Session<'_>) -> Result<Reply> {
    let answer = session.existing()?.runs(&runs::Request {
        collection: arguments.collection.clone(),
        limit: arguments.limit as usize,
    })?;
    let lines = answer.runs.iter().map(|run| line(session.printer, run));
    let text = if answer.runs.is_empty() {
        "no runs yet\n".to_owned()
    } else {
        lines.collect()
    };
    Ok(Reply::new(&answer, text)?.exit_if(answer.runs.is_empty(), Exit::Nothing))
}

pub(crate) fn undo(arguments: &UndoArguments, session: &Session<'_>) -> Result<Reply> {
    let undone = session.existing()?.undo(&undo::Request {
        collection: arguments.collection.clone(),
        run: arguments.run,
    })?;
    let mut text = format!(
        "undid run {}: removed {} drawer(s), restored {}",
        arguments.run, undone.removed, undone.restored
    );
    if undone.left > 0 {
        let _ = write!(
            text,
            "; {} were changed, deleted or forgotten since and are left unchanged",
            undone.left
        );
    }
    Reply::new(&undone, text)
}

fn line(printer: Printer, run: &RecordedRun) -> String {
    let drawers = |key: &str| {
        run.summary
            .pointer(&format!("/drawers/{key}"))
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    let removed = run
        .summary
        .get("removed")
        .and_then(Value::as_u64)
        .unwrap_or_else(|| drawers("removed"));
    // A run without an end was killed. The files that it recorded are complete.
    let state = match &run.state {
        RunState::Done => String::new(),
        other => format!(" ({other})"),
    };
    format!(
        "{:>4}  {}  {:5}{state}  +{} ~{} -{}  {}\n",
        run.run,
        run.started_at,
        run.kind,
        drawers("new"),
        drawers("updated"),
        removed,
        printer.stored_line(&run.roots.join(" "), 60)
    )
}
