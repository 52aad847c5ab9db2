//! `loci_list`: a page of drawers, newest first; without arguments, the state of the palace.

use std::fmt::Write as _;

use loci_palace::{Error, Fence, Include, Palace, Result, Selection, Warning};
use serde_json::{Map, Value, json};

use super::{object, selection, status, warned};
use crate::drawer::{Drawer, NOTICE, count, of_result};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, Kind, Tool};

/// Drawers, if no number is given.
const LIMIT: u64 = 20;
const MOST_DRAWERS: u64 = 500;
/// A page may begin so far into the list.
const DEEPEST: u64 = 100_000;
/// Characters of a text that a list shows; `loci_get` gives all.
const SHOWN: usize = 200;

pub(super) const TOOL: Tool = Tool {
    name: "loci_list",
    title: "",
    description: "Newest drawers. Without arguments: counts, wings, rooms, health.",
    input: || {
        object(
            &[
                ("wing", "string"),
                ("room", "string"),
                ("since", "string"),
                ("before", "string"),
                ("limit", "integer"),
                ("offset", "integer"),
            ],
            &[],
        )
    },
    output: || {
        object(
            &[
                ("total", "integer"),
                ("drawers", "array"),
                ("wings", "object"),
                ("rooms", "object"),
                ("warnings", "array"),
            ],
            &["total"],
        )
    },
    kind: Kind::Read,
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let names = ["wing", "room", "since", "before", "limit", "offset"];
    let is_status = !names.iter().any(|name| call.arguments.has(name));
    let wanted = Page::of(call)?;
    let palace = match call.palace() {
        Err(missing @ Error::PalaceNotFound { .. }) => return Ok(nothing_yet(&missing)),
        other => other?,
    };
    if is_status {
        status(&palace)
    } else {
        page(&wanted, &palace)
    }
}

/// What is asked for.
struct Page {
    selection: Selection,
    limit: usize,
    offset: usize,
}

impl Page {
    fn of(call: &Call<'_>) -> Result<Self> {
        let limit = call.arguments.integer("limit", 1, MOST_DRAWERS)?;
        let offset = call.arguments.integer("offset", 0, DEEPEST)?;
        Ok(Self {
            selection: selection(&call.arguments)?,
            limit: limit.unwrap_or(LIMIT) as usize,
            offset: offset.unwrap_or_default() as usize,
        })
    }
}

fn nothing_yet(why: &Error) -> Answer {
    let warnings = vec![Warning::Empty {
        problem: why.to_string(),
    }];
    let structured =
        json!({"drawers": [], "total": 0, "warnings": hint::warnings(&warnings, Tools::Loci)});
    Answer::new(structured, warned(&warnings))
}

fn page(wanted: &Page, palace: &Palace) -> Result<Answer> {
    let (limit, offset) = (wanted.limit, wanted.offset);
    let mut warnings = Vec::new();
    let (drawers, total) = recent(palace, &wanted.selection, (limit, offset), &mut warnings)?;
    let fence = Fence::new();
    let mut text = String::new();
    if !drawers.is_empty() {
        let _ = writeln!(text, "{}", fence.meaning());
    }
    let entries: Vec<Value> = drawers.iter().map(entry).collect();
    for drawer in &drawers {
        let _ = writeln!(text, "{}", shortened(drawer).fenced(&fence, None));
    }
    let _ = writeln!(
        text,
        "{} of {total} drawer(s), from {offset}",
        drawers.len()
    );
    text.push_str(&warned(&warnings));
    let links = drawers.iter().map(Drawer::link).collect();
    let structured = json!({
        "about": NOTICE,
        "drawers": entries,
        "total": total,
        "offset": offset,
        "warnings": hint::warnings(&warnings, Tools::Loci),
    });
    Ok(Answer::new(structured, text).links(links))
}

/// The last changed drawers of all collections, and how many there are. Collections follow one another.
pub(crate) fn recent(
    palace: &Palace,
    selection: &Selection,
    (limit, offset): (usize, usize),
    warnings: &mut Vec<Warning>,
) -> Result<(Vec<Drawer>, usize)> {
    let mut drawers = Vec::new();
    let (mut total, mut skip) = (0, offset);
    for collection in palace.scope(None)? {
        let there = count(collection.as_ref(), selection, warnings)?;
        total += there;
        let left = limit - drawers.len();
        if left == 0 || skip >= there {
            skip = skip.saturating_sub(there);
            continue;
        }
        let found = collection.get_recent(skip + left, selection, Include::GET)?;
        let found = of_result(collection.as_ref(), found, warnings);
        drawers.extend(found.into_iter().skip(skip).take(left));
        skip = 0;
    }
    warnings.dedup();
    Ok((drawers, total))
}

fn shortened(drawer: &Drawer) -> Drawer {
    let mut text: String = drawer.text.chars().take(SHOWN).collect();
    if text.len() < drawer.text.len() {
        text.push('…');
    }
    Drawer {
        text,
        ..drawer.clone()
    }
}

fn entry(drawer: &Drawer) -> Value {
    let mut object: Map<String, Value> = shortened(drawer).to_json();
    object.insert(
        "cut".into(),
        json!(drawer.text.chars().nth(SHOWN).is_some()),
    );
    object.insert("flags".into(), json!(drawer.flags()));
    if let Some(day) = drawer.day() {
        object.insert("date".into(), json!(day));
    }
    Value::Object(object)
}
