//! Learns the curves: a conditional logit, by gradient descent.
//!
//! The probability of a candidate is its share of the sum of `exp(score)` over all candidates of
//! its question. The loss of a question is the mean of the negative logarithms of the probabilities
//! of its pieces of evidence, each without the others. A curve is a sum of steps between its knots;
//! a step that may not fall stays at its least value or above.

use loci_bench::Examined;
use loci_recall::{DEFINITIONS, FEATURES, Shape, segment, share_of_large};

use super::sets::{Set, Target};

/// Weight of the squares of all steps, so that steps without evidence stay small.
const RIDGE: f64 = 0.002;
const ITERATIONS: usize = 400;
const RATE: f64 = 0.08;

/// The steps of all curves, for small and for large palaces.
#[derive(Debug, Clone)]
pub(super) struct Curves {
    /// By feature, then by knot: the first entry of each is unused, because a curve starts at 0.
    pub(super) small: Vec<Vec<f64>>,
    pub(super) large: Vec<Vec<f64>>,
}

impl Curves {
    fn new(step: f64) -> Self {
        let side: Vec<Vec<f64>> = DEFINITIONS
            .iter()
            .map(|definition| vec![step; definition.knots.len()])
            .collect();
        Self {
            small: side.clone(),
            large: side,
        }
    }

    fn sides(&mut self) -> [&mut Vec<Vec<f64>>; 2] {
        [&mut self.small, &mut self.large]
    }

    /// The value of a side of a curve at each knot.
    pub(super) fn values(steps: &[f64]) -> Vec<f64> {
        let mut sum = 0.0;
        let later = steps.iter().skip(1).map(|step| {
            sum += step;
            sum
        });
        std::iter::once(0.0).chain(later).collect()
    }

    /// Keeps the shape that each feature asks for.
    fn project(&mut self) {
        for (side, is_large) in self.sides().into_iter().zip([false, true]) {
            for (definition, steps) in DEFINITIONS.iter().zip(side) {
                let knots = definition.knots;
                let width = knots[knots.len() - 1] - knots[0];
                for (at, step) in steps.iter_mut().enumerate().skip(1) {
                    match definition.shape {
                        Shape::Rises(small, large) => {
                            let least = if is_large { large } else { small };
                            let share = (knots[at] - knots[at - 1]) / width;
                            *step = step.max(f64::from(least * share));
                        }
                        Shape::Falls => *step = step.min(0.0),
                        Shape::Free => {}
                    }
                }
            }
        }
    }
}

/// The scores of the candidates of a question.
pub(super) fn scores(question: &Examined, curves: &Curves) -> Vec<f64> {
    Placed::new(question, &[], 0.0).scores(&values_of(curves))
}

/// The values of both sides at all knots.
type Values = [Vec<Vec<f64>>; 2];

fn values_of(curves: &Curves) -> Values {
    let side = |side: &[Vec<f64>]| side.iter().map(|steps| Curves::values(steps)).collect();
    [side(&curves.small), side(&curves.large)]
}

/// A question, prepared: where each feature of each candidate lies on its knots.
struct Placed {
    places: Vec<[(u8, f32); FEATURES]>,
    /// The share of the large side.
    large: f64,
    /// The pieces of evidence, as positions of candidates.
    evidence: Vec<Vec<usize>>,
    weight: f64,
}

impl Placed {
    fn new(question: &Examined, evidence: &[Vec<usize>], weight: f64) -> Self {
        let place = |features: &[f32; FEATURES]| {
            let mut places = [(0_u8, 0.0_f32); FEATURES];
            for ((slot, definition), value) in places.iter_mut().zip(&DEFINITIONS).zip(features) {
                let (below, share) = segment(definition.knots, *value);
                *slot = (below as u8, share);
            }
            places
        };
        let candidates = question.candidates.iter();
        Self {
            places: candidates
                .map(|candidate| place(&candidate.features))
                .collect(),
            large: f64::from(share_of_large(question.drawers)),
            evidence: evidence.to_vec(),
            weight,
        }
    }

    fn scores(&self, [small, large]: &Values) -> Vec<f64> {
        let value = |values: &[f64], below: usize, share: f64| {
            let from = values[below];
            let to = values.get(below + 1).copied().unwrap_or(from);
            from + share * (to - from)
        };
        let score = |places: &[(u8, f32); FEATURES]| {
            let mut sum = 0.0;
            for (at, (below, share)) in places.iter().enumerate() {
                let (below, share) = (usize::from(*below), f64::from(*share));
                sum += (1.0 - self.large) * value(&small[at], below, share)
                    + self.large * value(&large[at], below, share);
            }
            sum
        };
        self.places.iter().map(score).collect()
    }

