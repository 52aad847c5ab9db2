//! Checks every row of a collection against its own checksum, and its labels, passage and other
//! vectors against its text and metadata. Only reads.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use crate::collection::meta::CollectionRow;
use crate::collection::other;
use crate::collection::passage::{self, Passage};
use crate::collection::read::fetch;
use crate::collection::record::{find_key, labels};
use crate::fault::Attempt;
use loci_core::{FindingKind, VerifyReport};

pub(crate) fn check(
    db: &Connection,
    collection: &CollectionRow,
    report: &mut VerifyReport,
) -> Attempt<()> {
    let mut expected_labels = 0_u64;
    let mut keys: BTreeMap<String, Option<i64>> = BTreeMap::new();
    let mut rows = db
        .prepare_cached("SELECT row FROM drawers INDEXED BY drawers_order WHERE collection = ?1")?;
    let mut found = rows.query([collection.id])?;
    while let Some(columns) = found.next()? {
        let row = columns.get::<_, i64>(0)? as u64;
        let Some(problem) = judge(db, collection, row, &mut keys, &mut expected_labels)? else {
            continue;
        };
        let (kind, id, detail) = problem;
        report.push(kind, Some(&collection.name), id, detail);
    }
    let kept: i64 = db.query_row(
        "SELECT count(*) FROM labels WHERE collection = ?1",
        [collection.id],
        |columns| columns.get(0),
    )?;
    let damaged = report
        .findings
        .iter()
        .any(|finding| matches!(finding.kind, FindingKind::Damaged | FindingKind::Labels));
    if kept as u64 != expected_labels && !damaged {
        report.push(
            "labels",
            Some(&collection.name),
            None,
            format!("{kept} labels are stored, but the metadata has {expected_labels}"),
        );
    }
    Ok(())
}

type Problem = (&'static str, Option<String>, String);

fn judge(
    db: &Connection,
    collection: &CollectionRow,
    row: u64,
    keys: &mut BTreeMap<String, Option<i64>>,
    expected_labels: &mut u64,
) -> Attempt<Option<Problem>> {
    let stored = match fetch(db, row)? {
        Some(Ok(stored)) => stored,
        Some(Err(row)) => {
            return Ok(Some((
                "damaged",
                None,
                format!("row {row} cannot be decoded"),
            )));
        }
        None => {
            return Ok(Some((
                "damaged",
                None,
                format!("row {row} is in an index but not in its table"),
            )));
        }
    };
    let id = Some(stored.id.clone());
    if !stored.is_intact() {
        return Ok(Some((
            "damaged",
            id,
            "the checksum over id, text, metadata and vector does not match".into(),
        )));
    }
    let Some(metadata) = stored.metadata() else {
        return Ok(Some(("damaged", id, "the metadata cannot be read".into())));
    };
    if let Some(bytes) = &stored.vector
        && !collection.is_vector(bytes)
    {
        return Ok(Some((
            "damaged",
            id,
            format!(
                "the {} bytes of the vector are none of this collection",
                bytes.len()
            ),
        )));
    }
    let passage = Passage::derive(collection.id, stored.text.as_deref(), &metadata);
    if !passage::is_stored(db, collection.id, row, &passage)? {
        return Ok(Some((
            "passages",
            id,
            "the passage does not match text and metadata".into(),
        )));
    }
    let other: Option<(i64, Vec<u8>)> = db
        .prepare_cached("SELECT checksum, vector FROM other_vectors WHERE row = ?1")?
        .query_row([row as i64], |columns| {
            Ok((
                columns.get_ref(0)?.as_i64().unwrap_or_default(),
                columns.get_ref(1)?.as_blob().unwrap_or_default().to_vec(),
            ))
        })
        .optional()?;
    if other.is_some_and(|(checksum, bytes)| !other::is_intact(row, &bytes, checksum)) {
        return Ok(Some((
            "passages",
            id,
            "its vector of another embedder does not match its checksum".into(),
        )));
    }
    for (key, kind, value) in labels(&metadata) {
        *expected_labels += 1;
        let number = match keys.get(key) {
            Some(number) => *number,
            None => {
                let number = find_key(db, key)?;
                keys.insert(key.to_owned(), number);
                number
            }
        };
        if !has_label(db, collection.id, number, kind.0, &value, row)? {
            return Ok(Some((
                "labels",
                id,
                format!("the label of key `{key}` is missing"),
            )));
        }
    }
    Ok(None)
}

fn has_label(
    db: &Connection,
    collection: i64,
    key: Option<i64>,
    kind: i64,
    value: &Value,
    row: u64,
) -> Attempt<bool> {
    let mut statement = db.prepare_cached(
        "SELECT 1 FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value = ?4 AND row = ?5",
    )?;
    Ok(statement.exists(params![collection, key, kind, value, row as i64])?)
}
