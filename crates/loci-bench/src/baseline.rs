//! The plain baseline: SQLite's FTS5 with Porter stems, one row per drawer, ranked by its BM25.
//! Any word of the question may match. A source ranks by its best row.

use loci_palace::{Error, Result};
use rusqlite::{Connection, params};

use crate::dataset::Drawer;
use crate::metric::DEPTH;

/// How the baseline is described in reports.
pub(crate) const NAME: &str = "BM25 of SQLite's FTS5, Porter stems, one row per turn";

/// The rows of one palace, in memory.
pub(crate) struct Baseline {
    db: Connection,
}

/// The ranking of one question, the best first.
#[derive(Default)]
pub(crate) struct Ranking {
    pub(crate) turns: Vec<String>,
    pub(crate) sessions: Vec<String>,
}

impl Baseline {
    pub(crate) fn new() -> Result<Self> {
        let db = Connection::open_in_memory().map_err(failed)?;
        db.execute_batch(
            "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61');
             CREATE TABLE rows (row INTEGER PRIMARY KEY, id TEXT, source TEXT);",
        )
        .map_err(failed)?;
        Ok(Self { db })
    }

    pub(crate) fn add(&mut self, drawers: &[Drawer]) -> Result<()> {
        insert(&mut self.db, drawers).map_err(failed)
    }

    /// Ranks until ten rows and ten sources are known.
    pub(crate) fn ask(&self, question: &str) -> Result<Ranking> {
        match any_word(question) {
            Some(query) => rank(&self.db, &query).map_err(failed),
            None => Ok(Ranking::default()),
        }
    }
}

fn insert(db: &mut Connection, drawers: &[Drawer]) -> rusqlite::Result<()> {
    let tx = db.transaction()?;
    {
        let mut text = tx.prepare_cached("INSERT INTO texts (text) VALUES (?1)")?;
        let mut row =
            tx.prepare_cached("INSERT INTO rows (row, id, source) VALUES (?1, ?2, ?3)")?;
        for drawer in drawers {
            text.execute([&drawer.text])?;
            let source = drawer.metadata.get_str("source_file");
            row.execute(params![tx.last_insert_rowid(), drawer.id, source])?;
        }
    }
    tx.commit()
}

fn rank(db: &Connection, query: &str) -> rusqlite::Result<Ranking> {
    let mut ranking = Ranking::default();
    let mut statement = db.prepare_cached(
        "SELECT rows.id, rows.source FROM texts JOIN rows ON rows.row = texts.rowid
         WHERE texts MATCH ?1 ORDER BY texts.rank",
    )?;
    let mut rows = statement.query([query])?;
    while let Some(row) = rows.next()? {
        if ranking.turns.len() < DEPTH {
            ranking.turns.push(row.get(0)?);
        }
        if let Some(source) = row.get::<_, Option<String>>(1)?
            && !ranking.sessions.contains(&source)
        {
            ranking.sessions.push(source);
        }
        if ranking.turns.len() == DEPTH && ranking.sessions.len() == DEPTH {
            break;
        }
    }
    Ok(ranking)
}

/// The query for rows with any word of a question; `None` if it has no word.
fn any_word(question: &str) -> Option<String> {
    let words: Vec<String> = question
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\""))
        .collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes it by value"
)]
fn failed(error: rusqlite::Error) -> Error {
    Error::Internal {
        doing: "running the baseline".into(),
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use loci_palace::{MetaValue, Metadata};

    use super::*;

    fn drawer(source: &str, place: usize, text: &str) -> Drawer {
        let mut metadata = Metadata::default();
        let file = MetaValue::Str(source.to_owned());
        metadata.0.insert("source_file".into(), file);
        Drawer {
            id: format!("{source}:{place}"),
            text: text.to_owned(),
            metadata,
        }
    }

    #[test]
    fn stems_match_and_a_source_ranks_by_its_best_row() {
        let mut baseline = Baseline::new().unwrap();
        baseline
            .add(&[
                drawer("a", 1, "we were talking about the weather at length"),
                drawer("b", 1, "the migrations of the billing database failed"),
                drawer("b", 2, "database"),
                drawer("c", 1, "nothing of the kind"),
            ])
            .unwrap();
        let found = baseline.ask("Which database migration failed?").unwrap();
        assert_eq!(found.sessions, ["b"]);
        assert_eq!(found.turns, ["b:1", "b:2"]);
    }

    #[test]
    fn any_question_can_be_asked() {
        let baseline = Baseline::new().unwrap();
        for question in ["", "?!", "\" OR NOT *", "a AND (b", "NEAR(x y)", "日本語 ß"] {
            assert!(baseline.ask(question).unwrap().turns.is_empty());
        }
    }
}
