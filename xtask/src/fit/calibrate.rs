//! Fits the probability that a hit answers the question, and that any hit does, by logistic
//! regression.
//!
//! Every question is used twice: with its evidence among the candidates, and without. So half of
//! the questions have no answer in the palace. Questions of small palaces are used a second time
//! with a few candidates, because some palaces hold only a few drawers.

use loci_bench::{Examined, Example};
use loci_recall::{Common, Feature, Features, INPUTS};

use super::figures::fold_of;
use super::learn::{Curves, scores};
use super::sets::Set;

/// Number of hits of a question that are used.
const HITS: usize = 10;
/// Number of other candidates in a palace of a few drawers.
const FEW: usize = 4;
/// Weight of the questions with few candidates.
const WEIGHT_OF_FEW: f64 = 0.2;
const ITERATIONS: usize = 60;
/// Folds of the printed reliability.
const FOLDS: usize = 5;
/// The inputs of both sides, small and large.
const BOTH: usize = 2 * INPUTS;

/// Weights of the inputs for small and for large palaces.
pub(super) type Weights = [[f64; INPUTS]; 2];

/// The weights of both probabilities.
pub(super) struct Calibrated {
    /// That a hit answers the question.
    pub(super) hit: Weights,
    /// That any hit does.
    pub(super) any: Weights,
}

/// One hit, or the best of a question: its inputs, whether it answers the question, and how much it
/// counts.
#[derive(Clone)]
struct Row {
    inputs: [f64; BOTH],
    is_large: bool,
    fold: usize,
    answers: bool,
    weight: f64,
}

/// Fits both probabilities, with or without the features of meaning, and prints how reliable they
/// are for questions that the fit has not seen.
pub(super) fn calibrate(sets: &[Set], curves: &Curves, by_meaning: bool) -> Calibrated {
    let (mut hits, mut bests) = (Vec::new(), Vec::new());
    let mut random = fastrand::Rng::with_seed(7);
    for set in sets {
        let questions: Vec<&Examined> = set
            .questions
            .iter()
            .filter(|question| !question.turns.is_empty())
            .collect();
        let weight = set.weight / questions.len().max(1) as f64;
        for question in questions {
            let mut with = question.clone();
            if !by_meaning {
                forget_meaning(&mut with.candidates);
            }
            let mut without = with.clone();
            without
                .candidates
                .retain(|candidate| !is_evidence(question, candidate));
            let mut versions = vec![(with, weight), (without, weight)];
            if question.drawers < 2_000 {
                let few = |(question, weight): &(Examined, f64)| {
                    (only_few(question, &mut random), weight * WEIGHT_OF_FEW)
                };
                let few: Vec<(Examined, f64)> = versions.iter().map(few).collect();
                versions.extend(few);
            }
            for (mut version, weight) in versions {
                set_leads(&mut version.candidates);
                rows(&version, curves, weight, &mut hits, &mut bests);
            }
        }
    }
    let by = if by_meaning { "meaning" } else { "words" };
    println!("probability of a hit, by {by}:");
    print_reliability(&hits);
    println!("probability that the question is answered, by {by}:");
    print_reliability(&bests);
    Calibrated {
        hit: regress(&hits),
        any: regress(&bests),
    }
}

/// The question in a palace that holds its evidence and a few other drawers.
fn only_few(question: &Examined, random: &mut fastrand::Rng) -> Examined {
    let mut few = question.clone();
    let mut others: Vec<usize> = (0..question.candidates.len()).collect();
    random.shuffle(&mut others);
    others.truncate(FEW);
    let mut at = 0;
    few.candidates.retain(|candidate| {
        at += 1;
        is_evidence(question, candidate) || others.contains(&(at - 1))
    });
    few.drawers = few.candidates.len() as u64;
    few
}

fn is_evidence(question: &Examined, candidate: &Example) -> bool {
    question.turns.contains(&candidate.id) || question.sources.contains(&candidate.source)
}

/// What a search without vectors knows.
fn forget_meaning(candidates: &mut [Example]) {
    for candidate in candidates {
        for feature in [
            Feature::Cosine,
            Feature::OwnTokens,
            Feature::Tokens,
            Feature::TokensLead,
        ] {
            candidate.features[feature as usize] = 0.0;
        }
        candidate.features[Feature::CosineLead as usize] = -1.0;
    }
}

/// Compares the candidates with the best that is left.
fn set_leads(candidates: &mut [Example]) {
    let pairs = [
        (Feature::Words, Feature::WordsLead),
        (Feature::Source, Feature::SourceLead),
        (Feature::Tokens, Feature::TokensLead),
    ];
    let best = |candidates: &[Example], of: Feature| {
        let values = candidates
            .iter()
            .map(|candidate| candidate.features[of as usize]);
        values.fold(0.0, f32::max)
    };
    for (of, lead) in pairs {
        let best = best(candidates, of);
        for candidate in candidates.iter_mut().filter(|_| best > 0.0) {
            candidate.features[lead as usize] = candidate.features[of as usize] / best;
        }
    }
    let best = best(candidates, Feature::Cosine);
    for candidate in candidates.iter_mut().filter(|_| best > 0.0) {
        let behind = candidate.features[Feature::Cosine as usize] - best;
        candidate.features[Feature::CosineLead as usize] = behind;
    }
}

