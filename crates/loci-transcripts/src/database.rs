//! Reads conversations from the rows of an SQLite database, without SQLite and without writing.
//!
//! Rows come in no useful order. The database is therefore scanned once to list its conversations,
//! and then once for each batch of conversations that fits into memory.

use super::clock;
use super::error::Error;
use super::event::Conversation;
use super::mark::Mark;
use super::sink::{ParseEvent, ParseSink};
use super::utterance::{Point, RecordSpan};
use loci_files::allowed::AllowedRoots;
use loci_salvage::{DatabaseFile, Value as Cell};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The size of a batch of conversations that is loaded at once.
const BATCH_BYTES: usize = 64 << 20;

/// A conversation in the database, and its size.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) about: Conversation,
    pub(super) bytes: usize,
    /// The ids of its messages in order, if the messages do not define their order.
    pub(super) order: Vec<String>,
}

impl Entry {
    pub(super) fn new(about: Conversation) -> Self {
        Self {
            about,
            bytes: 0,
            order: Vec::new(),
        }
    }
}

/// One message and its parts. The messages of one conversation are adjacent and in order.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) conversation: String,
    pub(super) message: Value,
    pub(super) parts: Vec<Value>,
}

/// The conversations to load in one scan.
#[derive(Debug)]
pub(super) struct Batch<'e> {
    pub(super) entries: &'e [Entry],
    ids: HashSet<&'e str>,
}

impl Batch<'_> {
    pub(super) fn wants(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// How one program stores conversations in a database.
#[derive(Debug)]
pub(super) struct RowFormat {
    /// Lists the conversations of a database.
    pub(super) index: fn(&DatabaseFile) -> Vec<Entry>,
    /// Loads the messages of a batch of conversations.
    pub(super) load: fn(&DatabaseFile, &Batch<'_>) -> Vec<Loaded>,
    /// Passes one message to the sink.
    pub(super) emit: fn(&Loaded, RecordSpan, &mut ParseSink),
}

#[derive(Debug)]
pub(super) struct Rows {
    format: &'static RowFormat,
    path: PathBuf,
    allowed: AllowedRoots,
    /// The number of conversations before the mark, and their digest.
    mark: (u64, u64),
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: DatabaseFile,
    entries: Vec<Entry>,
    /// The index of the next conversation.
    next: usize,
    /// The index after the last conversation that is loaded.
    loaded: usize,
    messages: HashMap<String, Vec<Loaded>>,
}

impl Rows {
    pub(super) fn new(
        format: &'static RowFormat,
        path: &Path,
        mark: &Mark,
        allowed: &AllowedRoots,
    ) -> Self {
        Self {
            format,
            path: path.to_owned(),
            allowed: allowed.clone(),
            mark: (mark.line, mark.state.check),
            open: None,
        }
    }

    /// Passes one conversation to the sink. Returns `false` at the end.
    pub(super) fn advance(&mut self, sink: &mut ParseSink) -> Result<bool, Error> {
        if self.open.is_none() {
            self.open = Some(self.open()?);
        }
        let Some(open) = &mut self.open else {
            return Ok(false);
        };
        if open.next == open.loaded {
            open.load(self.format);
        }
        let Some(entry) = open.entries.get(open.next) else {
            return Ok(false);
        };
        open.next += 1;
        sink.state.check = extend_digest(sink.state.check, entry);
        sink.steps
            .push_back(ParseEvent::Conversation(entry.about.clone()));
        let messages = open.messages.remove(&entry.about.id).unwrap_or_default();
        for (i, message) in (0..).zip(&messages) {
            let place = RecordSpan::default().message(i);
            sink.record_tally.read();
            (self.format.emit)(message, place, sink);
        }
        sink.steps.push_back(ParseEvent::Over(RecordSpan {
            to: Some(Point {
                offset: 0,
                line: open.next as u64,
            }),
            ..RecordSpan::default()
        }));
        Ok(true)
    }

    fn open(&self) -> Result<Open, Error> {
        let opener = |path: &Path| self.allowed.open(path);
        let file = DatabaseFile::open_with(&self.path, None, &opener).map_err(|source| {
            Error::Database {
                path: self.path.clone(),
                source,
            }
        })?;
        let mut entries = (self.format.index)(&file);
        entries.sort_by(|a, b| {
            (&a.about.started_at, &a.about.id).cmp(&(&b.about.started_at, &b.about.id))
        });
        let (read, check) = self.mark;
        let read = usize::try_from(read).unwrap_or(usize::MAX);
        let is_same = entries
            .get(..read)
            .is_some_and(|before| before.iter().fold(0, extend_digest) == check);
        if !is_same {
            return Err(Error::Rewritten {
                path: self.path.clone(),
            });
        }
        Ok(Open {
            file,
            entries,
            next: read,
            loaded: read,
            messages: HashMap::new(),
        })
    }
}

fn extend_digest(check: u64, entry: &Entry) -> u64 {
    xxh3_64_with_seed(
        format!("{}\n{}", entry.about.id, entry.bytes).as_bytes(),
        check,
    )
}

impl Open {
    fn load(&mut self, format: &RowFormat) {
        let mut bytes = 0;
        let rest = self.entries.get(self.next..).unwrap_or_default();
        let fitting = |entry: &&Entry| {
            let first = bytes == 0;
            bytes += entry.bytes;
            first || bytes <= BATCH_BYTES
        };
        let count = rest.iter().take_while(fitting).count();
        self.loaded = self.next + count;
        let entries = rest.get(..count).unwrap_or_default();
        if entries.is_empty() {
            return;
        }
        let batch = Batch {
            entries,
            ids: entries
                .iter()
                .map(|entry| entry.about.id.as_str())
                .collect(),
        };
        let loaded = (format.load)(&self.file, &batch);
        self.messages.clear();
        for message in loaded {
            self.messages
                .entry(message.conversation.clone())
                .or_default()
                .push(message);
        }
    }
}

/// A table: the root page of its tree, and its columns in order.
#[derive(Debug)]
pub(super) struct Table {
    root: Option<u32>,
    columns: Vec<String>,
}

impl Table {
    pub(super) fn named(file: &DatabaseFile, name: &str) -> Self {
        let schema = file.schema();
        let entry = schema
            .iter()
            .find(|entry| entry.kind == "table" && entry.name == name);
        Self {
            root: entry.and_then(|entry| entry.root_page),
            columns: entry
                .and_then(|entry| entry.sql.as_deref())
                .map(columns)
                .unwrap_or_default(),
        }
    }

    pub(super) fn rows(&self, file: &DatabaseFile, f: &mut dyn FnMut(&Row<'_>)) {
        if self.root.is_none() {
            return;
        }
        file.for_each_record(&mut |record| {
            if record.root == self.root {
                f(&Row {
                    rowid: record.rowid,
                    columns: &self.columns,
                    cells: &record.values,
                });
            }
        });
    }
}

/// One row of a table.
pub(super) struct Row<'r> {
    /// The number of the row, which ascends with its age.
    pub(super) rowid: i64,
    columns: &'r [String],
    cells: &'r [Cell],
}

impl Row<'_> {
    fn cell(&self, column: &str) -> Option<&Cell> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.cells.get(at)
    }

    /// Returns text, or bytes converted to text; empty if the cell holds neither.
    pub(super) fn text(&self, column: &str) -> String {
        match self.cell(column) {
            Some(Cell::Text(text)) => text.clone(),
            Some(Cell::Blob(bytes) | Cell::InvalidText(bytes)) => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            Some(Cell::Null | Cell::Integer(_) | Cell::Real(_)) | None => String::new(),
        }
    }

    pub(super) fn integer(&self, column: &str) -> Option<i64> {
        match self.cell(column)? {
            Cell::Integer(number) => Some(*number),
            Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Blob(_) | Cell::InvalidText(_) => {
                None
            }
        }
    }

    pub(super) fn time(&self, column: &str) -> Option<String> {
        match self.cell(column)? {
            Cell::Integer(number) => clock::from_number(*number as f64),
            Cell::Real(number) => clock::from_number(*number),
            Cell::Text(text) => clock::from_text(text),
            Cell::Null | Cell::Blob(_) | Cell::InvalidText(_) => None,
        }
    }
}

