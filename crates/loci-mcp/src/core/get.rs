//! `loci_get`: returns drawers by id or by resource name.

use std::fmt::Write as _;

use loci_palace::{Error, Fence, MAX_DOCUMENT_BYTES, Result, get, quoted, validate_id};

use super::{answer_schema, arguments};
use crate::drawer::{Passage, one_line, parse_uri};
use crate::structured::recalled;
use crate::tool::{Answer, Call, Kind, Tool};

/// Maximum number of ids in one call.
const MOST_IDS: usize = 1_000;
/// Default budget in tokens, and the largest one. A token has 8 bytes at most.
const BUDGET: u64 = 10_000;
const MOST_TOKENS: u64 = 100_000;

pub(super) const TOOL: Tool = Tool {
    name: "loci_get",
    title: "",
    description: "Whole drawers by id.",
    input: || {
        arguments(
            &[
                ("ids", "texts", "ids of drawers"),
                ("budget", "integer", "most tokens, 10000"),
                ("offset", "integer", "characters to skip"),
            ],
            &["ids"],
        )
    },
    output: || answer_schema(&["drawers"]),
    kind: Kind::Read,
    needs: &[],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let ids = ids(call)?.ok_or_else(|| call.arguments.missing("ids"))?;
    let budget = call.arguments.integer("budget", 1, MOST_TOKENS)?;
    let offset = call
        .arguments
        .integer("offset", 0, MAX_DOCUMENT_BYTES as u64)?;
    let offset = offset.unwrap_or_default() as usize;
    if offset > 0 && ids.len() > 1 {
        let named = call.arguments.named("offset");
        return Err(Error::invalid(named, "needs a single id"));
    }
    let answer = call.palace()?.get(&get::Request {
        ids,
        budget: Some(budget.unwrap_or(BUDGET) as usize),
        offset,
        ..get::Request::default()
    })?;
    let links = answer.drawers.iter();
    let links = links.map(|drawer| Passage::of_drawer(drawer).link());
    let structured = recalled(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, render(&answer)).links(links.collect()))
}

fn render(answer: &get::Answer) -> String {
    let fence = Fence::new();
    let mut text = String::new();
    if !answer.drawers.is_empty() {
        let _ = writeln!(text, "{}", fence.meaning());
    }
    for drawer in &answer.drawers {
        let _ = writeln!(text, "{}", Passage::of_drawer(drawer).fenced(&fence));
        let metadata = drawer.metadata.as_ref();
        if let Some(metadata) = metadata.filter(|metadata| !metadata.0.is_empty()) {
            let about = format!("metadata of {}", one_line(&drawer.id));
            let metadata = metadata.to_json_text();
            let _ = writeln!(text, "{}", fence.recalled(&about, &metadata));
        }
    }
    for id in &answer.missing {
        let _ = writeln!(text, "no drawer {}", quoted(id));
    }
    text
}

/// The ids of a call, without duplicates. Resource names are converted to ids.
pub(super) fn ids(call: &Call<'_>) -> Result<Option<Vec<String>>> {
    let Some(given) = call.arguments.texts("ids")? else {
        return Ok(None);
    };
    if given.is_empty() || given.len() > MOST_IDS {
        return Err(Error::invalid(
            call.arguments.named("ids"),
            format!("has {} elements; give 1 to {MOST_IDS}", given.len()),
        ));
    }
    let mut ids: Vec<String> = Vec::with_capacity(given.len());
    for text in given {
        let id = parse_uri(text).map_or_else(|| text.to_owned(), |(_, id)| id);
        validate_id(&id)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(Some(ids))
}
