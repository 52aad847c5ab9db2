//! `loci_search`: a question in, passages out, under a budget of tokens.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use loci_palace::{
    DEFAULT_COLLECTION, Error, Fence, Found, Hit, MAX_HITS, Request, Result, Scope, Warning,
};
use serde_json::{Map, Value, json};

use super::{object, selection, warned};
use crate::drawer::{Drawer, NOTICE, day, fenced, name, one_line, rounded};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, Kind, Tool};

/// Hits, if no number is given.
const HITS: u64 = 10;
/// Tokens of all passages, if no number is given.
const BUDGET: u64 = 1_500;
const MOST_TOKENS: u64 = 100_000;

pub(super) const TOOL: Tool = Tool {
    name: "loci_search",
    title: "",
    description: "Search memory. Call before answering about past work, decisions, people. Dates: 2026-05-01, last week.",
    input,
    output: || {
        object(
            &[
                ("hits", "array"),
                ("verdict", "object"),
                ("in_scope", "integer"),
                ("tokens", "integer"),
                ("warnings", "array"),
            ],
            &["hits"],
        )
    },
    kind: Kind::Read,
    run,
};

fn input() -> Value {
    object(
        &[
            ("query", "string"),
            ("k", "integer"),
            ("wing", "string"),
            ("room", "string"),
            ("source", "string"),
            ("since", "string"),
            ("before", "string"),
            ("budget", "integer"),
        ],
        &["query"],
    )
}

/// What a call asks for.
pub(crate) fn request(call: &Call<'_>) -> Result<Request> {
    let arguments = &call.arguments;
    let k = arguments.integer("k", 1, MAX_HITS as u64)?;
    let budget = arguments.integer("budget", 1, MOST_TOKENS)?;
    Ok(Request {
        k: k.unwrap_or(HITS) as usize,
        budget: Some(budget.unwrap_or(BUDGET) as usize),
        selection: selection(arguments)?,
        ..Request::new(arguments.required_text("query")?)
    })
}

fn run(call: &Call<'_>) -> Result<Answer> {
    let request = request(call)?;
    let found = match call
        .palace()
        .and_then(|palace| palace.search(DEFAULT_COLLECTION, &request))
    {
        Err(empty @ (Error::PalaceNotFound { .. } | Error::CollectionNotInitialized { .. })) => {
            return Ok(nothing_yet(&empty));
        }
        other => other?,
    };
    let drawers: Vec<Drawer> = found.answer.hits.iter().map(drawer_of).collect();
    let links = drawers.iter().map(Drawer::link).collect();
    Ok(Answer::new(structured(&found, &drawers), shown(&found, &drawers)).links(links))
}

/// The answer of a memory that holds nothing so far.
fn nothing_yet(why: &Error) -> Answer {
    let warnings = vec![Warning::Empty {
        problem: why.to_string(),
    }];
    let text = format!("nothing found\n{}", warned(&warnings));
    let structured = json!({
        "hits": [],
        "verdict": {"likely": false, "probability": 0.0},
        "in_scope": 0,
        "tokens": 0,
        "warnings": hint::warnings(&warnings, Tools::Loci),
    });
    Answer::new(structured, text)
}

fn drawer_of(hit: &Hit) -> Drawer {
    Drawer {
        collection: DEFAULT_COLLECTION.to_owned(),
        id: hit.id.clone(),
        text: hit.text.clone(),
        metadata: hit.metadata.clone(),
    }
}

fn structured(found: &Found, drawers: &[Drawer]) -> Value {
    let answer = &found.answer;
    let hits: Vec<Map<String, Value>> = answer
        .hits
        .iter()
        .zip(drawers)
        .map(|(hit, drawer)| {
            let mut object = drawer.to_json();
            object.insert("date".into(), json!(day(hit.authored_at)));
            object.insert("score".into(), json!(rounded(hit.score)));
            object.insert("matched_via".into(), json!(hit.matched_via));
            object.insert("cut".into(), json!(hit.cut));
            if !hit.also_in.is_empty() {
                object.insert("also_in".into(), json!(hit.also_in));
            }
            object
        })
        .collect();
    let mut structured = json!({
        "about": NOTICE,
        "hits": hits,
        "verdict": answer.verdict,
        "in_scope": answer.in_scope,
        "tokens": answer.tokens,
        "warnings": hint::warnings(&answer.warnings, Tools::Loci),
    });
    if let (Some(scope), Some(object)) = (&found.available_in_scope, structured.as_object_mut()) {
        let by_name = |counts: &[(String, u64)]| -> BTreeMap<String, u64> {
            counts.iter().cloned().collect()
        };
        let available = json!({
            "drawers": scope.drawers,
            "wings": by_name(&scope.wings),
            "rooms": by_name(&scope.rooms),
        });
        object.insert("available_in_scope".into(), available);
    }
    structured
}

fn shown(found: &Found, drawers: &[Drawer]) -> String {
    let answer = &found.answer;
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
    for (hit, drawer) in answer.hits.iter().zip(drawers) {
        let date = day(hit.authored_at);
        let _ = writeln!(text, "{}", drawer.fenced(&fence, Some(&date)));
        if hit.cut {
            let _ = writeln!(text, "(cut; `loci_get` gives all of it)");
        }
        if !hit.also_in.is_empty() {
            let same: Vec<String> = hit.also_in.iter().take(5).map(|id| name(id)).collect();
            let _ = writeln!(text, "(the same text: {})", same.join(", "));
        }
    }
    if let Some(scope) = &found.available_in_scope {
        text.push_str(&available(scope));
    }
    text.push_str(&warned(&answer.warnings));
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
