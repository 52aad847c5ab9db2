//! `loci_get`: whole drawers by id or by the name of their resource.

use std::fmt::Write as _;

use loci_palace::{Error, Fence, Result, quoted, validate_id};
use serde_json::{Value, json};

use super::{object, warned};
use crate::drawer::{Drawer, NOTICE, by_ids, one_line, parse_uri};
use crate::hint::{self, Tools};
use crate::tool::{Answer, Call, Kind, Tool};

/// Ids in one call.
const MOST_IDS: usize = 1_000;

pub(super) const TOOL: Tool = Tool {
    name: "loci_get",
    title: "",
    description: "Whole drawers by id.",
    input: || object(&[("ids", "texts")], &["ids"]),
    output: || {
        object(
            &[
                ("drawers", "array"),
                ("missing", "texts"),
                ("warnings", "array"),
            ],
            &["drawers"],
        )
    },
    kind: Kind::Read,
    run,
};

fn run(call: &Call<'_>) -> Result<Answer> {
    let ids = ids(call)?.ok_or_else(|| call.arguments.missing("ids"))?;
    let palace = call.palace()?;
    let mut warnings = Vec::new();
    let (drawers, missing) = by_ids(&palace, &ids, &mut warnings)?;
    let fence = Fence::new();
    let mut text = String::new();
    if !drawers.is_empty() {
        let _ = writeln!(text, "{}", fence.meaning());
    }
    for drawer in &drawers {
        let _ = writeln!(text, "{}", drawer.fenced(&fence, None));
        if !drawer.metadata.0.is_empty() {
            let about = format!("metadata of {}", one_line(&drawer.id));
            let metadata = drawer.metadata.to_json_text();
            let _ = writeln!(text, "{}", fence.recalled(&about, &metadata));
        }
    }
    for id in &missing {
        let _ = writeln!(text, "there is no {}", quoted(id));
    }
    text.push_str(&warned(&warnings));
    let links = drawers.iter().map(Drawer::link).collect();
    let structured = json!({
        "about": NOTICE,
        "drawers": drawers.iter().map(whole).collect::<Vec<_>>(),
        "missing": missing,
        "warnings": hint::warnings(&warnings, Tools::Loci),
    });
    Ok(Answer::new(structured, text).links(links))
}

/// A drawer with all its metadata.
fn whole(drawer: &Drawer) -> Value {
    let mut object = drawer.to_json();
    object.insert("metadata".into(), json!(drawer.metadata));
    Value::Object(object)
}

/// The ids of a call, each once; names of resources count as their ids.
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
