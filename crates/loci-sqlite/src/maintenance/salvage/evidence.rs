//! Mentions of drawers outside their own rows. Row numbers are never used again, and the
//! transaction that removes a drawer also removes every mention of it. So a row that is mentioned
//! and cannot be read is a lost drawer.
//!
//! Tables are recognised by their root page if the schema can be read, else by the shape of their
//! rows if no other table has that shape.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_salvage::{DatabaseFile, Value};

/// A place that mentions drawers. The value is its bit in a [`Trace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ids = 1,
    Order = 2,
    Changes = 4,
    Places = 8,
    Labels = 16,
    Postings = 32,
    Vectors = 64,
    Passages = 128,
    Usage = 256,
    OtherVectors = 512,
    Index = 1024,
}

const KINDS: [(Kind, &str); 11] = [
    (Kind::Ids, "ids"),
    (Kind::Order, "order"),
    (Kind::Changes, "changes"),
    (Kind::Places, "places"),
    (Kind::Labels, "labels"),
    (Kind::Postings, "postings"),
    (Kind::Vectors, "vectors"),
    (Kind::Passages, "passages"),
    (Kind::Usage, "usage"),
    (Kind::OtherVectors, "other_vectors"),
    (Kind::Index, "index"),
];

/// What is known about one row.
#[derive(Debug, Clone, Default)]
pub(super) struct Trace {
    kinds: u16,
    pub(super) collection: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) wing: Option<String>,
    pub(super) room: Option<String>,
    pub(super) source_file: Option<String>,
    pub(super) line: Option<String>,
}

impl Trace {
    /// Number of different places that mention the row.
    pub(super) fn strength(&self) -> u32 {
        self.kinds.count_ones()
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        let found = KINDS
            .iter()
            .filter(|(kind, _)| self.kinds & *kind as u16 != 0);
        found.map(|(_, name)| *name).collect()
    }
}

/// Everything that mentions drawers, facts and links.
#[derive(Default)]
pub(super) struct Evidence {
    names: HashMap<u32, String>,
    keys: HashMap<i64, String>,
    pub(super) traces: BTreeMap<i64, Trace>,
    pub(super) tombstones: HashSet<i64>,
    /// Ids of facts, by row.
    pub(super) facts: BTreeMap<i64, String>,
    /// Ends of links, by row.
    pub(super) links: BTreeMap<i64, String>,
    /// Number of rows in tables that a salvage does not carry over.
    pub(super) counted: BTreeMap<&'static str, u64>,
}

/// Tables that a salvage does not carry over.
const LEFT: [&str; 5] = [
    "runs",
    "removed_duplicates",
    "damaged_drawers",
    "damaged_facts",
    "damaged_links",
];

impl Evidence {
    pub(super) fn new(file: &DatabaseFile) -> Self {
        let schema = file.schema();
        let named = schema
            .into_iter()
            .filter_map(|entry| Some((entry.root_page?, entry.name)));
        Self {
            names: named.collect(),
            ..Self::default()
        }
    }

    /// The root page of a table or index, if the schema still names it.
    pub(super) fn root(&self, name: &str) -> Option<u32> {
        let mut roots = self.names.iter();
        roots
            .find(|(_, found)| found.as_str() == name)
            .map(|(root, _)| *root)
    }

    fn name(&self, root: Option<u32>) -> Option<&str> {
        self.names.get(&root?).map(String::as_str)
    }

    fn note(&mut self, row: i64, kind: Kind, collection: Option<i64>) -> &mut Trace {
        let trace = self.traces.entry(row).or_default();
        trace.kinds |= kind as u16;
        trace.collection = trace.collection.or(collection);
        trace
    }

    /// Takes a row of a table.
    pub(super) fn take_row(&mut self, root: Option<u32>, row: i64, values: &[Value]) {
        let name = self.name(root);
        if let Some(left) = LEFT.iter().find(|left| name == Some(**left)) {
            *self.counted.entry(*left).or_default() += 1;
            return;
        }
        let is = |wanted: &str| name.is_none_or(|name| name == wanted);
        match values {
            [Value::Null, Value::Blob(_)] if name == Some("postings_docsize") => {
                self.note(row, Kind::Postings, None);
            }
            [Value::Null, Value::Text(key)] if is("label_keys") && !key.starts_with('{') => {
                self.keys.insert(row, key.clone());
            }
            [Value::Null, Value::Integer(_), Value::Integer(of)] if is("tombstones") => {
                self.tombstones.insert(*of);
            }
            [
                Value::Null,
                Value::Integer(_),
                Value::Integer(_),
                Value::Integer(_) | Value::Null,
            ] if is("usage") => {
                self.note(row, Kind::Usage, None);
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Integer(_),
                Value::Blob(_),
            ] if is("vectors") => {
                self.note(row, Kind::Vectors, Some(*collection));
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Integer(_) | Value::Blob(_),
                Value::Integer(_),
                Value::Blob(_),
            ] if is("other_vectors") || is("fresh_vectors") => {
                self.note(row, Kind::OtherVectors, Some(*collection));
            }
            [
                Value::Null,
                Value::Integer(collection),
                Value::Integer(source),
                Value::Integer(line),
                Value::Integer(_),
                Value::Integer(_),
                Value::Text(_),
                Value::Blob(_),
            ] if is("passages") => {
                let trace = self.note(row, Kind::Passages, Some(*collection));
                if *source != 0 {
                    trace.line = Some(line.to_string());
                }
            }
            _ => {}
        }
    }

