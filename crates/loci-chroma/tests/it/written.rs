//! Writes a ChromaDB directory by SQL: the tables of release 1.5.9, all records applied, and no
//! vector in index files yet.

use std::path::Path;

use loci_contract::memory::{Written, WrittenCollection, WrittenDrawer};
use loci_core::{EmbedderIdentity, MetaValue};
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

const TABLES: &str = "
CREATE TABLE migrations (dir TEXT NOT NULL, version INTEGER NOT NULL, filename TEXT NOT NULL, sql TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (dir, version));
CREATE TABLE acquire_write (id INTEGER PRIMARY KEY, lock_status INTEGER NOT NULL);
CREATE TABLE tenants (id TEXT PRIMARY KEY, UNIQUE (id));
CREATE TABLE databases (id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant_id TEXT NOT NULL REFERENCES tenants(id) ON DELETE CASCADE,
    UNIQUE (tenant_id, name));
CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER,
    database_id TEXT NOT NULL REFERENCES databases(id) ON DELETE CASCADE, config_json_str TEXT, schema_str TEXT, UNIQUE (name, database_id));
CREATE TABLE collection_metadata (collection_id TEXT REFERENCES collections(id) ON DELETE CASCADE, key TEXT NOT NULL,
    str_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (collection_id, key));
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT REFERENCES collection(id) NOT NULL);
CREATE TABLE segment_metadata (segment_id TEXT REFERENCES segments(id) ON DELETE CASCADE, key TEXT NOT NULL,
    str_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (segment_id, key));
CREATE TABLE maintenance_log (id INT PRIMARY KEY, timestamp INT NOT NULL, operation TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL, seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL,
    string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
CREATE INDEX embedding_metadata_int_value ON embedding_metadata (key, int_value) WHERE int_value IS NOT NULL;
CREATE INDEX embedding_metadata_float_value ON embedding_metadata (key, float_value) WHERE float_value IS NOT NULL;
CREATE INDEX embedding_metadata_string_value ON embedding_metadata (key, string_value) WHERE string_value IS NOT NULL;
CREATE TABLE embedding_metadata_array (id INTEGER NOT NULL REFERENCES embeddings(id), key TEXT NOT NULL,
    string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER);
CREATE INDEX embedding_metadata_array_id_key ON embedding_metadata_array (id, key);
CREATE INDEX embedding_metadata_array_key_string ON embedding_metadata_array (key, string_value) WHERE string_value IS NOT NULL;
CREATE INDEX embedding_metadata_array_key_int ON embedding_metadata_array (key, int_value) WHERE int_value IS NOT NULL;
CREATE INDEX embedding_metadata_array_key_float ON embedding_metadata_array (key, float_value) WHERE float_value IS NOT NULL;
CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram');
CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER);
CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, operation INTEGER NOT NULL,
    topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
CREATE TABLE embeddings_queue_config (id INTEGER PRIMARY KEY, config_json_str TEXT);
INSERT INTO acquire_write VALUES (1, 1);
INSERT INTO tenants VALUES ('default_tenant');
INSERT INTO databases VALUES ('00000000-0000-0000-0000-000000000000', 'default_database', 'default_tenant');
INSERT INTO embeddings_queue_config VALUES (1, '{\"automatically_purge\":true,\"_type\":\"EmbeddingsQueueConfigurationInternal\"}');
";

