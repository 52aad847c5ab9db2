//! `loci facts`: statements with validity dates.

use std::fmt::Write as _;

use loci_palace::facts::conflicts::Conflict;
use loci_palace::facts::{self, FactState, Selector};
use loci_palace::{DrawerRef, Fact};
use unicode_width::UnicodeWidthStr;

use crate::args::{
    AddFactArguments, FactPageArguments, FactsCommand, InvalidateFactArguments, ListFactsArguments,
    OriginArguments, QueryFactsArguments, SupersedeFactArguments, TimelineArguments,
};
use crate::failure::{Exit, Result};
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::Session;

/// Columns of a subject, predicate or object.
const WIDTH: usize = 40;

pub(crate) fn run(command: &FactsCommand, session: &Session<'_>) -> Result<Reply> {
    match command {
        FactsCommand::Add(arguments) => add(arguments, session),
        FactsCommand::List(arguments) => list(arguments, session),
        FactsCommand::Query(arguments) => query(arguments, session),
        FactsCommand::Invalidate(arguments) => invalidate(arguments, session),
        FactsCommand::Supersede(arguments) => supersede(arguments, session),
        FactsCommand::Timeline(arguments) => timeline(arguments, session),
        FactsCommand::Conflicts(arguments) => conflicts(arguments.entity.clone(), session),
    }
}

fn add(arguments: &AddFactArguments, session: &Session<'_>) -> Result<Reply> {
    let printer = session.printer;
    session.secrets(arguments.secrets);
    let palace = session.created()?;
    let fact = Fact {
        subject: arguments.subject.clone(),
        predicate: arguments.predicate.clone(),
        object: arguments.object.clone(),
        valid_from: arguments.from.clone(),
        valid_to: arguments.to.clone(),
        ..with_origin(&arguments.origin)
    };
    let answer = palace.add_fact(&facts::add::Request { fact })?;
    let outcome = if answer.added {
        "added"
    } else {
        "already there:"
    };
    let mut text = format!("{outcome} {}\n", sentence(printer, &answer.fact));
    for other in &answer.conflicts {
        let _ = writeln!(text, "conflicts with {}", sentence(printer, &other.fact));
    }
    Ok(Reply::new(&answer, text)?
        .masked(&answer.masked)
        .warnings(&answer.warnings))
}

fn list(arguments: &ListFactsArguments, session: &Session<'_>) -> Result<Reply> {
    let selector = Selector {
        subject: arguments.subject.clone(),
        predicate: arguments.predicate.clone(),
        object: arguments.object.clone(),
        ..Selector::default()
    };
    found(selector, arguments.all, &arguments.page, session)
}

fn query(arguments: &QueryFactsArguments, session: &Session<'_>) -> Result<Reply> {
    let selector = Selector {
        id: None,
        entity: arguments.entity.clone(),
        subject: arguments.subject.clone(),
        predicate: arguments.predicate.clone(),
        object: arguments.object.clone(),
        as_of: arguments.as_of.clone(),
    };
    found(selector, arguments.ended, &arguments.page, session)
}

/// A page of the facts that match.
fn found(
    selector: Selector,
    ended: bool,
    page: &FactPageArguments,
    session: &Session<'_>,
) -> Result<Reply> {
    let request = facts::query::Request {
        selector,
        ended,
        limit: usize::from(page.limit),
        offset: page.offset,
    };
    let answer = session.existing()?.query_facts(&request)?;
    let printer = session.printer;
    let rows = answer.facts.iter().map(|state| {
        let [subject, predicate, object] = names(printer, &state.fact);
        let mark = if state.current { "now" } else { "" };
        let span = cut(printer, &span(&state.fact));
        [subject, predicate, object, span, mark.into()]
    });
    let text = aligned(rows.collect());
    self::page(&answer, text, page)
}

fn timeline(arguments: &TimelineArguments, session: &Session<'_>) -> Result<Reply> {
    let page = &arguments.page;
    let request = facts::timeline::Request {
        entity: arguments.entity.clone(),
        limit: usize::from(page.limit),
        offset: page.offset,
    };
    let answer = session.existing()?.fact_timeline(&request)?;
    let printer = session.printer;
    let rows = answer.facts.iter().map(|FactState { fact, current, .. }| {
        let began = fact.valid_from.as_deref().unwrap_or("unknown");
        let until = match &fact.valid_to {
            Some(end) => format!("until {end}"),
            None if *current => "now".into(),
            None => "future".into(),
        };
        let [subject, predicate, object] = names(printer, fact);
        [
            cut(printer, began),
            cut(printer, &until),
            subject,
            predicate,
            object,
        ]
    });
    let text = aligned(rows.collect());
    self::page(&answer, text, page)
}

