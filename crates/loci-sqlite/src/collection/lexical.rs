//! The lexical arm: BM25 over the postings, under the same row set as every other arm.
//!
//! FTS5 keeps the postings; its own ranking is not used. It costs about a microsecond per match, gives a word that
//! stands in half of the drawers no weight at all, and cannot weigh terms. Reading the instances of a term costs a
//! tenth of that, and the rest is arithmetic here.

use loci_core::bm25::{PASSAGE_B, PASSAGE_K1, rarity, saturation};
use loci_core::{LexicalHit, LexicalResult, MAX_RESULTS, ProbedTerm, Selection, Warning};
use loci_text::TermKind;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteCollection;
use super::meta::CollectionRow;
use super::query::excludes_all;
use super::read::Damaged;
use super::rowset::RowSet;
use crate::fault::Attempt;
use crate::store::connection::Db;

/// A term that stands in more than this share of the drawers does not choose candidates while others can; nor does one
/// that stands in more drawers than the upper bound, whatever the share.
const COMMON_SHARE: u64 = 10;
const COMMON_LEAST: u64 = 2_000;
const COMMON_MOST: u64 = 20_000;
/// Drawers of a common term that are ranked at least when nothing else can choose.
const NEWEST_LEAST: usize = 2_000;
/// Different terms of a query that are used at most.
const MAX_TERMS: usize = 128;
/// How much a longer term counts that begins like one of the query's, and a part of a compound word.
const PREFIX_WEIGHT: f32 = 0.5;
const PART_WEIGHT: f32 = 0.5;
/// Shortest beginning that is extended, in bytes.
const PREFIX_BYTES: usize = 3;

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
    collection.read("searching words", |db, row| {
        let mut warnings = Vec::new();
        let set = collection.evaluator(db, row).selection(selection)?;
        let arm = Lexical::new(db, row, query, set.as_ref(), k, &mut warnings)?;
        if arm.terms.is_empty() {
            warnings.push(Warning::EmptyQuery);
            return Ok(LexicalResult {
                hits: Vec::new(),
                warnings,
            });
        }
        warnings.extend(excludes_all(row, set.as_ref()));
        let mut damaged = Damaged::default();
        let mut hits = Vec::new();
        // A few more than asked for, in case some turn out damaged.
        for (candidate, score) in arm.best(&db.sql, k + 16)? {
            if hits.len() == k {
                break;
            }
            if let Some(drawer) = damaged.fetch(&db.sql, candidate)? {
                hits.push(LexicalHit {
                    id: drawer.id,
                    document: drawer.text,
                    metadata: drawer.metadata,
                    score: f64::from(score),
                });
            }
        }
        warnings.extend(damaged.into_warning());
        Ok(LexicalResult { hits, warnings })
    })
}

/// One mention of a term of the query: the row, which term, how often.
type Mention = (u64, usize, u32);

/// Everything that the postings say about a query.
pub(crate) struct Lexical<'a> {
    collection: &'a CollectionRow,
    set: Option<&'a RowSet>,
    pub(crate) terms: Vec<ProbedTerm>,
    pub(crate) only_stop_words: bool,
    /// Drawers of the palace.
    pub(crate) drawers: u64,
    /// By row, also rows outside the set and of other collections.
    mentions: Vec<Mention>,
}

impl<'a> Lexical<'a> {
    /// Reads the postings of every term. `wanted` is how many candidates there should be: if rarer terms do not give so
    /// many, the newest drawers of common ones are added.
    pub(crate) fn new(
        db: &'a Db,
        collection: &'a CollectionRow,
        query: &str,
        set: Option<&'a RowSet>,
        wanted: usize,
        warnings: &mut Vec<Warning>,
    ) -> Attempt<Self> {
        let asked = loci_text::query_terms(query, MAX_TERMS);
        if asked.left_out > 0 {
            warnings.push(Warning::ManyWords {
                searched: MAX_TERMS,
                left_out: asked.left_out,
            });
        }
        let mut arm = Self {
            collection,
            set,
            terms: Vec::with_capacity(asked.terms.len()),
            only_stop_words: asked.only_stop_words,
            drawers: db
                .sql
                .prepare_cached("SELECT coalesce(sum(drawers), 0) FROM collections")?
                .query_row([], |row| row.get::<_, i64>(0))? as u64,
            mentions: Vec::new(),
        };
        let limit = (arm.drawers / COMMON_SHARE).clamp(COMMON_LEAST, COMMON_MOST) as usize;
        if asked.terms.is_empty() {
            return Ok(arm);
        }
        let postings = Postings::open(db, limit)?;
        let mut common = Vec::new();
        for term in asked.terms {
            let weight = match term.kind {
                TermKind::Part => PART_WEIGHT,
                _ => 1.0,
            };
            arm.add(
                &postings,
                &term.term,
                &term.word,
                weight,
                false,
                &mut common,
            )?;
            if term.prefix && (term.term.len() >= PREFIX_BYTES || !term.term.is_ascii()) {
                let weight = weight * PREFIX_WEIGHT;
                arm.add(&postings, &term.term, &term.word, weight, true, &mut common)?;
            }
        }
        arm.mentions.sort_unstable();
        // Where other collections have postings too, rows cannot be counted as ours without looking them up.
        if !common.is_empty() && (arm.drawers > collection.drawers || arm.admitted() < wanted) {
            arm.add_newest(&postings, &common, wanted.max(NEWEST_LEAST), warnings)?;
            arm.mentions.sort_unstable();
        }
        Ok(arm)
    }