/// The part, name and MD5 of every migration up to 1.5.9.
const MIGRATIONS: [(&str, &str, &str); 18] = [
    (
        "sysdb",
        "00001-collections.sqlite.sql",
        "38352d725ad1c16074fac420b22b4633",
    ),
    (
        "sysdb",
        "00002-segments.sqlite.sql",
        "2913cb6a503055a95f625448037e8912",
    ),
    (
        "sysdb",
        "00003-collection-dimension.sqlite.sql",
        "42d22d0574d31d419c2a0e7f625c93aa",
    ),
    (
        "sysdb",
        "00004-tenants-databases.sqlite.sql",
        "048867ce8fcdefe4023c7110e4433591",
    ),
    (
        "sysdb",
        "00005-remove-topic.sqlite.sql",
        "b1367c826b8fba5f96f27befdc1d42d2",
    ),
    (
        "sysdb",
        "00006-collection-segment-metadata.sqlite.sql",
        "4eea7468935bf25d4604a0fed2366116",
    ),
    (
        "sysdb",
        "00007-collection-config.sqlite.sql",
        "1c7e63bba346a42a18b6ab7f1c989bed",
    ),
    (
        "sysdb",
        "00008-maintenance-log.sqlite.sql",
        "0a0e7e93111a01789addf64961c6127c",
    ),
    (
        "sysdb",
        "00009-segment-collection-not-null.sqlite.sql",
        "054355aef9e63702bf54ea29e61563f1",
    ),
    (
        "sysdb",
        "00010-collection-schema.sqlite.sql",
        "5c3a5ac4b79df76799b4721827ed5e1d",
    ),
    (
        "metadb",
        "00001-embedding-metadata.sqlite.sql",
        "2b4cf52c4bb2676e21d6860a4409f856",
    ),
    (
        "metadb",
        "00002-embedding-metadata.sqlite.sql",
        "12a570f7121b3a8ce750a2a7c36da20f",
    ),
    (
        "metadb",
        "00003-full-text-tokenize.sqlite.sql",
        "f97ad6334aeaa8f419f01110b648b97a",
    ),
    (
        "metadb",
        "00004-metadata-indices.sqlite.sql",
        "fb36603a45ee2cd0254cef3ef86585e8",
    ),
    (
        "metadb",
        "00005-max-seq-id-int.sqlite.sql",
        "0e9de46758761b373ce682925edcc326",
    ),
    (
        "metadb",
        "00006-metadata-array-support.sqlite.sql",
        "e026f01ea92c1baa1493f4ad5ca7cfe7",
    ),
    (
        "embeddings_queue",
        "00001-embeddings.sqlite.sql",
        "d3755dfd232be8e8301f4d7fcfb3a486",
    ),
    (
        "embeddings_queue",
        "00002-embeddings-queue-config.sqlite.sql",
        "8fbfe4ffb3e57f1d8bfdc58510a82e85",
    ),
];

const DATABASE: &str = "00000000-0000-0000-0000-000000000000";

/// Writes everything into an existing directory.
pub(crate) fn write_out(written: &Written, directory: &Path) {
    let mut sql = Connection::open(directory.join("chroma.sqlite3")).unwrap();
    // As in ChromaDB, whose own tables refer to one that does not exist.
    sql.pragma_update(None, "foreign_keys", false).unwrap();
    let transaction = sql.transaction().unwrap();
    transaction.execute_batch(TABLES).unwrap();
    for (part, name, hash) in MIGRATIONS {
        let version: u32 = name.split('-').next().unwrap().parse().unwrap();
        transaction
            .execute(
                "INSERT INTO migrations VALUES (?1, ?2, ?3, '', ?4)",
                params![part, version, name, hash],
            )
            .unwrap();
    }
    for collection in &written.collections {
        write_collection(&transaction, collection);
    }
    transaction.commit().unwrap();
}

/// A UUID that is always the same for the same collection.
fn uuid(collection: &WrittenCollection, what: u8) -> String {
    format!(
        "{:08x}-0000-4000-8000-0000000000{what:02x}",
        collection.number
    )
}

fn write_collection(sql: &Connection, collection: &WrittenCollection) {
    let [id, records, vectors] = [0, 1, 2].map(|what| uuid(collection, what));
    sql.execute(
        "INSERT INTO collections VALUES (?1, ?2, ?3, ?4, '{}', ?5)",
        params![
            id,
            collection.name,
            collection.dimension.map(|dimension| dimension as i64),
            DATABASE,
            schema(collection).to_string()
        ],
    )
    .unwrap();
    for (segment, kind, scope) in [
        (
            &vectors,
            "urn:chroma:segment/vector/hnsw-local-persisted",
            "VECTOR",
        ),
        (&records, "urn:chroma:segment/metadata/sqlite", "METADATA"),
    ] {
        sql.execute(
            "INSERT INTO segments VALUES (?1, ?2, ?3, ?4)",
            params![segment, kind, scope, id],
        )
        .unwrap();
    }
    for drawer in &collection.drawers {
        write_record(sql, &records, drawer);
        write_queue(sql, &id, drawer);
    }
    if let Some(last) = collection.drawers.iter().map(|drawer| drawer.seq).max() {
        sql.execute(
            "INSERT INTO max_seq_id VALUES (?1, ?2)",
            params![records, last as i64],
        )
        .unwrap();
    }
}

/// The recorded form of a pinned embedder. ChromaDB has no digest, so it is part of the name.
fn function(embedder: &EmbedderIdentity) -> String {
    format!("{}#{}", embedder.name, embedder.digest)
}

