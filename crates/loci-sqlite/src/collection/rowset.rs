//! Filters as sets of rows. Positive tests become bitmaps that are read from the label table.
//! Negative tests are kept as complements, so that a negation never enumerates the collection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{
    DocumentFilter, Filter, KeyTest, MetaValue, Metadata, Ordering, Period, Selection,
};
use roaring::RoaringTreemap;
use rusqlite::{Connection, params};

use super::meta::CollectionRow;
use super::record::{LabelType, find_key, label};
use crate::fault::Attempt;

/// With at most this many rows, the remaining conditions are checked on the rows themselves.
const SMALL: usize = 2_000;
/// Number of terms of a phrase that are looked up.
const MOST_TERMS: usize = 8;
/// Number of sets kept between calls.
const CACHED_SETS: usize = 64;

/// A set of rows of one collection, or its complement.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowSet {
    rows: RoaringTreemap,
    complement: bool,
}

impl RowSet {
    fn of(rows: RoaringTreemap) -> Self {
        Self {
            rows,
            complement: false,
        }
    }

    fn everything() -> Self {
        Self {
            rows: RoaringTreemap::new(),
            complement: true,
        }
    }

    pub(crate) fn contains(&self, row: u64) -> bool {
        self.rows.contains(row) != self.complement
    }

    /// The rows, unless this is a complement.
    pub(crate) fn listed(&self) -> Option<&RoaringTreemap> {
        (!self.complement).then_some(&self.rows)
    }

    /// The excluded rows, if this is a complement.
    pub(crate) fn excluded(&self) -> Option<&RoaringTreemap> {
        self.complement.then_some(&self.rows)
    }

    /// How many of `total` rows are in the set. All listed rows exist in the collection.
    pub(crate) fn len(&self, total: u64) -> u64 {
        if self.complement {
            total.saturating_sub(self.rows.len())
        } else {
            self.rows.len()
        }
    }

    fn negate(mut self) -> Self {
        self.complement = !self.complement;
        self
    }

    fn and(self, other: &Self) -> Self {
        match (self.complement, other.complement) {
            (false, false) => Self::of(self.rows & &other.rows),
            (false, true) => Self::of(self.rows - &other.rows),
            (true, false) => Self::of(&other.rows - self.rows),
            (true, true) => Self {
                rows: self.rows | &other.rows,
                complement: true,
            },
        }
    }

    fn or(self, other: &Self) -> Self {
        self.negate().and(&other.clone().negate()).negate()
    }
}

/// Bitmaps of single conditions, valid for one sequence number of their collection.
#[derive(Default)]
pub(crate) struct RowSetCache {
    entries: Mutex<VecDeque<(CacheKey, Arc<RowSet>)>>,
}

#[derive(Debug, Clone, PartialEq)]
struct CacheKey {
    epoch: u64,
    generation: u64,
    collection: i64,
    seq: u64,
    key: String,
    test: KeyTest,
}

impl RowSetCache {
    fn get(&self, key: &CacheKey) -> Option<Arc<RowSet>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries
            .iter()
            .find(|(cached, _)| cached == key)
            .map(|(_, set)| Arc::clone(set))
    }

    fn put(&self, key: CacheKey, set: Arc<RowSet>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(cached, _)| cached.collection != key.collection || cached.seq == key.seq);
        entries.push_back((key, set));
        while entries.len() > CACHED_SETS {
            entries.pop_front();
        }
    }
}

/// Evaluates filters inside one transaction.
pub(crate) struct Evaluator<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) epoch: u64,
    pub(crate) collection: &'a CollectionRow,
    pub(crate) cache: &'a RowSetCache,
}