    fn add(
        &mut self,
        postings: &Postings<'_>,
        term: &str,
        word: &str,
        weight: f32,
        longer: bool,
        common: &mut Vec<usize>,
    ) -> Attempt<()> {
        let at = self.terms.len();
        let start = self.mentions.len();
        let (found, holding) = if longer {
            (postings.longer(term, at, &mut self.mentions)?, None)
        } else {
            // Counting is ten times cheaper than reading.
            match postings.drawers(term)? {
                holding if holding > postings.limit as u64 => (None, Some(holding)),
                _ => (postings.instances(term, at, &mut self.mentions)?, None),
            }
        };
        let drawers = match found {
            Some(drawers) => drawers,
            None => {
                self.mentions.truncate(start);
                common.push(at);
                holding.unwrap_or(postings.limit as u64)
            }
        };
        if longer && drawers == 0 {
            return Ok(());
        }
        self.terms.push(ProbedTerm {
            term: if longer {
                format!("{term}*")
            } else {
                term.to_owned()
            },
            word: word.to_owned(),
            weight,
            drawers,
        });
        Ok(())
    }

    /// Rows that the set admits, as far as that can be told without looking them up.
    fn admitted(&self) -> usize {
        self.mentions
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|same| same.first().is_some_and(|first| self.admits(first.0)))
            .count()
    }

    fn admits(&self, row: u64) -> bool {
        self.set.is_none_or(|set| set.contains(row))
    }

    fn add_newest(
        &mut self,
        postings: &Postings<'_>,
        common: &[usize],
        limit: usize,
        warnings: &mut Vec<Warning>,
    ) -> Attempt<()> {
        let mut cut = Vec::new();
        for at in common {
            if let Some(term) = self.terms.get(*at) {
                let longer = term.term.ends_with('*');
                let rows = self.newest(postings, term.term.trim_end_matches('*'), longer, limit)?;
                if rows.len() == limit && !cut.contains(&term.word) {
                    cut.push(term.word.clone());
                }
                self.mentions
                    .extend(rows.into_iter().map(|row| (row, *at, 1)));
            }
        }
        if !cut.is_empty() {
            warnings.push(Warning::CommonWords { limit, words: cut });
        }
        Ok(())
    }

    /// The newest rows of the set that hold a term.
    fn newest(
        &self,
        postings: &Postings<'_>,
        term: &str,
        longer: bool,
        limit: usize,
    ) -> Attempt<Vec<u64>> {
        let star = if longer { "*" } else { "" };
        let mut statement = postings.db.prepare_cached(NEWEST)?;
        let mut rows = statement.query(params![format!("\"{term}\"{star}"), self.collection.id])?;
        let mut newest = Vec::new();
        while newest.len() < limit {
            let Some(columns) = rows.next()? else { break };
            let row = columns.get::<_, i64>(0)? as u64;
            if self.admits(row) {
                newest.push(row);
            }
        }
        Ok(newest)
    }

    /// Terms of a row, and how often it holds them.
    pub(crate) fn of(&self, row: u64) -> impl Iterator<Item = (usize, u32)> + '_ {
        let start = self.mentions.partition_point(|mention| mention.0 < row);
        self.mentions
            .iter()
            .skip(start)
            .take_while(move |mention| mention.0 == row)
            .map(|(_, term, count)| (*term, *count))
    }

    /// Mean number of terms of a drawer.
    pub(crate) fn mean_length(&self) -> f32 {
        let drawers = self.collection.drawers.max(1);
        (self.collection.terms as f32 / drawers as f32).max(1.0)
    }

    /// The best rows of the set, best first. A row's length is looked up only while it can still be among them.
    pub(crate) fn best(&self, db: &Connection, limit: usize) -> Attempt<Vec<(u64, f32)>> {
        let weights: Vec<f32> = self
            .terms
            .iter()
            .map(|term| term.weight * rarity(self.drawers, term.drawers))
            .collect();
        let score = |same: &[Mention], length: f32| -> f32 {
            same.iter()
                .map(|(_, term, count)| {
                    let weight = weights.get(*term).copied().unwrap_or_default();
                    let mean = self.mean_length();
                    let share = saturation(*count as f32, PASSAGE_K1, PASSAGE_B, length, mean);
                    weight * (PASSAGE_K1 + 1.0) * share
                })
                .sum()
        };
        let mut bounds: Vec<(f32, &[Mention])> = self
            .mentions
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|same| same.first().is_some_and(|first| self.admits(first.0)))
            .map(|same| (score(same, 0.0), same))
            .collect();
        bounds.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut lengths =
            db.prepare_cached("SELECT terms FROM passages WHERE row = ?1 AND collection = ?2")?;
        let mut best: Vec<(u64, f32)> = Vec::new();
        let mut floor = f32::NEG_INFINITY;
        for (bound, same) in bounds {
            if bound <= floor {
                break;
            }
            let Some(row) = same.first().map(|first| first.0) else {
                continue;
            };
            let length: Option<i64> = lengths
                .query_row(params![row as i64, self.collection.id], |columns| {
                    Ok(columns.get_ref(0)?.as_i64().unwrap_or_default())
                })
                .optional()?;
            let Some(length) = length else { continue };
            best.push((row, score(same, length as f32)));
            // Sorting again now and then keeps the floor close enough.
            if best.len() >= 2 * limit.max(32) {
                sort_by_score(&mut best);
                best.truncate(limit);
                floor = best.last().map_or(floor, |last| last.1);
            }
        }
        sort_by_score(&mut best);
        best.truncate(limit);
        Ok(best)
    }
}