/// Returns the column names of a `CREATE TABLE` statement.
fn columns(sql: &str) -> Vec<String> {
    let sql = without_comments(sql);
    let body = sql.split_once('(').map_or("", |(_, body)| body);
    let mut names = Vec::new();
    let mut depth = 0;
    let mut definition = String::new();
    for c in body.chars().chain([',']) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                let name = definition.split_whitespace().next().unwrap_or_default();
                names.push(name.trim_matches(['"', '`', '[', ']', '\'']).to_owned());
                definition.clear();
                continue;
            }
            _ => {}
        }
        definition.push(c);
    }
    names
}

/// Removes comments, which SQLite keeps in the statement.
fn without_comments(sql: &str) -> String {
    let mut kept = String::with_capacity(sql.len());
    let mut quote = None;
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let end = match quote {
            None if rest.starts_with("--") => rest.find('\n'),
            None if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            None => {
                quote = Some(c).filter(|c| matches!(c, '\'' | '"' | '`'));
                kept.push(c);
                Some(c.len_utf8())
            }
            Some(open) => {
                quote = Some(open).filter(|open| *open != c);
                kept.push(c);
                Some(c.len_utf8())
            }
        };
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_between_columns_is_no_column() {
        let sql = "CREATE TABLE m (a TEXT, -- one, (two)\n b INTEGER DEFAULT '--', /* c TEXT, */ d TEXT -- last\n)";
        assert_eq!(columns(sql), ["a", "b", "d"]);
        assert_eq!(columns("CREATE TABLE m (a /* open"), ["a"]);
    }

    #[test]
    fn columns_are_named_in_order() {
        let sql = "CREATE TABLE `part` (\n `id` text PRIMARY KEY, [n] numeric(3,2), \"data\" text NOT NULL,\n FOREIGN KEY (`id`) REFERENCES x(`a`) )";
        assert_eq!(columns(sql), ["id", "n", "data", "FOREIGN"]);
        assert_eq!(
            columns("CREATE TABLE t (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"),
            ["key", "value"]
        );
        assert_eq!(columns(""), [""]);
    }
}
