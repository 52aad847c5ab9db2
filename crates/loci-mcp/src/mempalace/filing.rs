//! Adds, changes and deletes drawers. A long text is stored in parts of 800 characters, as in
//! MemPalace, in one transaction. Ids follow MemPalace's recipe, so that drawers imported from
//! MemPalace are recognised.

use loci_palace::add::{self, Duplicates};
use loci_palace::rewrite::{self, Part, Parts};
use loci_palace::{
    DEFAULT_COLLECTION, Detail, MaskTally, MetaValue, Metadata, OutcomeKind, Palace, Selection,
    clock, forget, merge_masked, update,
};
use serde_json::{Value, json};

use super::drawers::{self, Drawer, PARENTS, TOTAL};
use super::outcome::{Outcome, refuse, report_masked, warn};
use super::overview::not_found;
use super::parse;
use super::recipe;
use crate::tool::Call;

/// Number of characters of a part.
const PART: usize = 800;

pub(super) fn add_drawer(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let wing = parse::required(arguments, "wing")?;
    let room = parse::required(arguments, "room")?;
    let content = parse::required(arguments, "content")?;
    let wing = parse::name(wing, "wing")?;
    let room = parse::name(room, "room")?;
    let content = parse::content(content)?;
    let source = parse::text(arguments, "source_file")?.unwrap_or_default();
    let added_by = parse::text(arguments, "added_by")?.unwrap_or("mcp");
    let now = now();
    let metadata = texts(&[
        ("wing", wing),
        ("room", room),
        ("source_file", source),
        ("added_by", added_by),
        ("filed_at", &now),
        ("last_modified", &now),
        ("id_recipe", recipe::VERSION),
    ]);
    let palace = call.palace_to_write()?;
    // Masked before it is cut into parts, since a cut could go through a secret, and before the id
    // is derived, so that the same text is known again.
    let mut masked = MaskTally::new();
    let content = palace.masked(content, &mut masked);
    let content = content.as_ref();
    let id = recipe::drawer_id(wing, room, content);
    if found(&palace, &id)?.is_some() {
        return Ok(already(&id));
    }
    let records = parts(&id, content, &metadata);
    let ids: Vec<String> = records.iter().map(|record| record.id.clone()).collect();
    // MemPalace identifies a drawer by its id, which is derived from its place and text.
    let written = palace.add(&add::Request {
        drawers: records.into_iter().map(Record::into_drawer).collect(),
        duplicates: Duplicates::Add,
        detail: Detail::Brief,
        ..add::Request::default()
    })?;
    match written.drawers.first() {
        Some(first) if first.outcome == OutcomeKind::Duplicate => Ok(already(&first.id)),
        Some(first) if first.outcome == OutcomeKind::Exists => Ok(already(&id)),
        _ => {
            let mut answer = json!({
                "success": true,
                "drawer_id": id,
                "wing": wing,
                "room": room,
                "chunks": ids.len(),
            });
            name_parts(&mut answer, &ids);
            warn(call, &mut answer, &written.warnings);
            merge_masked(&mut masked, &written.masked);
            report_masked(&mut answer, &masked);
            Ok(answer)
        }
    }
}

fn already(id: &str) -> Value {
    json!({"success": true, "reason": "already_exists", "drawer_id": id})
}

pub(super) fn update_drawer(call: &Call<'_>) -> Outcome<Value> {
    let arguments = &call.arguments;
    let id = parse::required(arguments, "drawer_id")?;
    let content = parse::text(arguments, "content")?;
    let wing = parse::text(arguments, "wing")?;
    let room = parse::text(arguments, "room")?;
    if content.is_none() && wing.is_none() && room.is_none() {
        return Ok(json!({"success": true, "drawer_id": id, "noop": true}));
    }
    let palace = call.palace()?;
    let Some(drawer) = found(&palace, id)? else {
        return refuse(not_found(id));
    };
    let content = content.map(parse::content).transpose()?;
    let mut masked = MaskTally::new();
    let content = content.map(|content| palace.masked(content, &mut masked));
    let content = content.as_deref();
    let wing = wing.map(|wing| parse::name(wing, "wing")).transpose()?;
    let room = room.map(|room| parse::name(room, "room")).transpose()?;
    let mut changes = texts(&[("last_modified", &now())]);
    for (key, name) in [("wing", wing), ("room", room)] {
        changes
            .0
            .extend(name.map(|name| (key.to_owned(), name.into())));
    }
    let is_one = !drawer.in_parts && content.is_none_or(fits);
    let (ids, warnings, more_masked) = if is_one {
        let written = palace.update(&update::Request {
            id: id.to_owned(),
            collection: Some(DEFAULT_COLLECTION.to_owned()),
            text: content.map(str::to_owned),
            metadata: Some(changes.clone().into()),
            vector: None,
        })?;
        (vec![id.to_owned()], written.warnings, written.masked)
    } else {
        let request = rewritten(&drawer, content, &changes);
        let ids = match &request.parts {
            Parts::Moved(parts) => parts.iter().map(|part| part.id.clone()).collect(),
            Parts::Replaced(parts) => parts.iter().map(|(part, _)| part.id.clone()).collect(),
        };
        let written = palace.rewrite(&request)?;
        (ids, written.warnings, written.masked)
    };
    let place = |key: &str| {
        changes
            .get_str(key)
            .unwrap_or(drawer.metadata_text(key))
            .to_owned()
    };
    let mut answer = json!({
        "success": true,
        "drawer_id": id,
        "wing": place("wing"),
        "room": place("room"),
        "closets_deleted": 0,
    });
    if ids.len() > 1 || drawer.in_parts {
        name_parts(&mut answer, &ids);
    }
    warn(call, &mut answer, &warnings);
    merge_masked(&mut masked, &more_masked);
    report_masked(&mut answer, &masked);
    Ok(answer)
}

