//! Imports JSON lines, and reports every record that was not imported.

use std::fmt::Write as _;
use std::io::{BufReader, Read};
use std::path::Path;

use loci_files::foreign::{ForeignFile, open_stream};
use loci_palace::Error;
use loci_palace::import::json_lines;

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
    // The input is opened first: if that fails, no palace is created.
    let input = open(file)?;
    let request = json_lines::Request {
        collection: arguments.collection.clone(),
        on_conflict: rule(arguments.on_conflict),
        allow_again: arguments.allow_again,
    };
    let bar = session.printer.progress(input.length());
    let palace = session.created()?;
    let mut show = |line: u64| {
        if line.is_multiple_of(1_000) {
            bar.set_message(format!("{line} lines"));
        }
    };
    let report = match input {
        Input::File(file, _) => {
            let mut file = BufReader::with_capacity(BUFFER, bar.wrap_read(file));
            palace.import_file(&mut file, &request, &mut show)
        }
        Input::Stream(stream) => {
            let mut stream = BufReader::with_capacity(BUFFER, bar.wrap_read(stream));
            palace.import(&mut stream, &request, &mut show)
        }
    };
    bar.finish_and_clear();
    let report = report?;
    let text = shown(session.printer, &report);
    Ok(Reply::new(&report, text)?
        .masked(&report.masked)
        .warnings(&report.warnings)
        .exit_if(report.failed > 0, Exit::Error))
}

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

enum Input {
    /// The input, which can be read twice, and its length.
    File(ForeignFile, u64),
    Stream(Box<dyn Read>),
}

impl Input {
    fn length(&self) -> Option<u64> {
        match self {
            Self::File(_, length) => Some(*length),
            Self::Stream(_) => None,
        }
    }
}

fn open(file: &Path) -> Result<Input> {
    if file == Path::new("-") {
        return Ok(Input::Stream(Box::new(std::io::stdin())));
    }
    let fail = |source| Error::io("cannot read", file, source);
    let opened = open_stream(file).map_err(fail)?;
    let metadata = opened.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(Error::invalid(
            format!("`{}`", file.display()),
            "a directory, not a file of JSON lines",
        )
        .into());
    }
    Ok(if metadata.is_file() {
        Input::File(opened, metadata.len())
    } else {
        Input::Stream(Box::new(opened))
    })
}

fn shown(printer: Printer, report: &json_lines::Answer) -> String {
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
    if report.projects > 0 {
        let _ = writeln!(text, "added {} project(s) of wings", report.projects);
    }
    for wing in &report.wings {
        text.push_str(&crate::commands::wings::renamed(printer, wing));
    }
    if report.incomplete_sources > 0 {
        let _ = writeln!(
            text,
            "{} of them lack drawers in the import; the next mine reads them again",
            report.incomplete_sources
        );
    }
    for note in crate::commands::export::left_out(&report.left_out) {
        let _ = writeln!(text, "{note}");
    }
    for loss in report.lost.iter().take(SHOWN_LOSSES) {
        let _ = write!(text, "lost line {}", loss.line);
        if let Some(id) = &loss.id {
            let _ = write!(text, " `{}`", printer.name(id));
        }
        let _ = writeln!(text, ": {}", printer.name(&loss.reason));
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