impl Evaluator<'_> {
    /// The rows of a selection, or `None` if it selects everything.
    pub(crate) fn selection(&self, selection: &Selection) -> Attempt<Option<RowSet>> {
        if selection.is_all() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        parts.extend(selection.filter.clone());
        parts.extend(selection.document.clone().map(Filter::Document));
        let mut start = match &selection.ids {
            Some(ids) => Some(RowSet::of(self.rows_of_ids(ids)?)),
            None => None,
        };
        if let Some(period) = &selection.period {
            let dated = RowSet::of(self.rows_in_period(period)?);
            start = Some(match start {
                Some(rows) => rows.and(&dated),
                None => dated,
            });
        }
        Ok(Some(match (start, Filter::all(parts)) {
            (Some(rows), None) => rows,
            (Some(rows), Some(filter)) => self.narrow(rows, &[&filter])?,
            (None, Some(filter)) => self.filter(&filter)?,
            (None, None) => RowSet::everything(),
        }))
    }

    fn rows_of_ids(&self, ids: &[String]) -> Attempt<RoaringTreemap> {
        let mut rows = RoaringTreemap::new();
        let mut statement = self
            .db
            .prepare_cached("SELECT row FROM drawers WHERE collection = ?1 AND id = ?2")?;
        for id in ids {
            let mut found = statement.query(params![self.collection.id, id])?;
            if let Some(row) = found.next()? {
                rows.insert(row.get::<_, i64>(0)? as u64);
            }
        }
        Ok(rows)
    }

    fn rows_in_period(&self, period: &Period) -> Attempt<RoaringTreemap> {
        let mut statement = self.db.prepare_cached(
            "SELECT row FROM passages INDEXED BY passages_date
             WHERE collection = ?1 AND authored_at >= ?2 AND authored_at <= ?3",
        )?;
        let since = period.since.unwrap_or(i64::MIN);
        let last = match period.before {
            Some(i64::MIN) => return Ok(RoaringTreemap::new()),
            Some(before) => before - 1,
            None => i64::MAX,
        };
        let rows = statement
            .query_map(params![self.collection.id, since, last], |row| {
                Ok(row.get::<_, i64>(0)? as u64)
            })?
            .collect::<rusqlite::Result<_>>()?;
        Ok(rows)
    }

    fn filter(&self, filter: &Filter) -> Attempt<RowSet> {
        match filter {
            Filter::And(parts) => self.all_of(parts),
            Filter::Or(parts) => {
                let mut union = RowSet::default();
                for part in parts {
                    union = union.or(&self.filter(part)?);
                }
                Ok(union)
            }
            Filter::Key { key, test } => self.key_test(key, test),
            Filter::Document(document) => self.documents(document),
        }
    }

    /// Rows by their text. If the filter needs certain terms, only the texts that have them are
    /// read.
    fn documents(&self, filter: &DocumentFilter) -> Attempt<RowSet> {
        if let DocumentFilter::NotPhrase(phrase) = filter {
            let phrase = DocumentFilter::Phrase(phrase.clone());
            return Ok(self.documents(&phrase)?.negate());
        }
        if let DocumentFilter::And(parts) = filter {
            let has_terms = |part: &DocumentFilter| match part {
                DocumentFilter::NotPhrase(phrase) => !phrase.terms().is_empty(),
                _ => !required_terms(part).is_empty(),
            };
            let (by_terms, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|part| has_terms(part));
            if !by_terms.is_empty() {
                let mut set = RowSet::everything();
                for part in by_terms {
                    set = set.and(&self.documents(part)?);
                }
                let rest: Vec<Filter> = rest.into_iter().cloned().map(Filter::Document).collect();
                return self.narrow(set, &rest.iter().collect::<Vec<_>>());
            }
        }
        let terms = required_terms(filter);
        if terms.is_empty() {
            return self.scan_documents(filter);
        }
        self.texts_with_terms(filter, terms)
    }

    /// The rows that satisfy a filter, among those that have all of some terms.
    fn texts_with_terms(&self, filter: &DocumentFilter, terms: &[String]) -> Attempt<RowSet> {
        // Long terms are rare. More of them would hardly leave fewer texts.
        let mut terms: Vec<&str> = terms.iter().map(String::as_str).collect();
        terms.sort_by_key(|term| std::cmp::Reverse(term.len()));
        terms.truncate(MOST_TERMS);
        // A term has letters and digits only, so no quotation mark.
        let quoted: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
        let mut candidates = self.db.prepare_cached(WITH_TERMS)?;
        let mut candidates = candidates.query([quoted.join(" AND ")])?;
        let mut texts = self
            .db
            .prepare_cached("SELECT text FROM drawers WHERE row = ?1 AND collection = ?2")?;
        let mut rows = RoaringTreemap::new();
        while let Some(candidate) = candidates.next()? {
            let row = candidate.get::<_, i64>(0)?;
            let mut found = texts.query(params![row, self.collection.id])?;
            let Some(columns) = found.next()? else {
                continue;
            };
            if filter.matches(columns.get_ref(0)?.as_str_or_null().ok().flatten()) {
                rows.insert(row as u64);
            }
        }
        Ok(RowSet::of(rows))
    }

    /// Starts with the rarest condition. If it has few rows, the other conditions are checked on
    /// them.
    fn all_of(&self, parts: &[Filter]) -> Attempt<RowSet> {
        let mut rarest: Option<(usize, usize)> = None;
        for (at, part) in parts.iter().enumerate() {
            if let Filter::Key { key, test } = part {
                let size = self.probe(key, test)?;
                if rarest.is_none_or(|(best, _)| size < best) {
                    rarest = Some((size, at));
                }
            }
        }
        let (first, rest): (Vec<_>, Vec<_>) = match rarest {
            Some((_, at)) => parts
                .iter()
                .enumerate()
                .partition(|(position, _)| *position == at),
            None => (Vec::new(), parts.iter().enumerate().collect()),
        };
        let mut set = match first.first() {
            Some((_, part)) => self.filter(part)?,
            None => RowSet::everything(),
        };
        let mut rest: Vec<_> = rest.into_iter().map(|(_, part)| part).collect();
        // Conditions on the text must read the text, so they come last, on the rows that are left.
        rest.sort_by_key(|part| matches!(part, Filter::Document(_)));
        if set
            .listed()
            .is_some_and(|rows| rows.len() as usize <= SMALL)
        {
            return self.narrow(set, &rest);
        }
        for part in rest {
            set = match part {
                Filter::Document(document)
                    if set.listed().is_some() && required_terms(document).is_empty() =>
                {
                    self.narrow(set, &[part])?
                }
                _ => set.and(&self.filter(part)?),
            };
        }
        Ok(set)
    }

    /// Keeps the listed rows that satisfy all `parts`, by reading them.
    fn narrow(&self, set: RowSet, parts: &[&Filter]) -> Attempt<RowSet> {
        let Some(rows) = set.listed() else {
            let mut set = set;
            for part in parts {
                set = set.and(&self.filter(part)?);
            }
            return Ok(set);
        };
        let mut statement = self
            .db
            .prepare_cached("SELECT metadata, text FROM drawers WHERE row = ?1")?;
        let mut kept = RoaringTreemap::new();
        for row in rows {
            let mut found = statement.query([row as i64])?;
            let Some(columns) = found.next()? else {
                continue;
            };
            let Some(metadata) = columns
                .get_ref(0)?
                .as_str()
                .ok()
                .and_then(|text| serde_json::from_str::<Metadata>(text).ok())
            else {
                continue;
            };
            let text = columns.get_ref(1)?.as_str_or_null().ok().flatten();
            if parts.iter().all(|part| part.matches(&metadata, text)) {
                kept.insert(row);
            }
        }
        Ok(RowSet::of(kept))
    }

    fn scan_documents(&self, filter: &DocumentFilter) -> Attempt<RowSet> {
        let mut statement = self.db.prepare_cached(
            "SELECT row, text FROM drawers INDEXED BY drawers_order WHERE collection = ?1",
        )?;
        let mut found = statement.query([self.collection.id])?;
        let mut rows = RoaringTreemap::new();
        while let Some(columns) = found.next()? {
            let text = columns.get_ref(1)?.as_str_or_null().ok().flatten();
            if filter.matches(text) {
                rows.insert(columns.get::<_, i64>(0)? as u64);
            }
        }
        Ok(RowSet::of(rows))
    }

    fn key_test(&self, key: &str, test: &KeyTest) -> Attempt<RowSet> {
        let cache_key = CacheKey {
            epoch: self.epoch,
            generation: self.collection.generation,
            collection: self.collection.id,
            seq: self.collection.seq,
            key: key.to_owned(),
            test: test.clone(),
        };
        if let Some(set) = self.cache.get(&cache_key) {
            return Ok((*set).clone());
        }
        let set = self.read_key_test(key, test)?;
        if set.rows.len() as usize > SMALL {
            self.cache.put(cache_key, Arc::new(set.clone()));
        }
        Ok(set)
    }

    fn read_key_test(&self, key: &str, test: &KeyTest) -> Attempt<RowSet> {
        let Some(key) = find_key(self.db, key)? else {
            return Ok(if is_negative(test) {
                RowSet::everything()
            } else {
                RowSet::default()
            });
        };
        let mut rows = RoaringTreemap::new();
        match test {
            KeyTest::Eq(value) | KeyTest::Ne(value) => {
                self.read_equal(key, value, false, &mut rows)?;
            }
            KeyTest::In(values) | KeyTest::NotIn(values) => {
                for value in values {
                    self.read_equal(key, value, false, &mut rows)?;
                }
            }
            KeyTest::Contains(value) | KeyTest::NotContains(value) => {
                self.read_equal(key, value, true, &mut rows)?;
            }
            KeyTest::StartsWith(prefix) => self.read_starting(key, prefix, &mut rows)?,
            KeyTest::Includes(part) | KeyTest::NotIncludes(part) => {
                self.read_including(key, part, &mut rows)?;
            }
            KeyTest::Order(ordering, value) => {
                // Only numbers have an order.
                if let Some((kind, value)) =
                    label(value).filter(|(kind, _)| *kind == LabelType::NUMBER)
                {
                    let mut statement = self.db.prepare_cached(order_sql(*ordering))?;
                    let mut found =
                        statement.query(params![self.collection.id, key, kind.0, value])?;
                    while let Some(columns) = found.next()? {
                        rows.insert(columns.get::<_, i64>(0)? as u64);
                    }
                }
            }
        }
        Ok(RowSet {
            rows,
            complement: is_negative(test),
        })
    }

    fn read_equal(
        &self,
        key: i64,
        value: &MetaValue,
        in_list: bool,
        rows: &mut RoaringTreemap,
    ) -> Attempt<()> {
        let Some((kind, value)) = label(value) else {
            return Ok(());
        };
        let kind = if in_list { kind.in_list() } else { kind };
        let mut statement = self.db.prepare_cached(EQUAL_SQL)?;
        let mut found = statement.query(params![self.collection.id, key, kind.0, value])?;
        while let Some(columns) = found.next()? {
            rows.insert(columns.get::<_, i64>(0)? as u64);
        }
        Ok(())
    }

    /// Reads a range of the labels.
    fn read_starting(&self, key: i64, prefix: &str, rows: &mut RoaringTreemap) -> Attempt<()> {
        let mut statement = self.db.prepare_cached(STARTING_SQL)?;
        let mut found =
            statement.query(params![self.collection.id, key, LabelType::TEXT.0, prefix])?;
        while let Some(columns) = found.next()? {
            match columns.get_ref(1)?.as_str() {
                Ok(value) if value.starts_with(prefix) => {
                    rows.insert(columns.get::<_, i64>(0)? as u64);
                }
                _ => break,
            }
        }
        self.read_long(key, &KeyTest::StartsWith(prefix.to_owned()), rows)
    }

    /// Reads all labels of a key. A value that many drawers have is compared once.
    fn read_including(&self, key: i64, part: &str, rows: &mut RoaringTreemap) -> Attempt<()> {
        let test = KeyTest::Includes(part.to_owned());
        let mut statement = self.db.prepare_cached(STARTING_SQL)?;
        let mut found = statement.query(params![self.collection.id, key, LabelType::TEXT.0, ""])?;
        let mut last: Option<(String, bool)> = None;
        while let Some(columns) = found.next()? {
            let Ok(value) = columns.get_ref(1)?.as_str() else {
                break;
            };
            let matches = match &last {
                Some((same, matches)) if same == value => *matches,
                _ => {
                    let matches = test.matches(Some(&MetaValue::Str(value.to_owned())));
                    last = Some((value.to_owned(), matches));
                    matches
                }
            };
            if matches {
                rows.insert(columns.get::<_, i64>(0)? as u64);
            }
        }
        self.read_long(key, &test, rows)
    }

    /// Checks values that are too long for a label in the metadata of their drawers.
    fn read_long(&self, key: i64, test: &KeyTest, rows: &mut RoaringTreemap) -> Attempt<()> {
        let mut statement = self.db.prepare_cached(
            "SELECT l.row, d.metadata, k.name FROM labels l JOIN drawers d ON d.row = l.row
             JOIN label_keys k ON k.id = l.key
             WHERE l.collection = ?1 AND l.key = ?2 AND l.type = ?3 AND l.value >= x''",
        )?;
        let mut found = statement.query(params![self.collection.id, key, LabelType::TEXT.0])?;
        while let Some(columns) = found.next()? {
            let metadata: Metadata = columns
                .get_ref(1)?
                .as_str()
                .ok()
                .and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default();
            let name = columns.get_ref(2)?.as_str().unwrap_or_default();
            if test.matches(metadata.get(name)) {
                rows.insert(columns.get::<_, i64>(0)? as u64);
            }
        }
        Ok(())
    }

    /// Number of rows of a positive condition, counted only as far as it matters.
    fn probe(&self, key: &str, test: &KeyTest) -> Attempt<usize> {
        const FAR: usize = SMALL + 1;
        let Some(key) = find_key(self.db, key)? else {
            return Ok(if is_negative(test) { usize::MAX } else { 0 });
        };
        let count = |value: &MetaValue, in_list: bool| -> Attempt<usize> {
            let Some((kind, value)) = label(value) else {
                return Ok(0);
            };
            let kind = if in_list { kind.in_list() } else { kind };
            let mut statement = self.db.prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM labels
                 WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value = ?4 LIMIT ?5)",
            )?;
            let found: i64 = statement.query_row(
                params![self.collection.id, key, kind.0, value, FAR as i64],
                |row| row.get(0),
            )?;
            Ok(found as usize)
        };
        match test {
            KeyTest::Eq(value) => count(value, false),
            KeyTest::Contains(value) => count(value, true),
            KeyTest::In(values) => {
                let mut sum = 0;
                for value in values {
                    sum += count(value, false)?;
                    if sum >= FAR {
                        break;
                    }
                }
                Ok(sum)
            }
            KeyTest::Order(..) | KeyTest::StartsWith(_) | KeyTest::Includes(_) => Ok(FAR),
            KeyTest::Ne(_)
            | KeyTest::NotIn(_)
            | KeyTest::NotContains(_)
            | KeyTest::NotIncludes(_) => Ok(usize::MAX),
        }
    }
}

