//! Repairs rows that describe collections: missing segments, wrong dimensions and lost metrics.

use rusqlite::{Connection, Result, params};
use serde_json::json;

use super::plan::{Plan, Work};
use super::report::Change;

const METADATA: (&str, &str) = ("urn:chroma:segment/metadata/sqlite", "METADATA");
const VECTOR: (&str, &str) = ("urn:chroma:segment/vector/hnsw-local-persisted", "VECTOR");

/// Ensures that every collection has the two segments that ChromaDB expects.
pub(super) fn segments(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for plan in &work.plans {
        // Records refer to their segment, so a new row must have the same id.
        let missing = [
            (plan.row.vector_segment.is_none(), VECTOR, None),
            (
                plan.row.metadata_segment.is_none(),
                METADATA,
                plan.metadata_segment.clone(),
            ),
        ];
        for (_, (kind, scope), id) in missing.into_iter().filter(|(absent, _, _)| *absent) {
            count += 1;
            if write {
                connection.execute(
                    "INSERT INTO segments (id, type, scope, collection) VALUES (?1, ?2, ?3, ?4)",
                    params![
                        id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
                        kind,
                        scope,
                        plan.row.id
                    ],
                )?;
            }
        }
    }
    Ok(vec![Change::new("segment rows restored", count)])
}

/// Corrects the dimension to that of the vectors.
pub(super) fn dimensions(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for plan in work.plans.iter().filter(|plan| is_dimension_wrong(plan)) {
        count += 1;
        if write {
            connection.execute(
                "UPDATE collections SET dimension = ?1 WHERE id = ?2",
                params![
                    plan.dimension.map(|dimension| dimension as i64),
                    plan.row.id
                ],
            )?;
        }
    }
    Ok(vec![Change::new("dimensions corrected", count)])
}

fn is_dimension_wrong(plan: &Plan) -> bool {
    plan.dimension.is_some() && plan.dimension != plan.row.dimension
}

/// Restores a lost description of an index. Without one, ChromaDB uses the l2 metric.
pub(super) fn metrics(connection: &Connection, work: &Work, write: bool) -> Result<Vec<Change>> {
    let mut count = 0;
    for plan in work.plans.iter().filter(|plan| plan.metric_forgotten) {
        count += 1;
        if write {
            connection.execute(
                "UPDATE collections SET schema_str = ?1 WHERE id = ?2",
                params![description(plan), plan.row.id],
            )?;
        }
    }
    Ok(vec![Change::new("descriptions of indexes restored", count)])
}

/// The description that ChromaDB writes for a new collection with this metric. ChromaDB refuses
/// filters on value types that `defaults` does not name.
fn description(plan: &Plan) -> String {
    let switch = |enabled: bool| json!({ "enabled": enabled, "config": {} });
    let vectors = |enabled: bool| {
        let index = match plan.row.sync_threshold {
            Some(threshold) => json!({ "sync_threshold": threshold }),
            None => json!({}),
        };
        let config = json!({ "space": plan.row.metric.as_str(), "hnsw": index });
        json!({ "vector_index": { "enabled": enabled, "config": config } })
    };
    json!({
        "defaults": {
            "string": { "fts_index": switch(false), "string_inverted_index": switch(true) },
            "float_list": vectors(false),
            "sparse_vector": { "sparse_vector_index": switch(false) },
            "int": { "int_inverted_index": switch(true) },
            "float": { "float_inverted_index": switch(true) },
            "bool": { "bool_inverted_index": switch(true) },
        },
        "keys": {
            "#document": { "string": { "fts_index": switch(true), "string_inverted_index": switch(false) } },
            "#embedding": { "float_list": vectors(true) },
        },
    })
    .to_string()
}
