//! The tables of the database and the append-only list of migrations. docs/format.md describes each
//! column; both change in the same commit.

use loci_core::Machine;
use rusqlite::Connection;

use crate::collection::passage;
use crate::fault::Attempt;

/// The format that this build writes. Migration `n` leads from format `n` to `n + 1`.
pub(crate) const FORMAT: i64 = MIGRATIONS.len() as i64;
/// The first format that records the machine of a source.
const FIRST_WITH_MACHINES: i64 = 7;
/// Marks the file as a palace ("Loci").
pub(crate) const APPLICATION_ID: i64 = 0x4C6F_6369;
/// Pages of 4096 bytes waste a fifth of the file on vectors of 1.5 KB.
pub(crate) const PAGE_SIZE: u32 = 8192;

/// One step: SQL statements, then what SQL alone cannot do.
struct Migration {
    sql: &'static str,
    fill: Option<fn(&Connection) -> Attempt<()>>,
}

const MIGRATIONS: [Migration; 9] = [
    Migration {
        sql: FIRST,
        fill: None,
    },
    Migration {
        sql: SECOND,
        fill: None,
    },
    Migration {
        sql: THIRD,
        fill: Some(fill_third),
    },
    Migration {
        sql: FOURTH,
        fill: None,
    },
    Migration {
        sql: FIFTH,
        fill: None,
    },
    Migration {
        sql: SIXTH,
        fill: None,
    },
    Migration {
        sql: SEVENTH,
        fill: None,
    },
    Migration {
        sql: EIGHTH,
        fill: Some(fill_eighth),
    },
    Migration {
        sql: NINTH,
        fill: None,
    },
];

