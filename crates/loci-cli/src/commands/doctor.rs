//! `loci doctor`: what is wrong with a palace of another program, from its files alone.

mod findings;
mod glance;
mod lines;

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::{
    CollectionSummary, Diagnosis, Error, ForeignKind, Palace, diagnose, recognise, shell_quoted,
};
use serde_json::json;

pub(crate) use findings::grave;
use findings::{describe, harmed_by_opening};
pub(crate) use glance::{PLACES, usual as usual_places};

use crate::args::DoctorArguments;
use crate::commands::import::unknown;
use crate::commands::verify;
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// What makes it safe to ask.
const READ_ONLY: &str = "read only: nothing was written, and programs that use it may go on";

pub(crate) fn run(arguments: &DoctorArguments, session: &Session<'_>) -> Result<Reply> {
    let Some(path) = &arguments.path else {
        return usual(session);
    };
    path.metadata()
        .map_err(|source| Error::io("cannot read", path, source))?;
    match recognise(path)? {
        None => Err(unknown(path)),
        Some(found) => look(found.kind, &found.path, session),
    }
}

fn look(kind: ForeignKind, path: &Path, session: &Session<'_>) -> Result<Reply> {
    match kind {
        ForeignKind::Loci => own(path, session),
        ForeignKind::JsonLines => lines::run(path),
        ForeignKind::Chroma
        | ForeignKind::SqliteExact
        | ForeignKind::Memtomem
        | ForeignKind::CortexaDb => {
            let spinner = session.printer.spinner();
            spinner.set_message(format!("reading {}", path.display()));
            let diagnosis = diagnose(path, Some(kind));
            spinner.finish_and_clear();
            let diagnosis = diagnosis?;
            let text = shown(session.printer, &diagnosis);
            Ok(Reply::new(&diagnosis, text)?.exit_if(!diagnosis.healthy, Exit::Nothing))
        }
    }
}

/// A palace of our own is verified.
fn own(path: &Path, session: &Session<'_>) -> Result<Reply> {
    let palace = Palace::connect(path, &session.options(false))?;
    let report = palace.verify(false)?;
    palace.close()?;
    let answer = json!({
        "kind": ForeignKind::Loci,
        "path": path.to_string_lossy(),
        "healthy": report.ok(),
        "findings": report.findings,
        "more": report.more,
        "drawers": report.drawers,
    });
    let mut text = format!(
        "`{}`: a palace of Loci, {} drawer(s)\n",
        path.display(),
        report.drawers
    );
    text.push_str(&verify::findings(session.printer, &report.findings));
    text.push_str(if report.ok() {
        "everything agrees; `loci verify --deep` also recomputes everything\n"
    } else {
        "`loci repair` fixes it\n"
    });
    Ok(Reply::new(&answer, text)?.exit_if(!report.ok(), Exit::Nothing))
}

/// Everything in the usual places, a line each.
fn usual(session: &Session<'_>) -> Result<Reply> {
    let found = glance::usual()?;
    let (mut text, mut exit) = (String::new(), Exit::Done);
    for one in &found {
        let line = format!("{}: {}", one.path.display(), one.words);
        let _ = writeln!(text, "{}", session.printer.stored(&line));
        exit = worse(exit, one.exit);
    }
    if found.is_empty() {
        let _ = writeln!(
            text,
            "no palace of another program is in the usual places ({PLACES}); name one: `loci doctor PATH`"
        );
        exit = Exit::Nothing;
    } else {
        text.push_str("`loci doctor PATH` tells more of each\n");
    }
    let answers: Vec<_> = found.into_iter().map(|one| one.answer).collect();
    Ok(Reply::new(&json!({ "found": answers }), text)?.exit_if(true, exit))
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Error, _) | (_, Exit::Error) => Exit::Error,
        (Exit::Nothing, _) | (_, Exit::Nothing) => Exit::Nothing,
        _ => Exit::Done,
    }
}

fn shown(printer: Printer, diagnosis: &Diagnosis) -> String {
    let path = printer.stored(&diagnosis.path);
    let mut text = format!(
        "{}: {}\n{READ_ONLY}\n",
        printer.strong(&path),
        printer.stored(&diagnosis.writer)
    );
    for collection in &diagnosis.collections {
        summary(printer, collection, &mut text);
    }
    for finding in &diagnosis.findings {
        describe(printer, finding, &mut text);
    }
    if diagnosis.changed {
        text.push_str("the files were written to while they were read: look again\n");
    }
    let import = printer.stored(&shell_quoted(Path::new(&diagnosis.path)));
    if diagnosis.healthy {
        let _ = writeln!(
            text,
            "healthy; `loci import {import}` brings it into a palace of Loci"
        );
        return text;
    }
    let harm = if harmed_by_opening(&diagnosis.findings) {
        "do not open it with its own program before it is saved: "
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "{} finding(s); {harm}`loci import {import}` brings home what can be read",
        grave(&diagnosis.findings).count()
    );
    text
}

fn summary(printer: Printer, of: &CollectionSummary, text: &mut String) {
    let _ = write!(
        text,
        "collection `{}`: {} record(s), {}",
        printer.stored(&of.name),
        of.records,
        of.metric
    );
    if let Some(dimension) = of.dimension {
        let _ = write!(text, ", {dimension}-d");
    }
    if let Some(embedder) = &of.embedder {
        let _ = write!(text, ", by {}", printer.stored(embedder));
    }
    if of.target != of.name {
        let _ = write!(text, "; comes as `{}`", printer.stored(&of.target));
    }
    text.push('\n');
    if let Some(vectors) = &of.vectors {
        let _ = writeln!(
            text,
            "  vectors: {} in the index, {} in the queue, {} set aside, {} missing",
            vectors.in_index, vectors.in_queue, vectors.set_aside, vectors.missing
        );
    }
}
