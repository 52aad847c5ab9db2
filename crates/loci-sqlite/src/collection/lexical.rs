//! Word search: BM25 over the postings, under the same row set as every other arm.
//!
//! Ranking a match costs about a microsecond, finding one a thirtieth of that. So very common words
//! do not choose the candidates when rarer ones can; they only help to rank them.

use std::sync::Arc;

use loci_core::{LexicalHit, LexicalResult, MAX_RESULTS, Selection, Warning};
use rusqlite::{Connection, params};

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::query::excludes_all;
use super::read::Damaged;
use super::rowset::RowSet;
use super::stopwords::is_stop_word;
use crate::fault::Attempt;
use crate::store::connection::Db;

/// Matches that are ranked by score at most.
const RANKED: usize = 10_000;
/// Different words of a query that are used at most.
const MAX_TERMS: usize = 128;

pub(crate) fn search(
    collection: &SqliteCollection,
    query: &str,
    k: usize,
    selection: &Selection,
) -> loci_core::Result<LexicalResult> {
    if k == 0 || k > MAX_RESULTS {
        return Err(loci_core::Error::invalid(
            "k",
            format!("{k}; must be 1 to {MAX_RESULTS}"),
        ));
    }
    let mut warnings = Vec::new();
    let terms = terms(query, &mut warnings);
    collection.read("searching words", |db, row| {
        if terms.is_empty() {
            warnings.push(Warning::new(
                "empty_query",
                "the query holds no word to search for",
            ));
            return Ok(LexicalResult {
                hits: Vec::new(),
                warnings,
            });
        }
        let set = collection.evaluator(db, row).selection(selection)?;
        warnings.extend(excludes_all(row, set.as_ref()));
        let scope = Scope {
            db,
            collection: row,
            shared: shares_palace(&db.sql, row)?,
        };
        let ranked =
            db.with_allowed(set.map(Arc::new), |_| scope.rank(&terms, k, &mut warnings))?;
        let mut damaged = Damaged::default();
        let mut hits = Vec::new();
        for (candidate, score) in ranked {
            if hits.len() == k {
                break;
            }
            if let Some(drawer) = damaged.fetch(&db.sql, candidate)? {
                hits.push(LexicalHit {
                    id: drawer.id,
                    document: drawer.text,
                    metadata: drawer.metadata,
                    score,
                });
            }
        }
        warnings.extend(damaged.into_warning());
        Ok(LexicalResult { hits, warnings })
    })
}

/// The words of a query: each once, stop words dropped unless nothing else is left.
fn terms(query: &str, warnings: &mut Vec<Warning>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut left_out = 0_usize;
    for word in query
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let word = word.to_lowercase();
        if all.contains(&word) {
            continue;
        }
        if all.len() < MAX_TERMS {
            all.push(word);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        warnings.push(Warning::new(
            "long_query",
            format!(
                "only the first {MAX_TERMS} different words were searched, {left_out} were left out"
            ),
        ));
    }
    let content: Vec<String> = all
        .iter()
        .filter(|word| !is_stop_word(word))
        .cloned()
        .collect();
    if content.is_empty() { all } else { content }
}

/// Whether other collections have postings too.
fn shares_palace(db: &Connection, collection: &CollectionRow) -> Attempt<bool> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM collections WHERE id <> ?1 AND drawers > 0)",
    )?;
    Ok(statement.query_row([collection.id], |row| row.get(0))?)
}

struct Scope<'a> {
    db: &'a Db,
    collection: &'a CollectionRow,
    shared: bool,
}

