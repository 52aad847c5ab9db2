//! `loci_list`: a page of drawers, newest first; without arguments, the state of the palace.

use std::fmt::Write as _;

use loci_palace::list::{self, Order};
use loci_palace::{Capability, Detail, Error, Fence, Palace, Result};

use super::{answer_schema, arguments, selection, status};
use crate::drawer::Passage;
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, Kind, Tool};

/// Default number of drawers.
const LIMIT: u64 = 20;
const MOST_DRAWERS: u64 = 500;
/// Maximum offset of a page.
const DEEPEST: u64 = 100_000;

pub(super) const TOOL: Tool = Tool {
    name: "loci_list",
    title: "",
    description: "Newest drawers. Without arguments: counts, wings, rooms, health.",
    input: || {
        arguments(
            &[
                ("wing", "string", "person or project"),
                ("room", "string", "topic"),
                ("since", "string", "2026-05-01, last week"),
                ("before", "string", "like since"),
                ("limit", "integer", "most drawers, 20"),
                ("offset", "integer", "drawers to skip"),
            ],
            &[],
        )
    },
    output: || answer_schema(&["total"]),
    kind: Kind::Read,
    needs: &[Capability::RecencyOrder],
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
            return Ok(Answer::new(structured, "no drawers\n"));
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
    let links = answer.drawers.iter();
    let links = links.map(|drawer| Passage::of_drawer(drawer).link());
    let structured = recalled(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, text).links(links.collect()))
}
