//! `loci_add`: adds drawers, and reports duplicates.

use std::fmt::Write as _;

use loci_palace::add::{self, Drawer};
use loci_palace::pin::pin_patch;
use loci_palace::{
    Capability, DEFAULT_COLLECTION, Detail, Error, Fact, MAX_DOCUMENT_BYTES, MetaValue, Result,
    validate_id, validate_metadata,
};
use serde_json::{Value, json};

use super::{answer_schema, arguments, masked_line, object};
use crate::arguments::Arguments;
use crate::drawer::{name, one_line};
use crate::structured::structured;
use crate::tool::{Answer, Call, DrawerLink, Kind, Tool};

/// Drawers per transaction. A call can be cancelled between two transactions.
const SLICE: usize = 200;

/// Maximum number of links in an answer.
const LINKED: usize = 20;

pub(super) const TOOL: Tool = Tool {
    name: "loci_add",
    title: "",
    description: "Store texts word for word. A text already in its wing is not added; near duplicates are reported.",
    input,
    output: || answer_schema(&["added"]),
    kind: Kind::Add,
    needs: &[Capability::Writing],
    run,
};

fn input() -> Value {
    let mut drawer = arguments(
        &[
            ("text", "string", "the text"),
            ("wing", "string", "person or project"),
            ("room", "string", "topic"),
            ("source", "string", "file path"),
            ("id", "string", "own id"),
            ("metadata", "object", "more data"),
            ("pin", "boolean", "show at every start"),
        ],
        &["text"],
    );
    let names = ["subject", "predicate", "object"];
    let fact = object(&names.map(|name| (name, "string")), &names);
    if let Some(properties) = drawer.get_mut("properties").and_then(Value::as_object_mut) {
        let facts = json!({"type": "array", "items": fact, "description": "it states"});
        properties.insert("facts".into(), facts);
    }
    let drawers = json!({"type": "array", "items": drawer, "description": "texts"});
    json!({"type": "object", "properties": {"drawers": drawers}, "required": ["drawers"]})
}

fn run(call: &Call<'_>) -> Result<Answer> {
    let given = call.arguments.objects("drawers")?;
    let given = given.ok_or_else(|| call.arguments.missing("drawers"))?;
    if given.is_empty() {
        let named = call.arguments.named("drawers");
        return Err(Error::invalid(named, "is empty; give at least one"));
    }
    let drawers: Vec<Drawer> = given.iter().map(new_drawer).collect::<Result<_>>()?;
    let palace = call.palace_to_write()?;
    let mut answer = add::Answer::default();
    for slice in drawers.chunks(SLICE) {
        call.go_on()?;
        let part = palace.add(&add::Request {
            drawers: slice.to_vec(),
            detail: Detail::Brief,
            ..add::Request::default()
        })?;
        answer.append(part, Detail::Brief);
        let done = answer.drawers.len();
        let message = format!("{done} of {} drawers", drawers.len());
        call.progress(done as f64, Some(drawers.len() as f64), message);
    }
    let links = answer.drawers.iter().zip(&drawers).take(LINKED);
    let links = links
        .map(|(added, drawer)| DrawerLink {
            collection: DEFAULT_COLLECTION.to_owned(),
            id: added.id.clone(),
            title: place(drawer),
        })
        .collect();
    let structured = structured(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, render(&answer)).links(links))
}

fn new_drawer(given: &Arguments<'_>) -> Result<Drawer> {
    given.only(&[
        "text", "wing", "room", "source", "id", "metadata", "pin", "facts",
    ])?;
    let mut metadata = given.metadata("metadata")?;
    for (name, key) in [
        ("wing", "wing"),
        ("room", "room"),
        ("source", "source_file"),
    ] {
        if let Some(value) = given.text(name)? {
            metadata.0.insert(key.into(), MetaValue::from(value));
        }
    }
    if given.flag("pin")? {
        metadata = metadata.merged(&pin_patch(true));
    }
    // Everything is checked before the first drawer is written, so that a refused call writes
    // nothing.
    let id = given.text("id")?;
    validate_metadata(id.unwrap_or("new"), &metadata)?;
    id.map_or(Ok(()), validate_id)?;
    given.short_text("text", MAX_DOCUMENT_BYTES)?;
    let facts = given.objects("facts")?.unwrap_or_default();
    Ok(Drawer {
        id: id.map(str::to_owned),
        text: Some(given.required_text("text")?.to_owned()),
        metadata,
        vector: None,
        facts: facts.iter().map(fact).collect::<Result<_>>()?,
    })
}

/// Parses a fact of a drawer.
fn fact(given: &Arguments<'_>) -> Result<Fact> {
    given.only(&[
        "subject",
        "predicate",
        "object",
        "valid_from",
        "valid_to",
        "confidence",
    ])?;
    let fact = Fact {
        subject: given.required_text("subject")?.to_owned(),
        predicate: given.required_text("predicate")?.to_owned(),
        object: given.required_text("object")?.to_owned(),
        valid_from: given.text("valid_from")?.map(str::to_owned),
        valid_to: given.text("valid_to")?.map(str::to_owned),
        confidence: given.number("confidence", 0.0, 1.0)?,
        ..Fact::default()
    };
    fact.validate()?;
    Ok(fact)
}

fn place(drawer: &Drawer) -> String {
    let parts: Vec<String> = ["wing", "room"]
        .iter()
        .filter_map(|key| drawer.metadata.get_str(key))
        .map(one_line)
        .collect();
    parts.join("/")
}

fn render(answer: &add::Answer) -> String {
    let mut text = format!("added {} of {}\n", answer.added, answer.drawers.len());
    for added in &answer.drawers {
        let _ = write!(text, "{}: {}", name(&added.id), added.outcome.as_str());
        if added.facts > 0 {
            let _ = write!(text, ", {} fact(s)", added.facts);
        }
        for other in &added.similar {
            let how = if other.exact {
                "the same as"
            } else {
                "close to"
            };
            let _ = write!(
                text,
                "; {how} {} (similarity {:.2}, threshold {:.2})",
                name(&other.id),
                other.similarity,
                answer.threshold
            );
        }
        text.push('\n');
    }
    text.push_str(&masked_line(&answer.masked));
    text
}
