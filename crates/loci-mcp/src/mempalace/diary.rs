//! Diaries under MemPalace's names: the name of an agent is in lower case, and each agent has a
//! wing.

use loci_palace::{
    Collection, Detail, Filter, Get, Include, KeyTest, MetaValue, Metadata, Result, Selection,
    diary,
};
use serde_json::{Value, json};

use super::drawers;
use super::outcome::{Outcome, Refusal, report_masked, warn};
use super::parse;
use super::search::flagged;
use super::window::selection;
use crate::tool::Call;

/// Maximum number of agents whose names are compared.
const MOST_AGENTS: usize = 10_000;
/// Keys that say when an entry was written, the most exact first.
const WRITTEN: [&str; 4] = ["filed_at", "authored_at", "timestamp", "date"];

pub(super) fn diary_write(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let agent = parse::required(arguments, "agent_name")?;
    let entry = match parse::text(arguments, "entry")? {
        Some(entry) => entry,
        // Callers also use the name of the argument of add_drawer.
        None => parse::text(arguments, "content")?
            .ok_or_else(|| Refusal::Call(arguments.missing("entry")))?,
    };
    let agent = parse::name(agent, "agent_name")?.to_lowercase();
    let entry = parse::content(entry)?;
    let topic = parse::name(
        parse::text(arguments, "topic")?.unwrap_or("general"),
        "topic",
    )?;
    let wing = match parse::optional_name(arguments, "wing")? {
        Some(wing) => wing.to_owned(),
        None => format!("wing_{}", agent.replace(' ', "_")),
    };
    let palace = call.palace_to_write()?;
    let diary::write::Answer {
        entry: written,
        warnings,
        masked,
        ..
    } = palace.write_diary(&diary::write::Request {
        agent: agent.clone(),
        text: entry.to_owned(),
        topic: Some(topic.to_owned()),
        wing: Some(wing),
        detail: Detail::Brief,
    })?;
    let mut answer = json!({
        "success": true,
        "entry_id": written.id,
        "agent": agent,
        "topic": written.topic,
        "timestamp": written.written_at,
        "chunks": 1,
        "chunk_ids": [written.id],
    });
    warn(call, &mut answer, &warnings);
    report_masked(&mut answer, &masked);
    Ok(answer)
}

pub(super) fn diary_read(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let agent = parse::required_name(arguments, "agent_name")?.to_lowercase();
    let wing = parse::optional_name(arguments, "wing")?;
    let last = parse::whole(arguments, "last_n", 10, (1, 100))?;
    let mut filters = vec![Filter::eq("room", "diary")];
    filters.extend(wing.map(|wing| Filter::eq("wing", wing)));
    let palace = call.palace()?;
    let (entries, total) = match drawers::collection(&palace)? {
        Some(collection) => {
            let collection = collection.as_ref();
            filters.push(written_by(collection, &agent)?);
            entries(collection, filters, last)?
        }
        None => (Vec::new(), 0),
    };
    if total == 0 {
        let message = "this diary is empty; mempalace_diary_write adds to it";
        return Ok(json!({"agent": agent, "entries": [], "message": message}));
    }
    Ok(json!({
        "agent": agent,
        "showing": entries.len(),
        "entries": entries,
        "total": total,
    }))
}

/// Selects the entries of an agent, in all spellings of its name.
fn written_by(collection: &dyn Collection, agent: &str) -> Result<Filter> {
    let room = Selection::matching(Filter::eq("room", "diary"));
    let agents = collection.facet_counts("agent", &room, MOST_AGENTS)?;
    let names = agents.values.into_iter().map(|(name, _)| name);
    let meant = names.filter(|name| match name {
        MetaValue::Str(name) => name.trim().to_lowercase() == agent,
        _ => false,
    });
    Ok(Filter::Key {
        key: "agent".into(),
        test: KeyTest::In(meant.chain([agent.into()]).collect()),
    })
}

/// The newest entries, and their total.
fn entries(
    collection: &dyn Collection,
    filters: Vec<Filter>,
    last: usize,
) -> Result<(Vec<Value>, usize)> {
    let all = collection.get(&Get {
        include: Include {
            documents: false,
            ..Include::GET
        },
        ..Get::new(selection(filters))
    })?;
    let total = all.ids.len();
    let mut dated: Vec<(&Metadata, &String)> = all.metadatas.iter().zip(&all.ids).collect();
    // Of entries with the same time, the last one comes first, but the parts of a long entry stay
    // in order.
    let entry = |metadata, id| drawers::parent_of(metadata).unwrap_or(id);
    dated.sort_by(|(one, its_id), (other, that_id)| {
        let key = (written_at(other), entry(other, that_id.as_str()));
        key.cmp(&(written_at(one), entry(one, its_id.as_str())))
    });
    dated.truncate(last);
    let ids: Vec<&String> = dated.into_iter().map(|(_, id)| id).collect();
    let found = collection.get(&Get::new(Selection::ids(ids.iter().copied())))?;
    let mut shown: Vec<(usize, Value)> = found
        .ids
        .iter()
        .zip(&found.documents)
        .zip(&found.metadatas)
        .filter_map(|((id, text), metadata)| {
            let place = ids.iter().position(|wanted| *wanted == id)?;
            Some((place, entry_json(text, metadata)))
        })
        .collect();
    shown.sort_by_key(|(place, _)| *place);
    Ok((shown.into_iter().map(|(_, entry)| entry).collect(), total))
}

fn entry_json(text: &str, metadata: &Metadata) -> Value {
    let written = written_at(metadata);
    let day = metadata.get_str("date").or(written.get(..10));
    let entry = json!({
        "date": day.unwrap_or_default(),
        "timestamp": written,
        "topic": metadata.get_str("topic").unwrap_or_default(),
        "content": text,
    });
    flagged(entry, "content")
}

fn written_at(metadata: &Metadata) -> &str {
    let said = WRITTEN.iter().filter_map(|key| metadata.get(key));
    let mut texts = said.filter_map(|value| match value {
        MetaValue::Str(text) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.next().unwrap_or_default()
}
