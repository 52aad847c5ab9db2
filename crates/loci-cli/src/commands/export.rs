//! `loci export`: JSON lines to stdout, or to a file that appears only when it is complete.

use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use loci_palace::{Error, ExportReport, LeftOut, Palace};
use serde_json::json;

use crate::args::ExportArguments;
use crate::failure::{Exit, Failure, Result};
use crate::print;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ExportArguments, session: &Session<'_>) -> Result<Reply> {
    let collection = arguments.collection.as_deref();
    match &arguments.file {
        Some(file) if file != Path::new("-") => {
            let palace = session.existing()?;
            let report = to_file(palace, collection, file, arguments.force)?;
            let mut related = match report.sources {
                0 => String::new(),
                sources => format!(", {sources} mined source(s)"),
            };
            if report.facts + report.links > 0 {
                let (facts, links) = (report.facts, report.links);
                let _ = write!(related, ", {facts} fact(s), {links} link(s)");
            }
            let mut text = format!(
                "exported {} drawer(s){related} to `{}`",
                report.exported,
                file.display()
            );
            for note in left_out(&report.left_out) {
                let _ = write!(text, "\n{note}");
            }
            let answer = json!({
                "exported": report.exported,
                "sources": report.sources,
                "facts": report.facts,
                "links": report.links,
                "left_out": report.left_out,
                "warnings": report.warnings,
            });
            Ok(incomplete(Reply::new(&answer, text)?, &report))
        }
        _ => {
            let report = session
                .existing()?
                .export(collection, &mut print::stdout())?;
            match report.warnings.first() {
                None => {
                    let mut reply = Reply::printed();
                    reply.notes.extend(left_out(&report.left_out));
                    Ok(reply)
                }
                Some(warning) => Err(Failure::from(Error::Corrupt {
                    what: "what was to be exported".into(),
                    path: session.existing()?.path().into(),
                    detail: warning.message.clone(),
                })),
            }
        }
    }
}

/// One line for each thing that a copy does not hold.
pub(super) fn left_out(left_out: &[LeftOut]) -> Vec<String> {
    let line = |left: &LeftOut| match left.count {
        0 => format!("left out: {}: {}", left.what, left.reason),
        count => format!("left out: {count} {}: {}", left.what, left.reason),
    };
    left_out.iter().map(line).collect()
}

/// An export that had to leave drawers out is not done.
fn incomplete(reply: Reply, report: &ExportReport) -> Reply {
    reply
        .warnings(&report.warnings)
        .exit_if(!report.warnings.is_empty(), Exit::Error)
}

fn to_file(
    palace: &Palace,
    collection: Option<&str>,
    file: &Path,
    force: bool,
) -> Result<ExportReport> {
    palace.refuse_inside(file)?;
    let exists = || {
        Failure::from(Error::Conflict {
            what: format!("`{}` exists; pass `--force` to replace it", file.display()),
        })
    };
    if !force && std::fs::symlink_metadata(file).is_ok() {
        return Err(exists());
    }
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let fail = |source| Error::io("cannot write", file, source);
    // Private (0600) from the first byte: an export holds everything.
    let temporary = tempfile::Builder::new()
        .prefix(".loci-export-")
        .tempfile_in(directory)
        .map_err(fail)?;
    let mut output = BufWriter::with_capacity(64 << 10, temporary);
    let report = palace.export(collection, &mut output)?;
    output.flush().map_err(fail)?;
    let temporary = output
        .into_inner()
        .map_err(|error| fail(error.into_error()))?;
    temporary.as_file().sync_all().map_err(fail)?;
    let kept = if force {
        temporary.persist(file)
    } else {
        temporary.persist_noclobber(file)
    };
    match kept {
        Ok(_) => Ok(report),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists()),
        Err(error) => Err(fail(error.error).into()),
    }
}
