//! One read of a collection as of one commit: both arms, the evidence, the choice of a judge, and
//! the chosen drawers.

#[cfg(test)]
mod calls;

use loci_core::{
    CandidateQuery, Collection, EmbedderIdentity, Error, FacetCounts, Outside, Recalled, Result,
    SearchView, SpaceVector, Statistics, ViewRequest, Warning, validate_vector,
};

use crate::board::Board;
use crate::evidence::{Evidence, Findings, Judge, MAX_DEPTH, Probe};
use crate::lexical::{Lexical, Question};
use crate::spelling;

/// What [`recall`] returns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecallResult {
    /// The chosen drawers, in the order of the choice. A damaged one is left out and reported.
    pub drawers: Vec<Recalled>,
    /// The facets that the judge requested, one for each key.
    pub facets: Vec<FacetCounts>,
    /// The counts outside the selection, if it matches nothing and the judge requested them.
    pub outside: Option<Outside>,
    /// Warnings about data that is missing from the answer.
    pub warnings: Vec<Warning>,
}

/// Lets `judge` choose among the results of both arms. Everything is read as of one commit.
pub fn recall(
    collection: &dyn Collection,
    probe: &Probe<'_>,
    judge: &mut dyn Judge,
) -> Result<RecallResult> {
    for (name, depth) in [("depth", probe.depth), ("near", probe.near)] {
        if depth == 0 || depth > MAX_DEPTH {
            return Err(Error::invalid(
                name,
                format!("{depth}; must be 1 to {MAX_DEPTH}"),
            ));
        }
    }
    for (at, vector) in probe.vectors.iter().enumerate() {
        validate_vector(&format!("query vector {at}"), &vector.vector)?;
    }
    let vectors: Vec<SpaceVector> = probe
        .vectors
        .iter()
        .map(|vector| SpaceVector {
            space: vector.space.clone(),
            vector: vector.vector.clone(),
        })
        .collect();
    let request = ViewRequest {
        selection: probe.selection,
        vectors: !vectors.is_empty(),
    };
    let mut result = RecallResult::default();
    let warnings = collection.with_view(&request, &mut |view| {
        let search = Search {
            collection: collection.name(),
            probe,
            vectors: &vectors,
            view,
            warnings: Vec::new(),
        };
        result = search.run(judge)?;
        Ok(())
    })?;
    result.warnings.extend(warnings);
    Ok(result)
}

struct Search<'a> {
    collection: &'a str,
    probe: &'a Probe<'a>,
    /// As in the probe.
    vectors: &'a [SpaceVector],
    view: &'a mut dyn SearchView,
    warnings: Vec<Warning>,
}

