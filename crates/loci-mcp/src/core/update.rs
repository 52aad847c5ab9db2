//! `loci_update`: another text, place or metadata for a drawer.

use loci_palace::{
    Batch, Error, MetaValue, Outcome, Result, Selection, Warning, quoted, validate_id,
};
use serde_json::json;

use super::{masked_line, object, warned};
use crate::drawer::{count, name, parse_uri};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, DrawerLink, Kind, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "loci_update",
    title: "",
    description: "Change a drawer.",
    input: || {
        object(
            &[
                ("id", "string"),
                ("text", "string"),
                ("wing", "string"),
                ("room", "string"),
                ("metadata", "object"),
            ],
            &["id"],
        )
    },
    output: || {
        object(
            &[
                ("id", "string"),
                ("outcome", "string"),
                ("warnings", "array"),
            ],
            &["outcome"],
        )
    },
    kind: Kind::Destroy,
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let given = arguments.required_text("id")?;
    let id = parse_uri(given).map_or_else(|| given.to_owned(), |(_, id)| id);
    validate_id(&id)?;
    let mut patch = arguments.patch("metadata")?;
    for key in ["wing", "room"] {
        if let Some(value) = arguments.text(key)? {
            patch.0.insert(key.into(), Some(MetaValue::from(value)));
        }
    }
    let text = match arguments.text("text")? {
        Some(_) => Some(arguments.required_text("text")?),
        None => None,
    };
    if text.is_none() && patch.0.is_empty() {
        return Err(Error::invalid(
            "update",
            "changes nothing; give `text`, `wing`, `room` or `metadata`",
        ));
    }
    let mut batch = Batch::new([id.clone()]);
    if !patch.0.is_empty() {
        batch = batch.metadatas([patch]);
    }
    if let Some(text) = text {
        batch = batch.documents([text]);
    }
    batch.validate_update()?;
    let Some(collection) = holder(call, &id)? else {
        return Err(Error::invalid(
            format!("drawer {}", quoted(&id)),
            "does not exist; `loci_search` and `loci_list` give ids",
        ));
    };
    let (memory, about_embedder) = call.palace()?.memory(&collection, false)?;
    let result = memory.collection.update(&batch)?;
    let mut warnings = result.warnings;
    // What embeds matters only where a text needs a vector.
    if batch.documents.is_some() {
        warnings.extend(about_embedder);
    }
    let outcome = result.outcomes.first().unwrap_or(&Outcome::Unchanged);
    let mut answer = answer(&collection, &id, outcome, &warnings);
    answer.text.push_str(&masked_line(&result.masked));
    if let Some(object) = answer.structured.as_object_mut() {
        object.insert("masked".into(), json!(result.masked));
    }
    Ok(answer)
}

/// The collection that holds a drawer.
fn holder(call: &Call<'_>, id: &str) -> Result<Option<String>> {
    let selection = Selection::ids([id]);
    for collection in call.palace()?.scope(None)? {
        if count(collection.as_ref(), &selection, &mut Vec::new())? > 0 {
            return Ok(Some(collection.name().to_owned()));
        }
    }
    Ok(None)
}

fn answer(collection: &str, id: &str, outcome: &Outcome, warnings: &[Warning]) -> Answer {
    let text = format!("{}: {}\n{}", name(id), outcome.as_str(), warned(warnings));
    let structured = json!({
        "id": id,
        "collection": collection,
        "outcome": outcome.as_str(),
        "warnings": hint::warnings(warnings, Tools::Loci),
    });
    Answer::new(structured, text).links(vec![DrawerLink {
        collection: collection.to_owned(),
        id: id.to_owned(),
        title: String::new(),
    }])
}
