//! JSON lines, with a report of everything that was not taken.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use loci_palace::{Error, ImportOptions, ImportReport};

use super::{SHOWN_LOSSES, rule};
use crate::args::ImportArguments;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(super) fn run(
    file: &Path,
    arguments: &ImportArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    // The input is opened first: without it no palace is created.
    let (input, length) = open(file)?;
    let options = ImportOptions {
        collection: arguments.collection.clone(),
        on_conflict: rule(arguments.on_conflict),
        allow_again: arguments.allow_again,
    };
    let bar = session.printer.progress(length);
    let mut input = BufReader::with_capacity(256 << 10, bar.wrap_read(input));
    let palace = session.created()?;
    let report = palace.import(&mut input as &mut dyn BufRead, &options, &mut |line| {
        if line.is_multiple_of(1_000) {
            bar.set_message(format!("{line} lines"));
        }
    });
    bar.finish_and_clear();
    let report = report?;
    let text = shown(session.printer, &report);
    Ok(Reply::new(&report, text)?
        .warnings(&report.warnings)
        .exit_if(report.failed > 0, Exit::Error))
}

/// The input, and its length where it has one.
fn open(file: &Path) -> Result<(Box<dyn Read>, Option<u64>)> {
    if file == Path::new("-") {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let fail = |source| Error::io("cannot read", file, source);
    let opened = loci_files::foreign::open(file).map_err(fail)?;
    let metadata = opened.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Error::invalid(
            format!("`{}`", file.display()),
            "a directory, not a file of JSON lines",
        )
        .into());
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(opened), length))
}

fn shown(printer: Printer, report: &ImportReport) -> String {
    let mut text = format!(
        "added {}, updated {}, skipped {}, failed {}\n",
        report.added, report.updated, report.skipped, report.failed
    );
    if report.facts + report.links > 0 {
        let _ = writeln!(
            text,
            "added {} fact(s), {} link(s)",
            report.facts, report.links
        );
    }
    if report.sources > 0 {
        let _ = writeln!(text, "added {} mined source(s)", report.sources);
    }
    if report.incomplete_sources > 0 {
        let _ = writeln!(
            text,
            "{} of them did not bring all their drawers; the next mine reads them again",
            report.incomplete_sources
        );
    }
    for note in crate::commands::export::left_out(&report.left_out) {
        let _ = writeln!(text, "{note}");
    }
    for loss in report.lost.iter().take(SHOWN_LOSSES) {
        let _ = write!(text, "lost line {}", loss.line);
        if let Some(id) = &loss.id {
            let _ = write!(text, " `{}`", printer.stored(id));
        }
        let _ = writeln!(text, ": {}", printer.stored(&loss.reason));
    }
    if let Some(more) = report
        .lost
        .len()
        .checked_sub(SHOWN_LOSSES)
        .filter(|n| *n > 0)
    {
        let _ = writeln!(text, "and {more} more; `--json` lists them all");
    }
    text
}
