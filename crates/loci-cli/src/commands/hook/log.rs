//! `loci hook log`: lists what was added to which prompt.

use std::fmt::Write as _;

use loci_agents::Home;
use loci_agents::hooks::{LogEntry, read_log};
use loci_palace::{quoted, single_line};
use serde::Serialize;

use crate::args::HookArguments;
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// The entries, the latest first.
#[derive(Debug, Serialize)]
struct Log {
    entries: Vec<LogEntry>,
}

pub(super) fn run(arguments: &HookArguments, _session: &Session<'_>) -> Result<Reply> {
    let log = Log {
        entries: read_log(&Home::of_user()?, arguments.limit),
    };
    let text = match log.entries.as_slice() {
        [] => "no prompt got anything yet".to_owned(),
        entries => describe(entries),
    };
    Ok(Reply::new(&log, text)?.exit_if(log.entries.is_empty(), Exit::Nothing))
}

fn describe(entries: &[LogEntry]) -> String {
    let mut text = String::new();
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            text.push('\n');
        }
        let (at, harness) = (&entry.at, &entry.harness);
        let prompt = single_line(&entry.prompt);
        let _ = write!(
            text,
            "{at}  {harness}, wing {}: {prompt}",
            quoted(&entry.wing)
        );
        for drawer in &entry.drawers {
            let wing = drawer.wing.as_ref();
            let wing = wing.map_or_else(String::new, |wing| format!(", wing {}", quoted(wing)));
            let (relevance, place, id) = (drawer.relevance, &drawer.place, &drawer.id);
            let _ = write!(text, "\n  {relevance:.2}  {place}{wing}  {id}");
        }
    }
    text
}
