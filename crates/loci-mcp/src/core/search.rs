//! `loci_search`: returns passages for a question, within a budget of tokens.

use std::fmt::Write as _;

use loci_palace::search::{self, Request, Scope};
use loci_palace::{Capability, DEFAULT_COLLECTION, Detail, Error, Fence, MAX_HITS, Result};
use serde_json::Value;

use super::{Argument, answer_schema, arguments, selection};
use crate::drawer::{Passage, fenced, name, one_line};
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, Kind, Tool};

/// Default number of hits.
const HITS: u64 = 10;
/// Default budget in tokens.
const BUDGET: u64 = 1_500;
const MOST_TOKENS: u64 = 100_000;

pub(super) const TOOL: Tool = Tool {
    name: "loci_search",
    title: "",
    description: "Search memory. Call before answering about past work, decisions, people.",
    input,
    output: || answer_schema(&["hits"]),
    kind: Kind::Read,
    needs: &[Capability::Recall],
    run,
};

/// The arguments of a search, which [`request`] reads.
pub(crate) const ARGUMENTS: [Argument; 10] = [
    ("query", "string", "a question or words"),
    ("limit", "integer", "most hits, 10"),
    ("wing", "string", "person or project"),
    ("room", "string", "topic"),
    ("source", "string", "file path"),
    ("since", "string", "2026-05-01, last week"),
    ("before", "string", "like since"),
    ("budget", "integer", "most tokens, 1500"),
    ("min_probability", "number", "0 shows all"),
    ("collection", "string", "default drawers"),
];

fn input() -> Value {
    arguments(&ARGUMENTS, &["query"])
}

/// The request of a call.
pub(crate) fn request(call: &Call<'_>) -> Result<Request> {
    let arguments = &call.arguments;
    let limit = arguments.integer("limit", 1, MAX_HITS as u64)?;
    let budget = arguments.integer("budget", 1, MOST_TOKENS)?;
    let min_probability = arguments.number("min_probability", 0.0, 1.0)?;
    Ok(Request {
        min_probability: min_probability.map(|limit| limit as f32),
        k: limit.unwrap_or(HITS) as usize,
        budget: Some(budget.unwrap_or(BUDGET) as usize),
        selection: selection(arguments)?,
        detail: Detail::Brief,
        collection: match arguments.text("collection")? {
            Some(name) => name.to_owned(),
            None => DEFAULT_COLLECTION.to_owned(),
        },
        ..Request::new(arguments.required_text("query")?)
    })
}

fn run(call: &Call<'_>) -> Result<Answer> {
    let request = request(call)?;
    let answer = match call.palace().and_then(|palace| palace.search(&request)) {
        Err(empty) if is_nothing(&empty) => {
            let answer = search::Answer::of_nothing(&empty);
            let structured = structured(&answer, &answer.warnings)?;
            return Ok(Answer::new(structured, render(&answer)));
        }
        other => other?,
    };
    let links = answer.hits.iter().map(|hit| Passage::of_hit(hit).link());
    Ok(Answer::new(recalled(&answer, &answer.warnings)?, render(&answer)).links(links.collect()))
}

/// Whether there is nothing to search yet.
fn is_nothing(error: &Error) -> bool {
    matches!(
        error.plain(),
        Error::PalaceNotFound { .. } | Error::CollectionNotInitialized { .. }
    )
}

fn render(answer: &search::Answer) -> String {
    let fence = Fence::new();
    let mut text = String::new();
    if answer.hits.is_empty() {
        text.push_str("nothing found\n");
    } else {
        let _ = writeln!(text, "{}", fence.meaning());
        if !answer.verdict.likely {
            let sure = answer
                .verdict
                .probability
                .map_or_else(String::new, |share| format!(" ({:.0} %)", share * 100.0));
            let _ = writeln!(text, "Probably not in memory{sure}; the nearest:");
        }
    }
    for hit in &answer.hits {
        let _ = writeln!(text, "{}", Passage::of_hit(hit).fenced(&fence));
        if hit.cut {
            let _ = writeln!(text, "(cut; `loci_get` returns all of it)");
        }
        if let Some(later) = &hit.later {
            let _ = writeln!(text, "(later: {})", name(later));
        }
        let same = hit.also_in.iter().flatten().take(5);
        let same: Vec<String> = same.map(|id| name(id)).collect();
        if !same.is_empty() {
            let _ = writeln!(text, "(the same text is also in {})", same.join(", "));
        }
    }
    if let Some(scope) = &answer.available_in_scope {
        text.push_str(&available(scope));
    }
    text
}

fn available(scope: &Scope) -> String {
    let mut places = String::new();
    for (name, counts) in [("wings", &scope.wings), ("rooms", &scope.rooms)] {
        let shown: Vec<String> = counts
            .iter()
            .take(8)
            .map(|(value, count)| format!("{} {count}", one_line(value)))
            .collect();
        if !shown.is_empty() {
            let _ = writeln!(places, "{name}: {}", shown.join(", "));
        }
    }
    format!(
        "{} drawer(s) in scope\n{}",
        scope.drawers,
        fenced("places in scope", &places)
    )
}