/// The identity in a name that [`function`] made.
pub(crate) fn known(name: &str, dimension: usize) -> Option<EmbedderIdentity> {
    let (name, digest) = name.split_once('#')?;
    Some(EmbedderIdentity {
        name: name.into(),
        dimension,
        digest: digest.into(),
    })
}

fn schema(collection: &WrittenCollection) -> Value {
    let function = match &collection.embedder {
        Some(embedder) => json!({"type": "known", "name": function(embedder), "config": {}}),
        None => json!({"type": "legacy"}),
    };
    let index = |enabled: bool| {
        json!({"vector_index": {"enabled": enabled, "config": {
            "space": collection.metric.as_str(), "embedding_function": function, "source_key": "#document",
            "hnsw": {"ef_construction": 100, "max_neighbors": 16, "ef_search": 100, "num_threads": 2, "batch_size": 100,
                     "sync_threshold": 1000, "resize_factor": 1.2}}}})
    };
    let on = |name: &str, enabled: bool| json!({name: {"enabled": enabled, "config": {}}});
    let text = |full: bool| json!({"fts_index": {"enabled": full, "config": {}}, "string_inverted_index": {"enabled": !full, "config": {}}});
    json!({
        "defaults": {
            "string": text(false), "float_list": index(false),
            "sparse_vector": {"sparse_vector_index": {"enabled": false, "config": {"embedding_function": {"type": "unknown"}, "bm25": false}}},
            "int": on("int_inverted_index", true), "float": on("float_inverted_index", true), "bool": on("bool_inverted_index", true)
        },
        "keys": {"#document": {"string": text(true)}, "#embedding": {"float_list": index(true)}}
    })
}

fn write_record(sql: &Connection, segment: &str, drawer: &WrittenDrawer) {
    let row = drawer.record as i64;
    sql.execute(
        "INSERT INTO embeddings VALUES (?1, ?2, ?3, ?4, datetime(?5 / 1000, 'unixepoch'))",
        params![
            row,
            segment,
            drawer.id,
            drawer.seq as i64,
            drawer.created_at
        ],
    )
    .unwrap();
    if let Some(text) = &drawer.document {
        write_value(
            sql,
            "embedding_metadata",
            row,
            "chroma:document",
            &text.as_str().into(),
        );
        sql.execute(
            "INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?1, ?2)",
            params![row, text],
        )
        .unwrap();
    }
    for (key, value) in &drawer.metadata.0 {
        match value {
            MetaValue::List(items) => {
                for item in items {
                    write_value(sql, "embedding_metadata_array", row, key, item);
                }
            }
            scalar => write_value(sql, "embedding_metadata", row, key, scalar),
        }
    }
}

fn write_value(sql: &Connection, table: &str, row: i64, key: &str, value: &MetaValue) {
    let (mut string, mut int, mut float, mut bool) = (None, None, None, None);
    match value {
        MetaValue::Str(text) => string = Some(text),
        MetaValue::Int(number) => int = Some(number),
        MetaValue::Float(number) => float = Some(number),
        MetaValue::Bool(truth) => bool = Some(truth),
        MetaValue::List(_) => panic!("a list holds no lists"),
    }
    sql.execute(
        &format!("INSERT INTO {table} (id, key, string_value, int_value, float_value, bool_value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
        params![row, key, string, int, float, bool],
    )
    .unwrap();
}

/// The vector, in the log entry that created it. A record without one was never in the log of this
/// release.
fn write_queue(sql: &Connection, collection: &str, drawer: &WrittenDrawer) {
    let Some(vector) = &drawer.embedding else {
        return;
    };
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let mut metadata = Map::new();
    for (key, value) in &drawer.metadata.0 {
        metadata.insert(key.clone(), serde_json::to_value(value).unwrap());
    }
    if let Some(text) = &drawer.document {
        metadata.insert("chroma:document".into(), text.as_str().into());
    }
    sql.execute(
        "INSERT INTO embeddings_queue VALUES (?1, datetime(?2 / 1000, 'unixepoch'), 0, ?3, ?4, ?5, 'FLOAT32', ?6)",
        params![
            drawer.seq as i64,
            drawer.created_at,
            format!("persistent://default/default/{collection}"),
            drawer.id,
            bytes,
            Value::Object(metadata).to_string()
        ],
    )
    .unwrap();
}
