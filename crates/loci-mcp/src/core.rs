//! The eight tools that every client gets. Their descriptions use as few tokens as possible.

mod add;
mod diary;
mod facts;
mod forget;
mod get;
mod list;
mod search;
mod status;
mod update;

use loci_palace::{Filter, MaskTally, Result, Selection, describe_masked};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::tool::Tool;

pub(crate) use self::search::{ARGUMENTS as SEARCH_ARGUMENTS, request};
pub(crate) use self::status::status;

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        search::TOOL,
        get::TOOL,
        add::TOOL,
        update::TOOL,
        forget::TOOL,
        list::TOOL,
        facts::TOOL,
        diary::TOOL,
    ]
}

/// An argument of a tool: its name, its type and its description. Types are those of [`object`].
pub(crate) type Argument = (&'static str, &'static str, &'static str);

/// A schema of an object of arguments.
pub(crate) fn arguments(members: &[Argument], required: &[&str]) -> Value {
    let types: Vec<(&str, &str)> = members
        .iter()
        .map(|(name, kind, _)| (*name, *kind))
        .collect();
    let mut schema = object(&types, required);
    for (name, _, description) in members {
        if let Some(Value::Object(argument)) = schema.pointer_mut(&format!("/properties/{name}")) {
            argument.insert("description".into(), json!(description));
        }
    }
    schema
}

/// The schema of an answer with these members. Models pay for every word of a schema, and clients
/// need only the shape, so the types are left out.
fn answer_schema(members: &[&str]) -> Value {
    match members {
        [] => json!({"type": "object"}),
        members => json!({"type": "object", "required": members}),
    }
}

/// A schema of an object with members of these types; `texts` is a list of strings.
pub(crate) fn object(members: &[(&str, &str)], required: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> = members
        .iter()
        .map(|(name, kind)| {
            let schema = match *kind {
                "texts" => json!({"type": "array", "items": {"type": "string"}}),
                kind => json!({"type": kind}),
            };
            ((*name).to_owned(), schema)
        })
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty()
        && let Some(object) = schema.as_object_mut()
    {
        object.insert("required".into(), json!(required));
    }
    schema
}

/// The selection that `wing`, `room`, `source`, `since` and `before` describe.
pub(crate) fn selection(arguments: &Arguments<'_>) -> Result<Selection> {
    let mut conditions = Vec::new();
    for (name, key) in [
        ("wing", "wing"),
        ("room", "room"),
        ("source", "source_file"),
    ] {
        if let Some(value) = arguments.text(name)? {
            conditions.push(Filter::eq(key, value));
        }
    }
    Ok(Selection {
        filter: Filter::all(conditions),
        period: arguments.period("since", "before")?,
        ..Selection::default()
    })
}

/// A line about masked secrets; empty if there were none. An agent cannot turn the masking off:
/// only the owner can, in the configuration or with a flag of the server.
pub(crate) fn masked_line(masked: &MaskTally) -> String {
    describe_masked(masked).map_or_else(String::new, |line| format!("{line}\n"))
}
