//! Damages to `chroma.sqlite3`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use rusqlite::Connection;

use super::super::peer;
use super::super::scene::{DATABASE, Scene};

fn execute(scene: &Scene, statements: &str) {
    let database = scene.sql();
    database.execute_batch(statements).unwrap();
    database.close().unwrap();
}

/// Applies `change` to every sequence number of a table.
fn renumber(scene: &Scene, table: &str, change: impl Fn(i64) -> rusqlite::types::Value) {
    let database = scene.sql();
    let mut statement = database
        .prepare(&format!("SELECT rowid, seq_id FROM {table}"))
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let rows: Vec<(i64, i64)> = rows.unwrap().map(Result::unwrap).collect();
    drop(statement);
    let transaction = database.unchecked_transaction().unwrap();
    for (row, number) in rows {
        let sql = format!("UPDATE {table} SET seq_id = ?2 WHERE rowid = ?1");
        transaction.execute(&sql, (row, change(number))).unwrap();
    }
    transaction.commit().unwrap();
}

fn blob(number: i64) -> rusqlite::types::Value {
    number.to_be_bytes().to_vec().into()
}

/// An earlier state, as from a backup.
pub fn stale_sqlite(scene: &Scene) {
    let earlier = scene.other.as_ref().unwrap().join(DATABASE);
    fs::copy(earlier, scene.database()).unwrap();
}

pub fn blob_seq_ids(scene: &Scene) {
    renumber(scene, "max_seq_id", blob);
    renumber(scene, "embeddings", blob);
}

pub fn blob_seq_ids_embeddings_only(scene: &Scene) {
    renumber(scene, "embeddings", blob);
}

/// What migration 5 makes of a number that is already an INTEGER: its digits as text, padded with
/// 0x11.
pub fn max_seq_id_poisoned(scene: &Scene) {
    renumber(scene, "max_seq_id", |number| {
        let digits = number.to_string();
        let mut bytes = [0x11; 8];
        bytes[8 - digits.len()..].copy_from_slice(digits.as_bytes());
        i64::from_be_bytes(bytes).into()
    });
}

/// Up to 0.6 the queue has `null` for a missing document, and chromadb 1.5.9 panics when it reads
/// one. This removes the key.
pub fn without_null_documents(scene: &Scene) {
    execute(
        scene,
        r#"UPDATE embeddings_queue SET metadata = json_remove(metadata, '$."chroma:document"')
           WHERE json_extract(metadata, '$."chroma:document"') IS NULL"#,
    );
}

/// MemPalace's conversion ran before chromadb's migration.
pub fn legacy_063_shimmed(scene: &Scene) {
    let database = scene.sql();
    for table in ["max_seq_id", "embeddings"] {
        let mut statement = database
            .prepare(&format!("SELECT rowid, seq_id FROM {table}"))
            .unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows: Vec<(i64, [u8; 8])> = rows.unwrap().map(Result::unwrap).collect();
        for (row, bytes) in rows {
            let sql = format!("UPDATE {table} SET seq_id = ?2 WHERE rowid = ?1");
            let number = i64::from_be_bytes(bytes);
            database.execute(&sql, (row, number)).unwrap();
        }
    }
    database.close().unwrap();
    fs::write(scene.directory.join(".blob_seq_ids_migrated"), "").unwrap();
    peer::open_for_real(&scene.directory).unwrap();
}

pub fn max_seq_id_vector_row_missing(scene: &Scene) {
    let segment = scene.vector_segment();
    execute(
        scene,
        &format!("DELETE FROM max_seq_id WHERE segment_id = '{segment}'"),
    );
}

/// Row numbers of every 25th record of the first collection.
fn chosen(scene: &Scene) -> String {
    let segment = scene.metadata_segment();
    format!("SELECT id FROM embeddings WHERE segment_id = '{segment}' AND id % 25 = 3")
}

