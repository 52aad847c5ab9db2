//! The catalog in chroma.sqlite3: the version that wrote it, and its collections with their
//! segments and watermarks.

mod adoption;

use std::path::Path;

use loci_core::{MetaValue, Metadata, Metric, Result};
use loci_salvage::snapshot::{Snapshot, unreadable};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::chroma::queue::NUMBER_HOLDER;
use crate::chroma::seq::SeqId;

/// The newest migration of each part. Together they identify the version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Version {
    /// The migration of the queue.
    pub queue: u32,
    /// The migration of the record tables.
    pub metadata: u32,
    /// The migration of the catalog.
    pub system: u32,
    /// Whether migrations are recorded at all.
    pub has_migrations: bool,
}

/// No ChromaDB has ever counted more writes than this.
const COUNTED: u64 = 1 << 53;

/// The tenant that ChromaDB uses by default.
const DEFAULT_TENANT: &str = "default_tenant";
const DEFAULT_DATABASE: &str = "default_database";

/// The migration that turns sequence ids from blobs into integers.
const INTEGER_IDS: u32 = 5;

impl Version {
    /// Whether ChromaDB will convert sequence ids itself when it opens the directory. Converting
    /// them earlier poisons them.
    pub fn blob_ids_pending(&self) -> bool {
        self.has_migrations && self.metadata < INTEGER_IDS
    }

    /// Whether ChromaDB 1.x wrote the files, in which labels follow the order of the log.
    pub(crate) fn is_one(&self) -> bool {
        self.metadata >= INTEGER_IDS
    }

    /// Whether collections describe their index in `schema_str`.
    pub(crate) fn has_schema(&self) -> bool {
        self.system >= 10
    }

    /// The releases that write this version.
    pub fn releases(&self) -> &'static str {
        match (self.queue, self.metadata, self.system) {
            (0, 0, 0) => "an unknown release",
            (_, 7.., _) | (_, _, 11..) | (3.., _, _) => "a release after 1.5.9",
            (_, 6, _) => "1.5",
            (_, 5, _) => "1.0 to 1.4",
            (2, 4, _) => "0.5.6 to 0.6.3",
            _ => "0.4 to 0.5.5",
        }
    }

    fn read(snapshot: &Snapshot) -> rusqlite::Result<Self> {
        let mut version = Self::default();
        if !snapshot.has_table("migrations") {
            return Ok(version);
        }
        let mut statement = snapshot
            .connection()
            .prepare("SELECT dir, max(version) FROM migrations GROUP BY dir")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            version.has_migrations = true;
            let (Ok(part), Ok(number)) = (row.get::<_, String>(0), row.get::<_, u32>(1)) else {
                continue;
            };
            match part.as_str() {
                "embeddings_queue" => version.queue = number,
                "metadb" => version.metadata = number,
                "sysdb" => version.system = number,
                _ => {}
            }
        }
        Ok(version)
    }
}

/// A collection in the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectionRow {
    /// Its UUID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The tenant it belongs to.
    pub tenant: String,
    /// The database it belongs to.
    pub database: String,
    /// The recorded length of its vectors.
    pub dimension: Option<usize>,
    /// The distance metric, resolved as ChromaDB does.
    pub metric: Metric,
    /// Whether ChromaDB 1.5 reads the same metric. If its own record of the metric is lost, it uses
    /// `l2`.
    pub metric_recorded: bool,
    /// The metadata of the collection.
    pub metadata: Metadata,
    /// The recorded embedding function, such as `default`.
    pub embedding_function: Option<String>,
    /// The UUID of the record segment.
    pub metadata_segment: Option<String>,
    /// The segment that holds its records, if the catalog has lost the row for it.
    pub adopted_segment: Option<String>,
    /// The UUID of the vector segment, which is also the name of its directory.
    pub vector_segment: Option<String>,
    /// How far the records have consumed the queue.
    pub metadata_seq: Option<SeqId>,
    /// How far the index files have consumed it.
    pub vector_seq: Option<SeqId>,
    /// The number of operations after which ChromaDB writes the index files.
    pub sync_threshold: Option<u64>,
    /// Whether the catalog has no row for it. Its records were found without a collection, and its
    /// name is invented.
    pub lost: bool,
}

