//! Reads the knowledge graph: facts about entities, with their periods of validity.

use std::collections::HashMap;
use std::path::Path;

use loci_core::finding::{Finding, Severity};
use loci_core::{DrawerRef, Fact, MetaValue, Metadata};
use loci_salvage::{Snapshot, Table, Value as Cell};
use rusqlite::Row;

use super::TARGET;
use super::companions::Companions;
use crate::{cells, database, fields};

const WANTED: &[Table] = &[
    Table {
        name: "entities",
        sql: "CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT, type TEXT, properties TEXT, created_at TEXT)",
        fits: |values| values.len() == 5 && values.iter().all(is_text),
        key_index: None,
    },
    Table {
        name: "triples",
        sql: "CREATE TABLE triples (id TEXT PRIMARY KEY, subject TEXT, predicate TEXT, object TEXT, valid_from TEXT, valid_to TEXT, \
              confidence REAL, source_closet TEXT, source_file TEXT, source_drawer_id TEXT, adapter_name TEXT, extracted_at TEXT)",
        fits: |values| values.len() >= 9 && values.iter().take(4).all(is_text),
        key_index: None,
    },
];

fn is_text(value: &Cell) -> bool {
    matches!(value, Cell::Text(_))
}

struct Entity {
    name: String,
    kind: Option<String>,
}

/// Reads the graph at `path` into facts.
pub(super) fn read(path: &Path, found: &mut Companions) {
    let snapshot = match Snapshot::take(path, WANTED) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            found
                .summary
                .lose(None, format!("the knowledge graph: {error}"));
            found.findings.push(
                Finding::new(
                    "graph_damaged",
                    Severity::Error,
                    format!("the knowledge graph cannot be read: {error}"),
                )
                .file("knowledge_graph.sqlite3")
                .then("MemPalace's queries of the graph fail"),
            );
            return;
        }
    };
    found
        .findings
        .extend(database::damage(&snapshot, "MemPalace"));
    let entities = entities(&snapshot, found);
    let wanted = [
        "id",
        "subject",
        "predicate",
        "object",
        "valid_from",
        "valid_to",
        "confidence",
        "source_closet",
        "source_file",
        "source_drawer_id",
        "adapter_name",
        "extracted_at",
    ];
    let columns = cells::list(&snapshot, "triples", &wanted);
    let sql = format!("SELECT {columns} FROM triples t ORDER BY t._rowid_");
    let mut unnamed = Vec::new();
    let unread = cells::for_each_row(&snapshot, &sql, [], |row| {
        match fact(row, &entities, &mut unnamed) {
            Some(fact) => found.facts.push(fact),
            None => found.summary.lose(
                cells::filled(row, "id"),
                "a fact lacks subject, predicate or object",
            ),
        }
        Ok(())
    });
    if let Ok(Some(error)) = unread {
        found
            .summary
            .lose(None, format!("the rest of the knowledge graph: {error}"));
    }
    if !unnamed.is_empty() {
        found.findings.push(
            Finding::new(
                "entities_missing",
                Severity::Warning,
                "facts name entities that are missing; their ids are used as names",
            )
            .file("knowledge_graph.sqlite3")
            .list("entities", unnamed)
            .then("MemPalace leaves these facts out of its answers"),
        );
    }
}

fn entities(snapshot: &Snapshot, found: &mut Companions) -> HashMap<String, Entity> {
    let columns = cells::list(snapshot, "entities", &["id", "name", "type", "properties"]);
    let sql = format!("SELECT {columns} FROM entities t");
    let entities = cells::collect(snapshot, &sql, [], |row| {
        if cells::filled(row, "properties").is_some_and(|properties| properties != "{}") {
            found.summary.leave("properties of entities");
        }
        let (id, name) = (cells::filled(row, "id")?, cells::filled(row, "name")?);
        let kind = cells::filled(row, "type").filter(|kind| kind != "unknown");
        Some((id, Entity { name, kind }))
    });
    entities.into_iter().collect()
}

fn fact(
    row: &Row<'_>,
    entities: &HashMap<String, Entity>,
    unnamed: &mut Vec<String>,
) -> Option<Fact> {
    let mut metadata = Metadata::default();
    let mut named = |column: &str| {
        let id = cells::filled(row, column)?;
        let Some(entity) = entities.get(&id) else {
            unnamed.push(id.clone());
            return Some(id);
        };
        if let Some(kind) = &entity.kind {
            let value = MetaValue::Str(kind.clone());
            metadata.0.insert(format!("{column}_type"), value);
        }
        Some(entity.name.clone())
    };
    let (subject, object) = (named("subject")?, named("object")?);
    for column in [
        "source_closet",
        "source_file",
        "adapter_name",
        "extracted_at",
    ] {
        fields::put_text(&mut metadata, column, cells::filled(row, column));
    }
    Some(Fact {
        id: cells::filled(row, "id").unwrap_or_default(),
        subject,
        predicate: cells::filled(row, "predicate")?,
        object,
        valid_from: cells::filled(row, "valid_from"),
        valid_to: cells::filled(row, "valid_to"),
        confidence: cells::real(row, "confidence").filter(|share| (0.0..=1.0).contains(share)),
        source: cells::filled(row, "source_drawer_id").map(|id| DrawerRef {
            collection: TARGET.into(),
            id,
        }),
        metadata,
    })
}
