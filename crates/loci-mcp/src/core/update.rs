//! `loci_update`: changes the text, place or metadata of a drawer.

use loci_palace::pin::pin_patch;
use loci_palace::{Capability, Error, MetaValue, OutcomeKind, Result, quoted, update, validate_id};

use super::{answer_schema, arguments, masked_line};
use crate::drawer::{name, parse_uri};
use crate::structured::structured;
use crate::tool::{Answer, Call, DrawerLink, Kind, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "loci_update",
    title: "",
    description: "Change a drawer.",
    input: || {
        arguments(
            &[
                ("id", "string", "its id"),
                ("text", "string", "new text"),
                ("wing", "string", "new wing"),
                ("room", "string", "new room"),
                ("metadata", "object", "changes; null removes a key"),
                ("pin", "boolean", "false takes the pin off"),
            ],
            &["id"],
        )
    },
    output: || answer_schema(&["outcome"]),
    kind: Kind::Destroy,
    needs: &[Capability::Writing],
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
    if arguments.has("pin") {
        patch.0.extend(pin_patch(arguments.flag("pin")?).0);
    }
    let text = match arguments.text("text")? {
        Some(_) => Some(arguments.required_text("text")?),
        None => None,
    };
    if text.is_none() && patch.0.is_empty() {
        return Err(Error::invalid(
            "update",
            "changes nothing; give `text`, `wing`, `room`, `metadata` or `pin`",
        ));
    }
    let request = update::Request {
        id,
        text: text.map(str::to_owned),
        metadata: (!patch.0.is_empty()).then_some(patch),
        ..update::Request::default()
    };
    let answer = call.palace()?.update(&request)?;
    if answer.outcome == OutcomeKind::Unknown {
        return Err(Error::invalid(
            format!("drawer {}", quoted(&answer.id)),
            "does not exist; `loci_search` and `loci_list` return ids",
        ));
    }
    let text = format!(
        "{}: {}\n{}",
        name(&answer.id),
        answer.outcome.as_str(),
        masked_line(&answer.masked)
    );
    let link = DrawerLink {
        collection: answer.collection.clone(),
        id: answer.id.clone(),
        title: String::new(),
    };
    let structured = structured(&answer, &answer.warnings)?;
    Ok(Answer::new(structured, text).links(vec![link]))
}
