//! Derives search data from rows: passages, postings, and the order of rows in their sources.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::Row;
use crate::passage::{self, Passage};
use crate::search_view::{PassageSummary, Postings, TermQuery};

/// Sources only need to be distinct within one collection.
const COLLECTION: i64 = 0;

#[derive(Debug, Default)]
pub(super) struct Derived {
    pub(super) passages: HashMap<u64, PassageSummary>,
    /// Records of each source, ordered by line and record.
    pub(super) sources: HashMap<u64, Vec<u64>>,
    /// Sum of the lengths of the passages.
    pub(super) terms: u64,
    /// Records of each term and how often each contains it, ordered by record.
    postings: BTreeMap<String, Vec<(u64, u32)>>,
}

impl Derived {
    pub(super) fn of<'a>(rows: &[Row], beside: impl Iterator<Item = &'a Row>) -> Self {
        let mut derived = Self::default();
        let mut lines: HashMap<u64, Vec<(i64, u64)>> = HashMap::new();
        for row in rows {
            let length = derived.add_postings(row);
            // Tokens are omitted here, because a search reads those of few rows.
            let place = Passage::of(COLLECTION, row.document.as_deref(), None, &row.metadata);
            derived.terms += u64::from(length);
            if let Some(source) = place.source {
                lines
                    .entry(source)
                    .or_default()
                    .push((place.line, row.record));
            }
            let summary = PassageSummary {
                record: row.record,
                length,
                authored_at: place.authored_at.unwrap_or(row.created_at),
                label: place.label.into(),
                source: place.source,
            };
            derived.passages.insert(row.record, summary);
        }
        for row in beside {
            derived.add_postings(row);
        }
        for records in derived.postings.values_mut() {
            records.sort_unstable();
        }
        derived.sources = lines
            .into_iter()
            .map(|(source, mut lines)| {
                lines.sort_unstable();
                (
                    source,
                    lines.into_iter().map(|(_, record)| record).collect(),
                )
            })
            .collect();
        derived
    }

    /// Returns the number of terms.
    fn add_postings(&mut self, row: &Row) -> u32 {
        let Some(text) = row.document.as_deref() else {
            return 0;
        };
        let terms = passage::terms(text, &passage::context(&row.metadata));
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for term in terms.joined.split(' ').filter(|term| !term.is_empty()) {
            *counts.entry(term).or_default() += 1;
        }
        for (term, count) in counts {
            let records = self.postings.entry(term.to_owned()).or_default();
            records.push((row.record, count));
        }
        u32::try_from(terms.count).unwrap_or(u32::MAX)
    }

    /// Records that contain a term, unless there are more than `common`.
    pub(super) fn postings(&self, query: &TermQuery, common: usize) -> Postings {
        if query.longer {
            let records = self.records_of_longer(&query.term);
            return if records.len() > common {
                Postings::TooCommon {
                    drawers: common as u64,
                }
            } else {
                Postings::Listed(records.into_iter().map(|record| (record, 1)).collect())
            };
        }
        match self.postings.get(&query.term) {
            None => Postings::Listed(Vec::new()),
            Some(records) if records.len() > common => Postings::TooCommon {
                drawers: records.len() as u64,
            },
            Some(records) => Postings::Listed(records.clone()),
        }
    }

    /// Records that contain a term, ordered by record.
    pub(super) fn records(&self, query: &TermQuery) -> Vec<u64> {
        if query.longer {
            return self.records_of_longer(&query.term);
        }
        let found = self.postings.get(&query.term).into_iter().flatten();
        found.map(|(record, _)| *record).collect()
    }

    fn records_of_longer(&self, term: &str) -> Vec<u64> {
        let after = (Bound::Excluded(term), Bound::Unbounded);
        let mut records: Vec<u64> = self
            .postings
            .range::<str, _>(after)
            .take_while(|(longer, _)| longer.starts_with(term))
            .flat_map(|(_, records)| records.iter().map(|(record, _)| *record))
            .collect();
        records.sort_unstable();
        records.dedup();
        records
    }
}
