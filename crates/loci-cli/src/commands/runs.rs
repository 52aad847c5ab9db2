//! `loci runs` and `loci undo`: lists the runs of mining, and undoes one.

use std::fmt::Write as _;

use loci_palace::runs::{self, RecordedRun};
use loci_palace::{RunState, Undone, undo};
use serde_json::Value;

use crate::args::{RunsArguments, UndoArguments};
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::{Reply, json_of};
use crate::session::Session;
use crate::units::count;

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
    let palace = session.existing()?;
    let (run, which) = match arguments.run {
        Some(run) => (run, format!("run {run}")),
        None => match palace.last_undoable_run(&arguments.collection)? {
            Some(last) => (last.run, described(session.printer, &last)),
            None => {
                let nothing = with_run(&Undone::default(), None)?;
                let text = "there is no run to undo";
                return Ok(Reply::new(&nothing, text)?.exit_if(true, Exit::Nothing));
            }
        },
    };
    let working = session.printer.working("undoing the run");
    let undone = palace.undo(&undo::Request {
        collection: arguments.collection.clone(),
        run,
    })?;
    drop(working);
    let mut text = format!(
        "undid {which}: removed {} drawer(s), restored {}",
        undone.removed, undone.restored
    );
    if undone.left > 0 {
        let _ = write!(
            text,
            "; {} were changed, deleted or forgotten since and are left unchanged",
            undone.left
        );
    }
    Reply::new(&with_run(&undone, Some(run))?, text)
}

/// A run that the user did not name, in words.
fn described(printer: Printer, run: &RecordedRun) -> String {
    format!(
        "run {} ({} of {}, {})",
        run.run,
        run.kind,
        run.started_at,
        printer.stored_line(&run.roots.join(" "), 60)
    )
}

/// The result with the number of the run.
fn with_run(undone: &Undone, run: Option<u64>) -> Result<Value> {
    let mut json = json_of(undone)?;
    if let Value::Object(json) = &mut json {
        json.insert("run".into(), run.into());
    }
    Ok(json)
}

fn line(printer: Printer, run: &RecordedRun) -> String {
    // A run without an end was killed. The files that it recorded are complete.
    let state = match &run.state {
        RunState::Done => String::new(),
        other => format!(" ({other})"),
    };
    format!(
        "{:>4}  {}  {:5}{state}  {}  {}\n",
        run.run,
        run.started_at,
        run.kind,
        changes(run),
        printer.stored_line(&run.roots.join(" "), 60)
    )
}

/// What a run did. A killed run has no summary, so the number of its drawers is unknown.
fn changes(run: &RecordedRun) -> String {
    let drawers = |key: &str| run.summary.pointer(&format!("/drawers/{key}"));
    let counts = [
        ("new", drawers("new")),
        ("updated", drawers("updated")),
        ("removed", run.summary.get("removed").or(drawers("removed"))),
    ];
    if counts.iter().all(|(_, count)| count.is_none()) {
        return format!("{} changed", count(run.sources, "source"));
    }
    let parts: Vec<String> = counts
        .into_iter()
        .filter_map(|(what, count)| Some((what, count?.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        return "no changes".to_owned();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use loci_palace::RunKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_shows_what_it_changed_and_no_zeros() {
        let run = |summary: Value| RecordedRun {
            run: 1,
            kind: RunKind::Mine,
            state: RunState::Done,
            roots: Vec::new(),
            started_at: String::new(),
            finished_at: None,
            sources: 3,
            summary,
        };
        for (summary, expected) in [
            (
                json!({"drawers": {"new": 2, "updated": 0, "removed": 0}}),
                "2 new",
            ),
            (
                json!({"drawers": {"new": 2, "updated": 1, "removed": 4}}),
                "2 new, 1 updated, 4 removed",
            ),
            (
                json!({"drawers": {"new": 0, "updated": 0, "removed": 0}}),
                "no changes",
            ),
            (json!({"removed": 5, "sources": 9}), "5 removed"),
            (json!({}), "3 sources changed"),
            (json!(null), "3 sources changed"),
        ] {
            assert_eq!(changes(&run(summary)), expected);
        }
    }
}
