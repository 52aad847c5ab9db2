//! The tables and indexes that each version of ChromaDB creates.

use loci_foreign::chroma::{TABLES, Version};
use loci_salvage::Snapshot;
use rusqlite::{Connection, params};

/// The first migration of the record tables that indexes texts by trigrams.
pub(super) const FULL_TEXT: u32 = 3;
const RECORD_INDEXES: u32 = 4;
const INTEGER_IDS: u32 = 5;
const LISTS: u32 = 6;

/// A table to create.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) sql: String,
}

/// The first migration, and its part, in which a table exists.
#[derive(Clone, Copy)]
enum Since {
    Always,
    Queue(u32),
    Records(u32),
    System(u32),
}

const KNOWN: &[(&str, Since, &str)] = &[
    (
        "migrations",
        Since::Always,
        "dir TEXT NOT NULL, version INTEGER NOT NULL, filename TEXT NOT NULL, sql TEXT NOT NULL, hash TEXT NOT NULL, \
         PRIMARY KEY (dir, version)",
    ),
    (
        "acquire_write",
        Since::Records(INTEGER_IDS),
        "id INTEGER PRIMARY KEY, lock_status INTEGER NOT NULL",
    ),
    (
        "collection_metadata",
        Since::Always,
        "collection_id TEXT REFERENCES collections(id) ON DELETE CASCADE, key TEXT NOT NULL, str_value TEXT, \
         int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (collection_id, key)",
    ),
    (
        "segment_metadata",
        Since::Always,
        "segment_id TEXT REFERENCES segments(id) ON DELETE CASCADE, key TEXT NOT NULL, str_value TEXT, \
         int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (segment_id, key)",
    ),
    ("tenants", Since::Always, "id TEXT PRIMARY KEY, UNIQUE (id)"),
    (
        "databases",
        Since::Always,
        "id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant_id TEXT NOT NULL REFERENCES tenants(id) ON DELETE CASCADE, \
         UNIQUE (tenant_id, name)",
    ),
    (
        "collections",
        Since::Always,
        "id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, \
         database_id TEXT NOT NULL REFERENCES databases(id) ON DELETE CASCADE, config_json_str TEXT, schema_str TEXT, \
         UNIQUE (name, database_id)",
    ),
    (
        "maintenance_log",
        Since::System(8),
        "id INT PRIMARY KEY, timestamp INT NOT NULL, operation TEXT NOT NULL",
    ),
    (
        "segments",
        Since::Always,
        "id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT REFERENCES collection(id) NOT NULL",
    ),
    (
        "embeddings",
        Since::Always,
        "id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL, seq_id BLOB NOT NULL, \
         created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id)",
    ),
    (
        "embedding_metadata",
        Since::Always,
        "id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT, int_value INTEGER, \
         float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key)",
    ),
    (
        "max_seq_id",
        Since::Always,
        "segment_id TEXT PRIMARY KEY, seq_id INTEGER",
    ),
    (
        "embedding_metadata_array",
        Since::Records(LISTS),
        "id INTEGER NOT NULL REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT, int_value INTEGER, \
         float_value REAL, bool_value INTEGER",
    ),
    (
        "embeddings_queue",
        Since::Always,
        "seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, operation INTEGER NOT NULL, \
         topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT",
    ),
    (
        "embeddings_queue_config",
        Since::Queue(2),
        "id INTEGER PRIMARY KEY, config_json_str TEXT",
    ),
];

/// The tables of this version. If the file's own statements are readable, they are used.
pub(super) fn tables(source: &Snapshot, version: &Version) -> rusqlite::Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (name, since, columns) in KNOWN {
        let exists = match since {
            Since::Always => true,
            Since::Queue(number) => version.queue >= *number,
            Since::Records(number) => version.metadata >= *number,
            Since::System(number) => version.system >= *number,
        };
        if exists {
            let sql = match own_sql(source, name)? {
                Some(sql) => sql,
                None => format!("CREATE TABLE {name} ({})", as_of(name, columns, version)),
            };
            tables.push(Table {
                name: (*name).to_owned(),
                sql,
            });
        }
    }
    Ok(tables)
}