pub fn metadata_rows_missing(scene: &Scene) {
    let chosen = chosen(scene);
    execute(
        scene,
        &format!(
            "CREATE TEMP TABLE gone AS {chosen};
             DELETE FROM embedding_metadata WHERE id IN (SELECT id FROM gone);
             DELETE FROM embedding_metadata_array WHERE id IN (SELECT id FROM gone);
             DELETE FROM embedding_fulltext_search WHERE rowid IN (SELECT id FROM gone);
             DELETE FROM embeddings WHERE id IN (SELECT id FROM gone);"
        ),
    );
}

/// Metadata of records that do not exist.
pub fn metadata_orphans(scene: &Scene) {
    let chosen = chosen(scene);
    execute(
        scene,
        &format!("DELETE FROM embeddings WHERE id IN ({chosen})"),
    );
}

/// Records that have lost their metadata. Their documents are still in the full-text table.
pub fn metadata_values_missing(scene: &Scene) {
    let chosen = chosen(scene);
    execute(
        scene,
        &format!(
            "DELETE FROM embedding_metadata WHERE id IN ({chosen});
             DELETE FROM embedding_metadata_array WHERE id IN ({chosen});"
        ),
    );
}

pub fn dimension_null(scene: &Scene) {
    execute(scene, "UPDATE collections SET dimension = NULL");
}

pub fn dimension_wrong(scene: &Scene) {
    execute(scene, "UPDATE collections SET dimension = dimension * 2");
}

pub fn segment_row_missing(scene: &Scene) {
    let segment = scene.vector_segment();
    execute(
        scene,
        &format!("DELETE FROM segments WHERE id = '{segment}'"),
    );
}

pub fn fts_content_missing(scene: &Scene) {
    execute(
        scene,
        "DELETE FROM embedding_fulltext_search_content WHERE id % 3 = 0",
    );
}

pub fn fts_index_damaged(scene: &Scene) {
    execute(
        scene,
        "UPDATE embedding_fulltext_search_data SET block = randomblob(length(block)) WHERE id > 100",
    );
}

/// The first page of an index, so that no record is lost.
pub fn sqlite_page_garbage(scene: &Scene) {
    let (root, size): (u32, u32) = scene
        .pristine_sql()
        .query_row(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema \
             WHERE type = 'index' AND tbl_name = 'embedding_metadata' AND sql IS NOT NULL ORDER BY name LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let mut garbage = vec![0; size as usize];
    fastrand::Rng::with_seed(9).fill(&mut garbage);
    let file = File::options().write(true).open(scene.database()).unwrap();
    file.write_all_at(&garbage, u64::from(root - 1) * u64::from(size))
        .unwrap();
}

pub fn sqlite_truncated(scene: &Scene) {
    let file = File::options().write(true).open(scene.database()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2 / 4096 * 4096)
        .unwrap();
}

pub fn schema_null(scene: &Scene) {
    execute(scene, "UPDATE collections SET schema_str = NULL");
}

pub fn config_legacy_no_type(scene: &Scene) {
    execute(
        scene,
        r#"UPDATE collections SET schema_str = NULL, config_json_str =
           '{"hnsw_configuration": {"space": "l2", "ef_construction": 100, "ef_search": 10, "num_threads": 2, "M": 16,
             "resize_factor": 1.2, "batch_size": 100, "sync_threshold": 400}}'"#,
    );
}

/// A transaction that was partly written to the file when its process ended.
pub fn hot_journal(scene: &Scene) {
    let path = scene.database();
    let journal = scene.directory.join(format!("{DATABASE}-journal"));
    let kept = tempfile::tempdir().unwrap();
    let (torn, hot) = (kept.path().join("torn"), kept.path().join("hot"));
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA cache_size = 5; BEGIN IMMEDIATE;
             UPDATE embedding_metadata SET string_value = 'torn' WHERE string_value IS NOT NULL;
             DELETE FROM embeddings_queue; UPDATE max_seq_id SET seq_id = 1;",
        )
        .unwrap();
    fs::copy(&path, &torn).unwrap();
    fs::copy(&journal, &hot).unwrap();
    database.execute_batch("ROLLBACK").unwrap();
    database.close().unwrap();
    fs::copy(torn, &path).unwrap();
    fs::copy(hot, journal).unwrap();
}