/// Looks the collection up per match: a join would let the planner drive from the other side.
pub(crate) const NEWEST: &str = "SELECT rowid FROM postings WHERE postings MATCH ?1
     AND (SELECT collection FROM passages WHERE row = postings.rowid) = ?2 ORDER BY rowid DESC";

fn sort_by_score(ranked: &mut [(u64, f32)]) {
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}

/// The postings of terms, through FTS5's own view of its index.
struct Postings<'a> {
    db: &'a Connection,
    /// Drawers of one term that are read at most.
    limit: usize,
}

impl<'a> Postings<'a> {
    fn open(db: &'a Db, limit: usize) -> Attempt<Self> {
        db.ensure_vocabulary()?;
        Ok(Self { db: &db.sql, limit })
    }

    /// Appends the mentions of a term in row order; gives the number of drawers, or nothing if there are too many.
    fn instances(
        &self,
        term: &str,
        at: usize,
        mentions: &mut Vec<Mention>,
    ) -> Attempt<Option<u64>> {
        let mut statement = self
            .db
            .prepare_cached("SELECT doc FROM temp.mentions WHERE term = ?1")?;
        let mut rows = statement.query([term])?;
        let start = mentions.len();
        while let Some(columns) = rows.next()? {
            let row = columns.get::<_, i64>(0)? as u64;
            let read = mentions.len() - start;
            match mentions.last_mut() {
                Some(last) if last.0 == row && last.1 == at => last.2 += 1,
                _ if read == self.limit => return Ok(None),
                _ => mentions.push((row, at, 1)),
            }
        }
        Ok(Some((mentions.len() - start) as u64))
    }

    /// The same for all longer terms that begin with `term`.
    fn longer(&self, term: &str, at: usize, mentions: &mut Vec<Mention>) -> Attempt<Option<u64>> {
        let mut statement = self
            .db
            .prepare_cached("SELECT doc FROM temp.mentions WHERE term > ?1 AND term < ?2")?;
        // No term holds the last code point.
        let mut rows = statement.query([term, &format!("{term}\u{10ffff}")])?;
        let start = mentions.len();
        while let Some(columns) = rows.next()? {
            if mentions.len() - start >= 2 * self.limit {
                return Ok(None);
            }
            mentions.push((columns.get::<_, i64>(0)? as u64, at, 1));
        }
        let mut found = mentions.split_off(start);
        found.sort_unstable();
        found.dedup();
        if found.len() > self.limit {
            return Ok(None);
        }
        mentions.extend_from_slice(&found);
        Ok(Some(found.len() as u64))
    }

    /// Drawers that hold a term.
    fn drawers(&self, term: &str) -> Attempt<u64> {
        let found: Option<i64> = self
            .db
            .prepare_cached("SELECT doc FROM temp.frequencies WHERE term = ?1")?
            .query_row([term], |row| row.get(0))
            .optional()?;
        Ok(found.unwrap_or(0) as u64)
    }
}
