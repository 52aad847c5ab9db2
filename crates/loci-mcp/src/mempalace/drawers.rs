//! Drawers as MemPalace shows them: a long text is one drawer that consists of several records with
//! the same parent.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use loci_palace::{
    Collection, DEFAULT_COLLECTION, ErrorKind, Filter, Get, Include, KeyTest, MetaValue, Metadata,
    Palace, Result, Selection,
};
use serde_json::{Map, Value, json};

/// Keys under which a record names the drawer that it is a part of.
pub(super) const PARENTS: [&str; 2] = ["parent_drawer_id", "parent_entry_id"];
/// The key for the number of records of a drawer. Further records are left over from an interrupted
/// change.
pub(super) const TOTAL: &str = "chunk_total";
/// Number of characters of a preview.
const PREVIEW: usize = 200;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) metadata: Metadata,
}

/// A drawer: one record, or the parts of a long text in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Drawer {
    pub(super) id: String,
    /// The first record, which has the place of the drawer.
    pub(super) first: Row,
    /// The other parts.
    pub(super) rest: Vec<Row>,
    /// Whether the records name a parent.
    pub(super) in_parts: bool,
    /// Records left over from an interrupted change.
    pub(super) stale: Vec<String>,
}

/// A page of drawers.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The drawers, each with the ids of its parts, if it has several.
    pub(super) drawers: Vec<(Drawer, Vec<String>)>,
    /// Total number of drawers.
    pub(super) total: usize,
}

