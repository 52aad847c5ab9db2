//! The tables of chroma.sqlite3 that hold underivable data, as 1.5.9 creates them. They are needed
//! only if SQLite cannot read the file. Rows are then assigned by the file's own schema, or by
//! their shape if that is lost too.

use loci_salvage::snapshot::KeyIndex;
use loci_salvage::{Table, Value};

/// The table of records.
pub(crate) const EMBEDDINGS: &str = "embeddings";
/// The table of metadata.
pub(crate) const METADATA: &str = "embedding_metadata";

/// The tables to salvage, most specific shapes first. A row without a known table goes to the first
/// one that fits.
pub const TABLES: &[Table] = &[
    Table {
        name: "embeddings_queue",
        sql: "CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP, operation INTEGER, \
              topic TEXT, id TEXT, vector BLOB, encoding TEXT, metadata TEXT)",
        fits: |row| {
            row.len() == 8
                && matches!(row.get(2), Some(Value::Integer(0..=4)))
                && text(row, 3).is_some_and(|topic| topic.contains("://"))
        },
        key_index: None,
    },
    Table {
        name: "segments",
        sql: "CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT)",
        fits: |row| {
            row.len() == 4
                && text(row, 1).is_some_and(|kind| kind.starts_with("urn:chroma:segment"))
        },
        key_index: None,
    },
    Table {
        name: "collections",
        sql: "CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT, dimension INTEGER, database_id TEXT, \
              config_json_str TEXT, schema_str TEXT)",
        fits: |row| {
            (4..=6).contains(&row.len())
                && is_uuid(row, 0)
                && is_uuid(row, 3)
                && text(row, 1).is_some()
        },
        key_index: None,
    },
    Table {
        name: "databases",
        sql: "CREATE TABLE databases (id TEXT PRIMARY KEY, name TEXT, tenant_id TEXT)",
        fits: |row| row.len() == 3 && is_uuid(row, 0) && text(row, 2).is_some(),
        key_index: None,
    },
    Table {
        name: "collection_metadata",
        sql: "CREATE TABLE collection_metadata (collection_id TEXT, key TEXT, str_value TEXT, int_value INTEGER, \
              float_value REAL, bool_value INTEGER, PRIMARY KEY (collection_id, key))",
        fits: |row| (5..=6).contains(&row.len()) && is_uuid(row, 0) && text(row, 1).is_some(),
        key_index: None,
    },
    Table {
        name: "segment_metadata",
        sql: "CREATE TABLE segment_metadata (segment_id TEXT, key TEXT, str_value TEXT, int_value INTEGER, \
              float_value REAL, bool_value INTEGER, PRIMARY KEY (segment_id, key))",
        fits: |_| false,
        key_index: None,
    },
    Table {
        name: EMBEDDINGS,
        sql: "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB, \
              created_at TIMESTAMP, UNIQUE (segment_id, embedding_id))",
        fits: |row| row.len() == 5 && is_uuid(row, 1) && text(row, 2).is_some(),
        key_index: Some(KeyIndex {
            fits: |entry| matches!(entry, [Value::Text(_), Value::Text(_), Value::Integer(_)]),
            row_of_entry: "SELECT 1 FROM embeddings WHERE (segment_id = ?1 AND embedding_id = ?2) OR id = ?3",
        }),
    },
    Table {
        name: METADATA,
        sql: "CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, \
              float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key))",
        fits: |row| {
            (5..=6).contains(&row.len())
                && matches!(row.first(), Some(Value::Integer(_)))
                && text(row, 1).is_some()
        },
        key_index: Some(KeyIndex {
            // The other indexes of the table begin with the key.
            fits: |entry| {
                matches!(
                    entry,
                    [Value::Integer(_), Value::Text(_), Value::Integer(_)]
                )
            },
            row_of_entry: "SELECT 1 FROM embedding_metadata WHERE id = ?1 AND key = ?2",
        }),
    },
    Table {
        name: "embedding_metadata_array",
        sql: "CREATE TABLE embedding_metadata_array (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, \
              float_value REAL, bool_value INTEGER)",
        fits: |_| false,
        key_index: None,
    },
    Table {
        name: "max_seq_id",
        sql: "CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER)",
        fits: |row| row.len() == 2 && is_uuid(row, 0),
        key_index: None,
    },
    Table {
        name: "embedding_fulltext_search_content",
        sql: "CREATE TABLE embedding_fulltext_search_content (id INTEGER PRIMARY KEY, c0)",
        fits: |row| {
            row.len() == 2 && matches!(row.first(), Some(Value::Null)) && text(row, 1).is_some()
        },
        key_index: None,
    },
    Table {
        name: "migrations",
        sql: "CREATE TABLE migrations (dir TEXT, version INTEGER, filename TEXT, sql TEXT, hash TEXT, \
              PRIMARY KEY (dir, version))",
        fits: |row| {
            row.len() == 5
                && matches!(row.get(1), Some(Value::Integer(1..=99)))
                && text(row, 2).is_some_and(|name| {
                    std::path::Path::new(name)
                        .extension()
                        .is_some_and(|kind| kind == "sql")
                })
        },
        key_index: None,
    },
    Table {
        name: "tenants",
        sql: "CREATE TABLE tenants (id TEXT PRIMARY KEY)",
        fits: |_| false,
        key_index: None,
    },
    Table {
        name: "embeddings_queue_config",
        sql: "CREATE TABLE embeddings_queue_config (id INTEGER PRIMARY KEY, config_json_str TEXT)",
        fits: |_| false,
        key_index: None,
    },
];

fn text(row: &[Value], column: usize) -> Option<&str> {
    match row.get(column) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn is_uuid(row: &[Value], column: usize) -> bool {
    text(row, column).is_some_and(looks_like_uuid)
}

/// Whether a name has the form of a UUID.
pub(crate) fn looks_like_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