/// The statement with which the file created a table; `None` if it was lost and a plain one took
/// its place.
pub(super) fn own_sql(source: &Snapshot, name: &str) -> rusqlite::Result<Option<String>> {
    let mut statement = source
        .connection()
        .prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    let mut rows = statement.query([name])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let sql: String = row.get(0)?;
    let plain = TABLES
        .iter()
        .any(|table| table.name == name && table.sql == sql);
    Ok((!plain).then_some(sql))
}

/// Removes the columns that a later version added.
fn as_of(name: &str, columns: &str, version: &Version) -> String {
    let mut columns = columns.to_owned();
    if name == "collections" && version.system < 10 {
        columns = columns.replace(" schema_str TEXT,", "");
    }
    if name == "collections" && version.system < 7 {
        columns = columns.replace(" config_json_str TEXT,", "");
    }
    if name == "max_seq_id" && version.metadata < INTEGER_IDS {
        columns = columns.replace("seq_id INTEGER", "seq_id BLOB NOT NULL");
    }
    columns
}

/// The indexes of this version.
pub(super) fn indexes(version: &Version) -> impl Iterator<Item = &'static str> {
    const RECORDS: [&str; 3] = [
        "CREATE INDEX embedding_metadata_int_value ON embedding_metadata (key, int_value) WHERE int_value IS NOT NULL",
        "CREATE INDEX embedding_metadata_float_value ON embedding_metadata (key, float_value) WHERE float_value IS NOT NULL",
        "CREATE INDEX embedding_metadata_string_value ON embedding_metadata (key, string_value) WHERE string_value IS NOT NULL",
    ];
    const OF_LISTS: [&str; 4] = [
        "CREATE INDEX embedding_metadata_array_id_key ON embedding_metadata_array (id, key)",
        "CREATE INDEX embedding_metadata_array_key_string ON embedding_metadata_array (key, string_value) WHERE string_value IS NOT NULL",
        "CREATE INDEX embedding_metadata_array_key_int ON embedding_metadata_array (key, int_value) WHERE int_value IS NOT NULL",
        "CREATE INDEX embedding_metadata_array_key_float ON embedding_metadata_array (key, float_value) WHERE float_value IS NOT NULL",
    ];
    let (records, lists) = (
        version.metadata >= RECORD_INDEXES,
        version.metadata >= LISTS,
    );
    let records = RECORDS.into_iter().filter(move |_| records);
    records.chain(OF_LISTS.into_iter().filter(move |_| lists))
}

/// Ensures that every collection has a database, and every database a tenant.
pub(super) fn default_places(target: &Connection) -> rusqlite::Result<()> {
    target.execute_batch(
        "INSERT OR IGNORE INTO databases (id, name, tenant_id)
         VALUES ('00000000-0000-0000-0000-000000000000', 'default_database', 'default_tenant');
         INSERT OR IGNORE INTO databases (id, name, tenant_id)
         SELECT DISTINCT database_id, 'recovered-' || database_id, 'default_tenant' FROM collections
         WHERE database_id NOT IN (SELECT id FROM databases);
         INSERT OR IGNORE INTO tenants (id) SELECT DISTINCT tenant_id FROM databases;",
    )
}

/// Recovers texts that only the content of the old full-text index holds.
pub(super) fn lost_documents(target: &Connection, source: &Snapshot) -> rusqlite::Result<()> {
    if !source.has_table("embedding_fulltext_search_content") {
        return Ok(());
    }
    let mut insert = target.prepare(
        "INSERT OR IGNORE INTO embedding_metadata (id, key, string_value) SELECT id, 'chroma:document', ?2 FROM embeddings WHERE id = ?1",
    )?;
    let mut select = source.connection().prepare(
        "SELECT id, c0 FROM embedding_fulltext_search_content WHERE typeof(c0) = 'text' ORDER BY id",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (id, text): (i64, String) = (row.get(0)?, row.get(1)?);
        insert.execute(params![id, text])?;
    }
    Ok(())
}
