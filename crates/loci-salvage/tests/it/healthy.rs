//! A sound database is read completely.

use crate::support::{Rows, Store, of_root, salvage};
use loci_salvage::{DatabaseFile, IndexRecord, SchemaEntry, Value};
use std::collections::BTreeSet;

#[test]
fn every_row_equals_what_sql_reads_at_every_page_size() {
    for page_size in (9..=16).map(|power| 1 << power) {
        let store = Store::filled(page_size, 400);
        let (records, report) = salvage(&store.path, None);
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(of_root(&records, store.root("memo")), store.memo());
        assert_eq!(of_root(&records, store.root("tag")), store.tag());
        let schema = records
            .iter()
            .filter(|record| record.root == Some(1))
            .count();
        assert_eq!(records.len(), 800 + schema);
        let file = DatabaseFile::open(&store.path, None).unwrap();
        assert_eq!(file.page_size(), page_size);
        assert_eq!(file.wal_frames_applied(), 0);
    }
}

#[test]
fn every_kind_of_value_comes_back_exactly() {
    let store = Store::empty(4096);
    store.sql.execute_batch("CREATE TABLE v(a, b, c)").unwrap();
    let mut integers = vec![0, 1, -1, i64::MAX, i64::MIN];
    for bits in [7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 62] {
        let edge = 1_i64 << bits;
        integers.extend([edge - 1, edge, -edge, -edge - 1]);
    }
    for number in integers {
        store
            .sql
            .execute("INSERT INTO v VALUES (?1, ?1, NULL)", [number])
            .unwrap();
    }
    for real in [
        0.5,
        -0.0,
        1e300,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2.0,
    ] {
        store
            .sql
            .execute("INSERT INTO v VALUES (NULL, ?1, 1)", [real])
            .unwrap();
    }
    for text in [
        "",
        "a",
        "naïve 🏛 память",
        "with\0zero",
        &"long ".repeat(40_000),
    ] {
        store
            .sql
            .execute("INSERT INTO v VALUES (?1, 0, ?1)", [text])
            .unwrap();
    }
    for blob in [
        vec![],
        vec![0],
        vec![255; 100],
        vec![7; 4_061],
        vec![0; 300_000],
    ] {
        store
            .sql
            .execute("INSERT INTO v VALUES (?1, NULL, NULL)", [blob])
            .unwrap();
    }
    store
        .sql
        .execute_batch("INSERT INTO v VALUES (CAST(x'ff41' AS TEXT), 1, 2)")
        .unwrap();
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    let rows = of_root(&records, store.root("v"));
    assert_eq!(rows, store.rows("SELECT rowid, * FROM v"));
    assert!(
        rows.values()
            .any(|row| row[0] == Value::InvalidText(vec![0xff, 0x41]))
    );
}

#[test]
fn payloads_of_every_length_around_the_overflow_thresholds_come_back() {
    let store = Store::empty(512);
    store.sql.execute_batch("CREATE TABLE v(a)").unwrap();
    let tx = store.sql.unchecked_transaction().unwrap();
    for length in (0..40)
        .chain(430..560)
        .chain(930..1_070)
        .chain(1_440..1_600)
    {
        tx.execute("INSERT INTO v VALUES (?1)", [vec![length as u8; length]])
            .unwrap();
    }
    tx.commit().unwrap();
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(
        of_root(&records, store.root("v")),
        store.rows("SELECT rowid, * FROM v")
    );
}

#[test]
fn rowids_of_every_width_come_back() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch("CREATE TABLE v(id INTEGER PRIMARY KEY, a)")
        .unwrap();
    let ids = [
        i64::MIN,
        -1,
        0,
        1,
        127,
        128,
        1 << 20,
        1 << 48,
        1 << 55,
        1 << 56,
        i64::MAX,
    ];
    for id in ids {
        store
            .sql
            .execute("INSERT INTO v VALUES (?1, 'x')", [id])
            .unwrap();
    }
    let (records, report) = salvage(&store.path, None);
    assert!(report.is_clean(), "{report:?}");
    let rows = of_root(&records, store.root("v"));
    assert_eq!(rows.keys().copied().collect::<Vec<_>>(), ids);
    assert!(rows.values().all(|row| row[0] == Value::Null));
}

