//! `loci export`: JSON lines to stdout, or to a file that appears only when it is complete.

use std::fmt::Write as _;
use std::io::BufWriter;
use std::path::Path;

use loci_files::output::Target;
use loci_palace::{Error, LeftOut, Palace, export};

use crate::args::ExportArguments;
use crate::failure::{Exit, Failure, Result};
use crate::print;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(arguments: &ExportArguments, session: &Session<'_>) -> Result<Reply> {
    let request = export::Request {
        collection: arguments.collection.clone(),
    };
    match &arguments.file {
        Some(file) if !is_stdout(file) => {
            let palace = session.existing()?;
            let working = session.printer.working("exporting the palace");
            let report = to_file(palace, &request, file, arguments.force)?;
            drop(working);
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
            Ok(incomplete(Reply::new(&report, text)?, &report))
        }
        _ => {
            let palace = session.existing()?;
            // At a terminal, the lines show how far it is.
            let redirected = session.printer.is_redirected();
            let working = redirected.then(|| session.printer.working("exporting the palace"));
            let report = palace.export(&request, &mut print::stdout())?;
            drop(working);
            match report.warnings.first() {
                None => {
                    let mut reply = Reply::printed();
                    reply.note(left_out(&report.left_out));
                    Ok(reply)
                }
                Some(warning) => Err(Failure::from(Error::Corrupt {
                    what: "the data to export".into(),
                    path: session.existing()?.place().to_string().into(),
                    detail: warning.message(),
                })),
            }
        }
    }
}

/// One line for each kind of data that the export leaves out.
pub(super) fn left_out(left_out: &[LeftOut]) -> Vec<String> {
    let line = |left: &LeftOut| match left.count {
        0 => format!("left out: {}: {}", left.what, left.reason),
        count => format!("left out: {count} {}: {}", left.what, left.reason),
    };
    left_out.iter().map(line).collect()
}

/// The exit code of an export: it is not done if drawers had to be left out.
fn incomplete(reply: Reply, report: &export::Answer) -> Reply {
    reply
        .warnings(&report.warnings)
        .exit_if(!report.warnings.is_empty(), Exit::Error)
}

fn to_file(
    palace: &Palace,
    request: &export::Request,
    file: &Path,
    force: bool,
) -> Result<export::Answer> {
    // The given path, and the file that a link points to.
    palace.refuse_inside(file)?;
    let target = Target::of(file, force)?;
    palace.refuse_inside(target.path())?;
    let mut output = BufWriter::with_capacity(64 << 10, target.create()?);
    let report = palace.export(request, &mut output)?;
    let output = output
        .into_inner()
        .map_err(|error| Error::io("cannot write", file, error.into_error()))?;
    output.finish()?;
    Ok(report)
}

/// Whether a path means stdout.
fn is_stdout(file: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| file == Path::new(name))
}