/// The terms that every text has which satisfies the filter; none if it may have any.
fn required_terms(filter: &DocumentFilter) -> &[String] {
    match filter {
        DocumentFilter::Phrase(phrase) => phrase.terms(),
        DocumentFilter::And(_)
        | DocumentFilter::Or(_)
        | DocumentFilter::Contains(_)
        | DocumentFilter::NotContains(_)
        | DocumentFilter::Regex(_)
        | DocumentFilter::NotRegex(_)
        | DocumentFilter::NotPhrase(_) => &[],
    }
}

/// The rows, of any collection, that have some terms.
pub(crate) const WITH_TERMS: &str = "SELECT rowid FROM postings WHERE postings MATCH ?1";

/// In the order of the values; the first value without the prefix ends the range.
pub(crate) const STARTING_SQL: &str = "SELECT row, value FROM labels
     WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value >= ?4 ORDER BY value";

pub(crate) const EQUAL_SQL: &str =
    "SELECT row FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value = ?4";

pub(crate) fn order_sql(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Greater => {
            "SELECT row FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value > ?4"
        }
        Ordering::GreaterOrEqual => {
            "SELECT row FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value >= ?4"
        }
        Ordering::Less => {
            "SELECT row FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value < ?4"
        }
        Ordering::LessOrEqual => {
            "SELECT row FROM labels WHERE collection = ?1 AND key = ?2 AND type = ?3 AND value <= ?4"
        }
    }
}

fn is_negative(test: &KeyTest) -> bool {
    match test {
        KeyTest::Ne(_) | KeyTest::NotIn(_) | KeyTest::NotContains(_) | KeyTest::NotIncludes(_) => {
            true
        }
        KeyTest::Eq(_)
        | KeyTest::In(_)
        | KeyTest::Contains(_)
        | KeyTest::StartsWith(_)
        | KeyTest::Includes(_)
        | KeyTest::Order(..) => false,
    }
}