const FIRST: &str = "
CREATE TABLE palace (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    identity BLOB NOT NULL,
    generation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    tombstone_floor INTEGER NOT NULL DEFAULT 0,
    purge_pending INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
);
CREATE TABLE collections (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    metric TEXT NOT NULL,
    dimension INTEGER,
    embedder TEXT,
    drawers INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0,
    seq INTEGER NOT NULL,
    dropped INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE drawers (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    id TEXT NOT NULL,
    text TEXT,
    metadata TEXT NOT NULL,
    seq INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    wing TEXT NOT NULL DEFAULT '',
    source_file TEXT NOT NULL DEFAULT '',
    content_hash BLOB NOT NULL DEFAULT '',
    start_line TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX drawers_id ON drawers (collection, id);
CREATE INDEX drawers_order ON drawers (collection);
CREATE INDEX drawers_seq ON drawers (collection, seq);
CREATE TABLE vectors (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX vectors_order ON vectors (collection);
CREATE INDEX vectors_seq ON vectors (collection, seq);
CREATE TABLE label_keys (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE labels (
    collection INTEGER NOT NULL,
    key INTEGER NOT NULL,
    type INTEGER NOT NULL,
    value NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (collection, key, type, value, row)
) WITHOUT ROWID;
CREATE TABLE tombstones (
    seq INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    row INTEGER NOT NULL
);
CREATE INDEX tombstones_collection ON tombstones (collection, seq);
CREATE INDEX tombstones_row ON tombstones (row);
CREATE TABLE usage (
    row INTEGER PRIMARY KEY,
    access_count INTEGER NOT NULL DEFAULT 0,
    use_count INTEGER NOT NULL DEFAULT 0,
    last_used_at INTEGER
);
CREATE TABLE snapshots (
    collection INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    covered INTEGER NOT NULL,
    count INTEGER NOT NULL,
    dimension INTEGER NOT NULL,
    metric TEXT NOT NULL,
    digest BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    built_at INTEGER NOT NULL
);
CREATE TABLE index_failures (
    id INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    at INTEGER NOT NULL,
    detail TEXT NOT NULL
);
CREATE TABLE removed_duplicates (
    id INTEGER PRIMARY KEY,
    removed_at INTEGER NOT NULL,
    kept_row INTEGER NOT NULL,
    row INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    drawer_id TEXT NOT NULL,
    text TEXT,
    metadata TEXT NOT NULL,
    vector BLOB,
    access_count INTEGER NOT NULL DEFAULT 0,
    use_count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE damaged_drawers (
    id INTEGER PRIMARY KEY,
    removed_at INTEGER NOT NULL,
    row INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    drawer_id,
    text,
    metadata,
    checksum,
    vector
);
CREATE VIRTUAL TABLE postings USING fts5(
    text, content='drawers', content_rowid='row',
    tokenize='porter unicode61 remove_diacritics 2'
);
";

/// Search tables: passages, our own terms in the postings, vectors of other embedders.
const SECOND: &str = "
ALTER TABLE collections ADD COLUMN terms INTEGER NOT NULL DEFAULT 0;
CREATE TABLE passages (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    source INTEGER NOT NULL,
    line INTEGER NOT NULL,
    authored_at INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    label TEXT NOT NULL,
    tokens BLOB NOT NULL
);
CREATE INDEX passages_source ON passages (source, line, row, terms, authored_at, label) WHERE source <> 0;
CREATE INDEX passages_date ON passages (collection, authored_at);
CREATE TABLE embedders (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE
);
CREATE TABLE other_vectors (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    embedder INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX other_vectors_order ON other_vectors (collection, embedder);
CREATE TABLE reembeddings (
    collection INTEGER PRIMARY KEY,
    identity TEXT NOT NULL,
    started_at INTEGER NOT NULL
);
CREATE TABLE fresh_vectors (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX fresh_vectors_order ON fresh_vectors (collection);
DROP TABLE postings;
CREATE VIEW analysed AS SELECT row, loci_terms(text) AS text FROM drawers;
CREATE VIRTUAL TABLE postings USING fts5(
    text, content='analysed', content_rowid='row', tokenize='ascii'
);
";

/// Mining: the ledger of sources, recorded runs, data for undo, records of forgotten texts. The
/// postings include headings and file names.
const THIRD: &str = "
DROP TABLE postings;
DROP VIEW analysed;
ALTER TABLE palace ADD COLUMN forget_key BLOB NOT NULL DEFAULT x'';
ALTER TABLE drawers ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;
DROP INDEX IF EXISTS drawers_mined;
UPDATE drawers SET start_line = start_line || '.' || json_extract(metadata, '$.part')
    WHERE source_file <> ''
      AND CASE WHEN json_valid(metadata) THEN json_type(metadata, '$.part') = 'integer' ELSE 0 END;
CREATE INDEX drawers_origin ON drawers (origin, content_hash) WHERE origin <> 0;
CREATE TABLE sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    name TEXT NOT NULL,
    section INTEGER NOT NULL,
    kind TEXT NOT NULL,
    root TEXT NOT NULL,
    wing TEXT NOT NULL,
    room TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL,
    read_ns INTEGER NOT NULL,
    hash BLOB NOT NULL,
    recipe TEXT NOT NULL,
    mark TEXT NOT NULL,
    complete INTEGER NOT NULL,
    revision INTEGER NOT NULL
);
CREATE UNIQUE INDEX sources_name ON sources (collection, name, section);
CREATE INDEX sources_hash ON sources (collection, hash) WHERE section = 0;
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    roots TEXT NOT NULL,
    summary TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
);
CREATE TABLE run_sources (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    source INTEGER NOT NULL,
    first_row INTEGER NOT NULL,
    last_row INTEGER NOT NULL,
    before TEXT NOT NULL
);
CREATE INDEX run_sources_run ON run_sources (run);
CREATE INDEX run_sources_source ON run_sources (source, run);
CREATE TABLE kept_drawers (
    id INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    row INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    drawer_id TEXT NOT NULL,
    text TEXT,
    metadata TEXT NOT NULL,
    patch TEXT NOT NULL,
    origin INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    use_count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX kept_drawers_step ON kept_drawers (step);
CREATE INDEX kept_drawers_row ON kept_drawers (row);
CREATE TABLE forgotten (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,
    hash BLOB NOT NULL,
    lines BLOB NOT NULL,
    forgotten_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX forgotten_hash ON forgotten (collection, hash);
CREATE VIEW analysed AS SELECT row, loci_terms(text, metadata) AS text FROM drawers;
CREATE VIRTUAL TABLE postings USING fts5(
    text, content='analysed', content_rowid='row', tokenize='ascii'
);
";

/// Facts and links. Kinds, collections and rooms are stored as text, because they need not exist.
const FOURTH: &str = "
CREATE TABLE facts (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    object TEXT NOT NULL,
    valid_from TEXT,
    valid_to TEXT,
    confidence REAL,
    source_collection TEXT,
    source_id TEXT,
    metadata TEXT NOT NULL,
    seq INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX facts_id ON facts (id);
CREATE INDEX facts_subject ON facts (subject, predicate);
CREATE INDEX facts_object ON facts (object);
CREATE INDEX facts_source ON facts (source_collection, source_id) WHERE source_id IS NOT NULL;
CREATE TABLE links (
    row INTEGER PRIMARY KEY,
    from_kind TEXT NOT NULL,
    from_place TEXT NOT NULL,
    from_name TEXT NOT NULL,
    to_kind TEXT NOT NULL,
    to_place TEXT NOT NULL,
    to_name TEXT NOT NULL,
    label TEXT NOT NULL,
    metadata TEXT NOT NULL,
    seq INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX links_ends
    ON links (from_kind, from_place, from_name, to_kind, to_place, to_name, label);
CREATE INDEX links_to ON links (to_kind, to_place, to_name);
CREATE TABLE damaged_facts (
    id INTEGER PRIMARY KEY,
    removed_at INTEGER NOT NULL,
    row INTEGER NOT NULL,
    fact_id,
    subject,
    predicate,
    object,
    valid_from,
    valid_to,
    confidence,
    source_collection,
    source_id,
    metadata,
    checksum
);
CREATE TABLE damaged_links (
    id INTEGER PRIMARY KEY,
    removed_at INTEGER NOT NULL,
    row INTEGER NOT NULL,
    from_kind,
    from_place,
    from_name,
    to_kind,
    to_place,
    to_name,
    label,
    metadata,
    checksum
);
";

/// A forgotten text is recognised by its lines in order and by its place. Older records have
/// neither and are still recognised by their long lines.
const FIFTH: &str = "
ALTER TABLE forgotten ADD COLUMN sequence BLOB NOT NULL DEFAULT x'';
ALTER TABLE forgotten ADD COLUMN source BLOB NOT NULL DEFAULT x'';
ALTER TABLE forgotten ADD COLUMN exchange INTEGER NOT NULL DEFAULT 0;
ALTER TABLE forgotten ADD COLUMN before BLOB NOT NULL DEFAULT x'';
ALTER TABLE forgotten ADD COLUMN after BLOB NOT NULL DEFAULT x'';
DROP INDEX forgotten_hash;
CREATE UNIQUE INDEX forgotten_hash ON forgotten (collection, hash, source, exchange, before, after);
CREATE INDEX forgotten_source ON forgotten (collection, source);
";

/// Projects and their wings. An older palace has no records; the first claims use the folders of
/// what was mined. The text comes first in the indexes: a salvage without a schema would take an
/// entry of number, text and row for one of `drawers_id`.
const SIXTH: &str = "
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL,
    wing TEXT NOT NULL,
    name TEXT NOT NULL,
    remote TEXT,
    first_commit TEXT,
    path TEXT NOT NULL,
    since INTEGER NOT NULL
);
CREATE UNIQUE INDEX projects_path ON projects (collection, path, wing);
CREATE INDEX projects_wing ON projects (wing, collection);
CREATE INDEX projects_remote ON projects (remote, collection) WHERE remote IS NOT NULL;
CREATE INDEX projects_first_commit ON projects (first_commit, collection) WHERE first_commit IS NOT NULL;
";

/// The machine that mined a source. [`give_sources_to`] then assigns the existing sources to the
/// machine that migrates.
const SEVENTH: &str = "
ALTER TABLE sources ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN host TEXT NOT NULL DEFAULT '';
DROP INDEX sources_name;
CREATE UNIQUE INDEX sources_name ON sources (collection, name, section, machine);
";

/// No column changes: the label of a passage is its speaker, else now its role.
const EIGHTH: &str = "";

/// No column changes: a vector may be stored as codes. Vectors from before stay as they are.
const NINTH: &str = "";

/// Writes the labels of all drawers whose metadata has a role.
fn fill_eighth(db: &Connection) -> Attempt<()> {
    let mut statement = db.prepare(
        "SELECT d.row, d.text, d.metadata FROM label_keys k
             JOIN collections c
             JOIN labels l ON l.collection = c.id AND l.key = k.id
             JOIN drawers d ON d.row = l.row
         WHERE k.name = 'role'",
    )?;
    let mut update = db.prepare("UPDATE passages SET label = ?2 WHERE row = ?1 AND label <> ?2")?;
    let mut rows = statement.query([])?;
    while let Some(columns) = rows.next()? {
        let row: i64 = columns.get(0)?;
        let text = columns.get_ref(1)?.as_str_or_null().ok().flatten();
        update.execute((row, passage::label(text, &passage::metadata(columns, 2)?)))?;
    }
    Ok(())
}

/// Assigns all sources to one machine, including those that an undo would restore. For a palace
/// whose format records no machines, inside the transaction that migrates it.
fn give_sources_to(db: &Connection, machine: &Machine) -> Attempt<()> {
    db.execute(
        "UPDATE sources SET machine = ?1, host = ?2",
        [&machine.id, &machine.host],
    )?;
    db.execute(
        "UPDATE run_sources SET before = json_set(before, '$.machine', json_object('id', ?1, 'host', ?2))
         WHERE before <> '' AND json_valid(before)",
        [&machine.id, &machine.host],
    )?;
    Ok(())
}

fn fill_third(db: &Connection) -> Attempt<()> {
    ensure_forget_key(db)?;
    passage::rebuild(db)
}

/// Creates the key for the hashes of forgotten texts, once per palace. So the hashes of two palaces
/// cannot be compared, and a guessed text cannot be checked without the key.
pub(crate) fn ensure_forget_key(db: &Connection) -> Attempt<()> {
    let mut key = [0u8; 32];
    let (first, second) = key.split_at_mut(16);
    first.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    second.copy_from_slice(uuid::Uuid::new_v4().as_bytes());
    db.execute(
        "UPDATE palace SET forget_key = ?1 WHERE length(forget_key) <> 32",
        [key.as_slice()],
    )?;
    Ok(())
}

/// The postings, as the last migration leaves them.
pub(crate) const POSTINGS: &str = "CREATE VIRTUAL TABLE postings USING fts5(
    text, content='analysed', content_rowid='row', tokenize='ascii'
);";

/// Kept apart from the migrations: a palace without this index is cleaned of duplicates first, then
/// gets it.
pub(crate) const MINED_INDEX: &str = "
CREATE UNIQUE INDEX drawers_mined
    ON drawers (collection, wing, source_file, content_hash, start_line)
    WHERE source_file <> ''";

/// The format of an open database; 0 for an empty file.
pub(crate) fn format(db: &Connection) -> Attempt<i64> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Whether the second uniqueness index exists.
pub(crate) fn has_mined_index(db: &Connection) -> Attempt<bool> {
    Ok(db.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = 'drawers_mined')",
        [],
        |row| row.get(0),
    )?)
}

/// Migrates a database from format `from` to [`FORMAT`]. The caller holds the palace lock
/// exclusively and a write transaction. Sources from formats without machines are assigned to
/// `machine`.
pub(crate) fn migrate(db: &Connection, from: i64, machine: &Machine) -> Attempt<()> {
    advance(db, from, FORMAT)?;
    if (1..FIRST_WITH_MACHINES).contains(&from) && !machine.id.is_empty() {
        give_sources_to(db, machine)?;
    }
    Ok(())
}

/// Creates the whole schema of a format in an empty database.
pub(crate) fn make(db: &Connection, format: i64) -> Attempt<()> {
    advance(db, 0, format)?;
    db.execute_batch(MINED_INDEX)?;
    Ok(())
}

fn advance(db: &Connection, from: i64, to: i64) -> Attempt<()> {
    let steps = MIGRATIONS.iter().take(to.max(0) as usize);
    for step in steps.skip(from.max(0) as usize) {
        db.execute_batch(step.sql)?;
        if let Some(fill) = step.fill {
            fill(db)?;
        }
    }
    // Both numbers are part of the caller's transaction, so no crash leaves a schema with the
    // number of another format.
    db.pragma_update(None, "user_version", to)?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(())
}
