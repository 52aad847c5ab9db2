//! Converts relations and shared copies to links between drawers.

use std::collections::HashSet;

use loci_core::{DrawerRef, Link, LinkEnd, Metadata, Result};
use loci_salvage::Snapshot;
use rusqlite::Row;

use super::TARGET;
use crate::batches::Batches;
use crate::palace::{OnBatch, ReadSummary};
use crate::{cells, fields};

/// A table of links and the column that holds their label.
const TABLES: [(&str, &str); 2] = [
    ("chunk_relations", "relation_type"),
    ("chunk_links", "link_type"),
];

/// Passes every link whose two ends exist to a callback.
pub(super) fn read(
    snapshot: &Snapshot,
    batch: usize,
    take: OnBatch<'_, Link>,
) -> Result<ReadSummary> {
    let mut summary = ReadSummary::default();
    let mut batches = Batches::new(batch, take);
    let chunks = ids(snapshot);
    for (table, label) in TABLES {
        let wanted = [
            "source_id",
            "target_id",
            label,
            "namespace_target",
            "created_at",
        ];
        let columns = cells::list(snapshot, table, &wanted);
        let sql = format!("SELECT {columns} FROM {table} t ORDER BY t._rowid_");
        let unread = cells::for_each_row(snapshot, &sql, [], |row| {
            match link(row, label, &chunks) {
                Some(link) => batches.push(link)?,
                None => summary.lose(
                    Some(ends(row)),
                    format!("a row of `{table}` names a chunk that is missing"),
                ),
            }
            Ok(())
        })?;
        if let Some(error) = unread {
            summary.lose(None, format!("the rest of the table `{table}`: {error}"));
        }
    }
    summary.read = batches.finish()?;
    Ok(summary)
}

/// Links that name a missing chunk.
pub(super) fn dangling(snapshot: &Snapshot) -> Vec<String> {
    let mut none = |_| Ok(());
    let lost = read(snapshot, 1000, &mut none).map_or_else(|_| Vec::new(), |summary| summary.lost);
    lost.into_iter().filter_map(|lost| lost.id).collect()
}

/// The ids of both ends, for display.
fn ends(row: &Row<'_>) -> String {
    let end = |column| cells::text(row, column).unwrap_or_default();
    format!("{} -> {}", end("source_id"), end("target_id"))
}

fn ids(snapshot: &Snapshot) -> HashSet<String> {
    let ids = cells::collect(snapshot, "SELECT id FROM chunks", [], |row| {
        cells::text(row, "id")
    });
    ids.into_iter().collect()
}

fn link(row: &Row<'_>, label: &str, chunks: &HashSet<String>) -> Option<Link> {
    let end = |column: &str| {
        let id = cells::filled(row, column).filter(|id| chunks.contains(id))?;
        let collection = TARGET.to_owned();
        Some(LinkEnd::Drawer(DrawerRef { collection, id }))
    };
    let mut metadata = Metadata::default();
    fields::put_text(
        &mut metadata,
        "created_at",
        cells::filled(row, "created_at"),
    );
    let shared = cells::filled(row, "namespace_target");
    fields::put_text(&mut metadata, "namespace_target", shared);
    Some(Link {
        from: end("source_id")?,
        to: end("target_id")?,
        label: cells::text(row, label).unwrap_or_default(),
        metadata,
    })
}
