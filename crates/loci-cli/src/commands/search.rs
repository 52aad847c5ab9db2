//! `loci search`: a question in, hits out.

use std::ffi::OsString;
use std::fmt::Write as _;

use loci_palace::search::{Answer, Hit, Request, Scope};
use loci_palace::{
    Explanation, MatchedVia, MetaValue, MineReport, Nullable, search_files,
    validate_collection_name,
};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::mining;
use crate::args::{AskArguments, SearchArguments};
use crate::failure::{Exit, Result};
use crate::input::{self, Sources};
use crate::passage;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

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
        return reply(session.printer, &answer, &answer, HitOrigin::Palace);
    }
    let answer = search_in_files(arguments, &request, session)?;
    let mut reply = reply(session.printer, &answer, &answer.search, HitOrigin::Files)?;
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

/// Where the hits of an answer are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HitOrigin {
    Palace,
    Files,
}

fn reply(
    printer: Printer,
    json: &impl Serialize,
    answer: &Answer,
    origin: HitOrigin,
) -> Result<Reply> {
    let mut text = render(printer, answer, origin);
    if let Some(explanation) = &answer.explain {
        text.push_str(&explained(printer, explanation));
    }
    let reply = Reply::new(json, text)?.warnings(&answer.warnings);
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
    let terms: Vec<&str> = answer.terms.iter().flatten().map(String::as_str).collect();
    for (hit, rank) in answer.hits.iter().zip(1..) {
        text.push_str(&heading(printer, rank, hit));
        text.push_str(&passage::render(printer, &hit.text, &terms));
        if hit.cut {
            let whole = match origin {
                HitOrigin::Palace => {
                    format!("; `loci get {}` shows all of it", printer.name(&hit.id))
                }
                // The id exists only in the cache; file and line are in the heading.
                HitOrigin::Files => String::new(),
            };
            let _ = writeln!(text, "   (cut{whole})");
        }
        if let Some(later) = &hit.later {
            let _ = writeln!(text, "   later: {}", printer.name(later));
        }
        let also_in = hit.also_in.as_deref().unwrap_or_default();
        if !also_in.is_empty() {
            let shown: Vec<String> = also_in.iter().take(5).map(|id| printer.name(id)).collect();
            let more = also_in.len() - shown.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "   the same text is also in {}{more}",
                shown.join(", ")
            );
        }
    }
    if let Some(scope) = &answer.available_in_scope {
        text.push_str(&available(printer, scope));
    }
    text
}

/// Id and place of a hit, on one or more lines.
fn heading(printer: Printer, rank: usize, hit: &Hit) -> String {
    let mut text = format!(
        "{rank}. {}",
        printer.strong(&printer.stored_line(&hit.id, 70))
    );
    let mut width = format!("{rank}. ").len() + printer.stored_line(&hit.id, 70).width();
    for part in place(printer, hit) {
        let (shown, columns) = part;
        if width + 2 + columns > 80 {
            text.push_str("\n   ");
            width = 3;
        } else {
            text.push_str("  ");
            width += 2;
        }
        text.push_str(&shown);
        width += columns;
    }
    text.push('\n');
    text
}

/// The origin of a hit and how it was found, each with its width.
fn place(printer: Printer, hit: &Hit) -> Vec<(String, usize)> {
    let mut parts: Vec<(String, usize)> = Vec::new();
    let mut push = |shown: String, plain: &str| parts.push((shown, plain.width()));
    let cut = |text: &str| printer.stored_line(text, 76);
    let (wing, room) = (named(&hit.wing), named(&hit.room));
    match (wing, room) {
        (Some(wing), Some(room)) => {
            push(cut(wing), &cut(wing));
            push(cut(room), &cut(room));
        }
        (Some(only), None) | (None, Some(only)) => push(cut(only), &cut(only)),
        (None, None) => {}
    }
    if let Some(title) = &hit.title {
        let title = printer.title(title);
        push(title.clone(), &title);
    } else if let Some(source) = named(&hit.source) {
        let line = match hit.start_line.value() {
            Some(MetaValue::Int(line)) => Some(*line),
            _ => None,
        };
        let plain = match line {
            Some(line) => format!("{source}:{line}"),
            None => source.to_owned(),
        };
        if plain.width() <= 76 {
            push(printer.path(source, line), &plain);
        } else {
            push(cut(&plain), &cut(&plain));
        }
    }
    push(hit.date.clone(), &hit.date);
    let via = match hit.matched_via {
        MatchedVia::Both => "words and meaning",
        MatchedVia::Lexical => "words",
        MatchedVia::Semantic => "meaning",
        MatchedVia::Context => "beside a match",
    };
    let found = format!("{via} {}", percent(hit.probability));
    push(found.clone(), &found);
    parts
}

/// A probability for people.
fn percent(probability: f32) -> String {
    match (probability * 100.0).round() as u32 {
        0 => "less than 1 %".to_owned(),
        100 => "more than 99 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// The name, unless it is empty.
fn named(name: &Nullable<String>) -> Option<&str> {
    let name = name.value().map(String::as_str);
    name.filter(|name| !name.is_empty())
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
                printer.stored_line(&shown.join(", "), 70)
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