fn invalidate(arguments: &InvalidateFactArguments, session: &Session<'_>) -> Result<Reply> {
    let request = facts::invalidate::Request {
        selector: Selector {
            subject: Some(arguments.subject.clone()),
            predicate: Some(arguments.predicate.clone()),
            object: arguments.object.clone(),
            ..Selector::default()
        },
        ended: arguments.ended.clone(),
    };
    let answer = session.existing()?.invalidate_facts(&request)?;
    let lines: Vec<String> = answer
        .ended
        .iter()
        .map(|ended| format!("ended {}", sentence(session.printer, &ended.fact)))
        .collect();
    let text = if lines.is_empty() {
        "no valid fact matches".to_owned()
    } else {
        lines.join("\n")
    };
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.ended.is_empty(), Exit::Nothing))
}

fn supersede(arguments: &SupersedeFactArguments, session: &Session<'_>) -> Result<Reply> {
    let request = facts::supersede::Request {
        old: Selector {
            subject: Some(arguments.subject.clone()),
            predicate: Some(arguments.predicate.clone()),
            object: Some(arguments.old.clone()),
            ..Selector::default()
        },
        new: Fact {
            object: arguments.new.clone(),
            ..with_origin(&arguments.origin)
        },
        at: arguments.at.clone(),
    };
    session.secrets(arguments.secrets);
    let done = session.existing()?.supersede_fact(&request)?;
    let mut text = String::new();
    for ended in &done.ended {
        let _ = writeln!(text, "ended {}", sentence(session.printer, &ended.fact));
    }
    let _ = writeln!(text, "added {}", sentence(session.printer, &done.added));
    Ok(Reply::new(&done, text)?.masked(&done.masked))
}

fn conflicts(entity: Option<String>, session: &Session<'_>) -> Result<Reply> {
    let request = facts::conflicts::Request { entity };
    let answer = session.existing()?.fact_conflicts(&request)?;
    let printer = session.printer;
    let mut text = String::new();
    for Conflict {
        subject,
        predicate,
        facts,
    } in &answer.conflicts
    {
        let name = format!("{} {}", subject.trim(), predicate.trim());
        let _ = writeln!(text, "{}", printer.strong(&name));
        let rows = facts.iter().map(|of| {
            [
                cell(printer, &of.fact.object),
                cut(printer, &span(&of.fact)),
            ]
        });
        for line in aligned(rows.collect()).lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    if answer.conflicts.is_empty() {
        text.push_str("no conflicts\n");
    }
    Ok(Reply::new(&answer, text)?.exit_if(answer.conflicts.is_empty(), Exit::Nothing))
}

/// A page of facts, with the total.
fn page(
    answer: &facts::query::Answer,
    mut text: String,
    page: &FactPageArguments,
) -> Result<Reply> {
    let shown = answer.facts.len();
    if shown == 0 {
        let _ = writeln!(text, "no facts ({} in all)", answer.total);
    } else if (shown as u64) < answer.total {
        let (first, last) = (page.offset + 1, page.offset + shown);
        let _ = writeln!(text, "{first} to {last} of {}", answer.total);
    }
    Ok(Reply::new(answer, text)?
        .warnings(&answer.warnings)
        .exit_if(shown == 0, Exit::Nothing))
}

fn with_origin(origin: &OriginArguments) -> Fact {
    Fact {
        confidence: origin.confidence,
        source: origin.source.as_ref().map(|id| DrawerRef {
            collection: origin.collection.clone(),
            id: id.clone(),
        }),
        ..Fact::default()
    }
}

fn names(printer: Printer, fact: &Fact) -> [String; 3] {
    [&fact.subject, &fact.predicate, &fact.object].map(|name| cell(printer, name))
}

fn cell(printer: Printer, name: &str) -> String {
    printer.stored_line(name, WIDTH)
}

/// A date or sentence, made safe to print: an imported palace may contain any text.
fn cut(printer: Printer, text: &str) -> String {
    printer.stored_line(text, 2 * WIDTH)
}

/// The whole statement on one line.
fn sentence(printer: Printer, fact: &Fact) -> String {
    let names = [&fact.subject, &fact.predicate, &fact.object];
    let [subject, predicate, object] = names.map(|name| cut(printer, name));
    let span = cut(printer, &span(fact));
    let comma = if span.is_empty() { "" } else { ", " };
    format!("{subject} {predicate} {object}{comma}{span}")
}

fn span(fact: &Fact) -> String {
    match (&fact.valid_from, &fact.valid_to) {
        (None, None) => String::new(),
        (Some(from), None) => format!("since {from}"),
        (None, Some(to)) => format!("until {to}"),
        (Some(from), Some(to)) => format!("since {from} until {to}"),
    }
}

/// Rows with aligned columns.
fn aligned<const N: usize>(rows: Vec<[String; N]>) -> String {
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(&row).filter(|(width, _)| **width > 0) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width + 2 - cell.width()));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
