//! `loci doctor`: the state of the whole installation. With a path: the findings about a palace of
//! another program, from its files alone.

mod advice;
mod agents;
mod configuration;
mod elsewhere;
mod engine;
mod everything;
mod findings;
mod lines;
mod palace;
mod servers;
mod sheet;

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::{
    CollectionSummary, Diagnosis, Error, ForeignKind, Recognised, diagnose, path_text, recognise,
    shell_quoted,
};

pub(crate) use elsewhere::{places as place_names, usual as usual_places};
pub(crate) use findings::grave;
use findings::{describe, harmed_by_opening};

use crate::args::DoctorArguments;
use crate::commands::import::unknown;
use crate::failure::{Exit, Result};
use crate::hint;
use crate::print::Printer;
use crate::reply::{Reply, json_of};
use crate::session::Session;

/// The line that says that the check was safe.
const READ_ONLY: &str = "nothing was written; programs that use it can continue";

pub(crate) fn run(arguments: &DoctorArguments, session: &Session<'_>) -> Result<Reply> {
    let Some(path) = &arguments.path else {
        return everything::run(arguments.deep, session);
    };
    path.metadata()
        .map_err(|source| Error::io("cannot read", path, source))?;
    match recognise(path)? {
        None => Err(unknown(path)),
        Some(found) => look(&found, arguments.deep, session),
    }
}

fn look(found: &Recognised, deep: bool, session: &Session<'_>) -> Result<Reply> {
    let (kind, path) = (found.kind, &found.path);
    match kind {
        ForeignKind::Loci => everything::of_palace(path, deep, session),
        ForeignKind::JsonLines => lines::run(path),
        kind => {
            let working = session
                .printer
                .working(format!("reading {}", path_text(path)));
            let diagnosis = diagnose(path, Some(kind));
            drop(working);
            let diagnosis = diagnosis?;
            let text = render(session.printer, &diagnosis);
            let mut answer = json_of(&diagnosis)?;
            hint::add_fixes(answer.get_mut("findings"), &diagnosis.findings);
            Ok(Reply::new(&answer, text)?.exit_if(!diagnosis.healthy, Exit::Nothing))
        }
    }
}

fn render(printer: Printer, diagnosis: &Diagnosis) -> String {
    let path = printer.name(&diagnosis.path);
    let mut text = format!(
        "{}: {}\n{READ_ONLY}\n",
        printer.strong(&path),
        printer.name(&diagnosis.writer)
    );
    for collection in &diagnosis.collections {
        summary(printer, collection, &mut text);
    }
    for finding in &diagnosis.findings {
        describe(printer, finding, &mut text);
    }
    if diagnosis.changed {
        text.push_str("the files changed while they were read; run it again\n");
    }
    let import = printer.name(&shell_quoted(Path::new(&diagnosis.path)));
    if diagnosis.healthy {
        let _ = writeln!(
            text,
            "healthy; `loci import {import}` imports it into a palace of Loci"
        );
        return text;
    }
    let harm = if harmed_by_opening(&diagnosis.findings) {
        "do not open it with its own program before you import it: "
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "{} finding(s); {harm}`loci import {import}` imports everything that is readable",
        grave(&diagnosis.findings).count()
    );
    text
}

fn summary(printer: Printer, of: &CollectionSummary, text: &mut String) {
    let _ = write!(
        text,
        "collection `{}`: {} record(s), {}",
        printer.name(&of.name),
        of.records,
        of.metric
    );
    if let Some(dimension) = of.dimension {
        let _ = write!(text, ", {dimension}-d");
    }
    if let Some(embedder) = &of.embedder {
        let _ = write!(text, ", by {}", printer.name(embedder));
    }
    if of.target != of.name {
        let _ = write!(text, "; imported as `{}`", printer.name(&of.target));
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
