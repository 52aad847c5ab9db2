//! Search by words alone: the lexical arm without the ranking.

use loci_core::{
    CandidateQuery, Collection, Error, MAX_RESULTS, Metadata, Recalled, Result, SearchView,
    Selection, ViewRequest, Warning,
};

use crate::lexical::{Lexical, Question};

/// Additional candidates beyond `k`, in case some are damaged.
const SPARE: usize = 16;

/// One hit of a word search.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalHit {
    /// Its record.
    pub record: u64,
    /// Id of the drawer.
    pub id: String,
    /// Its text.
    pub document: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// Relevance; larger is better, comparable within one answer.
    pub score: f64,
}

/// Answer to [`search_words`], best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LexicalResult {
    /// The hits.
    pub hits: Vec<LexicalHit>,
    /// Warnings about missing data or a changed request.
    pub warnings: Vec<Warning>,
}

/// The `k` best drawers by words, as of one commit. One shared word is enough.
pub fn search_words(
    collection: &dyn Collection,
    query: &str,
    k: usize,
    selection: &Selection,
) -> Result<LexicalResult> {
    if k == 0 || k > MAX_RESULTS {
        return Err(Error::invalid(
            "k",
            format!("{k}; must be 1 to {MAX_RESULTS}"),
        ));
    }
    let mut result = LexicalResult::default();
    let request = ViewRequest {
        selection,
        vectors: false,
    };
    let warnings = collection.with_view(&request, &mut |view| {
        result = LexicalResult::default();
        let warnings = &mut result.warnings;
        let Some(arm) = read(view, query, k, warnings)? else {
            return Ok(());
        };
        let statistics = view.statistics();
        if statistics.in_scope == 0 && !selection.is_all() {
            warnings.push(Warning::FilterExcludesAll {
                collection: collection.name().to_owned(),
                drawers: statistics.drawers,
            });
        }
        let best = arm.best(view, k + SPARE)?;
        result.hits = hits(view, &best, k)?;
        Ok(())
    })?;
    result.warnings.extend(warnings);
    Ok(result)
}

/// The arm with all candidates; `None` if the query contains no word.
fn read(
    view: &mut dyn SearchView,
    query: &str,
    wanted: usize,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Lexical>> {
    let question = Question::new(query, view.statistics(), warnings);
    if question.terms.is_empty() {
        warnings.push(Warning::EmptyQuery);
        return Ok(None);
    }
    let found = view.candidates(&CandidateQuery {
        terms: &question.terms,
        common: question.common,
        vectors: &[],
        near: 0,
    })?;
    let mut arm = Lexical::new(question, found.postings, view.statistics());
    arm.add_newest(view, wanted, warnings)?;
    Ok(Some(arm))
}

/// The first `k` of these that can be read.
fn hits(view: &mut dyn SearchView, best: &[(u64, f32)], k: usize) -> Result<Vec<LexicalHit>> {
    let mut hits: Vec<LexicalHit> = Vec::new();
    let mut rest = best;
    while hits.len() < k && !rest.is_empty() {
        let (next, after) = rest.split_at(rest.len().min(k - hits.len()));
        rest = after;
        let records: Vec<u64> = next.iter().map(|(record, _)| *record).collect();
        let mut scores = next.iter();
        for drawer in view.fetch(&records)? {
            let Recalled {
                record,
                id,
                document,
                metadata,
                ..
            } = drawer;
            // Drawers are in the requested order; damaged ones are missing.
            let score = scores.find(|(scored, _)| *scored == record);
            hits.push(LexicalHit {
                record,
                id,
                document,
                metadata,
                score: score.map_or(0.0, |(_, score)| f64::from(*score)),
            });
        }
    }
    Ok(hits)
}
