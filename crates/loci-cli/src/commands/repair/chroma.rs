//! `loci repair --chroma`: repairs a ChromaDB directory for ChromaDB itself.

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::chroma::{
    CollectionRepair, RepairAnswer, RepairOptions, RepairReport, repair, require_directory,
};
use loci_palace::{Advice, Error, ErrorKind, path_text, shell_quoted};

use crate::args::RepairArguments;
use crate::commands::quarantine::chroma_directory;
use crate::failure::{Exit, Failure, Result};
use crate::hint;
use crate::print::Printer;
use crate::reply::{Reply, json_of};
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
        ..RepairOptions::default()
    };
    let copied = arguments.output.is_some() && !arguments.dry_run;
    let path = chroma_directory(path);
    require_directory(&path)?;
    let working = session
        .printer
        .working(format!("reading {}", path_text(&path)));
    let answer = if arguments.embed {
        with_models(&path, &options, session)
    } else {
        repair(&path, &options).map_err(Failure::from)
    };
    drop(working);
    let answer = answer.map_err(|failure| of_chroma(failure, &path))?;
    let text = lines(session.printer, &answer, copied);
    let mut json = json_of(&answer)?;
    hint::add_fixes(json.get_mut("findings"), &answer.report.findings);
    hint::add_fixes(json.get_mut("remaining"), &answer.remaining);
    Ok(Reply::new(&json, text)?.exit_if(!answer.ok(), Exit::Nothing))
}

/// Replaces the advice about a damaged palace of Loci, which does not help here.
fn of_chroma(failure: Failure, path: &Path) -> Failure {
    match failure {
        Failure::Palace(error @ Error::Corrupt { .. }) => {
            Failure::Palace(error.advise(Advice::Diagnose {
                path: path.to_owned(),
            }))
        }
        other => other,
    }
}

/// Repairs with the models that are installed on this machine. This needs the settings of a palace,
/// but no palace.
fn with_models(
    path: &Path,
    options: &RepairOptions,
    session: &Session<'_>,
) -> Result<RepairAnswer> {
    match session.existing() {
        Ok(palace) => Ok(palace.repair_chroma_with_models(path, options)?),
        Err(Failure::Palace(error)) if error.kind() == ErrorKind::NotFound => {
            let directory = tempfile::tempdir()
                .map_err(|source| Error::io("cannot create", "a directory", source))?;
            let palace = session.beside(&directory.path().join("palace"))?;
            let answer = palace.repair_chroma_with_models(path, options);
            palace.close()?;
            Ok(answer?)
        }
        Err(error) => Err(error),
    }
}

fn lines(printer: Printer, answer: &RepairAnswer, copied: bool) -> String {
    let RepairAnswer { report, remaining } = answer;
    let mut text = if report.changed {
        done(printer, report)
    } else {
        let path = printer.name(&path_text(&report.path));
        let copied = if copied { ", a copy" } else { "" };
        format!("`{path}`{copied}: nothing to repair\n")
    };
    if !remaining.is_empty() {
        text.push_str("problems that cannot be repaired from these files:\n");
    }
    for finding in remaining {
        let place = finding.collection.as_ref().or(finding.file.as_ref());
        let place = place.map_or_else(String::new, |place| format!(" `{}`", printer.name(place)));
        let message = printer.name(&finding.message);
        let _ = writeln!(text, "  {}{place}: {message}", finding.code);
    }
    if !answer.ok() {
        advice(printer, report, &mut text);
    }
    text
}

/// The next steps after a repair.
fn advice(printer: Printer, report: &RepairReport, text: &mut String) {
    let moved: u64 = report.collections.iter().map(|of| of.moved).sum();
    if moved > 0 {
        let into = match &report.moved_file {
            Some(file) => format!("are now in `{}`", printer.name(&path_text(file))),
            None => "would be moved into a file".to_owned(),
        };
        let _ = writeln!(
            text,
            "{moved} record(s) whose vector is lost {into}; `loci import jsonl` reads it, and `--embed` would have given them \
             new vectors"
        );
    }
    if report.candidates > 0 {
        let into = match &report.candidates_file {
            Some(file) => format!("are now in `{}`", printer.name(&path_text(file))),
            None => "would be written to a file".to_owned(),
        };
        let _ = writeln!(
            text,
            "{} record(s) lost the row that joins id and text, so their ids are not certain; they {into}",
            report.candidates
        );
    }
    let path = printer.name(&shell_quoted(&report.path));
    let _ = writeln!(
        text,
        "`loci import {path}` imports everything that is readable"
    );
}

fn done(printer: Printer, report: &RepairReport) -> String {
    let path = printer.name(&path_text(&report.path));
    let mut text = format!(
        "{} `{path}`\n",
        if report.dry_run {
            "would repair"
        } else {
            "repaired"
        }
    );
    for change in &report.changes {
        let _ = writeln!(text, "  {}: {}", printer.name(&change.what), change.count);
    }
    for collection in &report.collections {
        of_collection(printer, collection, &mut text);
    }
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", printer.name(note));
    }
    for aside in &report.set_aside {
        let (from, to) = (path_text(&aside.from), path_text(&aside.to));
        let _ = writeln!(
            text,
            "renamed `{}` to `{}`",
            printer.name(&from),
            printer.name(&to)
        );
    }
    if let Some(backup) = &report.backup {
        let backup = path_text(backup);
        let _ = writeln!(text, "backup of the database: `{}`", printer.name(&backup));
    }
    text
}

fn of_collection(printer: Printer, of: &CollectionRepair, text: &mut String) {
    let _ = writeln!(
        text,
        "collection `{}`: {} record(s); vectors: {} from the index, {} from the queue, {} from files set aside, {} computed from \
         text; {} moved into a file, {} lost",
        printer.name(&of.name),
        of.records,
        of.from_segment,
        of.from_queue,
        of.from_siblings,
        of.embedded,
        of.moved,
        of.lost.len()
    );
    for (what, ids) in [
        ("without a vector", &of.needs_embedding),
        ("without metadata that is lost", &of.metadata_lost),
        ("lost", &of.lost),
    ] {
        if ids.is_empty() {
            continue;
        }
        let shown: Vec<String> = ids
            .iter()
            .take(SHOWN)
            .map(|id| format!("`{}`", printer.name(id)))
            .collect();
        let _ = write!(text, "  {what}: {}", shown.join(", "));
        if ids.len() > SHOWN {
            let _ = write!(text, " and {} more", ids.len() - SHOWN);
        }
        text.push('\n');
    }
}
