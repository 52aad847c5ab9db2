//! A palace of another program: every record with its vector, facts and links, and what did not come along.

use std::fmt::Write as _;
use std::path::Path;

use indicatif::ProgressBar;
use loci_palace::{
    ErrorKind, ForeignKind, ForeignPalace, Phase, RelationsReport, RescueOptions, RescueReport,
    RescueStep, RescuedCollection, open_foreign,
};

use super::{SHOWN_LOSSES, rule};
use crate::args::ImportArguments;
use crate::failure::{Exit, Failure, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(super) fn run(
    kind: ForeignKind,
    path: &Path,
    arguments: &ImportArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    let spinner = session.printer.spinner();
    spinner.set_message(format!("reading {}", path.display()));
    // The source is opened first: without it no palace is created.
    let source = open_foreign(path, Some(kind))?;
    spinner.finish_and_clear();
    let options = RescueOptions {
        on_conflict: rule(arguments.on_conflict),
        allow_again: arguments.allow_again,
        dry_run: arguments.dry_run,
        collection: arguments.collection.clone(),
        batch: 0,
    };
    let bar = session.printer.steps();
    let report = import(source.as_ref(), &options, session, &bar);
    bar.finish_and_clear();
    let report = report?;
    let text = shown(session.printer, &report);
    Ok(Reply::new(&report, text)?
        .warnings(&report.warnings)
        .exit_if(!report.is_whole(), Exit::Error))
}

fn import(
    source: &dyn ForeignPalace,
    options: &RescueOptions,
    session: &Session<'_>,
    bar: &ProgressBar,
) -> Result<RescueReport> {
    let mut progress = |step: RescueStep<'_>| {
        bar.set_length(step.total.max(step.done));
        bar.set_position(step.done);
        bar.set_message(match step.phase {
            Phase::Records => format!("reading {}", step.collection),
            Phase::Proof => format!("comparing {}", step.collection),
            Phase::Facts => "facts".into(),
            Phase::Links => "links".into(),
        });
    };
    if !options.dry_run {
        return Ok(session
            .created()?
            .import_foreign(source, options, &mut progress)?);
    }
    match session.existing() {
        Ok(palace) => Ok(palace.import_foreign(source, options, &mut progress)?),
        // A dry run makes no palace: it is as if there were an empty one.
        Err(Failure::Palace(error)) if error.kind() == ErrorKind::NotFound => {
            let directory = tempfile::tempdir()
                .map_err(|source| loci_palace::Error::io("cannot create", "a directory", source))?;
            let palace = session.beside(&directory.path().join("palace"))?;
            let report = palace.import_foreign(source, options, &mut progress);
            palace.close()?;
            Ok(report?)
        }
        Err(error) => Err(error),
    }
}

fn shown(printer: Printer, report: &RescueReport) -> String {
    let mut text = format!(
        "{} `{}` ({})\n",
        if report.dry_run {
            "would import"
        } else {
            "imported"
        },
        printer.stored(&report.path),
        printer.stored(&report.writer)
    );
    for collection in &report.collections {
        of_collection(printer, collection, &mut text);
    }
    of_relations("facts", report.facts, &mut text);
    of_relations("links", report.links, &mut text);
    for lost in report.lost.iter().take(SHOWN_LOSSES) {
        let _ = write!(text, "lost from {}", printer.stored(&lost.of));
        if let Some(id) = &lost.id {
            let _ = write!(text, " `{}`", printer.stored(id));
        }
        let _ = writeln!(text, ": {}", printer.stored(&lost.reason));
    }
    if report.lost.len() > SHOWN_LOSSES {
        let more = report.lost.len() - SHOWN_LOSSES;
        let _ = writeln!(text, "and {more} more; `--json` lists them all");
    }
    let left_out: Vec<String> = report
        .unmapped
        .iter()
        .map(|(field, times)| format!("{} ({times})", printer.stored(field)))
        .collect();
    if !left_out.is_empty() {
        let _ = writeln!(text, "no place here for: {}", left_out.join(", "));
    }
    if report.added_nothing() {
        text.push_str("nothing new\n");
    }
    text
}

fn of_collection(printer: Printer, of: &RescuedCollection, text: &mut String) {
    let _ = writeln!(
        text,
        "{} -> {}: {} record(s), {} added, {} known, {} updated, {} failed",
        printer.stored(&of.name),
        printer.strong(&of.target),
        of.records,
        of.added,
        of.known,
        of.updated,
        of.failed
    );
    let mut parts: Vec<String> = of
        .vectors
        .iter()
        .map(|(origin, count)| format!("{count} {}", origin.replace('_', " ")))
        .collect();
    let others = [
        (of.vectors_not_taken, "not taken"),
        (of.re_embedded, "made anew"),
        (of.stand_in, "stood in for"),
        (of.without_vector, "drawer(s) without one"),
    ];
    parts.extend(
        others
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}")),
    );
    if !parts.is_empty() {
        let _ = writeln!(text, "  vectors: {}", parts.join(", "));
    }
    if of.twins + of.renamed > 0 {
        let _ = writeln!(
            text,
            "  {} of the same text from the same place, {} under a new id",
            of.twins, of.renamed
        );
    }
    let _ = match (of.verified, &of.digest_palace) {
        (Some(true), _) => writeln!(
            text,
            "  proved: both sides have digest {}",
            of.digest_source
        ),
        (Some(false), Some(here)) => writeln!(
            text,
            "  {} differ: digest {} there, {here} here",
            of.differing, of.digest_source
        ),
        _ => writeln!(text, "  digest {}", of.digest_source),
    };
}

fn of_relations(name: &str, of: RelationsReport, text: &mut String) {
    if of.read + of.failed > 0 {
        let _ = writeln!(
            text,
            "{name}: {} read, {} added, {} known, {} failed",
            of.read, of.added, of.known, of.failed
        );
    }
}
