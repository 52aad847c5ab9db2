//! `loci_links`: links between drawers and between rooms.

use std::fmt::Write as _;

use loci_palace::{Capability, DEFAULT_COLLECTION, Detail, Error, Link, LinkEnd, Result, links};
use serde_json::{Value, json};

use crate::core::{arguments, masked_line};
use crate::drawer::{fenced, one_line, parse_uri};
use crate::structured::{recalled, structured};
use crate::tool::{Answer, Call, Kind, Tool};

const LIMIT: u64 = 50;
const MOST_LINKS: u64 = 500;
const HOPS: u64 = 2;
const MOST_HOPS: u64 = 10;

const ACTIONS: [&str; 5] = ["list", "add", "remove", "follow", "tunnels"];

pub(super) const TOOL: Tool = Tool {
    name: "loci_links",
    title: "Links",
    description: "Links between drawers and between rooms. add and remove: from, to, label. list: links of from, or all. follow: what can be reached from there. tunnels: rooms shared by wings (from and to are wings). An end is a drawer id, or `wing/room` with a slash.",
    input,
    output: || json!({"type": "object"}),
    kind: Kind::Change { idempotent: true },
    needs: &[Capability::Relations],
    run,
};

fn input() -> Value {
    let mut schema = arguments(
        &[
            ("action", "string", "what to do"),
            ("from", "string", "start: a drawer id or wing/room"),
            ("to", "string", "end: a drawer id or wing/room"),
            ("label", "string", "how the start relates to the end"),
            ("max_hops", "integer", "most links to follow in a row, 2"),
            ("limit", "integer", "most links, 50"),
            ("offset", "integer", "links to skip"),
        ],
        &["action"],
    );
    if let Some(Value::Object(action)) = schema.pointer_mut("/properties/action") {
        action.insert("enum".into(), json!(ACTIONS));
    }
    schema
}

fn run(call: &Call<'_>) -> Result<Answer> {
    let action = call.arguments.choice("action", &ACTIONS)?;
    match action.ok_or_else(|| call.arguments.missing("action"))? {
        "add" => add(call),
        "remove" => remove(call),
        "follow" => follow(call),
        "tunnels" => tunnels(call),
        _ => list(call),
    }
}

/// Parses an end: `wing/room`, `wing/`, or the id or resource name of a drawer.
fn end(text: &str) -> LinkEnd {
    if let Some((collection, id)) = parse_uri(text) {
        return LinkEnd::drawer(collection, id);
    }
    match text.split_once('/') {
        Some((wing, room)) => LinkEnd::room(wing, room),
        None => LinkEnd::drawer(DEFAULT_COLLECTION, text),
    }
}

fn add(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let request = links::add::Request {
        from: end(arguments.required_text("from")?).into(),
        to: end(arguments.required_text("to")?).into(),
        label: arguments.text("label")?.unwrap_or_default().to_owned(),
        detail: Detail::Brief,
    };
    let answer = call.palace()?.add_link(&request)?;
    let outcome = if answer.added > 0 {
        "linked\n"
    } else {
        "linked already\n"
    };
    let text = format!("{outcome}{}", masked_line(&answer.masked));
    Ok(Answer::new(structured(&answer, &[])?, text))
}

fn remove(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let request = links::remove::Request {
        from: end(arguments.required_text("from")?).into(),
        to: end(arguments.required_text("to")?).into(),
        label: arguments.text("label")?.unwrap_or_default().to_owned(),
        detail: Detail::Brief,
    };
    let answer = call.palace()?.remove_link(&request)?;
    let text = format!("removed {} link(s)\n", answer.removed);
    Ok(Answer::new(structured(&answer, &[])?, text))
}

fn list(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let from = arguments.text("from")?.map(end);
    let limit = arguments.integer("limit", 1, MOST_LINKS)?.unwrap_or(LIMIT);
    let offset = arguments.integer("offset", 0, u64::from(u32::MAX))?;
    let answer = call.palace()?.list_links(&links::list::Request {
        place: from.map(Into::into),
        limit: limit as usize,
        offset: offset.unwrap_or_default() as usize,
    })?;
    let lines: Vec<String> = answer.links.iter().map(|of| line(&of.link)).collect();
    let text = format!(
        "{}{} link(s)\n",
        fenced("links", &lines.join("\n")),
        answer.links.len()
    );
    Ok(Answer::new(recalled(&answer, &[])?, text))
}

fn follow(call: &Call<'_>) -> Result<Answer> {
    let arguments = &call.arguments;
    let from = end(arguments.required_text("from")?);
    let hops = arguments.integer("max_hops", 1, MOST_HOPS)?.unwrap_or(HOPS);
    let limit = arguments.integer("limit", 1, MOST_LINKS)?.unwrap_or(LIMIT);
    let walk = call.palace()?.follow_links(&links::follow::Request {
        place: from.into(),
        max_hops: hops as usize,
        limit: limit as usize,
    })?;
    let mut places = String::new();
    for reached in &walk.reached {
        let _ = writeln!(
            places,
            "{} hop(s): {} ({} drawer(s))",
            reached.hops,
            name(&reached.end),
            reached.drawers
        );
    }
    let mut text = fenced("places", &places);
    if walk.cut {
        text.push_str("there are more; raise `limit`\n");
    }
    Ok(Answer::new(structured(&walk, &walk.warnings)?, text))
}

fn tunnels(call: &Call<'_>) -> Result<Answer> {
    let wing = |name: &str| -> Result<Option<String>> {
        let wing = call.arguments.text(name)?;
        Ok(wing.map(|wing| wing.trim_end_matches('/').to_owned()))
    };
    let (from, to) = (wing("from")?, wing("to")?);
    if from.is_none() && to.is_some() {
        return Err(Error::invalid(call.arguments.named("from"), "is missing"));
    }
    let answer = call.palace()?.tunnels(&links::tunnels::Request {
        wings: from.into_iter().chain(to).collect(),
    })?;
    let mut rooms = String::new();
    for tunnel in &answer.tunnels {
        let wings: Vec<String> = tunnel.wings.iter().map(|wing| one_line(wing)).collect();
        let _ = writeln!(rooms, "{}: {}", one_line(&tunnel.room), wings.join(", "));
    }
    let text = format!(
        "{}{} tunnel(s)\n",
        fenced("tunnels", &rooms),
        answer.tunnels.len()
    );
    Ok(Answer::new(structured(&answer, &[])?, text))
}

fn line(link: &Link) -> String {
    format!(
        "{} -> {}: {}",
        name(&link.from),
        name(&link.to),
        one_line(&link.label)
    )
}

fn name(end: &LinkEnd) -> String {
    match end {
        LinkEnd::Drawer(drawer) => one_line(&drawer.id),
        LinkEnd::Room { wing, room } => format!("{}/{}", one_line(wing), one_line(room)),
    }
}
