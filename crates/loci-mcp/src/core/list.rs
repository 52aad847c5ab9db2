//! `loci_list`: a page of drawers, newest first; without arguments, the state of the palace.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use loci_palace::list::{self, Order};
use loci_palace::{
    CollectionStatus, Detail, Error, Fence, Palace, Result, Selection, Status, Warning,
};
use serde_json::{Value, json};

use super::{object, selection, warned};
use crate::drawer::{Passage, fenced, one_line};
use crate::hint::{self, Tools};
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, Kind, Tool};

/// Drawers, if no number is given.
const LIMIT: u64 = 20;
const MOST_DRAWERS: u64 = 500;
/// A page may begin so far into the list.
const DEEPEST: u64 = 100_000;
/// Names of places that are listed.
const PLACES: usize = 100;

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
    let request = request(call)?;
    let palace = match call.palace() {
        Err(missing @ Error::PalaceNotFound { .. }) => {
            let answer = list::Answer::of_nothing(&missing);
            let structured = structured(&answer, &answer.warnings)?;
            return Ok(Answer::new(structured, warned(&answer.warnings)));
        }
        other => other?,
    };
    if is_status {
        status(&palace)
    } else {
        page(&request, &palace)
    }
}

fn request(call: &Call<'_>) -> Result<list::Request> {
    let limit = call.arguments.integer("limit", 1, MOST_DRAWERS)?;
    let offset = call.arguments.integer("offset", 0, DEEPEST)?;
    Ok(list::Request {
        selection: selection(&call.arguments)?,
        limit: limit.unwrap_or(LIMIT) as usize,
        offset: offset.unwrap_or_default() as usize,
        order: Order::Recent,
        detail: Detail::Brief,
        ..list::Request::default()
    })
}

fn page(request: &list::Request, palace: &Palace) -> Result<Answer> {
    let answer = palace.list(request)?;
    let fence = Fence::new();
    let mut text = String::new();
    if !answer.drawers.is_empty() {
        let _ = writeln!(text, "{}", fence.meaning());
    }
    for drawer in &answer.drawers {
        let _ = writeln!(text, "{}", Passage::of_drawer(drawer).fenced(&fence));
    }
    let _ = writeln!(
        text,
        "{} of {} drawer(s), from {}",
        answer.drawers.len(),
        answer.total,
        answer.offset
    );
    text.push_str(&warned(&answer.warnings));
    let links = answer.drawers.iter();
    let links = links.map(|drawer| Passage::of_drawer(drawer).link());
    let structured = recalled(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, text).links(links.collect()))
}

/// Counts and health, for the tool and for the resource.
pub(crate) fn status(palace: &Palace) -> Result<Answer> {
    let status = palace.status()?;
    let (wings, rooms) = (places(palace, "wing")?, places(palace, "room")?);
    let warnings = health(&status);
    let structured = json!({
        "palace": palace.place().to_string(),
        "total": status.drawers,
        "collections": status.collections.iter().map(of_collection).collect::<Vec<_>>(),
        "wings": wings,
        "rooms": rooms,
        "facts": status.state.facts,
        "links": status.state.links,
        "bytes": status.state.bytes,
        "warnings": hint::warnings(&warnings, Tools::Loci),
    });
    let mut text = format!(
        "{} drawer(s), {} fact(s), {} link(s)\n",
        status.drawers, status.state.facts, status.state.links
    );
    let mut places = String::new();
    for (name, counts) in [("wings", &wings), ("rooms", &rooms)] {
        let shown: Vec<String> = counts
            .iter()
            .map(|(value, count)| format!("{} {count}", one_line(value)))
            .collect();
        if !shown.is_empty() {
            let _ = writeln!(places, "{name}: {}", shown.join(", "));
        }
    }
    text.push_str(&fenced("places", &places));
    text.push_str(&warned(&warnings));
    Ok(Answer::new(structured, text))
}

/// Values of a place with their drawers, over all collections.
fn places(palace: &Palace, key: &str) -> Result<BTreeMap<String, u64>> {
    let mut places = BTreeMap::new();
    for collection in palace.scope(None)? {
        let counts = collection.facet_counts(key, &Selection::all(), PLACES)?;
        for (value, count) in counts.values {
            if let Value::String(name) = json!(value) {
                *places.entry(name).or_default() += count;
            }
        }
    }
    Ok(places)
}

fn of_collection(collection: &CollectionStatus) -> Value {
    let (info, index) = (&collection.info, &collection.index);
    json!({
        "name": info.name,
        "drawers": info.count,
        "vectors": info.vectors,
        "embedder": info.embedder.as_ref().map(|pinned| &pinned.name),
        "index": {"covered": index.covered, "tail": index.tail, "due": index.due},
    })
}

/// What somebody should look at.
fn health(status: &Status) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let state = &status.state;
    let damaged = state.damaged_drawers + state.damaged_relations;
    if damaged > 0 {
        warnings.push(Warning::DamagedRecords { records: damaged });
    }
    if state.purge_pending {
        warnings.push(Warning::PurgePending);
    }
    for collection in &status.collections {
        if let Some(reason) = &collection.index.held_back {
            warnings.push(Warning::IndexHeldBack {
                collection: collection.info.name.clone(),
                reason: reason.clone(),
            });
        }
    }
    warnings
}
