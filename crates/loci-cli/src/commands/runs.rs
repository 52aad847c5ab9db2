//! `loci runs` and `loci undo`: what was mined when, and taking it back.

use std::fmt::Write as _;

use loci_palace::{RunRecord, RunState, date_of};
use serde_json::{Value, json};

use crate::args::{RunsArguments, UndoArguments};
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &RunsArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let runs = palace.runs(&arguments.collection, arguments.limit as usize)?;
    let shown: Vec<Value> = runs.iter().map(to_json).collect();
    let text = if runs.is_empty() {
        "nothing was mined yet\n".to_owned()
    } else {
        runs.iter().map(|run| line(session.printer, run)).collect()
    };
    Ok(Reply::new(&json!({ "runs": shown }), text)?.exit_if(runs.is_empty(), Exit::Nothing))
}

pub(crate) fn undo(arguments: &UndoArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let undone = palace.undo(&arguments.collection, arguments.run)?;
    let mut text = format!(
        "undid run {}: removed {} drawer(s), brought back {}",
        arguments.run, undone.removed, undone.restored
    );
    if undone.left > 0 {
        let _ = write!(
            text,
            "; {} were changed, deleted or forgotten since and stay as they are",
            undone.left
        );
    }
    Reply::new(&undone, text)
}

fn to_json(run: &RunRecord) -> Value {
    json!({
        "run": run.id,
        "kind": run.kind,
        "state": run.state,
        "roots": run.roots,
        "started_at": date_of(run.started_at),
        "finished_at": run.finished_at.map(date_of),
        "sources": run.sources,
        "summary": run.summary,
    })
}

fn line(printer: Printer, run: &RunRecord) -> String {
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
    // A run that never ended was killed; what it filed is whole.
    let state = match &run.state {
        RunState::Done => String::new(),
        other => format!(" ({other})"),
    };
    format!(
        "{:>4}  {}  {:5}{state}  +{} ~{} -{}  {}\n",
        run.id,
        date_of(run.started_at),
        run.kind,
        drawers("new"),
        drawers("updated"),
        removed,
        printer.stored_line(&run.roots.join(" "), 60)
    )
}
