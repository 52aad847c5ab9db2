//! Databases to damage, and SQLite's own information about where their rows are.

use loci_salvage::{DatabaseFile, Record, Report, Value};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) type Rows = BTreeMap<i64, Vec<Value>>;

pub(crate) struct Store {
    pub(crate) dir: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) sql: Connection,
}

/// The location of one row.
#[derive(Debug, Clone)]
pub(crate) struct RowPages {
    pub(crate) rowid: i64,
    pub(crate) leaf: u32,
    pub(crate) overflow: Vec<u32>,
}

impl RowPages {
    pub(crate) fn touches(&self, lost: &dyn Fn(u32) -> bool) -> bool {
        lost(self.leaf) || self.overflow.iter().any(|&page| lost(page))
    }
}

impl Store {
    pub(crate) fn empty(page_size: u32) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("store.sqlite3");
        let sql = Connection::open(&path).unwrap();
        sql.execute_batch(&format!(
            "PRAGMA page_size={page_size}; PRAGMA synchronous=OFF;"
        ))
        .unwrap();
        Self { dir, path, sql }
    }

    /// Tables `memo` (long and short rows) and `tag` (short rows), an index, and free pages.
    pub(crate) fn filled(page_size: u32, rows: i64) -> Self {
        let store = Self::empty(page_size);
        store.create_tables();
        store.insert(1..rows + 1);
        store
    }

    pub(crate) fn create_tables(&self) {
        self.sql
            .execute_batch(
                "CREATE TABLE memo(id INTEGER PRIMARY KEY, body, extra);
                 CREATE TABLE tag(name TEXT, weight);
                 CREATE INDEX tag_name ON tag(name);",
            )
            .unwrap();
    }

    pub(crate) fn insert(&self, ids: Range<i64>) {
        let mut random = fastrand::Rng::with_seed(ids.start as u64);
        let tx = self.sql.unchecked_transaction().unwrap();
        for id in ids {
            let length = match id % 13 {
                0 => random.usize(20_000..40_000),
                1 | 2 => random.usize(900..9_000),
                _ => random.usize(0..300),
            };
            let body: String = (0..length).map(|_| random.alphanumeric()).collect();
            tx.execute(
                "INSERT INTO memo VALUES (?1, ?2, ?3)",
                (id, body, id * id * 7 - 50_000),
            )
            .unwrap();
            let name = format!("étiquette {}", random.u64(..));
            tx.execute("INSERT INTO tag VALUES (?1, ?2)", (name, random.f64()))
                .unwrap();
        }
        tx.commit().unwrap();
    }

    pub(crate) fn root(&self, table: &str) -> u32 {
        self.sql
            .query_row(
                "SELECT rootpage FROM sqlite_schema WHERE name=?1",
                [table],
                |row| row.get(0),
            )
            .unwrap()
    }

    pub(crate) fn memo(&self) -> Rows {
        self.rows("SELECT rowid, NULL, body, extra FROM memo")
    }

    pub(crate) fn tag(&self) -> Rows {
        self.rows("SELECT rowid, * FROM tag")
    }

    pub(crate) fn rows(&self, query: &str) -> Rows {
        let mut statement = self.sql.prepare(query).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut all = Rows::new();
        while let Some(row) = rows.next().unwrap() {
            let values = (1..columns)
                .map(|column| value(row.get_ref(column).unwrap()))
                .collect();
            all.insert(row.get(0).unwrap(), values);
        }
        all
    }

    /// From SQLite's own page statistics: leaves in key order, their cells, and each cell's chain.
    pub(crate) fn places(&self, table: &str) -> Vec<RowPages> {
        let stat = self.stat(table);
        let rowids: Vec<i64> = self
            .sql
            .prepare(&format!("SELECT rowid FROM {table} ORDER BY rowid"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut rowids = rowids.into_iter();
        let mut places = Vec::new();
        for (path, leaf, _, cells) in stat.iter().filter(|(_, _, kind, _)| kind == "leaf") {
            for cell in 0..*cells {
                let prefix = format!("{path}{cell:03x}+");
                let chain = stat.iter().filter(|(path, ..)| path.starts_with(&prefix));
                places.push(RowPages {
                    rowid: rowids.next().unwrap(),
                    leaf: *leaf,
                    overflow: chain.map(|(_, page, ..)| *page).collect(),
                });
            }
        }
        assert_eq!(rowids.next(), None);
        places
    }

    pub(crate) fn pages_of_kind(&self, table: &str, kind: &str) -> Vec<u32> {
        let stat = self.stat(table).into_iter();
        stat.filter(|(_, _, found, _)| found == kind)
            .map(|(_, page, ..)| page)
            .collect()
    }

    fn stat(&self, table: &str) -> Vec<(String, u32, String, i64)> {
        self.sql
            .prepare("SELECT path, pageno, pagetype, ncell FROM dbstat WHERE name=?1 ORDER BY path")
            .unwrap()
            .query_map([table], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    /// Writes a damaged copy beside the store, without WAL or journal.
    pub(crate) fn copy(&self, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join("copy.sqlite3");
        fs::write(&path, bytes).unwrap();
        path
    }
}

pub(crate) fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => match String::from_utf8(text.to_vec()) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::InvalidText(error.into_bytes()),
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

pub(crate) fn salvage(path: &Path, hint: Option<u32>) -> (Vec<Record>, Report) {
    let file = DatabaseFile::open(path, hint).unwrap();
    let mut records = Vec::new();
    let report = file.for_each_record(&mut |record| records.push(record));
    assert_eq!(report.records, records.len() as u64);
    (records, report)
}

pub(crate) fn of_root(records: &[Record], root: u32) -> Rows {
    let of_root: Vec<&Record> = records
        .iter()
        .filter(|record| record.root == Some(root))
        .collect();
    let rows: Rows = of_root
        .iter()
        .map(|record| (record.rowid, record.values.clone()))
        .collect();
    assert_eq!(rows.len(), of_root.len(), "a rowid came twice");
    rows
}

pub(crate) fn page_range(page: u32, page_size: u32) -> Range<usize> {
    let start = (page as usize - 1) * page_size as usize;
    start..start + page_size as usize
}

/// Asserts that the rows whose pages are all sound are returned unchanged.
pub(crate) fn assert_survivors(
    records: &[Record],
    places: &[RowPages],
    rows: &Rows,
    lost: &dyn Fn(u32) -> bool,
) -> usize {
    let mut survivors = 0;
    let by_page: BTreeMap<(u32, i64), &Record> = records
        .iter()
        .map(|record| ((record.page, record.rowid), record))
        .collect();
    for place in places.iter().filter(|place| !place.touches(lost)) {
        let record = by_page.get(&(place.leaf, place.rowid));
        let record = record.unwrap_or_else(|| panic!("row {} is lost: {place:?}", place.rowid));
        assert_eq!(record.values, rows[&place.rowid]);
        survivors += 1;
    }
    survivors
}

/// Asserts that no record has text that SQLite never stored.
pub(crate) fn assert_no_strange_text(records: &[Record], known: &[&Rows]) {
    let texts = |values: &[Value]| -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        values.iter().filter_map(text).collect()
    };
    let known: HashSet<String> = known
        .iter()
        .flat_map(|rows| rows.values())
        .flat_map(|values| texts(values))
        .collect();
    for record in records.iter().filter(|record| record.values.len() < 5) {
        assert!(
            texts(&record.values)
                .iter()
                .all(|text| known.contains(text)),
            "{record:?}"
        );
    }
}
