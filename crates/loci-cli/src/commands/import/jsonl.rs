//! Imports JSON lines, and reports every record that was not imported.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Cursor, Read, Seek as _};
use std::path::Path;

use loci_files::foreign::{ForeignFile, open_stream};
use loci_palace::import::json_lines;
use loci_palace::{Error, ErrorKind, Palace};

use super::{SHOWN_LOSSES, rule};
use crate::args::ImportArguments;
use crate::failure::{Exit, Failure, Result};
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
    let (input, has_record) = if palace_is_missing(session)? {
        look_for_record(input, file)?
    } else {
        (input, true)
    };
    // A file without a single record creates no palace. Its lines are reported as usual.
    let temporary = if has_record {
        None
    } else {
        Some(Temporary::new(session)?)
    };
    let palace = match &temporary {
        Some(temporary) => &temporary.palace,
        None => session.created()?,
    };
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
    if let Some(temporary) = temporary {
        temporary.palace.close()?;
    }
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

/// An empty palace that is removed at the end.
struct Temporary {
    palace: Palace,
    _directory: tempfile::TempDir,
}

impl Temporary {
    fn new(session: &Session<'_>) -> Result<Self> {
        let directory = tempfile::tempdir()
            .map_err(|source| Error::io("cannot create", std::env::temp_dir(), source))?;
        Ok(Self {
            palace: session.beside(&directory.path().join("palace"))?,
            _directory: directory,
        })
    }
}

fn palace_is_missing(session: &Session<'_>) -> Result<bool> {
    match session.look() {
        Ok(()) => Ok(false),
        Err(Failure::Palace(error)) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Bytes of a stream that are searched for the first record.
const SEARCHED: usize = 8 << 20;

/// Whether the input has a record, and the input from its beginning. A longer stream counts as one
/// that has.
fn look_for_record(input: Input, name: &Path) -> Result<(Input, bool)> {
    let fail = |source| Error::io("cannot read", name, source);
    match input {
        Input::File(mut file, length) => {
            let mut reader = BufReader::with_capacity(BUFFER, &mut file);
            let found = find_record(&mut reader, None, &mut Vec::new()).map_err(fail)?;
            file.rewind().map_err(fail)?;
            Ok((Input::File(file, length), found))
        }
        Input::Stream(stream) => {
            let mut reader = BufReader::with_capacity(BUFFER, stream);
            let mut seen = Vec::new();
            let found = find_record(&mut reader, Some(SEARCHED), &mut seen).map_err(fail)?;
            Ok((
                Input::Stream(Box::new(Cursor::new(seen).chain(reader))),
                found,
            ))
        }
    }
}

/// Reads lines until one is a record. With a limit, `seen` keeps what was read.
fn find_record(
    reader: &mut dyn BufRead,
    limit: Option<usize>,
    seen: &mut Vec<u8>,
) -> std::io::Result<bool> {
    let mut line = Vec::new();
    let mut is_start = true;
    loop {
        line.clear();
        // A line that is too long is read in pieces, none of which is a record.
        let read = Read::take(&mut *reader, SEARCHED as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(false);
        }
        if let Some(limit) = limit {
            seen.extend_from_slice(&line);
            if seen.len() >= limit {
                return Ok(true);
            }
        }
        if is_start && std::str::from_utf8(&line).is_ok_and(json_lines::is_record) {
            return Ok(true);
        }
        is_start = line.ends_with(b"\n");
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
        let _ = write!(text, "line {} was not imported", loss.line);
        if let Some(id) = &loss.id {
            let _ = write!(text, " (`{}`)", printer.name(id));
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
