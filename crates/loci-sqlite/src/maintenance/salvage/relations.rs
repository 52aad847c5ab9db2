//! Facts and links that a salvage finds on the pages of a damaged database. Those with a matching
//! checksum are saved; all others go to the side tables as they were found.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{
    Fact, Link, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES, Relations as _, Result, SalvageReport,
};
use loci_salvage::Value;
use rusqlite::params_from_iter;
use rusqlite::types::Value as Stored;

use crate::relations::facts::{self, FactRow};
use crate::relations::links::{self, End, LinkRow};
use crate::relations::{SqliteRelations, Unreadable};
use crate::store::{Store, now_ms};

/// Columns of a row of `facts`.
const FACT_COLUMNS: usize = 15;
/// Columns of a row of `links`.
const LINK_COLUMNS: usize = 13;
/// The last columns of both tables: `seq`, `checksum`, `created_at`, `updated_at`.
const NUMBERS: usize = 4;

/// A row as it was found: the columns before `seq`, and two of the last ones.
struct Version {
    fields: Vec<Value>,
    seq: i64,
    checksum: i64,
}

/// All versions of each row. Damaged pages can hold several.
type Versions = BTreeMap<i64, Vec<Version>>;

/// Rows of the two tables.
#[derive(Default)]
pub(super) struct FoundRelations {
    facts: Versions,
    links: Versions,
}

impl FoundRelations {
    /// Takes a record if it has the shape of a fact or a link.
    pub(super) fn take(&mut self, row: i64, values: &[Value]) {
        let found = match values.len() {
            FACT_COLUMNS => &mut self.facts,
            LINK_COLUMNS => &mut self.links,
            _ => return,
        };
        let numbers = values.len() - NUMBERS;
        if let Some((
            // The first column is the row number itself.
            [Value::Null, fields @ ..],
            [
                Value::Integer(seq),
                Value::Integer(checksum),
                Value::Integer(_),
                Value::Integer(_),
            ],
        )) = values.split_at_checked(numbers)
            && is_text(fields.first())
            && is_text(fields.last())
        {
            found.entry(row).or_default().push(Version {
                fields: fields.to_vec(),
                seq: *seq,
                checksum: *checksum,
            });
        }
    }

    /// Whether a row of `facts` was found, intact or not.
    pub(super) fn has_fact(&self, row: i64) -> bool {
        self.facts.contains_key(&row)
    }

    /// Whether a row of `links` was found, intact or not.
    pub(super) fn has_link(&self, row: i64) -> bool {
        self.links.contains_key(&row)
    }

    /// Writes what was found into the new palace.
    pub(super) fn save(&self, store: &Arc<Store>, report: &mut SalvageReport) -> Result<()> {
        let relations = SqliteRelations {
            store: Arc::clone(store),
        };
        let (whole, damaged) = sorted(&self.facts, |version| {
            fact_row(&version.fields)?.fact(version.checksum)
        });
        for slice in slices(&whole, Fact::bytes) {
            report.facts += relations.add_facts(slice)?.added;
        }
        keep_damaged(store, facts::SIDE_TABLE, "fact", &damaged, report)?;
        let (whole, damaged) = sorted(&self.links, |version| {
            link_row(&version.fields)?.link(version.checksum)
        });
        for slice in slices(&whole, Link::bytes) {
            report.links += relations.add_links(slice)?.added;
        }
        keep_damaged(store, links::SIDE_TABLE, "link", &damaged, report)
    }
}

/// Splits rows, in the order added, into intact ones and the newest version of the others.
fn sorted<T>(
    found: &Versions,
    whole: impl Fn(&Version) -> Option<T>,
) -> (Vec<T>, Vec<(i64, &Version)>) {
    let (mut kept, mut damaged) = (Vec::new(), Vec::new());
    for (row, versions) in found {
        let mut newest_first: Vec<&Version> = versions.iter().collect();
        newest_first.sort_by_key(|version| std::cmp::Reverse(version.seq));
        match newest_first.iter().find_map(|version| whole(version)) {
            Some(item) => kept.push(item),
            None => damaged.extend(newest_first.first().map(|version| (*row, *version))),
        }
    }
    (kept, damaged)
}

