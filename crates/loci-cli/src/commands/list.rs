//! `loci list`: a page of drawers, exact at any size, over all collections or one.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use loci_palace::{Collection, Get, Include, Selection, Warning};
use serde::Serialize;

use crate::args::ListArguments;
use crate::commands::get::drawers_of;
use crate::failure::{Exit, Result};
use crate::input;
use crate::print::Printer;
use crate::reply::{Drawer, Reply};
use crate::session::Session;

/// Entries of the change feed read at once.
const PAGE: usize = 10_000;
/// How often a page is read again because others wrote meanwhile.
const ATTEMPTS: usize = 5;
/// Columns of a line of text.
const WIDTH: usize = 72;

#[derive(Serialize)]
struct Answer {
    drawers: Vec<Drawer>,
    total: usize,
    offset: usize,
    warnings: Vec<Warning>,
}

pub(crate) fn run(arguments: &ListArguments, session: &Session<'_>) -> Result<Reply> {
    let selection = input::selection(&arguments.filter)?;
    let collections = session.existing()?.scope(arguments.collection.as_deref())?;
    let mut warnings = Vec::new();
    let mut rows = selected(&collections, &selection)?;
    let (mut drawers, mut totals) = (Vec::new(), Vec::new());
    // The total and the page are two reads. If another process wrote in between, both are read again.
    for _ in 0..ATTEMPTS {
        drawers = if arguments.recent {
            recent(&collections, &selection, arguments, &mut warnings)?
        } else {
            in_order(&collections, &rows, &selection, arguments, &mut warnings)?
        };
        totals = counts(&collections, &selection, &mut warnings)?;
        let now = selected(&collections, &selection)?;
        if now == rows {
            break;
        }
        rows = now;
    }
    warnings.dedup();
    let answer = Answer {
        drawers,
        total: totals.iter().sum(),
        offset: arguments.offset,
        warnings,
    };
    let text = shown(session.printer, &answer);
    Ok(Reply::new(&answer, text)?
        .warnings(&answer.warnings)
        .exit_if(answer.drawers.is_empty(), Exit::Nothing))
}

/// Drawers of the selection in each collection, damaged ones included. Reads none of them.
fn selected(collections: &[Arc<dyn Collection>], selection: &Selection) -> Result<Vec<usize>> {
    let count = |collection: &Arc<dyn Collection>| -> Result<usize> {
        Ok(collection.count_selected(selection)? as usize)
    };
    collections.iter().map(count).collect()
}

/// Drawers that can be read. With a filter, every selected drawer is read: damage is reported also
/// where the page does not reach it.
fn counts(
    collections: &[Arc<dyn Collection>],
    selection: &Selection,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<usize>> {
    collections
        .iter()
        .map(|collection| count(collection.as_ref(), selection, warnings))
        .collect()
}

fn count(
    collection: &dyn Collection,
    selection: &Selection,
    warnings: &mut Vec<Warning>,
) -> Result<usize> {
    if selection.is_all() {
        return Ok(collection.count()? as usize);
    }
    let get = Get {
        include: Include::NONE,
        ..Get::new(selection.clone())
    };
    let result = collection.get(&get)?;
    warnings.extend(result.warnings);
    Ok(result.ids.len())
}

/// Collection by collection, each in the order added.
fn in_order(
    collections: &[Arc<dyn Collection>],
    totals: &[usize],
    selection: &Selection,
    arguments: &ListArguments,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Drawer>> {
    let mut skip = arguments.offset;
    let mut drawers = Vec::new();
    for (collection, total) in collections.iter().zip(totals) {
        let left = arguments.limit - drawers.len();
        if left == 0 {
            break;
        }
        if skip >= *total {
            skip -= total;
            continue;
        }
        let result = collection.get(&Get {
            limit: Some(left),
            offset: skip,
            ..Get::new(selection.clone())
        })?;
        skip = 0;
        drawers.extend(drawers_of(collection.as_ref(), result, warnings));
    }
    drawers.truncate(arguments.limit);
    Ok(drawers)
}

/// Last changed first, all collections merged by the number of their last change.
fn recent(
    collections: &[Arc<dyn Collection>],
    selection: &Selection,
    arguments: &ListArguments,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Drawer>> {
    let wanted = arguments.offset.saturating_add(arguments.limit);
    let mut drawers = Vec::new();
    for collection in collections {
        let result = collection.get_recent(wanted, selection, Include::GET)?;
        let found = drawers_of(collection.as_ref(), result, warnings);
        if collections.len() == 1 {
            drawers.extend(found.into_iter().map(|drawer| (0, drawer)));
            continue;
        }
        let numbers = numbers_of(collection.as_ref(), &found)?;
        drawers.extend(found.into_iter().map(|drawer| {
            let number = numbers.get(&drawer.id).copied().unwrap_or(u64::MAX);
            (number, drawer)
        }));
    }
    // Stable: one collection alone keeps the order it came in.
    drawers.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    Ok(drawers
        .into_iter()
        .skip(arguments.offset)
        .take(arguments.limit)
        .map(|(_, drawer)| drawer)
        .collect())
}

/// The number of the last change of each of these drawers.
fn numbers_of(collection: &dyn Collection, drawers: &[Drawer]) -> Result<HashMap<String, u64>> {
    let mut numbers: HashMap<String, u64> = drawers
        .iter()
        .map(|drawer| (drawer.id.clone(), u64::MAX))
        .collect();
    let mut after = 0;
    while !numbers.is_empty() {
        let page = collection.changes_since(after, PAGE)?;
        for change in page.changes {
            if let Some(number) = change.id.and_then(|id| numbers.get_mut(&id)) {
                *number = change.seq;
            }
        }
        if !page.more {
            break;
        }
        after = page.next;
    }
    Ok(numbers)
}

fn shown(printer: Printer, answer: &Answer) -> String {
    let mut text = String::new();
    for drawer in &answer.drawers {
        let place: Vec<_> = ["wing", "room"]
            .iter()
            .filter_map(|key| drawer.metadata.get_str(key))
            .collect();
        let place = printer.name(&place.join("/"));
        let _ = writeln!(
            text,
            "{}  {}{}{place}\n    {}",
            printer.strong(&drawer.id),
            drawer.collection,
            if place.is_empty() { "" } else { "  " },
            printer.stored_line(&drawer.text, WIDTH)
        );
    }
    let shown = answer.drawers.len();
    if shown == 0 {
        let _ = writeln!(text, "no drawers ({} in all)", answer.total);
    } else if shown < answer.total {
        let first = answer.offset + 1;
        let _ = writeln!(
            text,
            "{first} to {} of {}",
            answer.offset + shown,
            answer.total
        );
    }
    text
}
