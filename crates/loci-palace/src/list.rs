//! The verb `list`: a page of drawers of all collections or of one, with an exact total.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{Collection, Error, Get, Include, Result, Selection, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::Detail;
use crate::get::{Drawer, drawers_of};
use crate::palace::Palace;

/// Entries of the change feed that are read at once.
const PAGE: usize = 10_000;
/// How often a page is read again if another process wrote meanwhile.
const ATTEMPTS: usize = 5;
/// Characters of a text in a brief list.
const SHOWN: usize = 200;

/// The order of drawers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Collection by collection, each in the order in which drawers were added.
    #[default]
    Added,
    /// The most recently changed first, over all collections.
    Recent,
}

/// The request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Only this collection; `None` means all.
    pub collection: Option<String>,
    /// Which drawers.
    pub selection: Selection,
    /// Maximum number of drawers.
    pub limit: usize,
    /// Drawers to skip first.
    pub offset: usize,
    /// The order.
    pub order: Order,
    /// Level of detail: a brief list contains the beginnings of texts and no metadata.
    pub detail: Detail,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            collection: None,
            selection: Selection::all(),
            limit: 20,
            offset: 0,
            order: Order::Added,
            detail: Detail::Full,
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The drawers of the page.
    pub drawers: Vec<Drawer>,
    /// Number of readable drawers that match the selection.
    pub total: usize,
    /// Drawers that were skipped.
    pub offset: usize,
    /// Warnings about data that is missing from the answer.
    pub warnings: Vec<Warning>,
}

impl Answer {
    /// The answer if there is nothing to read, because of `problem`.
    pub fn of_nothing(problem: &Error) -> Self {
        Self {
            warnings: vec![Warning::of_nothing(problem)],
            ..Self::default()
        }
    }
}

impl Palace {
    /// Lists drawers.
    pub fn list(&self, request: &Request) -> Result<Answer> {
        let collections = self.scope(request.collection.as_deref())?;
        let selection = &request.selection;
        let mut answer = Answer {
            offset: request.offset,
            ..Answer::default()
        };
        let mut rows = selected(&collections, selection)?;
        // The total and the page are two reads. If another process wrote in between, both are read
        // again.
        for _ in 0..ATTEMPTS {
            let warnings = &mut answer.warnings;
            answer.drawers = match request.order {
                Order::Recent => recent(&collections, request, warnings)?,
                Order::Added => in_order(&collections, &rows, request, warnings)?,
            };
            answer.total = readable(&collections, selection, warnings)?;
            let rows_after = selected(&collections, selection)?;
            if rows_after == rows {
                break;
            }
            rows = rows_after;
        }
        answer.warnings.dedup();
        if request.detail == Detail::Brief {
            answer.drawers.iter_mut().for_each(shorten);
        }
        Ok(answer)
    }
}

/// Shortens a drawer for a brief list.
fn shorten(drawer: &mut Drawer) {
    let end = drawer.text.char_indices().nth(SHOWN).map(|(end, _)| end);
    drawer.cut = Some(end.is_some());
    if let Some(end) = end {
        drawer.text.truncate(end);
        drawer.text.push('…');
    }
    drawer.metadata = None;
}

/// Number of selected drawers in each collection, including damaged ones. No drawer is read.
fn selected(collections: &[Arc<dyn Collection>], selection: &Selection) -> Result<Vec<usize>> {
    let count = |collection: &Arc<dyn Collection>| -> Result<usize> {
        Ok(collection.count_selected(selection)? as usize)
    };
    collections.iter().map(count).collect()
}

/// Number of readable drawers. With a filter, every selected drawer is read, so that damage outside
/// the page is reported too.
fn readable(
    collections: &[Arc<dyn Collection>],
    selection: &Selection,
    warnings: &mut Vec<Warning>,
) -> Result<usize> {
    let mut total = 0;
    for collection in collections {
        if selection.is_all() {
            total += collection.count()? as usize;
            continue;
        }
        let found = collection.get(&Get {
            include: Include::NONE,
            ..Get::new(selection.clone())
        })?;
        warnings.extend(found.warnings);
        total += found.ids.len();
    }
    Ok(total)
}

fn in_order(
    collections: &[Arc<dyn Collection>],
    rows: &[usize],
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Drawer>> {
    let mut skip = request.offset;
    let mut drawers = Vec::new();
    for (collection, rows) in collections.iter().zip(rows) {
        let left = request.limit - drawers.len();
        if left == 0 {
            break;
        }
        if skip >= *rows {
            skip -= rows;
            continue;
        }
        let found = collection.get(&Get {
            limit: Some(left),
            offset: skip,
            ..Get::new(request.selection.clone())
        })?;
        skip = 0;
        drawers.extend(drawers_of(collection.as_ref(), found, warnings));
    }
    drawers.truncate(request.limit);
    Ok(drawers)
}

/// All collections merged by the number of the last change of each drawer.
fn recent(
    collections: &[Arc<dyn Collection>],
    request: &Request,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Drawer>> {
    let wanted = request.offset.saturating_add(request.limit);
    let mut found = Vec::new();
    for collection in collections {
        let rows = collection.get_recent(wanted, &request.selection, Include::GET)?;
        let drawers = drawers_of(collection.as_ref(), rows, warnings);
        if !drawers.is_empty() {
            found.push((collection, drawers));
        }
    }
    let is_alone = found.len() == 1;
    let mut numbered = Vec::new();
    for (collection, drawers) in found {
        // A single collection is already in order.
        let numbers = if is_alone {
            HashMap::new()
        } else {
            numbers_of(collection.as_ref(), &drawers)?
        };
        numbered.extend(drawers.into_iter().map(|drawer| {
            let number = numbers.get(&drawer.id).copied().unwrap_or(u64::MAX);
            (number, drawer)
        }));
    }
    numbered.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let page = numbered
        .into_iter()
        .skip(request.offset)
        .take(request.limit);
    Ok(page.map(|(_, drawer)| drawer).collect())
}

/// The number of the last change of each of these drawers.
fn numbers_of(collection: &dyn Collection, drawers: &[Drawer]) -> Result<HashMap<String, u64>> {
    let mut numbers: HashMap<String, u64> = drawers
        .iter()
        .map(|drawer| (drawer.id.clone(), u64::MAX))
        .collect();
    let mut after = 0;
    loop {
        let page = collection.changes_since(after, PAGE)?;
        for change in page.changes {
            if let Some(number) = change.id.and_then(|id| numbers.get_mut(&id)) {
                *number = change.seq;
            }
        }
        if !page.more {
            return Ok(numbers);
        }
        after = page.next;
    }
}
