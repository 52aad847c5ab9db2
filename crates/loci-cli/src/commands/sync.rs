//! `loci sync`: finds and removes the drawers of files that are gone.

use std::fmt::Write as _;

use loci_palace::sync;

use super::mining;
use crate::args::SyncArguments;
use crate::failure::{Exit, Result};
use crate::reply::Reply;
use crate::session::Session;

/// Sources shown to people; JSON has them all.
const SHOWN: usize = 50;

pub(crate) fn run(arguments: &SyncArguments, session: &Session<'_>) -> Result<Reply> {
    let palace = session.existing()?;
    let working = session.printer.working("looking for files that are gone");
    let report = palace.sync(&sync::Request {
        collection: arguments.collection.clone(),
        paths: arguments.paths.clone(),
        rules: mining::rules(&arguments.rules),
        apply: arguments.apply,
        conversations: arguments.conversations,
        even_most: arguments.even_most,
    })?;
    drop(working);
    let drawers: u64 = report.gone.iter().map(|gone| gone.drawers).sum();
    let mut text = String::new();
    for gone in report.gone.iter().take(SHOWN) {
        let name = session.printer.stored_line(&gone.name, 90);
        let _ = writeln!(text, "{:>6}  {}  {name}", gone.drawers, gone.why.as_str());
    }
    if report.gone.len() > SHOWN {
        let _ = writeln!(text, "… and {} more", report.gone.len() - SHOWN);
    }
    let _ = match (report.gone.len(), arguments.apply && report.brake.is_none()) {
        (0, _) if report.sources == 0 => writeln!(text, "nothing below these paths was mined"),
        (0, _) => writeln!(text, "all {} source(s) still exist", report.sources),
        (gone, true) => writeln!(
            text,
            "removed {} drawer(s) of {gone} source(s) of {}",
            report.removed, report.sources
        ),
        (gone, false) if report.brake.is_some() && arguments.apply => writeln!(
            text,
            "nothing was removed: {drawers} drawer(s) of {gone} source(s) of {} would have been removed",
            report.sources
        ),
        (gone, false) => writeln!(
            text,
            "{drawers} drawer(s) of {gone} source(s) of {} would be removed; --apply removes them",
            report.sources
        ),
    };
    if let Some(run) = report.run {
        let _ = writeln!(text, "run {run}; `loci undo {run}` restores them");
    }
    if report.kept_conversations > 0 {
        let _ = writeln!(
            text,
            "kept {} conversation(s) whose transcript is gone; --conversations removes them too",
            report.kept_conversations
        );
    }
    for other in &report.other_machines {
        let host = session.printer.stored_line(&other.host, 60);
        let _ = writeln!(
            text,
            "skipped {} source(s) of the machine `{host}`",
            other.sources
        );
    }
    let braked = arguments.apply && report.brake.is_some();
    let mut reply = Reply::new(&report, text)?;
    if let Some(brake) = report.brake.as_ref().filter(|_| braked) {
        reply.note([format!("{brake}; --even-most removes them all the same")]);
    }
    Ok(reply
        .exit_if(report.sources == 0, Exit::Nothing)
        .exit_if(braked, Exit::Error))
}
