//! `loci repair --chroma`: a ChromaDB directory made whole for ChromaDB itself.

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::chroma::{CollectionRepair, RepairOptions, RepairReport, repair};
use loci_palace::{Error, ForeignFinding, ForeignKind, Severity, diagnose, shell_quoted};
use serde::Serialize;

use crate::args::RepairArguments;
use crate::commands::doctor::grave;
use crate::commands::quarantine::{DATABASE, chroma_directory};
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
    let copied = arguments.output.is_some() && !arguments.dry_run;
    let path = chroma_directory(path);
    if !path.join(DATABASE).is_file() {
        let problem = format!("no `{DATABASE}` is there; name the ChromaDB directory");
        return Err(Error::invalid(format!("`{}`", path.display()), problem).into());
    }
    let spinner = session.printer.spinner();
    spinner.set_message(format!("reading {}", path.display()));
    let report = repair(&path, &options);
    let remaining = report.as_ref().map(remaining);
    spinner.finish_and_clear();
    let (remaining, report) = (remaining.unwrap_or_default(), report?);
    let text = shown(session.printer, &report, &remaining, copied);
    let answer = Answer {
        report: &report,
        remaining: &remaining,
    };
    let whole = is_whole(&report) && remaining.is_empty();
    Ok(Reply::new(&answer, text)?.exit_if(!whole, Exit::Nothing))
}

/// What was done, and what is wrong all the same.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a RepairReport,
    remaining: &'a [ForeignFinding],
}

/// What is still wrong, notes aside. A dry run changes nothing, so it is not asked.
fn remaining(report: &RepairReport) -> Vec<ForeignFinding> {
    let found = match (report.changed, report.dry_run) {
        (true, true) => return Vec::new(),
        (false, _) => report.findings.clone(),
        (true, false) => match diagnose(&report.path, Some(ForeignKind::Chroma)) {
            Ok(diagnosis) => diagnosis.findings,
            Err(error) => {
                let unread = ForeignFinding::new("unreadable", Severity::Error, error.to_string());
                vec![unread]
            }
        },
    };
    grave(&found).cloned().collect()
}

/// Whether every record has its vector again.
fn is_whole(report: &RepairReport) -> bool {
    report
        .collections
        .iter()
        .all(|of| of.needs_embedding.is_empty() && of.lost.is_empty())
}

fn shown(
    printer: Printer,
    report: &RepairReport,
    remaining: &[ForeignFinding],
    copied: bool,
) -> String {
    let mut text = if report.changed {
        done(printer, report)
    } else {
        let path = printer.stored(&report.path.to_string_lossy());
        let copied = if copied { ", a copy" } else { "" };
        format!("`{path}`{copied}: nothing to repair\n")
    };
    if !remaining.is_empty() {
        text.push_str("still wrong, and not to be repaired from these files:\n");
    }
    for finding in remaining {
        let place = finding.collection.as_ref().or(finding.file.as_ref());
        let place = place.map_or_else(String::new, |place| format!(" `{}`", printer.stored(place)));
        let message = printer.stored(&finding.message);
        let _ = writeln!(text, "  {}{place}: {message}", finding.code);
    }
    if !is_whole(report) || !remaining.is_empty() {
        advice(printer, report, &mut text);
    }
    text
}

/// What can be done beyond a repair.
fn advice(printer: Printer, report: &RepairReport, text: &mut String) {
    let bare: usize = report
        .collections
        .iter()
        .map(|of| of.needs_embedding.len())
        .sum();
    if bare > 0 {
        let _ = writeln!(
            text,
            "{bare} record(s) need a new vector: update them in ChromaDB with their own text; until then filtered queries that \
             touch one fail there"
        );
    }
    let path = printer.stored(&shell_quoted(&report.path));
    let _ = writeln!(
        text,
        "`loci import {path}` brings home what can be read, texts without a vector too"
    );
}

fn done(printer: Printer, report: &RepairReport) -> String {
    let path = printer.stored(&report.path.to_string_lossy());
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
