//! `loci_add`: drawers in, and what was there already.

use std::fmt::Write as _;

use loci_palace::{
    DEFAULT_COLLECTION, Error, Fact, MAX_DOCUMENT_BYTES, MetaValue, NewDrawer, RememberOptions,
    RememberReport, Result, Twin, merge_masked, validate_id, validate_metadata,
};
use serde_json::{Value, json};

use super::{masked_line, object, warned};
use crate::arguments::Arguments;
use crate::drawer::{flagged, name, one_line, rounded};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, DrawerLink, Kind, Tool};

/// Drawers written in one transaction; between two, a call can be cancelled.
const SLICE: usize = 200;

/// Drawers up to which an answer shows twins with their texts, and links; of more, it names the nearest twin of each.
const DETAILED: usize = 20;

pub(super) const TOOL: Tool = Tool {
    name: "loci_add",
    title: "",
    description: "Remember texts word for word; a text that its wing holds already is not added, near twins are reported.",
    input,
    output: || {
        object(
            &[
                ("added", "integer"),
                ("drawers", "array"),
                ("threshold", "number"),
                ("warnings", "array"),
            ],
            &["added"],
        )
    },
    kind: Kind::Add,
    run,
};

fn input() -> Value {
    let mut drawer = object(
        &[
            ("text", "string"),
            ("wing", "string"),
            ("room", "string"),
            ("source", "string"),
            ("id", "string"),
            ("metadata", "object"),
        ],
        &["text"],
    );
    let names = ["subject", "predicate", "object"];
    let fact = object(&names.map(|name| (name, "string")), &names);
    if let Some(properties) = drawer.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("facts".into(), json!({"type": "array", "items": fact}));
    }
    json!({
        "type": "object",
        "properties": {"drawers": {"type": "array", "items": drawer}},
        "required": ["drawers"],
    })
}

fn run(call: &Call<'_>) -> Result<Answer> {
    let given = call.arguments.objects("drawers")?;
    let given = given.ok_or_else(|| call.arguments.missing("drawers"))?;
    if given.is_empty() {
        let named = call.arguments.named("drawers");
        return Err(Error::invalid(named, "is empty; give at least one"));
    }
    let drawers: Vec<NewDrawer> = given.iter().map(new_drawer).collect::<Result<_>>()?;
    let palace = call.palace_to_write()?;
    let options = RememberOptions::default();
    let mut report = RememberReport::default();
    for slice in drawers.chunks(SLICE) {
        call.go_on()?;
        let part = palace.remember(slice, &options)?;
        report.drawers.extend(part.drawers);
        report.added += part.added;
        report.threshold = part.threshold;
        merge_masked(&mut report.masked, &part.masked);
        for warning in part.warnings {
            if !report.warnings.contains(&warning) {
                report.warnings.push(warning);
            }
        }
        let done = report.drawers.len();
        let message = format!("{done} of {} drawers", drawers.len());
        call.progress(done as f64, Some(drawers.len() as f64), message);
    }
    let links = report.drawers.iter().zip(&drawers);
    let links = links
        .take(DETAILED)
        .map(|(remembered, drawer)| DrawerLink {
            collection: DEFAULT_COLLECTION.to_owned(),
            id: remembered.id.clone(),
            title: place(drawer),
        })
        .collect();
    Ok(Answer::new(structured(&report), shown(&report)).links(links))
}

fn structured(report: &RememberReport) -> Value {
    let detailed = report.drawers.len() <= DETAILED;
    let drawers: Vec<Value> = report
        .drawers
        .iter()
        .map(|remembered| {
            let twins: Vec<Value> = if detailed {
                remembered.twins.iter().map(twin).collect()
            } else {
                let nearest = remembered.twins.iter().take(1);
                nearest
                    .map(|twin| json!({"id": twin.id, "similarity": rounded(twin.similarity)}))
                    .collect()
            };
            json!({
                "id": remembered.id,
                "outcome": remembered.outcome,
                "facts": remembered.facts,
                "twins": twins,
            })
        })
        .collect();
    json!({
        "added": report.added,
        "drawers": drawers,
        "threshold": rounded(report.threshold),
        "warnings": hint::warnings(&report.warnings, Tools::Loci),
        "masked": report.masked,
    })
}

/// A twin as programs get it; its text is recalled, and flagged like any other.
pub(crate) fn twin(twin: &Twin) -> Value {
    let mut value = flagged(twin, &twin.text);
    if let Some(object) = value.as_object_mut() {
        object.insert("similarity".into(), json!(rounded(twin.similarity)));
    }
    value
}

fn new_drawer(given: &Arguments<'_>) -> Result<NewDrawer> {
    given.only(&["text", "wing", "room", "source", "id", "metadata", "facts"])?;
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
    // All of this is checked before the first drawer is written: a call that is refused leaves nothing.
    let id = given.text("id")?;
    validate_metadata(id.unwrap_or("new"), &metadata)?;
    id.map_or(Ok(()), validate_id)?;
    given.short_text("text", MAX_DOCUMENT_BYTES)?;
    let facts = given.objects("facts")?.unwrap_or_default();
    Ok(NewDrawer {
        id: id.map(str::to_owned),
        text: given.required_text("text")?.to_owned(),
        metadata,
        facts: facts.iter().map(fact).collect::<Result<_>>()?,
    })
}

/// A fact as it is given with a drawer.
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

fn place(drawer: &NewDrawer) -> String {
    let parts: Vec<String> = ["wing", "room"]
        .iter()
        .filter_map(|key| drawer.metadata.get_str(key))
        .map(one_line)
        .collect();
    parts.join("/")
}

fn shown(report: &RememberReport) -> String {
    let mut text = format!("added {} of {}\n", report.added, report.drawers.len());
    for remembered in &report.drawers {
        let _ = write!(
            text,
            "{}: {}",
            name(&remembered.id),
            remembered.outcome.as_str()
        );
        if remembered.facts > 0 {
            let _ = write!(text, ", {} fact(s)", remembered.facts);
        }
        let most = if report.drawers.len() <= DETAILED {
            usize::MAX
        } else {
            1
        };
        for twin in remembered.twins.iter().take(most) {
            let how = if twin.exact {
                "the same as"
            } else {
                "close to"
            };
            let _ = write!(
                text,
                "; {how} {} (similarity {:.2}, threshold {:.2})",
                name(&twin.id),
                twin.similarity,
                report.threshold
            );
        }
        text.push('\n');
    }
    text.push_str(&masked_line(&report.masked));
    text.push_str(&warned(&report.warnings));
    text
}