impl CollectionRow {
    /// A collection that is known only from its records.
    fn lost(id: &str, metadata: Metadata) -> Self {
        let metric = metric(&metadata, None, None);
        Self {
            id: id.to_owned(),
            name: format!("lost-{}", id.get(..8).unwrap_or(id)),
            tenant: DEFAULT_TENANT.to_owned(),
            database: DEFAULT_DATABASE.to_owned(),
            dimension: None,
            metric,
            metric_recorded: true,
            metadata,
            embedding_function: None,
            metadata_segment: None,
            adopted_segment: None,
            vector_segment: None,
            metadata_seq: None,
            vector_seq: None,
            sync_threshold: None,
            lost: true,
        }
    }

    fn take_segments(
        &mut self,
        snapshot: &Snapshot,
        segments: Vec<(String, String)>,
    ) -> rusqlite::Result<()> {
        for (segment, scope) in segments {
            let seq = watermark(snapshot, &segment)?;
            match scope.as_str() {
                "METADATA" => {
                    self.metadata_segment = Some(segment);
                    self.metadata_seq = seq;
                }
                // The id names a directory. A forged one must not lead outside the palace.
                "VECTOR" if is_plain_name(&segment) => {
                    self.vector_segment = Some(segment);
                    self.vector_seq = seq;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether it stands for records that name a segment which is not in the catalog.
    pub(crate) fn is_stray_segment(&self) -> bool {
        self.lost && self.metadata_segment.as_ref() == Some(&self.id)
    }

    /// The segment that holds its records.
    pub(crate) fn record_segment(&self) -> Option<&str> {
        let segment = self.metadata_segment.as_ref();
        segment
            .or(self.adopted_segment.as_ref())
            .map(String::as_str)
    }

    /// Whether it is in ChromaDB's default tenant and database.
    pub fn is_in_default_database(&self) -> bool {
        self.tenant == DEFAULT_TENANT && self.database == DEFAULT_DATABASE
    }
}

/// The version and the collections.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    pub(crate) version: Version,
    /// No write ever got a number above this one. A higher number is damaged.
    pub(crate) highest_credible: u64,
    pub(crate) collections: Vec<CollectionRow>,
}

impl Catalog {
    /// Reads the catalog of the database of `directory`.
    pub(crate) fn read(snapshot: &Snapshot, directory: &Path) -> Result<Self> {
        let read = || -> rusqlite::Result<Self> {
            Ok(Self {
                version: Version::read(snapshot)?,
                highest_credible: highest_in_queue(snapshot)?.max(COUNTED),
                collections: with_lost(snapshot, directory, collections(snapshot)?)?,
            })
        };
        read().map_err(|error| unreadable(snapshot.path(), &error))
    }
}

fn collections(snapshot: &Snapshot) -> rusqlite::Result<Vec<CollectionRow>> {
    if !snapshot.has_table("collections") {
        return Ok(Vec::new());
    }
    let connection = snapshot.connection();
    let present = snapshot.columns("collections");
    let column = |name: &str| {
        if present.iter().any(|column| column == name) {
            format!("c.{name}")
        } else {
            "NULL".to_owned()
        }
    };
    let databases = snapshot.has_table("databases") && present.iter().any(|c| c == "database_id");
    let (place, join) = if databases {
        (
            "d.name, d.tenant_id",
            "LEFT JOIN databases d ON d.id = c.database_id",
        )
    } else {
        ("NULL, NULL", "")
    };
    let sql = format!(
        "SELECT c.id, c.name, {}, {}, {}, {place} FROM collections c {join} ORDER BY c.rowid",
        column("dimension"),
        column("config_json_str"),
        column("schema_str"),
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (Some(id), Some(name)) = (text(row, 0), text(row, 1)) else {
            continue;
        };
        let config: Option<Value> = text(row, 3).and_then(|json| serde_json::from_str(&json).ok());
        let schema: Option<Value> = text(row, 4).and_then(|json| serde_json::from_str(&json).ok());
        let metadata = collection_metadata(snapshot, &id)?;
        let segments = segments(snapshot, &id)?;
        let mut collection = CollectionRow {
            metric: metric(&metadata, schema.as_ref(), config.as_ref()),
            metric_recorded: is_metric_recorded(schema.as_ref(), config.as_ref()),
            embedding_function: embedding_function(schema.as_ref(), config.as_ref()),
            sync_threshold: sync_threshold(&metadata, schema.as_ref()),
            dimension: row
                .get::<_, Option<i64>>(2)
                .unwrap_or_default()
                .and_then(|dimension| usize::try_from(dimension).ok()),
            database: text(row, 5).unwrap_or_else(|| DEFAULT_DATABASE.to_owned()),
            tenant: text(row, 6).unwrap_or_else(|| DEFAULT_TENANT.to_owned()),
            id,
            name,
            metadata,
            metadata_segment: None,
            adopted_segment: None,
            vector_segment: None,
            metadata_seq: None,
            vector_seq: None,
            lost: false,
        };
        collection.take_segments(snapshot, segments)?;
        found.push(collection);
    }
    Ok(found)
}

/// Adds collections that have records but no row in the catalog: those that segments name, and
/// segments that no row names and whose collection is not certain.
fn with_lost(
    snapshot: &Snapshot,
    directory: &Path,
    mut found: Vec<CollectionRow>,
) -> rusqlite::Result<Vec<CollectionRow>> {
    let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = snapshot.connection().prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut names = Vec::new();
        while let Some(row) = rows.next()? {
            names.extend(text(row, 0));
        }
        Ok(names)
    };
    if snapshot.has_table("segments") {
        for id in names("SELECT DISTINCT collection FROM segments ORDER BY collection")? {
            if found.iter().all(|row| row.id != id) {
                let metadata = collection_metadata(snapshot, &id)?;
                let mut row = CollectionRow::lost(&id, metadata);
                row.take_segments(snapshot, segments(snapshot, &id)?)?;
                found.push(row);
            }
        }
    }
    if snapshot.has_table("embeddings") {
        let mut unclaimed =
            names("SELECT DISTINCT segment_id FROM embeddings ORDER BY segment_id")?;
        unclaimed.retain(|segment| {
            let mut claims = found.iter().filter_map(|row| row.metadata_segment.as_ref());
            claims.all(|claimed| claimed != segment)
        });
        for segment in adoption::adopt(snapshot, directory, &mut found, unclaimed)? {
            let mut row = CollectionRow::lost(&segment, Metadata::default());
            row.metadata_seq = watermark(snapshot, &segment)?;
            row.metadata_segment = Some(segment);
            found.push(row);
        }
    }
    Ok(found)
}

fn text(row: &Row<'_>, column: usize) -> Option<String> {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn segments(snapshot: &Snapshot, collection: &str) -> rusqlite::Result<Vec<(String, String)>> {
    if !snapshot.has_table("segments") {
        return Ok(Vec::new());
    }
    let mut statement = snapshot
        .connection()
        .prepare_cached("SELECT id, scope FROM segments WHERE collection = ?1 ORDER BY rowid")?;
    let rows = statement.query_map([collection], |row| {
        Ok((
            text(row, 0).unwrap_or_default(),
            text(row, 1).unwrap_or_default(),
        ))
    })?;
    rows.collect()
}

/// Whether a name refers to an entry directly in the directory.
fn is_plain_name(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    !name.is_empty() && name.len() <= 255 && !name.starts_with('.') && name.chars().all(plain)
}

/// The watermark of a segment.
fn watermark(snapshot: &Snapshot, segment: &str) -> rusqlite::Result<Option<SeqId>> {
    if !snapshot.has_table("max_seq_id") {
        return Ok(None);
    }
    let mut statement = snapshot
        .connection()
        .prepare_cached("SELECT seq_id FROM max_seq_id WHERE segment_id = ?1")?;
    let mut rows = statement.query([segment])?;
    match rows.next()? {
        Some(row) => Ok(SeqId::of(row.get_ref(0)?)),
        None => Ok(None),
    }
}

fn collection_metadata(snapshot: &Snapshot, collection: &str) -> rusqlite::Result<Metadata> {
    let mut metadata = Metadata::default();
    if !snapshot.has_table("collection_metadata") {
        return Ok(metadata);
    }
    let with_bool = snapshot
        .columns("collection_metadata")
        .iter()
        .any(|column| column == "bool_value");
    let sql = format!(
        "SELECT key, str_value, int_value, float_value, {} FROM collection_metadata WHERE collection_id = ?1",
        if with_bool { "bool_value" } else { "NULL" }
    );
    let mut statement = snapshot.connection().prepare(&sql)?;
    let mut rows = statement.query([collection])?;
    while let Some(row) = rows.next()? {
        if let (Some(key), Some(value)) = (text(row, 0), scalar(row, 1)) {
            metadata.0.insert(key, value);
        }
    }
    Ok(metadata)
}

/// The value of four columns of which one is set: text, integer, float, boolean.
pub(crate) fn scalar(row: &Row<'_>, first: usize) -> Option<MetaValue> {
    let column = |at: usize| row.get_ref(first + at).unwrap_or(ValueRef::Null);
    if let ValueRef::Text(bytes) = column(0) {
        return Some(MetaValue::Str(String::from_utf8_lossy(bytes).into_owned()));
    }
    if let ValueRef::Integer(value) = column(3) {
        return Some(MetaValue::Bool(value != 0));
    }
    if let ValueRef::Integer(value) = column(1) {
        return Some(MetaValue::Int(value));
    }
    match column(2) {
        ValueRef::Real(value) if value.is_finite() => Some(MetaValue::Float(value)),
        ValueRef::Integer(value) => Some(MetaValue::Float(value as f64)),
        _ => None,
    }
}

/// The path of the vector index in the schema of 1.5.
const INDEX: &str = "/keys/#embedding/float_list/vector_index/config";

/// The legacy key comes first, then the schema, then the older configuration. ChromaDB's default is
/// `l2`.
fn metric(metadata: &Metadata, schema: Option<&Value>, config: Option<&Value>) -> Metric {
    let named = match metadata.0.get("hnsw:space") {
        Some(MetaValue::Str(space)) => Some(space.as_str()),
        _ => schema
            .and_then(|schema| schema.pointer(INDEX)?.get("space")?.as_str())
            .or_else(|| config.and_then(|config| config.pointer("/hnsw/space")?.as_str()))
            .or_else(|| {
                config.and_then(|config| config.pointer("/hnsw_configuration/space")?.as_str())
            }),
    };
    named
        .and_then(|name| Metric::parse(name).ok())
        .unwrap_or(Metric::L2)
}

/// Whether ChromaDB 1.5 finds the metric. It reads the schema, or else the configuration. A
/// configuration that is marked as legacy makes it read the legacy keys.
fn is_metric_recorded(schema: Option<&Value>, config: Option<&Value>) -> bool {
    let in_schema = schema.is_some_and(|schema| schema.pointer(INDEX).is_some());
    let in_config = config.is_some_and(|config| {
        config.pointer("/hnsw/space").is_some()
            || config.pointer("/hnsw_configuration/_type").is_some()
    });
    in_schema || in_config
}

fn embedding_function(schema: Option<&Value>, config: Option<&Value>) -> Option<String> {
    let function = schema
        .and_then(|schema| schema.pointer(INDEX)?.get("embedding_function"))
        .or_else(|| config.and_then(|config| config.get("embedding_function")))?;
    Some(function.get("name")?.as_str()?.to_owned())
}

fn sync_threshold(metadata: &Metadata, schema: Option<&Value>) -> Option<u64> {
    match metadata.0.get("hnsw:sync_threshold") {
        Some(MetaValue::Int(value)) => u64::try_from(*value).ok(),
        _ => schema?
            .pointer(INDEX)?
            .pointer("/hnsw/sync_threshold")?
            .as_u64(),
    }
}

/// The highest number in the queue. An implausible number is ignored if only a number holder has
/// it.
pub(crate) fn highest_in_queue(snapshot: &Snapshot) -> rusqlite::Result<u64> {
    if !snapshot.has_table("embeddings_queue") {
        return Ok(0);
    }
    let highest: Option<i64> = snapshot.connection().query_row(
        "SELECT max(seq_id) FROM embeddings_queue WHERE seq_id <= ?1 OR id IS NOT ?2",
        (COUNTED as i64, NUMBER_HOLDER),
        |row| row.get(0),
    )?;
    Ok(highest
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or(0))
}
