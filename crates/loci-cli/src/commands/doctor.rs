//! `loci doctor`: what is wrong with a palace of another program, from its files alone.

use std::fmt::Write as _;
use std::path::Path;

use loci_palace::{
    CollectionSummary, Diagnosis, Error, ForeignFinding, ForeignKind, Palace, Severity, diagnose,
    recognise, usual_places,
};
use serde_json::{Value, json};

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
        ForeignKind::JsonLines => {
            let text = format!(
                "`{}`: JSON lines; `loci import jsonl` names each line that it cannot take",
                path.display()
            );
            let answer = json!({"kind": kind, "path": path.to_string_lossy(), "healthy": true, "findings": []});
            Reply::new(&answer, text)
        }
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
    let (mut answers, mut text, mut exit) = (Vec::new(), String::new(), Exit::Done);
    for place in usual_places() {
        let Some(found) = recognise(&place)? else {
            continue;
        };
        let (answer, line, outcome) = glance(found.kind, &found.path);
        let _ = writeln!(text, "{}", session.printer.stored(&line));
        answers.push(answer);
        exit = worse(exit, outcome);
    }
    if answers.is_empty() {
        text.push_str(
            "no palace of another program is in the usual places; name one: `loci doctor PATH`\n",
        );
        exit = Exit::Nothing;
    } else {
        text.push_str("`loci doctor PATH` tells more of each\n");
    }
    Ok(Reply::new(&json!({ "found": answers }), text)?.exit_if(true, exit))
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Error, _) | (_, Exit::Error) => Exit::Error,
        (Exit::Nothing, _) | (_, Exit::Nothing) => Exit::Nothing,
        _ => Exit::Done,
    }
}

fn glance(kind: ForeignKind, path: &Path) -> (Value, String, Exit) {
    let place = path.display();
    match diagnose(path, Some(kind)) {
        Err(error) => (
            json!({"kind": kind, "path": path.to_string_lossy(), "error": error.to_string()}),
            format!("{place}: cannot be read: {error}"),
            Exit::Error,
        ),
        Ok(diagnosis) => {
            let records: u64 = diagnosis.collections.iter().map(|of| of.records).sum();
            let verdict = if diagnosis.healthy {
                "healthy".to_owned()
            } else {
                format!("{} finding(s)", grave(&diagnosis.findings).count())
            };
            (
                json!({
                    "kind": kind,
                    "path": path.to_string_lossy(),
                    "writer": diagnosis.writer,
                    "healthy": diagnosis.healthy,
                    "records": records,
                    "findings": diagnosis.findings.len(),
                }),
                format!(
                    "{place}: {}, {records} record(s), {verdict}",
                    diagnosis.writer
                ),
                if diagnosis.healthy {
                    Exit::Done
                } else {
                    Exit::Nothing
                },
            )
        }
    }
}

/// Findings that are more than notes.
fn grave(findings: &[ForeignFinding]) -> impl Iterator<Item = &ForeignFinding> {
    findings
        .iter()
        .filter(|finding| finding.severity > Severity::Note)
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
        one(printer, finding, &mut text);
    }
    if diagnosis.changed {
        text.push_str("the files were written to while they were read: look again\n");
    }
    let _ = if diagnosis.healthy {
        writeln!(
            text,
            "healthy; `loci import '{path}'` brings it into a palace of Loci"
        )
    } else {
        writeln!(
            text,
            "{} finding(s); do not open it with its own program before it is saved: `loci import '{path}'` brings home what \
             can be read",
            grave(&diagnosis.findings).count()
        )
    };
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
    text.push('\n');
    if let Some(vectors) = &of.vectors {
        let _ = writeln!(
            text,
            "  vectors: {} in the index, {} in the queue, {} set aside, {} missing",
            vectors.in_index, vectors.in_queue, vectors.set_aside, vectors.missing
        );
    }
}

fn one(printer: Printer, finding: &ForeignFinding, text: &mut String) {
    let severity = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let _ = write!(text, "{} {}", printer.strong(severity), finding.code);
    for part in [&finding.collection, &finding.file].into_iter().flatten() {
        let _ = write!(text, " `{}`", printer.stored(part));
    }
    let _ = writeln!(text, "\n  {}", printer.stored(&finding.message));
    let evidence: Vec<String> = finding
        .evidence
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    if !evidence.is_empty() {
        let _ = writeln!(text, "  evidence: {}", printer.stored(&evidence.join(", ")));
    }
    if !finding.consequence.is_empty() {
        let _ = writeln!(text, "  then: {}", printer.stored(&finding.consequence));
    }
    if let Some(fix) = &finding.fix {
        let _ = writeln!(text, "  fix: {}", printer.stored(fix));
    }
}
