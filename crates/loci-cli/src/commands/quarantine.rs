//! `loci quarantine`: stale index segments of a ChromaDB directory out of its sight, their vectors kept.

use std::fmt::Write as _;
use std::time::Duration;

use loci_palace::Warning;
use loci_palace::chroma::{QuarantineOptions, QuarantineReport, Quarantined, quarantine};

use crate::args::QuarantineArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &QuarantineArguments, session: &Session<'_>) -> Result<Reply> {
    let options = QuarantineOptions {
        stale: Duration::from_secs(arguments.stale_seconds),
        check: arguments.check,
        dry_run: arguments.dry_run,
        rename_only: arguments.rename_only,
    };
    let report = quarantine(&arguments.path, &options)?;
    let failed = report
        .directories
        .iter()
        .any(|directory| directory.problem.is_some());
    let text = shown(session.printer, &report);
    let mut warnings: Vec<Warning> = report
        .warnings
        .iter()
        .map(|warning| Warning::new("quarantine", warning.as_str()))
        .collect();
    warnings.extend(unreachable(&report));
    Ok(Reply::new(&report, text)?
        .warnings(&warnings)
        .exit_if(failed, Exit::Error))
}

/// What a plain rename costs.
fn unreachable(report: &QuarantineReport) -> Option<Warning> {
    let vectors: u64 = report
        .directories
        .iter()
        .map(|directory| directory.vectors_unreachable)
        .sum();
    let become_so = if report.dry_run {
        "would become"
    } else {
        "are now"
    };
    (vectors > 0).then(|| {
        Warning::new(
            "unreachable",
            format!(
                "{vectors} vector(s) {become_so} unreachable for ChromaDB; without `--rename-only` they are kept, and \
                 `loci repair --chroma` brings them back"
            ),
        )
    })
}

fn shown(printer: Printer, report: &QuarantineReport) -> String {
    let mut text = String::new();
    for directory in &report.directories {
        one(printer, directory, report.dry_run, &mut text);
    }
    if report.directories.is_empty() {
        text.push_str("nothing to set aside\n");
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

fn one(printer: Printer, of: &Quarantined, dry_run: bool, text: &mut String) {
    let from = of.from.to_string_lossy();
    let from = printer.stored(&from);
    let _ = match (&of.to, &of.problem) {
        (_, Some(problem)) => write!(text, "failed `{from}`: {}", printer.stored(problem)),
        (Some(to), None) => {
            let to = to.to_string_lossy();
            write!(text, "renamed `{from}` to `{}`", printer.stored(&to))
        }
        (None, None) if dry_run => write!(text, "would rename `{from}`"),
        (None, None) => write!(text, "left `{from}`"),
    };
    let _ = write!(text, "\n  {} s older than the database", of.gap_seconds);
    if of.damaged {
        text.push_str(", damaged");
    }
    if let Some(collection) = &of.collection {
        let _ = write!(text, ", of `{}`", printer.stored(collection));
    }
    let _ = writeln!(
        text,
        "; {} vector(s) written back, {} unreachable",
        of.vectors_saved, of.vectors_unreachable
    );
}