/// The collection of MemPalace's drawers; `None` before the first one is added.
pub(super) fn collection(palace: &Palace) -> Result<Option<Arc<dyn Collection>>> {
    match palace.collection(DEFAULT_COLLECTION, false) {
        Ok(collection) => Ok(Some(collection)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The drawer with an id, which may be the id of a parent or of a record.
pub(super) fn find(collection: &dyn Collection, id: &str) -> Result<Option<Drawer>> {
    let of_parent = PARENTS.map(|key| Filter::eq(key, id)).to_vec();
    let parts = rows(collection, Selection::matching(Filter::Or(of_parent)))?;
    if let Some(drawer) = Drawer::of_parts(id, parts) {
        return Ok(Some(drawer));
    }
    let row = rows(collection, Selection::ids([id]))?.into_iter().next();
    Ok(row.map(Drawer::of_row))
}

/// One page of the drawers of a selection, by id. Only the first record of each is read.
pub(super) fn page(
    collection: &dyn Collection,
    selection: &Selection,
    offset: usize,
    limit: usize,
) -> Result<Page> {
    let of_parents = PARENTS.map(|key| Filter::Key {
        key: key.into(),
        test: KeyTest::StartsWith(String::new()),
    });
    let mut conditions: Vec<Filter> = selection.filter.iter().cloned().collect();
    conditions.push(Filter::Or(of_parents.to_vec()));
    let parts = collection.get(&Get {
        include: Include {
            documents: false,
            ..Include::GET
        },
        ..Get::new(Selection {
            filter: Filter::all(conditions),
            ..selection.clone()
        })
    })?;
    let is_part: HashSet<&String> = parts.ids.iter().collect();
    let mut listed: BTreeMap<String, Vec<(i64, String)>> = BTreeMap::new();
    for (id, metadata) in parts.ids.iter().zip(&parts.metadatas) {
        if let Some(parent) = parent_of(metadata) {
            let part = (part_number(metadata), id.clone());
            listed.entry(parent.to_owned()).or_default().push(part);
        }
    }
    let all = collection.get(&Get {
        include: Include::NONE,
        ..Get::new(selection.clone())
    })?;
    for id in all.ids.iter().filter(|id| !is_part.contains(id)) {
        listed.entry(id.clone()).or_default();
    }
    let total = listed.len();
    let chosen: Vec<(String, Vec<String>)> = listed
        .into_iter()
        .skip(offset)
        .take(limit)
        .map(|(id, mut parts)| {
            parts.sort();
            (id, parts.into_iter().map(|(_, id)| id).collect())
        })
        .collect();
    let first = |(id, parts): &(String, Vec<String>)| parts.first().unwrap_or(id).clone();
    let mut found: HashMap<String, Row> =
        rows(collection, Selection::ids(chosen.iter().map(first)))?
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect();
    let shown = chosen.into_iter().filter_map(|drawer| {
        let row = found.remove(&first(&drawer))?;
        let (id, parts) = drawer;
        let drawer = Drawer {
            in_parts: !parts.is_empty(),
            id,
            ..Drawer::of_row(row)
        };
        Some((drawer, parts))
    });
    Ok(Page {
        drawers: shown.collect(),
        total,
    })
}

/// Records of a selection.
fn rows(collection: &dyn Collection, selection: Selection) -> Result<Vec<Row>> {
    let found = collection.get(&Get::new(selection))?;
    let rows = found.ids.into_iter().zip(found.documents);
    Ok(rows
        .zip(found.metadatas)
        .map(|((id, text), metadata)| Row { id, text, metadata })
        .collect())
}

impl Drawer {
    fn of_row(row: Row) -> Self {
        Self {
            id: row.id.clone(),
            first: row,
            rest: Vec::new(),
            in_parts: false,
            stale: Vec::new(),
        }
    }

    fn of_parts(id: &str, mut parts: Vec<Row>) -> Option<Self> {
        parts.sort_by_cached_key(|row| (part_number(&row.metadata), row.id.clone()));
        let total = match parts.first()?.metadata.get(TOTAL) {
            Some(MetaValue::Int(total)) => usize::try_from(*total).unwrap_or(usize::MAX).max(1),
            _ => usize::MAX,
        };
        let stale = parts.split_off(total.min(parts.len()));
        let mut parts = parts.into_iter();
        Some(Self {
            id: id.to_owned(),
            first: parts.next()?,
            rest: parts.collect(),
            in_parts: true,
            stale: stale.into_iter().map(|row| row.id).collect(),
        })
    }

    /// Ids of its records.
    pub(super) fn ids(&self) -> Vec<String> {
        let rows = std::iter::once(&self.first).chain(&self.rest);
        rows.map(|row| row.id.clone()).collect()
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        let rows = std::iter::once(&self.first).chain(&self.rest);
        rows.map(|row| row.text.as_str()).collect()
    }

    /// A text of its metadata; empty if there is none.
    pub(super) fn metadata_text(&self, key: &str) -> &str {
        self.first.metadata.get_str(key).unwrap_or_default()
    }

    /// The drawer as `get_drawer` shows it.
    pub(super) fn to_json(&self) -> Value {
        let mut shown = self.placed(&self.ids());
        shown.insert("content".into(), self.text().into());
        Value::Object(shown)
    }

    /// The drawer as `list_drawers` shows it. `parts` are the ids of its records, if it has
    /// several.
    pub(super) fn listed(&self, parts: &[String]) -> Value {
        let mut shown = self.placed(parts);
        let mut preview = preview(&self.first.text);
        if parts.len() > 1 && !preview.ends_with("...") {
            preview.push_str("...");
        }
        shown.insert("content_preview".into(), preview.into());
        Value::Object(shown)
    }

    fn placed(&self, parts: &[String]) -> Map<String, Value> {
        let mut metadata = visible_metadata(&self.first.metadata);
        let mut shown = Map::new();
        shown.insert("drawer_id".into(), self.id.clone().into());
        shown.insert("wing".into(), self.metadata_text("wing").into());
        shown.insert("room".into(), self.metadata_text("room").into());
        if self.in_parts {
            for to in [&mut metadata, &mut shown] {
                to.insert("chunks".into(), parts.len().into());
                to.insert("chunk_ids".into(), json!(parts));
            }
        }
        shown.insert("metadata".into(), Value::Object(metadata));
        shown
    }
}

/// Metadata for callers: only the file name of a source, and nothing else about the file system.
fn visible_metadata(metadata: &Metadata) -> Map<String, Value> {
    let mut shown = match serde_json::to_value(metadata) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    shown.remove("source_dir_ino");
    if let Some(source) = metadata.get_str("source_file") {
        shown.insert("source_file".into(), base_name(source).into());
    }
    let filled = |key: &str| metadata.get_str(key).filter(|text| !text.is_empty());
    if let (None, Some(filed)) = (filled("last_modified"), filled("filed_at")) {
        shown.insert("last_modified".into(), filed.into());
    }
    shown
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// The beginning of a text.
pub(super) fn preview(text: &str) -> String {
    match text.char_indices().nth(PREVIEW) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

/// The drawer that a record is a part of.
pub(super) fn parent_of(metadata: &Metadata) -> Option<&str> {
    let named = PARENTS.iter().filter_map(|key| metadata.get_str(key));
    named.into_iter().find(|parent| !parent.is_empty())
}

fn part_number(metadata: &Metadata) -> i64 {
    match metadata.get("chunk_index") {
        Some(MetaValue::Int(number)) => *number,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, text: &str, metadata: &Value) -> Row {
        Row {
            id: id.into(),
            text: text.into(),
            metadata: Metadata::from_json(metadata).unwrap(),
        }
    }

    #[test]
    fn parts_are_put_together_in_their_order() {
        let parts = vec![
            row("p_1", "kettle", &json!({"chunk_index": 1})),
            row("p_0", "the ", &json!({"chunk_index": 0, "wing": "home"})),
        ];
        let drawer = Drawer::of_parts("p", parts).unwrap();
        assert_eq!(drawer.text(), "the kettle");
        assert_eq!(drawer.ids(), ["p_0", "p_1"]);
        let shown = drawer.to_json();
        assert_eq!(shown["chunks"], 2);
        assert_eq!(shown["metadata"]["chunk_ids"], json!(["p_0", "p_1"]));
        assert_eq!(shown["wing"], "home");
    }

    #[test]
    fn parts_that_a_change_left_behind_do_not_show() {
        let parts = vec![
            row("p_0", "short", &json!({"chunk_index": 0, "chunk_total": 1})),
            row(
                "p_1",
                "old rest",
                &json!({"chunk_index": 1, "chunk_total": 2}),
            ),
        ];
        let drawer = Drawer::of_parts("p", parts).unwrap();
        assert_eq!(drawer.text(), "short");
        assert_eq!(drawer.stale, ["p_1"]);
    }

    #[test]
    fn metadata_show_a_source_by_its_name() {
        let metadata =
            json!({"source_file": "/notes/a.md", "source_dir_ino": 7, "filed_at": "2026-01-01"});
        let shown = visible_metadata(&Metadata::from_json(&metadata).unwrap());
        let expected =
            json!({"source_file": "a.md", "filed_at": "2026-01-01", "last_modified": "2026-01-01"});
        assert_eq!(Value::Object(shown), expected);
    }

    #[test]
    fn previews_end_after_200_characters() {
        assert_eq!(preview(&"ä".repeat(200)), "ä".repeat(200));
        assert_eq!(preview(&"ä".repeat(201)), format!("{}...", "ä".repeat(200)));
    }
}