    /// The loss, and its slope by the score of each candidate.
    fn loss(&self, scores: &[f64]) -> (f64, Vec<f64>) {
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let likelihoods: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let mut all: Vec<usize> = self.evidence.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let of_evidence: f64 = all.iter().map(|at| likelihoods[*at]).sum();
        let of_others: f64 = likelihoods.iter().sum::<f64>() - of_evidence;
        let weight = self.weight / self.evidence.len() as f64;
        let (mut loss, mut slopes) = (0.0, vec![0.0; scores.len()]);
        let mut for_others = 0.0;
        for piece in &self.evidence {
            let own: f64 = piece
                .iter()
                .map(|at| likelihoods[*at])
                .sum::<f64>()
                .max(1e-300);
            let total = of_others.max(0.0) + own;
            loss += weight * (total.ln() - own.ln());
            for_others += weight / total;
            for at in piece {
                slopes[*at] += weight * likelihoods[*at] * (1.0 / total - 1.0 / own);
            }
        }
        for (at, slope) in slopes.iter_mut().enumerate() {
            if all.binary_search(&at).is_err() {
                *slope += for_others * likelihoods[at];
            }
        }
        (loss, slopes)
    }
}

/// The pieces of evidence among the candidates of a question.
fn evidence(question: &Examined, target: Target) -> Vec<Vec<usize>> {
    let positions = |matches: &dyn Fn(&loci_bench::Example) -> bool| {
        let candidates = question.candidates.iter().enumerate();
        let found: Vec<usize> = candidates
            .filter(|(_, c)| matches(c))
            .map(|(at, _)| at)
            .collect();
        found
    };
    let turns = question
        .turns
        .iter()
        .map(|turn| positions(&|c| c.id == *turn));
    let sources = question.sources.iter().filter(|_| target == Target::Both);
    let sources = sources.map(|source| positions(&|c| c.source == *source));
    turns
        .chain(sources)
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// Learns from the questions that `uses` accepts.
pub(super) fn learn(sets: &[Set], uses: impl Fn(&Examined) -> bool) -> Curves {
    let mut questions: Vec<Placed> = Vec::new();
    for set in sets {
        let chosen: Vec<(&Examined, Vec<Vec<usize>>)> = set
            .questions
            .iter()
            .filter(|question| !question.unanswerable && uses(question))
            .map(|question| (question, evidence(question, set.target)))
            .filter(|(_, evidence)| !evidence.is_empty())
            .collect();
        let weight = set.weight / chosen.len().max(1) as f64;
        let placed = chosen
            .iter()
            .map(|(question, evidence)| Placed::new(question, evidence, weight));
        questions.extend(placed);
    }
    descend(&questions)
}

/// Full gradients with Adam's step sizes, and a projection to the allowed shapes after each step.
fn descend(questions: &[Placed]) -> Curves {
    let mut curves = Curves::new(0.3);
    curves.project();
    let (mut mean, mut square) = (Curves::new(0.0), Curves::new(0.0));
    for iteration in 1..=ITERATIONS {
        let mut slopes = gradient(questions, &curves);
        let left = 1.0 - iteration as f64 / (ITERATIONS + 1) as f64;
        let rate = RATE * left;
        let (bias1, bias2) = (
            1.0 - 0.9_f64.powi(iteration as i32),
            1.0 - 0.99_f64.powi(iteration as i32),
        );
        let sides = curves.sides().into_iter().zip(slopes.sides());
        for ((curve, slope), (mean, square)) in
            sides.zip(mean.sides().into_iter().zip(square.sides()))
        {
            for (at, steps) in curve.iter_mut().enumerate() {
                for knot in 1..steps.len() {
                    let slope = slope[at][knot] + RIDGE * steps[knot];
                    mean[at][knot] = 0.9 * mean[at][knot] + 0.1 * slope;
                    square[at][knot] = 0.99 * square[at][knot] + 0.01 * slope * slope;
                    let size = (square[at][knot] / bias2).sqrt() + 1e-9;
                    steps[knot] -= rate * mean[at][knot] / bias1 / size;
                }
            }
        }
        curves.project();
    }
    curves
}

/// The slope of the whole loss by each step.
fn gradient(questions: &[Placed], curves: &Curves) -> Curves {
    let values = values_of(curves);
    let mut whole = Curves::new(0.0);
    let mut part = Curves::new(0.0);
    for question in questions {
        let (_, slopes) = question.loss(&question.scores(&values));
        for (places, slope) in question.places.iter().zip(slopes) {
            if slope.abs() < 1e-12 {
                continue;
            }
            for (at, (below, share)) in places.iter().enumerate() {
                let (below, share) = (usize::from(*below), f64::from(*share));
                let (small, large) = ((1.0 - question.large) * slope, question.large * slope);
                whole.small[at][below] += small;
                whole.large[at][below] += large;
                if share > 0.0 {
                    part.small[at][below + 1] += share * small;
                    part.large[at][below + 1] += share * large;
                }
            }
        }
    }
    // A candidate whose value lies above a knot has all steps up to it.
    for (whole, part) in whole.sides().into_iter().zip(part.sides()) {
        for (whole, part) in whole.iter_mut().zip(part) {
            let mut above = 0.0;
            for knot in (1..whole.len()).rev() {
                above += whole[knot];
                whole[knot] = above + part[knot];
            }
        }
    }
    whole
}