impl Scope<'_> {
    fn rank(
        &self,
        terms: &[String],
        k: usize,
        warnings: &mut Vec<Warning>,
    ) -> Attempt<Vec<(u64, f64)>> {
        // A few more than asked for, in case some turn out damaged.
        let wanted = k + 16;
        let mut sized = Vec::with_capacity(terms.len());
        for term in terms {
            sized.push((
                self.matches(&match_any(std::slice::from_ref(term)))?,
                term.clone(),
            ));
        }
        sized.sort();
        let mut total = 0;
        let rare: Vec<String> = sized
            .iter()
            .take_while(|(size, _)| {
                total += size;
                total <= RANKED
            })
            .map(|(_, term)| term.clone())
            .collect();
        if rare.len() == terms.len() {
            return self.by_score(&match_any(terms), 0, wanted);
        }
        let mut weighty = rare.clone();
        for (_, term) in sized.iter().skip(rare.len()) {
            if !self.is_weightless(term)? {
                weighty.push(term.clone());
            }
        }
        let pool = if rare.is_empty() {
            Vec::new()
        } else {
            self.by_score(&match_any(&rare), 0, wanted.max(100))?
        };
        let rescore = |pool: Vec<(u64, f64)>| {
            if weighty.len() == rare.len() {
                return Ok(pool);
            }
            self.rescore(&match_any(&weighty), &pool)
        };
        if pool.len() >= k {
            return rescore(pool);
        }
        // Too few hold a rarer word: add the newest of those that hold the common ones.
        let everything = match_any(terms);
        let floor = self.nth_newest(&everything, RANKED)?;
        if floor > 0 {
            warnings.push(Warning::new(
                "common_words",
                format!(
                    "the words stand in so many drawers that only the newest {RANKED} of them were ranked"
                ),
            ));
        }
        let mut ranked = self.by_score(&everything, floor, wanted)?;
        let missing = pool
            .into_iter()
            .filter(|(row, _)| ranked.iter().all(|(other, _)| other != row))
            .collect();
        ranked.extend(rescore(missing)?);
        sort_by_score(&mut ranked);
        Ok(ranked)
    }

    /// Whether a word stands in half of all drawers or more: BM25 gives it no weight.
    fn is_weightless(&self, term: &str) -> Attempt<bool> {
        let count = |sql: &str, parameters: &[&dyn rusqlite::ToSql]| -> Attempt<i64> {
            Ok(self
                .db
                .sql
                .prepare_cached(sql)?
                .query_row(parameters, |row| row.get(0))?)
        };
        let expression = match_any(std::slice::from_ref(&term.to_owned()));
        let holding = count(
            "SELECT count(*) FROM postings WHERE postings MATCH ?1",
            &[&expression],
        )?;
        let drawers = count("SELECT coalesce(sum(drawers), 0) FROM collections", &[])?;
        Ok(holding * 2 >= drawers)
    }

    fn matches(&self, expression: &str) -> Attempt<usize> {
        let mut statement = self.db.sql.prepare_cached(if self.shared {
            COUNT_IN_COLLECTION
        } else {
            COUNT
        })?;
        let count: i64 = statement.query_row(
            params![expression, RANKED as i64 + 1, self.collection.id],
            |row| row.get(0),
        )?;
        Ok(count as usize)
    }

    fn by_score(&self, expression: &str, floor: u64, limit: usize) -> Attempt<Vec<(u64, f64)>> {
        let mut statement = self.db.sql.prepare_cached(if self.shared {
            RANK_IN_COLLECTION
        } else {
            RANK
        })?;
        let mut rows = statement.query(params![
            expression,
            floor as i64,
            limit as i64,
            self.collection.id
        ])?;
        let mut ranked = Vec::new();
        while let Some(row) = rows.next()? {
            ranked.push((row.get::<_, i64>(0)? as u64, -row.get::<_, f64>(1)?));
        }
        Ok(ranked)
    }

    /// Scores of the same rows under more words. One pass over all matches is cheaper than a
    /// query per row, each of which would count the matches of every word again.
    fn rescore(&self, expression: &str, pool: &[(u64, f64)]) -> Attempt<Vec<(u64, f64)>> {
        let rows = RowSet::of_rows(pool.iter().map(|(row, _)| *row));
        let mut ranked = self.db.with_allowed(Some(Arc::new(rows)), |_| {
            self.by_score(expression, 0, pool.len())
        })?;
        sort_by_score(&mut ranked);
        Ok(ranked)
    }

    fn nth_newest(&self, expression: &str, n: usize) -> Attempt<u64> {
        let mut statement = self.db.sql.prepare_cached(if self.shared {
            NEWEST_IN_COLLECTION
        } else {
            NEWEST
        })?;
        let mut rows = statement.query(params![expression, n as i64, self.collection.id])?;
        Ok(match rows.next()? {
            Some(row) => row.get::<_, i64>(0)? as u64,
            None => 0,
        })
    }
}

// Each statement has a form for a palace with several collections. It looks the collection up per
// match: a join would let the planner drive from the other side and run the match once per drawer.
// The other form names the collection only so that both take the same parameters.
pub(crate) const RANK: &str = "SELECT rowid, bm25(postings) AS score FROM postings
     WHERE postings MATCH ?1 AND rowid >= ?2 AND loci_allowed(rowid) AND ?4 IS NOT NULL
     ORDER BY score, rowid LIMIT ?3";
pub(crate) const RANK_IN_COLLECTION: &str = "SELECT rowid, bm25(postings) AS score FROM postings
     WHERE postings MATCH ?1 AND rowid >= ?2 AND loci_allowed(rowid)
       AND (SELECT collection FROM drawers WHERE row = postings.rowid) = ?4
     ORDER BY score, rowid LIMIT ?3";
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM postings
     WHERE postings MATCH ?1 AND loci_allowed(rowid) AND ?3 IS NOT NULL LIMIT ?2)";
const COUNT_IN_COLLECTION: &str = "SELECT count(*) FROM (SELECT 1 FROM postings
     WHERE postings MATCH ?1 AND loci_allowed(rowid)
       AND (SELECT collection FROM drawers WHERE row = postings.rowid) = ?3 LIMIT ?2)";
const NEWEST: &str = "SELECT rowid FROM postings
     WHERE postings MATCH ?1 AND loci_allowed(rowid) AND ?3 IS NOT NULL ORDER BY rowid DESC LIMIT 1 OFFSET ?2";
const NEWEST_IN_COLLECTION: &str = "SELECT rowid FROM postings
     WHERE postings MATCH ?1 AND loci_allowed(rowid)
       AND (SELECT collection FROM drawers WHERE row = postings.rowid) = ?3
     ORDER BY rowid DESC LIMIT 1 OFFSET ?2";

fn sort_by_score(ranked: &mut [(u64, f64)]) {
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

/// An FTS5 expression that matches any of the words. Each is quoted, so that no word is syntax.
fn match_any(terms: &[String]) -> String {
    let quoted: Vec<String> = terms
        .iter()
        .map(|term| format!("\"{}\"", term.replace('"', "")))
        .collect();
    quoted.join(" OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_dropped_unless_nothing_else_is_left() {
        let mut warnings = Vec::new();
        assert_eq!(
            terms("What is the Rollback plan?", &mut warnings),
            ["rollback", "plan"]
        );
        assert_eq!(
            terms("to be or not to be", &mut warnings),
            ["to", "be", "or", "not"]
        );
        assert!(terms("?! -- \"\" ()", &mut warnings).is_empty());
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_megabyte_of_words_is_cut_and_the_cut_is_said() {
        let query = (0..100_000)
            .map(|n| format!("word{n}"))
            .collect::<Vec<_>>()
            .join(" ");
        let mut warnings = Vec::new();
        assert_eq!(terms(&query, &mut warnings).len(), MAX_TERMS);
        assert_eq!(warnings.first().unwrap().code, "long_query");
    }
}