fn is_text(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Text(_) | Value::InvalidText(_)))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn text_or_null(value: &Value) -> std::result::Result<Option<&str>, Unreadable> {
    match value {
        Value::Null => Ok(None),
        other => text(other).map(Some).ok_or(Unreadable),
    }
}

fn fact_row(fields: &[Value]) -> Option<FactRow<'_>> {
    let [
        id,
        subject,
        predicate,
        object,
        valid_from,
        valid_to,
        confidence,
        source_collection,
        source_id,
        metadata,
    ] = fields
    else {
        return None;
    };
    Some(FactRow {
        id: text(id)?,
        subject: text(subject)?,
        predicate: text(predicate)?,
        object: text(object)?,
        valid_from: text_or_null(valid_from).ok()?,
        valid_to: text_or_null(valid_to).ok()?,
        confidence: match confidence {
            Value::Null => None,
            Value::Real(number) => Some(*number),
            // SQLite may store whole numbers of this column as integers.
            Value::Integer(number) => Some(*number as f64),
            _ => return None,
        },
        source_collection: text_or_null(source_collection).ok()?,
        source_id: text_or_null(source_id).ok()?,
        metadata: text(metadata)?,
    })
}

fn link_row(fields: &[Value]) -> Option<LinkRow<'_>> {
    let [
        from_kind,
        from_place,
        from_name,
        to_kind,
        to_place,
        to_name,
        label,
        metadata,
    ] = fields
    else {
        return None;
    };
    Some(LinkRow {
        from: End {
            kind: text(from_kind)?,
            place: text(from_place)?,
            name: text(from_name)?,
        },
        to: End {
            kind: text(to_kind)?,
            place: text(to_place)?,
            name: text(to_name)?,
        },
        label: text(label)?,
        metadata: text(metadata)?,
    })
}

/// Splits items into batches that a palace accepts.
fn slices<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut slices = Vec::new();
    let (mut start, mut total) = (0, 0);
    for (at, item) in items.iter().enumerate() {
        let size = bytes(item);
        if at - start >= MAX_BATCH_RECORDS || total + size > MAX_BATCH_TEXT_BYTES {
            slices.extend(items.get(start..at));
            (start, total) = (at, 0);
        }
        total += size;
    }
    slices.extend(items.get(start..).filter(|rest| !rest.is_empty()));
    slices
}

/// Writes damaged rows to the side table.
fn keep_damaged(
    store: &Store,
    table: &str,
    what: &str,
    damaged: &[(i64, &Version)],
    report: &mut SalvageReport,
) -> Result<()> {
    for slice in damaged.chunks(MAX_BATCH_RECORDS) {
        store.write("keeping damaged facts and links", |db| {
            for (row, version) in slice {
                let mut values = vec![Stored::Integer(now_ms()), Stored::Integer(*row)];
                values.extend(version.fields.iter().map(stored));
                values.push(Stored::Integer(version.checksum));
                let places = vec!["?"; values.len()].join(", ");
                db.sql
                    .prepare_cached(&format!("INSERT INTO {table} VALUES ({places})"))?
                    .execute(params_from_iter(values))?;
            }
            Ok(())
        })?;
    }
    let names = damaged
        .iter()
        .map(|(row, _)| format!("{what} in row {row}"));
    report.damaged.extend(names);
    Ok(())
}

fn stored(value: &Value) -> Stored {
    match value {
        Value::Null => Stored::Null,
        Value::Integer(number) => Stored::Integer(*number),
        Value::Real(number) => Stored::Real(*number),
        Value::Text(text) => Stored::Text(text.clone()),
        Value::InvalidText(bytes) | Value::Blob(bytes) => Stored::Blob(bytes.clone()),
    }
}