    /// Takes an entry of an index, or a label. Ignores rows that are not `is_wanted`.
    pub(super) fn take_entry(
        &mut self,
        root: Option<u32>,
        values: &[Value],
        is_wanted: impl Fn(i64) -> bool,
    ) {
        let name = self.name(root);
        let is = |wanted: &str| name.is_none_or(|name| name == wanted);
        match values {
            [
                Value::Integer(collection),
                Value::Text(id),
                Value::Integer(row),
            ] if is("drawers_id") && is_wanted(*row) => {
                let trace = self.note(*row, Kind::Ids, Some(*collection));
                trace.id = Some(id.clone());
            }
            [
                Value::Integer(collection),
                Value::Text(wing),
                Value::Text(file),
                Value::Blob(_),
                Value::Text(line),
                Value::Integer(row),
            ] if is("drawers_mined") && is_wanted(*row) => {
                let trace = self.note(*row, Kind::Places, Some(*collection));
                trace.wing = Some(wing.clone()).filter(|wing| !wing.is_empty());
                trace.source_file = Some(file.clone());
                trace.line = Some(line.clone()).filter(|line| !line.is_empty());
            }
            [
                Value::Integer(collection),
                Value::Integer(key),
                Value::Integer(_),
                value,
                Value::Integer(row),
            ] if is("labels") && is_wanted(*row) => {
                let key = self.keys.get(key).cloned();
                let trace = self.note(*row, Kind::Labels, Some(*collection));
                trace.label(key.as_deref(), value);
            }
            [Value::Integer(collection), Value::Integer(row)]
                if matches!(name, Some("drawers_order" | "vectors_order")) && is_wanted(*row) =>
            {
                let kind = match name {
                    Some("vectors_order") => Kind::Vectors,
                    _ => Kind::Order,
                };
                self.note(*row, kind, Some(*collection));
            }
            [
                Value::Integer(collection),
                Value::Integer(_),
                Value::Integer(row),
            ] if is_wanted(*row) => {
                let kind = match name {
                    Some("drawers_seq") => Kind::Changes,
                    Some("vectors_seq") => Kind::Vectors,
                    Some("passages_date") => Kind::Passages,
                    _ => return,
                };
                self.note(*row, kind, Some(*collection));
            }
            [Value::Integer(of), Value::Integer(_)] if name == Some("tombstones_row") => {
                self.tombstones.insert(*of);
            }
            [Value::Text(id), Value::Integer(row)] if name == Some("facts_id") => {
                self.facts.insert(*row, id.clone());
            }
            [Value::Text(_), ends @ .., Value::Integer(row)]
                if ends.len() == 6 && is("links_ends") =>
            {
                let ends: Vec<&str> = values.iter().filter_map(text).collect();
                self.links.insert(*row, shown_link(&ends));
            }
            _ => {}
        }
    }

    /// Takes the rows of index files. They are evidence only while every tombstone can be read,
    /// because an index knows nothing of later deletes.
    pub(super) fn take_index(
        &mut self,
        collection: i64,
        rows: &[u64],
        saved: impl Fn(i64) -> bool,
    ) {
        for row in rows {
            let row = *row as i64;
            if !saved(row) && !self.tombstones.contains(&row) {
                self.note(row, Kind::Index, Some(collection));
            }
        }
    }
}

impl Trace {
    fn label(&mut self, key: Option<&str>, value: &Value) {
        let text = match value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            // A long text is stored as its hash.
            Value::Null | Value::Real(_) | Value::InvalidText(_) | Value::Blob(_) => return,
        };
        match key {
            Some("wing") => self.wing = Some(text),
            Some("room") => self.room = Some(text),
            Some("source_file") => self.source_file = Some(text),
            Some("start_line") => self.line = Some(text),
            _ => {}
        }
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn shown_link(ends: &[&str]) -> String {
    match ends {
        [from_kind, from_place, from, to_kind, to_place, to, label] => format!(
            "{from_kind} `{from_place}/{from}` to {to_kind} `{to_place}/{to}`, label `{label}`"
        ),
        _ => ends.join(" "),
    }
}