#[test]
fn columns_added_later_are_missing_from_older_records() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch(
            "CREATE TABLE v(a); INSERT INTO v VALUES ('old');
             ALTER TABLE v ADD COLUMN b DEFAULT 'filled'; INSERT INTO v VALUES ('new', 2);",
        )
        .unwrap();
    let (records, _) = salvage(&store.path, None);
    let old = vec![Value::Text("old".into())];
    let new = vec![Value::Text("new".into()), Value::Integer(2)];
    assert_eq!(
        of_root(&records, store.root("v")),
        Rows::from([(1, old), (2, new)])
    );
}

#[test]
fn a_real_column_holds_whole_numbers_as_integers() {
    let store = Store::empty(4096);
    store
        .sql
        .execute_batch("CREATE TABLE v(a REAL); INSERT INTO v VALUES (3.0), (3.5)")
        .unwrap();
    let (records, _) = salvage(&store.path, None);
    let rows = of_root(&records, store.root("v"));
    assert_eq!(rows[&1], [Value::Integer(3)]);
    assert_eq!(rows[&2], [Value::Real(3.5)]);
}

#[test]
fn the_schema_reads_as_sql_reports_it_even_over_many_pages() {
    let store = Store::filled(512, 3);
    for table in 0..60 {
        let sql = format!(
            "CREATE TABLE t{table}(a UNIQUE, {} INT)",
            "b".repeat(table * 20 + 1)
        );
        store.sql.execute_batch(&sql).unwrap();
    }
    store
        .sql
        .execute_batch("CREATE VIEW seen AS SELECT * FROM memo")
        .unwrap();
    let schema = DatabaseFile::open(&store.path, None).unwrap().schema();
    let told: Vec<SchemaEntry> = store
        .sql
        .prepare("SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid")
        .unwrap()
        .query_map([], |row| {
            let root: u32 = row.get(3)?;
            Ok(SchemaEntry {
                kind: row.get(0)?,
                name: row.get(1)?,
                table_name: row.get(2)?,
                root_page: (root > 0).then_some(root),
                sql: row.get(4)?,
            })
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(schema, told);
}

#[test]
fn pointer_maps_of_auto_vacuum_are_no_damage() {
    for mode in ["FULL", "INCREMENTAL"] {
        let store = Store::empty(512);
        store
            .sql
            .execute_batch(&format!("PRAGMA auto_vacuum={mode}"))
            .unwrap();
        store.create_tables();
        store.insert(1..500);
        store
            .sql
            .execute_batch("DELETE FROM memo WHERE id % 3 = 0")
            .unwrap();
        let (records, report) = salvage(&store.path, None);
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(of_root(&records, store.root("memo")), store.memo());
        assert_eq!(of_root(&records, store.root("tag")), store.tag());
    }
}

#[test]
fn rows_of_a_table_without_rowid_come_from_the_index_scan() {
    let store = Store::filled(512, 50);
    store
        .sql
        .execute_batch("CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID")
        .unwrap();
    let mut expected = BTreeSet::new();
    for number in 0..300_usize {
        let value = "w".repeat(number * 3);
        store
            .sql
            .execute("INSERT INTO w VALUES (?1, ?2)", (number as i64, &value))
            .unwrap();
        expected.insert((number as i64, value));
    }
    let file = DatabaseFile::open(&store.path, None).unwrap();
    let mut found = BTreeSet::new();
    let (w, tag_name) = (store.root("w"), store.root("tag_name"));
    let mut index_entries = 0;
    let report = file.for_each_index_record(&mut |IndexRecord { values, root, .. }| {
        index_entries += u32::from(root == Some(tag_name));
        if root == Some(w) {
            let [Value::Integer(key), Value::Text(value)] = &values[..] else {
                panic!("{values:?}");
            };
            assert!(found.insert((*key, value.clone())));
        }
    });
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(found, expected);
    assert_eq!(index_entries, 50);
}

#[test]
fn pointer_maps_are_recognised_without_a_header() {
    let store = Store::empty(512);
    store.sql.execute_batch("PRAGMA auto_vacuum=FULL").unwrap();
    store.create_tables();
    store.insert(1..500);
    let mut bytes = store.bytes();
    bytes[..100].fill(0);
    let (records, report) = salvage(&store.copy(&bytes), Some(512));
    assert_eq!(report.unreadable_pages, 0);
    assert_eq!(of_root(&records, store.root("memo")), store.memo());
    assert_eq!(of_root(&records, store.root("tag")), store.tag());
}
