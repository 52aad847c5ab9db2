//! `loci search`: a question in, hits out.

mod fields;
mod hits;

use std::ffi::OsString;
use std::fmt::Write as _;

use loci_palace::search::{Answer, Request, Scope};
use loci_palace::{Explanation, MineReport, search_files, validate_collection_name};
use serde::Serialize;

use self::hits::HitOrigin;
use super::{last_search, mining};
use crate::args::{AskArguments, SearchArguments};
use crate::failure::{Exit, Result};
use crate::input::{self, Sources};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) use self::fields::Fields;

/// Searches the paths of `--in`.
fn search_in_files(
    arguments: &SearchArguments,
    request: &Request,
    session: &Session<'_>,
) -> Result<search_files::Answer> {
    validate_collection_name(&arguments.ask.collection)?;
    let stop = mining::stop_on_signal();
    let embedder = session.options(false).embedder;
    let answer = mining::with_progress(session.printer, |meter| {
        search_files::search_files(&search_files::Request {
            search: request,
            paths: &arguments.within,
            follow_links: mining::follow_links(arguments.follow),
            embedder: embedder.clone(),
            meter,
            stop: &stop,
        })
    });
    Ok(answer?)
}

/// One line about what was mined; empty if nothing was.
fn mined_note(report: &MineReport) -> Option<String> {
    let drawers = &report.drawers;
    report.changed_anything().then(|| {
        format!(
            "read {} file(s), {}: {} new, {} updated, {} removed drawer(s)",
            report.files.read,
            mining::bytes(report.bytes),
            drawers.new,
            drawers.updated,
            drawers.removed
        )
    })
}

pub(crate) fn run(arguments: &SearchArguments, session: &Session<'_>) -> Result<Reply> {
    let sources = if arguments.within.is_empty() {
        Sources::Palace(session, Some(&arguments.ask.collection))
    } else {
        Sources::Unread
    };
    let request = Request {
        explain: arguments.explain,
        ..request(&arguments.question, &arguments.ask, sources)?
    };
    if arguments.within.is_empty() {
        let answer = session.existing()?.search(&request)?;
        return reply(session, arguments, &answer, &answer, HitOrigin::Palace);
    }
    let answer = search_in_files(arguments, &request, session)?;
    let mut reply = reply(
        session,
        arguments,
        &answer,
        &answer.search,
        HitOrigin::Files,
    )?;
    let report = &answer.mined;
    if report.stopped {
        let note = "reading was interrupted; the answer covers only the files read so far";
        reply.note([note]);
    }
    reply = reply.warnings(&report.warnings);
    reply.note(mined_note(report));
    reply.note(mining::failures(report));
    Ok(reply)
}

fn reply(
    session: &Session<'_>,
    arguments: &SearchArguments,
    json: &impl Serialize,
    answer: &Answer,
    origin: HitOrigin,
) -> Result<Reply> {
    let printer = session.printer;
    let mut text = match &arguments.format {
        Some(fields) => fields.lines(printer, &answer.hits),
        None => render(printer, answer, origin),
    };
    if let Some(explanation) = &answer.explain {
        text.push_str(&explained(printer, explanation));
    }
    if !printer.is_json() {
        last_search::record(&answer.hits);
    }
    let mut reply = Reply::new(json, text)?.warnings(&answer.warnings);
    reply.note(hits::notes(answer));
    Ok(reply.exit_if(answer.hits.is_empty(), Exit::Nothing))
}

/// The request of `search` and `why-not`.
pub(crate) fn request(
    question: &[OsString],
    ask: &AskArguments,
    sources: Sources<'_>,
) -> Result<Request> {
    Ok(Request {
        collection: ask.collection.clone(),
        k: usize::from(ask.k),
        selection: input::selection(&ask.filter, sources)?,
        max_distance: ask.max_distance,
        min_probability: ask.min_probability,
        budget: ask.budget.map(|tokens| tokens as usize),
        by_source: ask.by_source,
        operators: true,
        ..Request::new(input::question(question)?)
    })
}

fn render(printer: Printer, answer: &Answer, origin: HitOrigin) -> String {
    let mut text = String::new();
    if answer.hits.is_empty() {
        text.push_str("nothing found\n");
    } else if !answer.verdict.likely {
        let sure = answer
            .verdict
            .probability
            .map_or_else(String::new, |share| {
                format!(" (probability {:.0} %)", share * 100.0)
            });
        let _ = writeln!(
            text,
            "probably none of these texts answers the question{sure}:"
        );
    }
    for (hit, rank) in answer.hits.iter().zip(1..) {
        hits::write(printer, rank, hit, origin, &mut text);
    }
    if let Some(scope) = &answer.available_in_scope {
        text.push_str(&available(printer, scope));
    }
    text
}

fn available(printer: Printer, scope: &Scope) -> String {
    let mut text = format!("the search covered {} drawer(s)", scope.drawers);
    for (name, counts) in [("wings", &scope.wings), ("rooms", &scope.rooms)] {
        let shown: Vec<String> = counts
            .iter()
            .take(8)
            .map(|(value, count)| format!("{} {count}", printer.name(value)))
            .collect();
        if !shown.is_empty() {
            let _ = write!(
                text,
                "\n  {name}: {}",
                printer.stored_line(&shown.join(", "), printer.columns().saturating_sub(10))
            );
        }
    }
    text.push('\n');
    text
}

fn explained(printer: Printer, explanation: &Explanation) -> String {
    let mut text = String::from("\n");
    let terms: Vec<String> = explanation
        .terms
        .iter()
        .map(|term| format!("{} ({})", term.term, term.drawers))
        .collect();
    let _ = writeln!(
        text,
        "terms (drawers that contain them): {}",
        terms.join(", ")
    );
    if let Some((from, until)) = &explanation.period {
        let _ = writeln!(text, "dates named: from {from}, before {until}");
    }
    for step in &explanation.steps {
        let _ = writeln!(text, "{:>12}: {}", step.stage, step.detail);
    }
    for (name, entries) in [
        ("lexical arm", &explanation.lexical),
        ("semantic arm", &explanation.semantic),
        ("after fusion", &explanation.fused),
    ] {
        if entries.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "{name}\n  rank   score = words source meaning tokens speaker   date length  drawer"
        );
        for entry in entries {
            let parts = entry.parts;
            let _ = writeln!(
                text,
                "  {:>4} {:>7.3}   {:>5.3}  {:>5.3}   {:>5.3}  {:>5.3}   {:>5.3} {:>6.2} {:>6.2}  {}",
                entry.rank,
                entry.score,
                parts.words,
                parts.source,
                parts.meaning,
                parts.tokens,
                parts.speaker,
                parts.date,
                parts.length,
                printer.stored_line(entry.id.as_deref().unwrap_or("?"), 24)
            );
        }
    }
    text
}
