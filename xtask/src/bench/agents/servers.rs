//! Measures MCP servers over stdio: handshake, searches, writes, schema, memory.

use serde_json::{Value, json};

use loci_palace::count_tokens;

use super::notes::Notes;
use super::{Figures, Side, figures_of};

const SEARCHES: usize = 50;
const ADDS: usize = 20;
/// Clients that use one palace at the same time.
const CLIENTS: usize = 10;

/// The names of a side's tools, with functions that make their arguments.
pub(super) struct Tools {
    search: (&'static str, fn(&str) -> Value),
    add: (&'static str, fn(&str) -> Value),
}

pub(super) const LOCI: Tools = Tools {
    search: ("loci_search", |question| json!({"query": question, "k": 5})),
    add: (
        "loci_add",
        |text| json!({"drawers": [{"text": text, "wing": "bench", "room": "added"}]}),
    ),
};

pub(super) const MEMPALACE: Tools = Tools {
    search: (
        "mempalace_search",
        |question| json!({"query": question, "limit": 5}),
    ),
    add: (
        "mempalace_add_drawer",
        |text| json!({"content": text, "wing": "bench", "room": "added"}),
    ),
};

/// The figures of one client.
pub(super) fn alone(side: &Side, notes: &Notes) -> anyhow::Result<Figures> {
    let mut random = fastrand::Rng::with_seed(600);
    let added: Vec<String> = (0..ADDS)
        .map(|number| notes.note(1_000_000 + number, &mut random))
        .collect();
    let answer = figures_of(
        "mcp_cost.py",
        &json!({
            "command": side.server,
            "environment": side.environment,
            "steps": [
                first_search(side),
                searches(side, notes),
                step("add", &side.tools.add, &added),
            ],
        }),
    )?;
    let mut figures = Figures::new();
    for (name, key) in [
        ("handshake_ms", "/handshake_ms"),
        ("schema_bytes", "/schema_bytes"),
        ("tools", "/tools"),
        ("first_search_ms", "/steps/first search"),
        ("search_ms", "/steps/search"),
        ("add_ms", "/steps/add"),
        ("rss_bytes", "/rss_bytes/0"),
        ("life_ms", "/life_ms"),
    ] {
        if let Some(number) = answer.pointer(key).and_then(Value::as_f64) {
            figures.insert(name.into(), number);
        }
    }
    let schema = answer.get("schema").and_then(Value::as_str);
    let tokens = schema.map_or(0, count_tokens);
    figures.insert("schema_tokens".into(), tokens as f64);
    Ok(figures)
}

/// The memory of ten clients on one palace, each with a server of its own that has searched.
pub(super) fn together(side: &Side, notes: &Notes) -> anyhow::Result<Figures> {
    let answer = figures_of(
        "mcp_cost.py",
        &json!({
            "command": side.server,
            "environment": side.environment,
            "clients": CLIENTS,
            "steps": [first_search(side), searches(side, notes)],
        }),
    )?;
    let resident = answer.get("rss_bytes").and_then(Value::as_array);
    let resident = resident.into_iter().flatten().filter_map(Value::as_f64);
    let largest = resident.fold(0.0, f64::max);
    Ok(Figures::from([("ten_rss_bytes".into(), largest)]))
}

fn first_search(side: &Side) -> Value {
    let question = "why did we choose this over the other".to_owned();
    step("first search", &side.tools.search, &[question])
}

fn searches(side: &Side, notes: &Notes) -> Value {
    step("search", &side.tools.search, &notes.questions(SEARCHES))
}

fn step(name: &str, (tool, arguments): &(&str, fn(&str) -> Value), texts: &[String]) -> Value {
    let arguments: Vec<Value> = texts.iter().map(|text| arguments(text)).collect();
    json!({"name": name, "tool": tool, "arguments": arguments})
}
