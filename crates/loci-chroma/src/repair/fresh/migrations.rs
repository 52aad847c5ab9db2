//! The table of migrations, from which ChromaDB knows the version of a database. ChromaDB compares
//! every row with its own copy, word for word, so a lost row cannot be reconstructed here.

use loci_foreign::chroma::Version;
use loci_salvage::Snapshot;
use rusqlite::Connection;

use super::schema::own_sql;

/// The version in the table of migrations. If that is lost, the version that the columns of the
/// catalog belong to.
pub(super) fn version(source: &Snapshot, recorded: &Version) -> rusqlite::Result<Version> {
    let guessed = guessed(source)?;
    let known = |number: u32, guessed: u32| if number == 0 { guessed } else { number };
    Ok(Version {
        queue: known(recorded.queue, guessed.queue),
        metadata: known(recorded.metadata, guessed.metadata),
        system: known(recorded.system, guessed.system),
        has_migrations: true,
    })
}

fn guessed(source: &Snapshot) -> rusqlite::Result<Version> {
    let catalog = own_sql(source, "collections")?;
    let has = |column: &str| catalog.as_ref().is_none_or(|sql| sql.contains(column));
    let (queue, metadata, system) = match (has("config_json_str"), has("schema_str")) {
        (_, true) => (2, 6, 10),
        (true, false) => (2, 4, 9),
        (false, false) => (1, 3, 5),
    };
    Ok(Version {
        queue,
        metadata,
        system,
        has_migrations: true,
    })
}

/// How many rows of the table are lost.
pub(super) fn missing(target: &Connection, version: &Version) -> rusqlite::Result<u32> {
    let mut missing = 0;
    for (part, newest) in [
        ("sysdb", version.system),
        ("metadb", version.metadata),
        ("embeddings_queue", version.queue),
    ] {
        let kept: u32 = target.query_row(
            "SELECT count(*) FROM migrations WHERE dir = ?1 AND version BETWEEN 1 AND ?2",
            (part, newest),
            |row| row.get(0),
        )?;
        missing += newest.saturating_sub(kept);
    }
    Ok(missing)
}
