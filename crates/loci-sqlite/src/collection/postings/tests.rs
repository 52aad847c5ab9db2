//! Compares the segments with FTS5's own view of them.

use loci_core::{Backend, Batch, CollectionOptions, PalaceRef};
use proptest::prelude::*;
use rusqlite::{Connection, params};

use super::segments::{Rows, Segments};
use crate::SqliteBackend;

/// A step in the life of the postings. Each is a transaction, unless `together` joins them.
#[derive(Debug, Clone)]
enum Step {
    Insert(String),
    /// Replaces the text of a row.
    Change(usize, String),
    Delete(usize),
    Merge(i64),
    Optimize,
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => Just("a".to_owned()),
        2 => Just("ab".to_owned()),
        2 => "[a-c]{1,3}",
        1 => "[a-z]{1,12}",
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => text().prop_map(Step::Insert),
        2 => (any::<usize>(), text()).prop_map(|(at, text)| Step::Change(at, text)),
        2 => any::<usize>().prop_map(Step::Delete),
        1 => (-20_i64..20).prop_map(Step::Merge),
        1 => Just(Step::Optimize),
    ]
}

struct Table {
    db: Connection,
    rows: Vec<(i64, String)>,
    next: i64,
}

impl Table {
    /// Small pages make short lists go on over many of them.
    fn new(page_bytes: i64) -> Self {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE VIRTUAL TABLE postings USING fts5(text, content='', tokenize='ascii');
             CREATE VIRTUAL TABLE temp.mentions USING fts5vocab('main', 'postings', 'instance');
             CREATE VIRTUAL TABLE temp.frequencies USING fts5vocab('main', 'postings', 'row');",
        )
        .unwrap();
        let set = "INSERT INTO postings (postings, rank) VALUES (?1, ?2)";
        db.execute(set, params!["pgsz", page_bytes]).unwrap();
        Self {
            db,
            rows: Vec::new(),
            next: 1,
        }
    }

    fn apply(&mut self, step: Step) {
        let insert = "INSERT INTO postings (rowid, text) VALUES (?1, ?2)";
        let delete = "INSERT INTO postings (postings, rowid, text) VALUES ('delete', ?1, ?2)";
        let set = "INSERT INTO postings (postings, rank) VALUES (?1, ?2)";
        match step {
            Step::Insert(text) => {
                self.db.execute(insert, params![self.next, text]).unwrap();
                self.rows.push((self.next, text));
                self.next += 1 + self.next % 300;
            }
            Step::Change(at, text) if !self.rows.is_empty() => {
                let at = at % self.rows.len();
                let (row, old) = self.rows[at].clone();
                self.db.execute(delete, params![row, old]).unwrap();
                self.db.execute(insert, params![row, text]).unwrap();
                self.rows[at].1 = text;
            }
            Step::Delete(at) if !self.rows.is_empty() => {
                let at = at % self.rows.len();
                let (row, old) = self.rows.remove(at);
                self.db.execute(delete, params![row, old]).unwrap();
            }
            Step::Merge(pages) => {
                self.db.execute(set, params!["merge", pages]).unwrap();
            }
            Step::Optimize => {
                let optimize = "INSERT INTO postings (postings) VALUES ('optimize')";
                self.db.execute(optimize, []).unwrap();
            }
            Step::Change(..) | Step::Delete(_) => {}
        }
    }

    /// The rows of a term as FTS5 lists them.
    fn expected(&self, term: &str) -> Vec<(u64, u32)> {
        let mut statement = self
            .db
            .prepare("SELECT doc, count(*) FROM temp.mentions WHERE term = ?1 GROUP BY doc")
            .unwrap();
        statement
            .query_map([term], |row| {
                Ok((row.get::<_, i64>(0)? as u64, row.get(1)?))
            })
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap()
    }

    fn terms(&self) -> Vec<String> {
        let mut statement = self
            .db
            .prepare("SELECT term FROM temp.frequencies")
            .unwrap();
        let terms = statement.query_map([], |row| row.get(0)).unwrap();
        terms.collect::<rusqlite::Result<_>>().unwrap()
    }

    fn check(&self) {
        let mut segments = Segments::read(&self.db).unwrap().unwrap();
        for term in self
            .terms()
            .iter()
            .map(String::as_str)
            .chain(["absent", ""])
        {
            let expected = self.expected(term);
            let most = expected.len();
            let listed = segments.rows(term, most).unwrap().unwrap();
            assert_eq!(listed, Rows::Listed(expected), "{term}");
            if most > 0 {
                let counted = segments.rows(term, most - 1).unwrap().unwrap();
                assert_eq!(counted, Rows::Counted(most as u64), "{term}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn rows_of_a_term_are_those_that_fts5_lists(
        page_bytes in prop_oneof![Just(32_i64), Just(64), Just(200), Just(4_050)],
        steps in prop::collection::vec((step(), any::<bool>()), 1..80),
    ) {
        let mut table = Table::new(page_bytes);
        let mut is_open = false;
        for (step, together) in steps {
            if together && !is_open {
                table.db.execute_batch("BEGIN").unwrap();
                is_open = true;
            }
            table.apply(step);
            if !together && is_open {
                table.db.execute_batch("COMMIT").unwrap();
                is_open = false;
            }
            if !is_open {
                table.check();
            }
        }
    }
}

#[test]
fn rows_of_a_large_index_are_those_that_fts5_lists() {
    let mut table = Table::new(4_050);
    table.db.execute_batch("BEGIN").unwrap();
    for n in 0..6_000_usize {
        // Many positions in one row go on over several pages.
        let repeated = if n % 1_000 == 7 { 9_000 } else { n % 4 };
        let text = format!("{}{} b{}", "every ".repeat(1 + repeated), n % 17, n % 900);
        table.apply(Step::Insert(text));
        if n % 500 == 499 {
            table.db.execute_batch("COMMIT; BEGIN").unwrap();
        }
        if n % 1_500 == 1_499 {
            table.apply(Step::Delete(n * 7));
            table.apply(Step::Change(n * 5, "every other".into()));
        }
    }
    table.db.execute_batch("COMMIT").unwrap();
    table.check();
}

#[test]
fn a_format_that_is_not_known_is_left_to_fts5() {
    let mut table = Table::new(64);
    table.apply(Step::Insert("a b a".into()));
    let set = "UPDATE postings_config SET v = ?1 WHERE k = 'version'";
    table.db.execute(set, [5]).unwrap();
    assert!(Segments::read(&table.db).unwrap().is_err());
    table.db.execute(set, [4]).unwrap();
    assert!(Segments::read(&table.db).unwrap().is_ok());
}

#[test]
fn damaged_pages_are_left_to_fts5_and_never_panic() {
    let mut table = Table::new(64);
    for n in 0..40 {
        table.apply(Step::Insert(format!("{}b{n}", "a ".repeat(1 + n % 9))));
    }
    table.apply(Step::Optimize);
    let pages: Vec<(i64, Vec<u8>)> = table
        .db
        .prepare("SELECT id, block FROM postings_data WHERE id > 10")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    let put = "UPDATE postings_data SET block = ?2 WHERE id = ?1";
    for (id, page) in pages.iter().take(6) {
        for at in 0..page.len() {
            for byte in [0, 1, 127, 128, 255] {
                let mut damaged = page.clone();
                damaged[at] = byte;
                table.db.execute(put, params![id, damaged]).unwrap();
                if let Ok(mut segments) = Segments::read(&table.db).unwrap() {
                    for term in ["a", "b3", "b39"] {
                        let _ = segments.rows(term, 10).unwrap();
                    }
                }
            }
        }
        for length in 0..page.len() {
            let cut = &page[..length];
            table.db.execute(put, params![id, cut]).unwrap();
            let mut segments = Segments::read(&table.db).unwrap().unwrap();
            let _ = segments.rows("a", 10).unwrap();
        }
        table.db.execute(put, params![id, page]).unwrap();
    }
    table.check();
}

#[test]
fn fts5_stores_the_lengths_of_passages() {
    let directory = tempfile::tempdir().unwrap();
    let palace = PalaceRef::local(directory.path().join("palace"));
    let backend = SqliteBackend::default();
    let options = CollectionOptions::default();
    let collection = backend.get_collection(&palace, "drawers", true, &options);
    let texts = [
        "plain words, twice: words",
        "snake_case camelCase HTTPServer2 a-b/c.d v1.2.3 x86_64 e-mail@example.org",
        "日本語のテキスト 한국어 ไทย Ünïcödé ﬁne ½ ² naïve İstanbul",
        "🦀🚀 \u{200d}\u{fe0f} \u{0} \u{7f} ... --- ___ ''",
        "don't won’t o'clock 3,000.5 £20 100% #tag @name C++ C#",
        "",
    ];
    let ids = (0..texts.len()).map(|n| n.to_string());
    let batch = Batch::new(ids).documents(texts);
    collection.unwrap().add(&batch).unwrap();
    let store = backend.store(&palace, false).unwrap();
    let read = store.read("testing", |db| {
        let mut statement = db.sql.prepare("SELECT row, terms FROM passages")?;
        let stored = statement.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)));
        let stored: Vec<(u64, u32)> = stored?.collect::<rusqlite::Result<_>>()?;
        let rows: Vec<u64> = stored.iter().map(|(row, _)| *row).collect();
        let mut lengths = vec![None; rows.len()];
        super::lengths(&db.sql, &rows, &mut lengths)?;
        Ok((stored, lengths))
    });
    let (stored, lengths) = read.unwrap();
    assert_eq!(stored.len(), texts.len());
    let expected: Vec<Option<u32>> = stored.iter().map(|(_, terms)| Some(*terms)).collect();
    assert_eq!(lengths, expected);
}