/// The change of a drawer that is stored in parts before or after it.
fn rewritten(drawer: &Drawer, content: Option<&str>, changes: &Metadata) -> rewrite::Request {
    let Some(content) = content else {
        let part = |id| Part {
            id,
            metadata: changes.clone().into(),
        };
        return rewrite::Request::new(Parts::Moved(drawer.ids().into_iter().map(part).collect()));
    };
    let mut metadata = drawer.first.metadata.clone();
    metadata.0.extend(changes.0.clone());
    let records = parts_of(&drawer.id, content, &metadata);
    let mut gone = drawer.ids();
    gone.extend(drawer.stale.iter().cloned());
    gone.retain(|old| !records.iter().any(|record| record.id == *old));
    let parts = records.into_iter().map(|record| {
        let part = Part {
            id: record.id,
            metadata: record.metadata.into(),
        };
        (part, record.text)
    });
    rewrite::Request {
        gone,
        ..rewrite::Request::new(Parts::Replaced(parts.collect()))
    }
}

pub(super) fn delete_drawer(call: &Call<'_>) -> Outcome<Value> {
    let id = parse::required(&call.arguments, "drawer_id")?;
    let palace = call.palace()?;
    let Some(drawer) = found(&palace, id)? else {
        return refuse(not_found(id));
    };
    let ids = drawer.ids();
    let mut gone = ids.clone();
    gone.extend(drawer.stale.iter().cloned());
    // Facts may refer to the whole drawer.
    if !gone.iter().any(|gone| gone == id) {
        gone.push(id.to_owned());
    }
    let gone = Selection::ids(gone);
    palace.forget(&forget::Request::in_collection(DEFAULT_COLLECTION, gone))?;
    Ok(json!({
        "success": true,
        "drawer_id": id,
        "chunks_deleted": ids.len(),
        "deleted_ids": ids,
        "closets_deleted": 0,
    }))
}

fn found(palace: &Palace, id: &str) -> Outcome<Option<Drawer>> {
    match drawers::collection(palace)? {
        Some(collection) => Ok(drawers::find(collection.as_ref(), id)?),
        None => Ok(None),
    }
}

/// The records of a new drawer: one, or the parts of a long text.
fn parts(id: &str, content: &str, metadata: &Metadata) -> Vec<Record> {
    if fits(content) {
        let mut metadata = metadata.clone();
        metadata.0.insert("chunk_index".into(), 0.into());
        return vec![Record {
            id: id.to_owned(),
            text: content.to_owned(),
            metadata,
        }];
    }
    parts_of(id, content, metadata)
}

/// The parts of a text. Each has its own `part`, so that equal parts of one source are not merged.
fn parts_of(id: &str, content: &str, metadata: &Metadata) -> Vec<Record> {
    let texts = cut(content);
    let whole = i64::try_from(texts.len()).unwrap_or(i64::MAX);
    let apart = i64::from(recipe::number_of(id));
    let record = |(at, text): (i64, &str)| {
        let mut metadata = metadata.clone();
        let numbers = [
            ("chunk_index", at),
            (TOTAL, whole),
            ("part", (apart << 20) + at),
        ];
        metadata.0.insert(PARENTS[0].into(), id.into());
        let numbers = numbers.map(|(key, number)| (key.to_owned(), MetaValue::Int(number)));
        metadata.0.extend(numbers);
        Record {
            id: format!("{id}_chunk_{at:06}"),
            text: text.to_owned(),
            metadata,
        }
    };
    (0..whole).zip(texts).map(record).collect()
}

/// One record of a drawer.
struct Record {
    id: String,
    text: String,
    metadata: Metadata,
}

impl Record {
    fn into_drawer(self) -> add::Drawer {
        add::Drawer {
            id: Some(self.id),
            text: Some(self.text),
            metadata: self.metadata,
            ..add::Drawer::default()
        }
    }
}

fn fits(content: &str) -> bool {
    content.chars().count() <= PART
}

fn cut(content: &str) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut rest = content;
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .nth(PART)
            .map_or(rest.len(), |(end, _)| end);
        let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        texts.push(text);
        rest = after;
    }
    texts
}

fn name_parts(answer: &mut Value, ids: &[String]) {
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("chunks".into(), ids.len().into());
        answer.insert("chunk_ids".into(), json!(ids));
    }
}

fn texts(pairs: &[(&str, &str)]) -> Metadata {
    let pairs = pairs
        .iter()
        .map(|(key, text)| ((*key).to_owned(), MetaValue::from(*text)));
    Metadata(pairs.collect())
}

/// The current moment, in the format of the metadata.
pub(super) fn now() -> String {
    let now = clock::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_at_800_characters_and_lose_none() {
        let text = "ä".repeat(PART) + &"b".repeat(PART) + "c";
        let texts = cut(&text);
        assert_eq!(texts.len(), 3);
        assert_eq!(texts.concat(), text);
        assert!(texts.iter().all(|text| fits(text)));
    }

    #[test]
    fn equal_parts_of_one_text_differ_in_their_part() {
        let records = parts("p", &"x".repeat(3 * PART), &Metadata::default());
        let parts: std::collections::BTreeSet<String> = records
            .iter()
            .map(|record| format!("{:?}", record.metadata.get("part")))
            .collect();
        assert_eq!(parts.len(), 3);
        assert_eq!(records.first().unwrap().id, "p_chunk_000000");
    }
}
