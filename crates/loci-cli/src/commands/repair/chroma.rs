//! `loci repair --chroma`: a ChromaDB directory made whole for ChromaDB itself.

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::chroma::{CollectionRepair, RepairOptions, RepairReport, repair};

use crate::args::RepairArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Ids shown to people; JSON has them all.
const SHOWN: usize = 20;

pub(super) fn run(
    path: &Path,
    arguments: &RepairArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    let options = RepairOptions {
        dry_run: arguments.dry_run,
        output: arguments.output.clone(),
    };
    let spinner = session.printer.spinner();
    spinner.set_message(format!("reading {}", path.display()));
    let report = repair(path, &options);
    spinner.finish_and_clear();
    let report = report?;
    let text = shown(session.printer, &report);
    Ok(Reply::new(&report, text)?.exit_if(!is_whole(&report), Exit::Nothing))
}

/// Whether every record has its vector again.
fn is_whole(report: &RepairReport) -> bool {
    report
        .collections
        .iter()
        .all(|of| of.needs_embedding.is_empty() && of.lost.is_empty())
}

fn shown(printer: Printer, report: &RepairReport) -> String {
    let path = printer.stored(&report.path.to_string_lossy());
    if !report.changed {
        return format!("`{path}`: nothing to repair\n");
    }
    let mut text = format!(
        "{} `{path}`\n",
        if report.dry_run {
            "would repair"
        } else {
            "repaired"
        }
    );
    for change in &report.changes {
        let _ = writeln!(text, "  {}: {}", printer.stored(&change.what), change.count);
    }
    for collection in &report.collections {
        of_collection(printer, collection, &mut text);
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", printer.stored(note));
    }
    for aside in &report.set_aside {
        let (from, to) = (aside.from.to_string_lossy(), aside.to.to_string_lossy());
        let _ = writeln!(
            text,
            "renamed `{}` to `{}`",
            printer.stored(&from),
            printer.stored(&to)
        );
    }
    if let Some(backup) = &report.backup {
        let backup = backup.to_string_lossy();
        let _ = writeln!(
            text,
            "the database as it was: `{}`",
            printer.stored(&backup)
        );
    }
    text
}

fn of_collection(printer: Printer, of: &CollectionRepair, text: &mut String) {
    let _ = writeln!(
        text,
        "collection `{}`: {} record(s); vectors: {} from the index, {} from the queue, {} from files set aside; {} to be embedded \
         again, {} lost",
        printer.stored(&of.name),
        of.records,
        of.from_segment,
        of.from_queue,
        of.from_siblings,
        of.needs_embedding.len(),
        of.lost.len()
    );
    for (what, ids) in [("embed again", &of.needs_embedding), ("lost", &of.lost)] {
        if ids.is_empty() {
            continue;
        }
        let shown: Vec<String> = ids
            .iter()
            .take(SHOWN)
            .map(|id| format!("`{}`", printer.stored(id)))
            .collect();
        let _ = write!(text, "  {what}: {}", shown.join(", "));
        if ids.len() > SHOWN {
            let _ = write!(text, " and {} more", ids.len() - SHOWN);
        }
        text.push('\n');
    }
}