/// The rows of the first hits, and of the best.
fn rows(
    question: &Examined,
    curves: &Curves,
    weight: f64,
    hits: &mut Vec<Row>,
    bests: &mut Vec<Row>,
) {
    let scores = scores(question, curves);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let features: Vec<Features> = question
        .candidates
        .iter()
        .map(|candidate| Features::from(candidate.features))
        .collect();
    let ranked = order.iter().map(|at| (scores[*at] as f32, &features[*at]));
    let common = Common::new(ranked, question.drawers);
    let large = f64::from(common.large());
    let row = |inputs: [f32; INPUTS], answers: bool| {
        let mut both = [0.0; BOTH];
        for (at, input) in inputs.into_iter().enumerate() {
            both[at] = (1.0 - large) * f64::from(input);
            both[INPUTS + at] = large * f64::from(input);
        }
        Row {
            inputs: both,
            is_large: question.drawers > 50_000,
            fold: fold_of(question, FOLDS),
            answers,
            weight,
        }
    };
    let is_answer = |at: &usize| question.turns.contains(&question.candidates[*at].id);
    for at in order.iter().take(HITS) {
        hits.push(row(common.inputs(scores[*at] as f32), is_answer(at)));
    }
    if !order.is_empty() {
        bests.push(row(common.inputs_of_best(), order.iter().any(is_answer)));
    }
}

fn probability(inputs: &[f64; BOTH], [small, large]: &Weights) -> f64 {
    let weights = small.iter().chain(large);
    let logit: f64 = inputs.iter().zip(weights).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-logit).exp())
}

/// Newton's method with a little ridge.
fn regress(rows: &[Row]) -> Weights {
    let mut weights = [[0.0; INPUTS]; 2];
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    for _ in 0..ITERATIONS {
        let mut slope = [0.0; BOTH];
        let mut curvature = [[0.0; BOTH]; BOTH];
        for row in rows {
            let expected = probability(&row.inputs, &weights);
            let actual = f64::from(u8::from(row.answers));
            let spread = expected * (1.0 - expected) + 1e-9;
            for (a, input) in row.inputs.iter().enumerate() {
                slope[a] += row.weight * (expected - actual) * input;
                for (sum, other) in curvature[a].iter_mut().zip(row.inputs) {
                    *sum += row.weight * spread * input * other;
                }
            }
        }
        for a in 0..BOTH {
            let ridge = 1e-6 * total;
            slope[a] += ridge * weights[a / INPUTS][a % INPUTS];
            curvature[a][a] += ridge;
        }
        let step = solve(curvature, slope);
        for (weight, step) in weights.iter_mut().flatten().zip(step) {
            *weight -= step;
        }
    }
    weights
}

/// Solves a system of linear equations by elimination.
fn solve(mut matrix: [[f64; BOTH]; BOTH], mut right: [f64; BOTH]) -> [f64; BOTH] {
    for pivot in 0..BOTH {
        for row in pivot + 1..BOTH {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            for (value, above) in matrix[row].iter_mut().zip(above) {
                *value -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = [0.0; BOTH];
    for row in (0..BOTH).rev() {
        let known: f64 = (row + 1..BOTH)
            .map(|at| matrix[row][at] * solution[at])
            .sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution
}

/// Prints the share of answers among the hits of each tenth of the probability, which comes from
/// the other folds.
fn print_reliability(rows: &[Row]) {
    let weights: Vec<Weights> = (0..FOLDS)
        .map(|fold| {
            let others = rows.iter().filter(|row| row.fold != fold);
            regress(&others.cloned().collect::<Vec<_>>())
        })
        .collect();
    for (name, is_large) in [("small palaces", false), ("100,000 drawers", true)] {
        println!("  {name}:");
        let of_size: Vec<(&Row, f64)> = rows
            .iter()
            .filter(|row| row.is_large == is_large)
            .map(|row| (row, probability(&row.inputs, &weights[row.fold])))
            .collect();
        let total: f64 = of_size.iter().map(|(row, _)| row.weight).sum();
        for tenth in 0..10 {
            let (mut count, mut expected, mut actual) = (0.0, 0.0, 0.0);
            for (row, probability) in &of_size {
                if ((probability * 10.0) as usize).min(9) == tenth {
                    count += row.weight;
                    expected += row.weight * probability;
                    actual += row.weight * f64::from(u8::from(row.answers));
                }
            }
            println!(
                "    {:.1} to {:.1}: {:4.1} % of rows, expected {:.3}, observed {:.3}",
                tenth as f64 / 10.0,
                (tenth + 1) as f64 / 10.0,
                100.0 * count / total,
                expected / count.max(1e-12),
                actual / count.max(1e-12),
            );
        }
        for limit in [0.005, 0.01, 0.02, 0.03, 0.05] {
            let below = |answers: Option<bool>| -> f64 {
                let rows = of_size.iter().filter(|(row, probability)| {
                    *probability < limit && answers.is_none_or(|answers| row.answers == answers)
                });
                rows.map(|(row, _)| row.weight).sum()
            };
            let answers: f64 = of_size
                .iter()
                .filter(|(row, _)| row.answers)
                .map(|(row, _)| row.weight)
                .sum();
            println!(
                "    below {limit}: {:4.1} % of rows, {:.2} % of the answers",
                100.0 * below(None) / total,
                100.0 * below(Some(true)) / answers,
            );
        }
    }
}
