//! `loci export`: JSON lines to stdout, or to a file that appears only when it is complete.

use std::io::{BufWriter, Write};
use std::path::Path;

use loci_palace::{Error, ExportReport, Palace};
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
            let related = match (report.facts, report.links) {
                (0, 0) => String::new(),
                (facts, links) => format!(", {facts} fact(s), {links} link(s)"),
            };
            let text = format!(
                "exported {} drawer(s){related} to `{}`",
                report.exported,
                file.display()
            );
            let answer = json!({
                "exported": report.exported,
                "facts": report.facts,
                "links": report.links,
                "warnings": report.warnings,
            });
            Ok(incomplete(Reply::new(&answer, text)?, &report))
        }
        _ => {
            let report = session
                .existing()?
                .export(collection, &mut print::stdout())?;
            match report.warnings.first() {
                None => Ok(Reply::printed()),
                Some(warning) => Err(Failure::from(Error::Corrupt {
                    what: "what was to be exported".into(),
                    path: session.existing()?.path().into(),
                    detail: warning.message.clone(),
                })),
            }
        }
    }
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
