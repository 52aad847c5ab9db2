//! Collects evidence: the results of the arms, their neighbours, and the totals of each source.

use std::collections::HashMap;

use loci_core::{PassageSummary, Result, SearchView, SourceLimits, SourcePassages, passage};

use crate::evidence::{Evidence, Placed, ProbedTerm, Role, SourceEvidence};
use crate::lexical::Lexical;

/// Maximum number of drawers that are read for the totals of one source, and of all sources.
const LIMITS: SourceLimits = SourceLimits {
    per_source: 2_000,
    total: 10_000,
};

/// Collects evidence, each record once.
pub(crate) struct Board<'a> {
    lexical: &'a Lexical,
    places: HashMap<u64, usize>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) sources: Vec<SourceEvidence>,
}

/// The results of one record in the arms.
#[derive(Default)]
struct Arms {
    lexical: Option<Placed>,
    semantic: Option<(usize, Placed)>,
}

impl Arms {
    /// The better of its ranks.
    fn rank(&self) -> Option<usize> {
        let semantic = self.semantic.map(|(_, placed)| placed);
        let placed = [self.lexical, semantic].into_iter().flatten();
        placed.map(|placed| placed.rank).min()
    }
}

impl<'a> Board<'a> {
    pub(crate) fn new(lexical: &'a Lexical) -> Self {
        Self {
            lexical,
            places: HashMap::new(),
            evidence: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds the results of the arms: the best by words with their scores, and the nearest of each
    /// space with their distances. Sources of the best drawers come first; sources beyond the
    /// limits get no totals.
    pub(crate) fn fill(
        &mut self,
        view: &mut dyn SearchView,
        best: Vec<(u64, f32)>,
        nearest: Vec<Vec<(f32, u64)>>,
        context: usize,
    ) -> Result<()> {
        let found = by_record(best, nearest);
        let mut order: Vec<&(u64, Arms)> = found.iter().collect();
        order.sort_by_key(|(_, arms)| arms.rank());
        let records: Vec<u64> = order.iter().map(|(record, _)| *record).collect();
        let around = view.surroundings(&records, LIMITS)?;
        let passages = around.passages.into_iter().flatten();
        let mut passages: HashMap<u64, PassageSummary> =
            passages.map(|passage| (passage.record, passage)).collect();
        for (record, arms) in found {
            // A drawer without a passage cannot be ranked.
            let Some(passage) = passages.remove(&record) else {
                continue;
            };
            let at = self.push(&passage, true);
            if let Some(evidence) = self.evidence.get_mut(at) {
                evidence.lexical = arms.lexical;
                if let Some((space, placed)) = arms.semantic {
                    evidence.semantic = Some(placed);
                    evidence.distance = Some(placed.value);
                    evidence.space = space;
                }
            }
        }
        for source in around.sources {
            self.sources.push(self.sum(&source));
            self.add_neighbours(view, &source.passages, context);
        }
        Ok(())
    }

    fn push(&mut self, passage: &PassageSummary, admitted: bool) -> usize {
        let at = self.evidence.len();
        self.places.insert(passage.record, at);
        self.evidence.push(Evidence {
            record: passage.record,
            admitted,
            terms: self.lexical.of(passage.record).collect(),
            label: named(&self.lexical.terms, &passage.label),
            role: role_of(&passage.label),
            length: passage.length,
            source: passage.source,
            authored_at: passage.authored_at,
            ..Evidence::default()
        });
        at
    }

    fn sum(&self, source: &SourcePassages) -> SourceEvidence {
        let mut counts = vec![0_u32; self.lexical.terms.len()];
        for passage in &source.passages {
            for (term, count) in self.lexical.of(passage.record) {
                if let Some(sum) = counts.get_mut(term) {
                    *sum += count;
                }
            }
        }
        let lengths = source.passages.iter();
        SourceEvidence {
            source: source.source,
            drawers: source.passages.len() as u64,
            length: lengths.map(|passage| u64::from(passage.length)).sum(),
            terms: counts
                .into_iter()
                .enumerate()
                .filter(|(_, count)| *count > 0)
                .collect(),
        }
    }

    /// Adds the neighbours of found drawers, which may be chosen too. Each drawer that may be
    /// chosen gets its own neighbours for context.
    fn add_neighbours(
        &mut self,
        view: &dyn SearchView,
        passages: &[PassageSummary],
        context: usize,
    ) {
        let hits: Vec<bool> = passages
            .iter()
            .map(|passage| self.places.contains_key(&passage.record))
            .collect();
        let near = |at: usize, reach: usize| {
            let first = at.saturating_sub(reach);
            hits.iter()
                .skip(first)
                .take(at - first + reach + 1)
                .any(|hit| *hit)
        };
        let mut places = Vec::with_capacity(passages.len());
        for (at, passage) in passages.iter().enumerate() {
            let place = match self.places.get(&passage.record) {
                Some(place) => Some(*place),
                None if near(at, 2 * context) => {
                    let admitted = near(at, context) && view.admits(passage.record);
                    Some(self.push(passage, admitted))
                }
                None => None,
            };
            places.push(place);
        }
        for (at, place) in places.iter().enumerate() {
            let evidence = place.and_then(|place| self.evidence.get_mut(place));
            let Some(evidence) = evidence.filter(|evidence| evidence.admitted) else {
                continue;
            };
            let beside = |place: Option<usize>| places.get(place?).copied().flatten();
            evidence.before = (1..=context)
                .filter_map(|step| beside(at.checked_sub(step)))
                .collect();
            evidence.after = (1..=context)
                .filter_map(|step| beside(at.checked_add(step)))
                .collect();
        }
    }

    /// Whether a drawer that may be chosen is later than this moment.
    pub(crate) fn is_any_later_than(&self, moment: i64) -> bool {
        let mut admitted = self.evidence.iter().filter(|found| found.admitted);
        admitted.any(|found| found.authored_at >= moment)
    }

    /// Distinguishes dates of content from dates of adding.
    pub(crate) fn find_dated(&mut self, view: &mut dyn SearchView) -> Result<()> {
        let admitted = self.evidence.iter().filter(|found| found.admitted);
        let records: Vec<u64> = admitted.map(|found| found.record).collect();
        let created = view.created_at(&records)?;
        let admitted = self.evidence.iter_mut().filter(|found| found.admitted);
        for (found, created) in admitted.zip(created) {
            found.dated = created != Some(found.authored_at);
        }
        Ok(())
    }
}

/// Records with their ranks, in the order of the arms. A drawer that several spaces return counts
/// in the first.
fn by_record(best: Vec<(u64, f32)>, nearest: Vec<Vec<(f32, u64)>>) -> Vec<(u64, Arms)> {
    let mut found: Vec<(u64, Arms)> = Vec::with_capacity(best.len());
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (at, (record, value)) in best.into_iter().enumerate() {
        places.insert(record, found.len());
        let lexical = Some(Placed {
            rank: at + 1,
            value,
        });
        let semantic = None;
        found.push((record, Arms { lexical, semantic }));
    }
    for (space, nearest) in nearest.into_iter().enumerate() {
        for (at, (value, record)) in nearest.into_iter().enumerate() {
            let place = *places.entry(record).or_insert_with(|| {
                found.push((record, Arms::default()));
                found.len() - 1
            });
            if let Some((_, arms)) = found.get_mut(place) {
                let placed = Placed {
                    rank: at + 1,
                    value,
                };
                arms.semantic.get_or_insert((space, placed));
            }
        }
    }
    found
}

/// The side of a chat, by the label that [`loci_core::passage::label`] gives to its turns.
fn role_of(label: &str) -> Role {
    match label {
        passage::USER => Role::User,
        passage::ASSISTANT => Role::Assistant,
        _ => Role::None,
    }
}

/// Terms of the question that occur in the name of the speaker.
fn named(terms: &[ProbedTerm], label: &str) -> Vec<usize> {
    if label.is_empty() {
        return Vec::new();
    }
    let named = |(at, term): (usize, &ProbedTerm)| {
        label.split(' ').any(|name| name == term.term).then_some(at)
    };
    terms.iter().enumerate().filter_map(named).collect()
}
