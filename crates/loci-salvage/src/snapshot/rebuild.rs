//! Fills a private database with the rows that are readable page by page.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use loci_core::{Error, Result};
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::{DatabaseFile, Report, Value};

/// A table to salvage.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// The statement that creates it if the file's own schema is unreadable. Columns are in the
    /// order of the file.
    pub sql: &'static str,
    /// Whether a row that no readable page assigns to a table looks like a row of this table.
    pub fits: fn(&[Value]) -> bool,
    /// An index that still names rows of the table that are lost.
    pub key_index: Option<KeyIndex>,
}

/// An index of a table. An entry has the indexed columns, and then the number of the row.
#[derive(Debug, Clone, Copy)]
pub struct KeyIndex {
    /// Whether an entry is of this index, and not of another index of the table.
    pub fits: fn(&[Value]) -> bool,
    /// The query that finds the row of an entry. Its parameters are the values of the entry, in
    /// order; it may use fewer.
    pub row_of_entry: &'static str,
}

/// The result of the salvage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rebuilt {
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// The number of rows that fit no table, or that conflict with another row of their table.
    pub left: u64,
    /// The first few pages and cells that could not be read.
    pub damages: Vec<String>,
    /// By table, the entries of its [`KeyIndex`] whose row could not be read.
    pub lost_entries: HashMap<&'static str, Vec<Vec<Value>>>,
    /// Tables without a damaged page or cell.
    pub whole: Vec<&'static str>,
}

struct Target {
    insert: String,
    columns: usize,
    rowid_column: Option<usize>,
}

/// Reads every row of `path` and writes it to a new database at `target`.
#[expect(clippy::disallowed_methods, reason = "the target is a new file")]
pub(super) fn rebuild(
    path: &Path,
    target: &Path,
    tables: &[Table],
) -> Result<(Connection, Rebuilt)> {
    let unsaved = |error: &rusqlite::Error| Error::Internal {
        doing: format!("salvaging `{}`", path.display()),
        detail: error.to_string(),
    };
    let file = DatabaseFile::open(path, None).map_err(|error| Error::Corrupt {
        what: "the database".into(),
        path: path.to_owned(),
        detail: error.to_string(),
    })?;
    let connection = Connection::open(target).map_err(|error| unsaved(&error))?;
    // Rows that refer to a lost row are saved too.
    connection
        .pragma_update(None, "foreign_keys", false)
        .map_err(|error| unsaved(&error))?;
    let made = make_tables(&connection, &file, tables).map_err(|error| unsaved(&error))?;
    let mut rebuilt = Rebuilt::default();
    let report = copy_rows(&connection, &file, tables, &made, &mut rebuilt)
        .map_err(|error| unsaved(&error))?;
    rebuilt.damages = report
        .damages
        .iter()
        .map(|damage| match damage.page {
            0 => damage.detail.clone(),
            page => format!("page {page}: {}", damage.detail),
        })
        .collect();
    rebuilt.whole = roots_of(&file, tables)
        .into_iter()
        .filter(|(root, _)| file.is_whole(*root))
        .map(|(_, name)| name)
        .collect();
    rebuilt.lost_entries =
        lost_entries(&connection, &file, tables).map_err(|error| unsaved(&error))?;
    Ok((connection, rebuilt))
}

/// The tables by their root pages, as far as the file's schema is readable.
fn roots_of(file: &DatabaseFile, tables: &[Table]) -> HashMap<u32, &'static str> {
    file.schema()
        .iter()
        .filter(|entry| entry.kind == "table")
        .filter_map(|entry| {
            let table = tables.iter().find(|table| table.name == entry.name)?;
            Some((entry.root_page?, table.name))
        })
        .collect()
}

