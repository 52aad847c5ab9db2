//! Imports a palace of another program: every record with its vector, facts and links. The report
//! lists everything that was not imported.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use loci_palace::import::foreign;
use loci_palace::{
    DEFAULT_COLLECTION, Error, ErrorKind, ForeignFinding, ForeignKind, ForeignPalace,
    ImportProgress, ImportedCollection, LostPiece, Phase, RelationsReport, Severity,
    candidates_file, open_foreign, path_text, shell_quoted,
};

use super::{SHOWN_LOSSES, rule};
use crate::args::ImportArguments;
use crate::failure::{Exit, Failure, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Ids of one loss that people see; JSON has them all.
const SHOWN_IDS: usize = 5;

pub(super) fn run(
    kind: ForeignKind,
    path: &Path,
    arguments: &ImportArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    let working = session
        .printer
        .working(format!("reading {}", path_text(path)));
    // The source is opened and checked first: if that fails, no palace is created.
    let source = open_foreign(path, Some(kind));
    drop(working);
    let source = source?;
    source.require_readable()?;
    if let Some(file) = &arguments.candidates {
        refuse_unwritable(file)?;
    }
    let options = foreign::Request {
        on_conflict: rule(arguments.on_conflict),
        allow_again: arguments.allow_again,
        dry_run: arguments.dry_run,
        collection: arguments.collection.clone(),
        batch: 0,
        candidates: candidates_to(source.as_ref(), arguments)?,
    };
    let bar = session.printer.steps();
    let report = import(source.as_ref(), &options, session, &bar);
    bar.finish_and_clear();
    let report = report?;
    let text = shown(session.printer, &report);
    Ok(Reply::new(&report, text)?
        .masked(&report.masked)
        .warnings(&report.warnings)
        .exit_if(!report.is_whole(), Exit::Error))
}

/// The file for texts without a certain id: `--candidates`, else one in the state directory. The
/// source directory is never written to.
fn candidates_to(
    source: &dyn ForeignPalace,
    arguments: &ImportArguments,
) -> Result<Option<PathBuf>> {
    if arguments.dry_run || source.candidates().is_empty() || arguments.candidates.is_some() {
        return Ok(arguments.candidates.clone());
    }
    Ok(candidates_file(source.path())?)
}

/// Refuses a path where no new file can be created.
fn refuse_unwritable(file: &Path) -> Result<()> {
    let fail = |source| Error::io("cannot write", file, source);
    if file.symlink_metadata().is_ok() {
        return Err(fail(std::io::ErrorKind::AlreadyExists.into()).into());
    }
    let parent = file.parent().filter(|of| !of.as_os_str().is_empty());
    let trial = tempfile::tempfile_in(parent.unwrap_or(Path::new(".")));
    trial.map_err(fail)?;
    Ok(())
}

/// Whether the source is damaged so much that there is nothing to import.
fn has_nothing(source: &dyn ForeignPalace) -> bool {
    let is_error = |finding: &ForeignFinding| finding.severity == Severity::Error;
    if source.collections().iter().any(|of| of.records > 0)
        || !source.findings().iter().any(is_error)
    {
        return false;
    }
    let (mut facts, mut links) = (false, false);
    // An unreadable graph has nothing to import either; the import reports it.
    let _ = source.for_each_fact(1, &mut |batch| {
        facts |= !batch.is_empty();
        Ok(())
    });
    let _ = source.for_each_link(1, &mut |batch| {
        links |= !batch.is_empty();
        Ok(())
    });
    !facts && !links
}

fn import(
    source: &dyn ForeignPalace,
    options: &foreign::Request,
    session: &Session<'_>,
    bar: &ProgressBar,
) -> Result<foreign::Answer> {
    let mut progress = |step: ImportProgress<'_>| {
        bar.set_length(step.total.max(step.done));
        bar.set_position(step.done);
        bar.set_message(match step.phase {
            Phase::Records => format!("reading {}", step.collection),
            Phase::Proof => format!("comparing {}", step.collection),
            Phase::Facts => "facts".into(),
            Phase::Links => "links".into(),
        });
    };
    // A source of which nothing can be read creates no palace.
    if !options.dry_run && !has_nothing(source) {
        return Ok(session
            .created()?
            .import_foreign(source, options, &mut progress)?);
    }
    match session.existing() {
        Ok(palace) => Ok(palace.import_foreign(source, options, &mut progress)?),
        // Nothing is written, so no palace is created. If there is none yet, this uses an empty
        // temporary one.
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

fn shown(printer: Printer, report: &foreign::Answer) -> String {
    let mut text = format!(
        "{} `{}` ({})\n",
        if report.dry_run {
            "would import"
        } else {
            "imported"
        },
        printer.name(&report.path),
        printer.name(&report.writer)
    );
    for collection in &report.collections {
        of_collection(printer, collection, report.dry_run, &mut text);
    }
    of_relations("facts", report.facts, &mut text);
    of_relations("links", report.links, &mut text);
    losses(printer, &report.lost, &mut text);
    candidates(printer, report, &mut text);
    let left_out: Vec<String> = report
        .unmapped
        .iter()
        .map(|(field, times)| format!("{} ({times})", printer.name(field)))
        .collect();
    if !left_out.is_empty() {
        let _ = writeln!(
            text,
            "not imported, because Loci has no equivalent: {}",
            left_out.join(", ")
        );
    }
    if report.added_nothing() {
        text.push_str("nothing new\n");
    }
    where_to_search(printer, report, &mut text);
    text
}

fn of_collection(printer: Printer, of: &ImportedCollection, dry_run: bool, text: &mut String) {
    let _ = write!(
        text,
        "{} -> {}: {} record(s), {} added, {} known, {} updated, {} failed",
        printer.name(&of.name),
        printer.strong(&of.target),
        of.records,
        of.added,
        of.known,
        of.updated,
        of.failed
    );
    if of.forgotten > 0 {
        let _ = write!(text, ", {} forgotten here", of.forgotten);
    }
    text.push('\n');
    let there = of
        .vectors
        .iter()
        .map(|(origin, count)| (*count, origin_words(origin)));
    listed("vectors in the source", there, text);
    let here = [
        (of.vectors_not_taken, "not imported"),
        (of.re_embedded, "recomputed"),
        (of.stand_in, "replaced by the built-in table"),
    ];
    listed("vectors in the palace", here, text);
    if of.twins + of.renamed > 0 {
        let _ = writeln!(
            text,
            "  {} with the text and place of another, distinguished by `part`; {} under a new id",
            of.twins, of.renamed
        );
    }
    if of.records == 0 {
        return;
    }
    let _ = match (of.verified, &of.digest_palace) {
        (Some(true), _) => writeln!(
            text,
            "  verified: source and palace have the same digest {}",
            of.digest_source
        ),
        (Some(false), Some(here)) => writeln!(
            text,
            "  {} differ: digest {} in the source, {here} in the palace",
            of.differing, of.digest_source
        ),
        (None, _) if !dry_run => writeln!(text, "  nothing to verify"),
        _ => writeln!(text, "  digest {}", of.digest_source),
    };
}

/// The losses, one line per reason, with the first ids.
fn losses(printer: Printer, lost: &[LostPiece], text: &mut String) {
    let mut groups: Vec<(&LostPiece, u64, Vec<String>)> = Vec::new();
    let mut places = HashMap::new();
    for piece in lost {
        let at = *places
            .entry((&piece.of, &piece.reason))
            .or_insert(groups.len());
        if at == groups.len() {
            groups.push((piece, 0, Vec::new()));
        }
        let Some((_, count, ids)) = groups.get_mut(at) else {
            continue;
        };
        *count += 1;
        if ids.len() < SHOWN_IDS {
            ids.extend(
                piece
                    .id
                    .as_ref()
                    .map(|id| format!("`{}`", printer.name(id))),
            );
        }
    }
    for (piece, count, ids) in groups.iter().take(SHOWN_LOSSES) {
        let _ = write!(text, "lost from {}", printer.name(&piece.of));
        if *count > 1 {
            let _ = write!(text, " {count}:");
        }
        if !ids.is_empty() {
            let _ = write!(text, " {}", ids.join(", "));
        }
        let more = count.saturating_sub(ids.len() as u64);
        if more > 0 && !ids.is_empty() {
            let _ = write!(text, " and {more} more");
        }
        let _ = writeln!(text, ": {}", printer.name(&piece.reason));
    }
    let shown: u64 = groups
        .iter()
        .take(SHOWN_LOSSES)
        .map(|of| of.2.len() as u64)
        .sum();
    if lost.len() as u64 > shown && groups.iter().any(|of| !of.2.is_empty()) {
        text.push_str("`--json` lists everything that was lost\n");
    }
}

/// The texts whose id is not certain, and the file that contains them.
fn candidates(printer: Printer, report: &foreign::Answer, text: &mut String) {
    if report.candidates == 0 {
        return;
    }
    let _ = write!(
        text,
        "{} record(s) lost the row that joins id and text, so their ids are not certain",
        report.candidates
    );
    let _ = match &report.candidates_file {
        Some(file) => writeln!(
            text,
            ": see `{}`; `loci import jsonl` adds its texts under new ids",
            printer.stored(file)
        ),
        None => writeln!(text, "; an import writes them to a file"),
    };
}

/// Counts that are not zero, on a line.
fn listed<'a>(name: &str, counts: impl IntoIterator<Item = (u64, &'a str)>, text: &mut String) {
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !parts.is_empty() {
        let _ = writeln!(text, "  {name}: {}", parts.join(", "));
    }
}

/// Where vectors come from, in words.
fn origin_words(origin: &str) -> &str {
    match origin {
        "exact" => "original",
        "scaled" => "from the index, with their length",
        "direction" => "from the index, their length lost",
        "set_aside" => "from an index that was set aside",
        other => other,
    }
}

/// How to search a collection that is not the default one.
fn where_to_search(printer: Printer, report: &foreign::Answer, text: &mut String) {
    let found_at_once = report
        .collections
        .iter()
        .any(|of| of.target == DEFAULT_COLLECTION);
    // If several are equal, the first one is taken.
    let largest = report.collections.iter().rev().max_by_key(|of| of.records);
    if let (false, Some(largest)) = (found_at_once, largest) {
        let name = printer.name(&shell_quoted(Path::new(&largest.target)));
        let _ = writeln!(text, "search it: `loci search WORDS --collection {name}`");
    }
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