impl Search<'_> {
    fn run(mut self, judge: &mut dyn Judge) -> Result<RecallResult> {
        let mut findings = self.find()?;
        let shortlist = judge.shortlist(&findings);
        self.compare(&mut findings.evidence, &shortlist)?;
        let narrowed = judge.narrow(&findings);
        self.read_tokens(&mut findings.evidence, &narrowed)?;
        let drawers = self.view.fetch(&judge.choose(&findings))?;
        let drawers = judge.order(&findings, drawers);
        let facets = match judge.facets(&drawers) {
            Some(wanted) => self.view.facets(wanted.keys, wanted.limit)?,
            None => Vec::new(),
        };
        let is_empty = findings.in_scope == 0 && !self.probe.selection.is_all();
        let wanted = if is_empty { judge.outside() } else { None };
        let outside = wanted
            .map(|wanted| self.view.outside(&wanted))
            .transpose()?;
        Ok(RecallResult {
            drawers,
            facets,
            outside,
            warnings: self.warnings,
        })
    }

    fn find(&mut self) -> Result<Findings> {
        let probe = self.probe;
        let statistics = self.view.statistics().clone();
        if statistics.in_scope == 0 && !probe.selection.is_all() {
            self.warnings.push(Warning::FilterExcludesAll {
                collection: self.collection.to_owned(),
                drawers: statistics.drawers,
            });
        }
        for vector in &probe.vectors {
            if vector.pinned != statistics.embedder {
                let before = vector.pinned.as_ref();
                return Err(changed_embedder(self.collection, &statistics, before));
            }
            if vector.space.is_none() {
                check_dimension(self.collection, &statistics, vector.vector.len())?;
            }
        }
        let depth = grown(probe.depth, statistics.drawers);
        let near = grown(probe.near, statistics.drawers);
        let mut question = Question::new(probe.query, &statistics, &mut self.warnings);
        let mut candidates = self.view.candidates(&CandidateQuery {
            terms: &question.terms,
            common: question.common,
            vectors: self.vectors,
            near,
        })?;
        spelling::correct(
            self.view,
            &mut question,
            &mut candidates.postings,
            &mut self.warnings,
        )?;
        let mut lexical = Lexical::new(question, candidates.postings, &statistics);
        lexical.add_newest(self.view, depth.div_ceil(2), &mut self.warnings)?;
        let best = lexical.best(self.view, depth)?;
        let mut board = Board::new(&lexical);
        board.fill(self.view, best, candidates.nearest, probe.context)?;
        let is_late = |moment| board.is_any_later_than(moment);
        if probe.dates || probe.until.is_some_and(is_late) {
            board.find_dated(self.view)?;
        }
        let (evidence, sources) = (board.evidence, board.sources);
        let others: u64 = statistics.foreign.iter().map(|other| other.vectors).sum();
        let compared = self.compared(&statistics);
        Ok(Findings {
            depth,
            near,
            only_stop_words: lexical.only_stop_words,
            drawers: lexical.drawers,
            mean_length: lexical.mean_length,
            in_scope: statistics.in_scope,
            not_compared: others.saturating_sub(compared),
            stand_ins: compared,
            without_vector: statistics
                .drawers
                .saturating_sub(statistics.vectors + others),
            terms: lexical.terms,
            evidence,
            sources,
        })
    }

    /// Vectors of other embedders whose space is searched.
    fn compared(&self, statistics: &Statistics) -> u64 {
        let spaces = self
            .vectors
            .iter()
            .filter_map(|vector| vector.space.as_ref());
        spaces
            .map(|space| {
                let of_space = statistics.foreign.iter();
                of_space
                    .filter(|other| other.embedder.as_ref() == Some(space))
                    .map(|other| other.vectors)
                    .sum::<u64>()
            })
            .sum()
    }

    /// Computes the distances of shortlisted drawers that the semantic arm did not find.
    fn compare(&mut self, evidence: &mut [Evidence], shortlist: &[usize]) -> Result<()> {
        let record = |at: &usize| evidence.get(*at).map(|found| found.record);
        let expected: Vec<u64> = with_neighbours(evidence, shortlist)
            .iter()
            .filter_map(record)
            .collect();
        self.view.expect_tokens(&expected);
        if self.vectors.is_empty() {
            return Ok(());
        }
        let unknown: Vec<usize> = shortlist
            .iter()
            .copied()
            .filter(|at| {
                evidence
                    .get(*at)
                    .is_some_and(|found| found.distance.is_none())
            })
            .collect();
        let records: Vec<u64> = unknown.iter().filter_map(record).collect();
        let distances = self.view.distances(self.vectors, &records)?;
        for (at, distance) in unknown.into_iter().zip(distances) {
            if let (Some(found), Some((space, distance))) = (evidence.get_mut(at), distance) {
                found.distance = Some(distance);
                found.space = space;
            }
        }
        Ok(())
    }

    /// Reads the tokens of these drawers and of their neighbours.
    fn read_tokens(&mut self, evidence: &mut [Evidence], narrowed: &[usize]) -> Result<()> {
        let wanted = with_neighbours(evidence, narrowed);
        let records: Vec<u64> = wanted
            .iter()
            .filter_map(|at| evidence.get(*at).map(|found| found.record))
            .collect();
        for (at, tokens) in wanted.into_iter().zip(self.view.tokens(&records)?) {
            if let Some(found) = evidence.get_mut(at) {
                found.tokens = tokens;
            }
        }
        Ok(())
    }
}

/// The depth for a collection of this many drawers: half as deep again for a hundred times as many.
/// On LongMemEval together, eight times the depth finds .01 more, and costs as much as it is deep.
fn grown(depth: usize, drawers: u64) -> usize {
    const BASE: f32 = 1_000.0;
    const EXPONENT: f32 = 0.08;
    let factor = (drawers as f32 / BASE).max(1.0).powf(EXPONENT);
    ((depth as f32 * factor) as usize).clamp(depth, MAX_DEPTH.max(depth))
}

/// These positions and those of their neighbours, ascending. All of them are positions of evidence.
fn with_neighbours(evidence: &[Evidence], positions: &[usize]) -> Vec<usize> {
    let mut wanted = Vec::with_capacity(positions.len());
    for (at, found) in positions
        .iter()
        .filter_map(|at| Some((*at, evidence.get(*at)?)))
    {
        wanted.push(at);
        wanted.extend(found.before.iter().chain(&found.after));
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The error if the embedder of the vectors changed after the question was embedded.
fn changed_embedder(
    collection: &str,
    statistics: &Statistics,
    before: Option<&EmbedderIdentity>,
) -> Error {
    let name = |embedder: Option<&EmbedderIdentity>| {
        embedder.map_or_else(|| "unknown".to_owned(), ToString::to_string)
    };
    Error::EmbedderMismatch {
        collection: collection.to_owned(),
        pinned: name(statistics.embedder.as_ref()),
        given: name(before),
    }
}

fn check_dimension(collection: &str, statistics: &Statistics, got: usize) -> Result<()> {
    match statistics.dimension {
        Some(expected) if expected != got => Err(Error::DimensionMismatch {
            collection: collection.to_owned(),
            expected,
            got,
        }),
        _ => Ok(()),
    }
}
