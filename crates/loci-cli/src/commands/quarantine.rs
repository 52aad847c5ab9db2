//! `loci quarantine`: renames stale index segments of a ChromaDB directory, so that ChromaDB does
//! not open them, and keeps their vectors.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_palace::chroma::{QuarantineOptions, QuarantineReport, Quarantined, quarantine};
use loci_palace::{
    Error, ForeignFinding, ForeignKind, Warning, diagnose, path_text, recognise_as, shell_quoted,
};

use crate::args::QuarantineArguments;
use crate::commands::doctor::grave;
use crate::failure::{Exit, Result};
use crate::hint;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;
use crate::units::span;

pub(crate) fn run(arguments: &QuarantineArguments, session: &Session<'_>) -> Result<Reply> {
    require_existing(&arguments.path)?;
    let path = chroma_directory(&arguments.path);
    let options = QuarantineOptions {
        stale: Duration::from_secs(arguments.stale_seconds),
        check: arguments.check,
        dry_run: arguments.dry_run,
        rename_only: arguments.rename_only,
    };
    let mut shown_before = Vec::new();
    if options.rename_only && !options.dry_run {
        // People are warned about the loss before the rename.
        let foreseen = quarantine(
            &path,
            &QuarantineOptions {
                dry_run: true,
                ..options.clone()
            },
        )?;
        shown_before = warnings_of(&foreseen);
        session.printer.warn(&shown_before, &session.offered());
        if let Some(hint) = foreseen.advice.as_ref().and_then(hint::words) {
            session.printer.note_for_people(&format!("help: {hint}"));
        }
    }
    let report = quarantine(&path, &options)?;
    let failed = report
        .directories
        .iter()
        .any(|directory| directory.problem.is_some());
    let mut text = render(session.printer, &report);
    if report.directories.is_empty() {
        text = nothing(session.printer, &path, &options);
    }
    let mut warnings = warnings_of(&report);
    warnings.retain(|warning| !shown_before.contains(warning));
    let mut reply = Reply::new(&report, text)?.warnings(&warnings);
    let hint = report.advice.as_ref().and_then(hint::words);
    if let Some(hint) = hint.filter(|_| shown_before.is_empty()) {
        reply.note([format!("help: {hint}")]);
    }
    Ok(reply.exit_if(failed, Exit::Error))
}

/// The ChromaDB directory: the given path, the directory inside it, or the directory around a file.
/// Returns the given path if none of them is one.
pub(crate) fn chroma_directory(path: &Path) -> PathBuf {
    match recognise_as(path, ForeignKind::Chroma) {
        Ok(Some(found)) => found.path,
        _ => path.to_owned(),
    }
}

/// A path with a typing error must not look like a directory without stale segments.
fn require_existing(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::io("cannot read", path, error).into()),
    }
}

fn warnings_of(report: &QuarantineReport) -> Vec<Warning> {
    report
        .warnings
        .iter()
        .map(|problem| Warning::Quarantine {
            problem: problem.clone(),
        })
        .collect()
}

fn render(printer: Printer, report: &QuarantineReport) -> String {
    let mut text = String::new();
    for directory in &report.directories {
        one(printer, directory, report.dry_run, &mut text);
    }
    if let Some(backup) = &report.backup {
        let backup = path_text(backup);
        let _ = writeln!(text, "backup of the database: `{}`", printer.name(&backup));
    }
    text
}

/// Why there is nothing to quarantine, and what `loci doctor` finds nevertheless: it compares what is
/// in the files, and a segment can be out of date without being older than the database.
fn nothing(printer: Printer, path: &Path, options: &QuarantineOptions) -> String {
    let age = span(options.stale.as_secs());
    let damaged = if options.check { " or damaged" } else { "" };
    let mut text = format!(
        "nothing to quarantine: no index segment is {age} older than the database{damaged}\n"
    );
    let Ok(diagnosis) = diagnose(path, Some(ForeignKind::Chroma)) else {
        return text;
    };
    let mut others: Vec<&ForeignFinding> = grave(&diagnosis.findings).collect();
    others.dedup_by_key(|finding| finding.code);
    if others.is_empty() {
        return text;
    }
    let place = shell_quoted(path);
    let _ = writeln!(text, "`loci doctor {place}` reports other problems:");
    for finding in &others {
        let message = printer.name(&finding.message);
        let _ = writeln!(text, "  {}: {message}", finding.code);
    }
    let mut fixes: Vec<String> = others
        .iter()
        .filter_map(|finding| finding.fix.as_ref().map(hint::of_fix))
        .collect();
    fixes.dedup();
    for fix in fixes {
        let _ = writeln!(text, "  help: {}", printer.name(&fix));
    }
    text
}

fn one(printer: Printer, of: &Quarantined, dry_run: bool, text: &mut String) {
    let from = path_text(&of.from);
    let from = printer.name(&from);
    let _ = match (&of.to, &of.problem) {
        (_, Some(problem)) => write!(text, "failed `{from}`: {}", printer.name(problem)),
        (Some(to), None) => {
            let to = path_text(to);
            write!(text, "renamed `{from}` to `{}`", printer.name(&to))
        }
        (None, None) if dry_run => write!(text, "would rename `{from}`"),
        (None, None) => write!(text, "kept `{from}`"),
    };
    let age = span(of.gap_seconds);
    let _ = write!(text, "\n  {age} older than the database");
    if of.damaged {
        text.push_str(", damaged");
    }
    if let Some(collection) = &of.collection {
        let _ = write!(text, ", of `{}`", printer.name(collection));
    }
    if of.problem.is_some() {
        let _ = writeln!(text, "; {} vector(s) written back", of.vectors_saved);
        return;
    }
    let (written, unreachable) = if dry_run {
        ("would be written back", "would become unreachable")
    } else {
        ("written back", "unreachable for ChromaDB")
    };
    let _ = writeln!(
        text,
        "; {} vector(s) {written}, {} {unreachable}",
        of.vectors_saved, of.vectors_unreachable
    );
}