/// Copies every readable row, in one transaction.
fn copy_rows(
    connection: &Connection,
    file: &DatabaseFile,
    tables: &[Table],
    made: &HashMap<&'static str, Target>,
    rebuilt: &mut Rebuilt,
) -> rusqlite::Result<Report> {
    let roots = roots_of(file, tables);
    let others: Vec<u32> = file
        .schema()
        .iter()
        .filter_map(|entry| entry.root_page)
        .filter(|root| !roots.contains_key(root))
        .collect();
    let mut failure = None;
    let transaction = connection.unchecked_transaction()?;
    let report = file.for_each_record(&mut |record| {
        if failure.is_some() || record.root.is_some_and(|root| others.contains(&root)) {
            return;
        }
        let named = record.root.and_then(|root| roots.get(&root).copied());
        let table = named.or_else(|| {
            tables
                .iter()
                .find(|table| (table.fits)(&record.values))
                .map(|table| table.name)
        });
        let Some((name, target)) = table.and_then(|name| Some((name, made.get(name)?))) else {
            rebuilt.left += 1;
            return;
        };
        match insert(&transaction, target, record.rowid, record.values) {
            Ok(0) => rebuilt.left += 1,
            Ok(_) => *rebuilt.rows.entry(name.to_owned()).or_default() += 1,
            Err(rusqlite::Error::SqliteFailure(error, _))
                if error.code == rusqlite::ErrorCode::ConstraintViolation =>
            {
                rebuilt.left += 1;
            }
            Err(error) => failure = Some(error),
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    // The target is private and temporary, so a crash here loses nothing.
    transaction.commit()?;
    Ok(report)
}

/// By table, the entries of its index whose row is not in `connection`, in the order of the file.
fn lost_entries(
    connection: &Connection,
    file: &DatabaseFile,
    tables: &[Table],
) -> rusqlite::Result<HashMap<&'static str, Vec<Vec<Value>>>> {
    let mut lost: HashMap<&'static str, Vec<Vec<Value>>> = HashMap::new();
    for table in tables {
        let Some(index) = table.key_index else {
            continue;
        };
        let roots: HashSet<u32> = file
            .schema()
            .iter()
            .filter(|entry| entry.kind == "index" && entry.table_name == table.name)
            .filter_map(|entry| entry.root_page)
            .collect();
        if roots.is_empty() {
            continue;
        }
        let entries = lost.entry(table.name).or_default();
        let mut row_of_entry = connection.prepare(index.row_of_entry)?;
        let parameters = row_of_entry.parameter_count();
        let mut failed = None;
        file.for_each_index_record(&mut |record| {
            let is_of_table = record.root.is_some_and(|root| roots.contains(&root));
            if failed.is_some() || !is_of_table || !(index.fits)(&record.values) {
                return;
            }
            let values = record.values.iter().take(parameters).cloned().map(Cell::of);
            match row_of_entry.exists(params_from_iter(values)) {
                Ok(true) => {}
                Ok(false) => entries.push(record.values),
                Err(error) => failed = Some(error),
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(lost)
}

/// Creates the tables as the file's schema says, or else as `Table::sql` says. Leaves out
/// constraints that a damaged file may break.
fn make_tables(
    connection: &Connection,
    file: &DatabaseFile,
    tables: &[Table],
) -> rusqlite::Result<HashMap<&'static str, Target>> {
    let schema = file.schema();
    let mut made = HashMap::new();
    for table in tables {
        let own = schema
            .iter()
            .find(|entry| entry.kind == "table" && entry.name == table.name)
            .and_then(|entry| entry.sql.as_deref());
        connection.execute_batch(table.sql)?;
        let mut columns = columns_of(connection, table.name)?;
        if let Some(theirs) = own.and_then(|sql| as_in_the_file(sql, table.name, &columns)) {
            connection.execute_batch(&format!("DROP TABLE \"{}\"", table.name))?;
            connection.execute(&theirs.sql, [])?;
            columns = theirs.columns;
        }
        let keys = columns.iter().filter(|(_, _, key)| *key > 0).count();
        let rowid_column = columns.iter().position(|(_, kind, key)| {
            keys == 1 && *key == 1 && kind.eq_ignore_ascii_case("integer")
        });
        let names: Vec<String> = columns
            .iter()
            .map(|(name, _, _)| format!("\"{}\"", name.replace('"', "\"\"")))
            .collect();
        // If a column is the rowid, naming both would assign it twice.
        let (first, marks) = if rowid_column.is_some() {
            (String::new(), names.len())
        } else {
            ("_rowid_, ".to_owned(), names.len() + 1)
        };
        let insert = format!(
            "INSERT OR IGNORE INTO \"{}\" ({first}{}) VALUES ({})",
            table.name,
            names.join(", "),
            vec!["?"; marks].join(", ")
        );
        made.insert(
            table.name,
            Target {
                insert,
                columns: columns.len(),
                rowid_column,
            },
        );
    }
    Ok(made)
}

/// The name, type and position in the primary key of a column.
type Column = (String, String, i64);

fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    connection
        .prepare("SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid")?
        .query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// A table as the file's own statement creates it.
struct FileTable {
    sql: String,
    columns: Vec<Column>,
}

/// Tries the file's own statement in a separate database. Accepts it if it creates this table with
/// known columns only, or with all known columns. A damaged or forged statement creates another
/// table, misspells columns, or does more than create a table.
fn as_in_the_file(sql: &str, table: &str, known: &[Column]) -> Option<FileTable> {
    let lower = sql.trim_start().to_ascii_lowercase();
    if !lower.starts_with("create table") || lower.contains("select") || lower.contains("values") {
        return None;
    }
    let apart = Connection::open_in_memory().ok()?;
    apart.pragma_update(None, "foreign_keys", false).ok()?;
    // `execute` accepts a single statement, so nothing can follow it.
    apart.execute(sql, []).ok()?;
    let columns = columns_of(&apart, table).ok()?;
    let has = |columns: &[Column], name: &str| columns.iter().any(|(column, _, _)| column == name);
    let all_known = columns.iter().all(|(name, _, _)| has(known, name));
    let all_there = known.iter().all(|(name, _, _)| has(&columns, name));
    (!columns.is_empty() && (all_known || all_there)).then(|| FileTable {
        sql: sql.to_owned(),
        columns,
    })
}

fn insert(
    connection: &Connection,
    target: &Target,
    rowid: i64,
    values: Vec<Value>,
) -> rusqlite::Result<usize> {
    let mut row = Vec::with_capacity(target.columns + 1);
    if target.rowid_column.is_none() {
        row.push(Cell(SqlValue::Integer(rowid)));
    }
    let present = values.into_iter().map(Cell::of);
    let absent = std::iter::repeat_with(|| Cell(SqlValue::Null));
    for (column, cell) in present.chain(absent).take(target.columns).enumerate() {
        row.push(if target.rowid_column == Some(column) {
            Cell(SqlValue::Integer(rowid))
        } else {
            cell
        });
    }
    connection
        .prepare_cached(&target.insert)?
        .execute(params_from_iter(row))
}

struct Cell(SqlValue);

impl Cell {
    fn of(value: Value) -> Self {
        Self(match value {
            Value::Null => SqlValue::Null,
            Value::Integer(number) => SqlValue::Integer(number),
            Value::Real(number) => SqlValue::Real(number),
            Value::Text(text) => SqlValue::Text(text),
            Value::InvalidText(bytes) => {
                SqlValue::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
            Value::Blob(bytes) => SqlValue::Blob(bytes),
        })
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::from(&self.0)))
    }
}
