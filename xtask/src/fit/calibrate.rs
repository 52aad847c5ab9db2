//! Fits the probability that a hit answers the question, by logistic regression.
//!
//! Every question is used twice: with its evidence among the candidates, and without. So half of
//! the questions have no answer in the palace.

use loci_bench::{Examined, Example};
use loci_recall::{CROWD, Common, FEATURES, Feature, Features, INPUTS};

use super::learn::{Curves, scores};
use super::sets::Set;

/// Number of hits of a question that are used.
const HITS: usize = 10;
const ITERATIONS: usize = 60;

/// Weights of the inputs.
pub(super) type Weights = [f64; INPUTS];

/// One hit: its inputs, whether it answers the question, and how much it counts.
struct Row {
    inputs: Weights,
    answers: bool,
    weight: f64,
}

/// Fits the probability, with or without the features of meaning, and prints how reliable it is.
pub(super) fn calibrate(sets: &[Set], curves: &Curves, by_meaning: bool) -> Weights {
    let mut rows = Vec::new();
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
            set_leads(&mut without.candidates);
            for question in [with, without] {
                rows.extend(hits(&question, curves, weight));
            }
        }
    }
    let weights = regress(&rows);
    println!(
        "probability, {}:",
        if by_meaning { "by meaning" } else { "by words" }
    );
    print(&rows, &weights);
    weights
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

fn hits(question: &Examined, curves: &Curves, weight: f64) -> Vec<Row> {
    let scores = scores(question, curves);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let Some(best) = order.first() else {
        return Vec::new();
    };
    let values: [f32; FEATURES] = question.candidates[*best].features;
    let crowd = order.get(CROWD - 1).map_or(0.0, |at| scores[*at] as f32);
    let common = Common::new(&Features::from(values), crowd, question.drawers);
    let hit = |at: &usize| Row {
        inputs: common.inputs(scores[*at] as f32).map(f64::from),
        answers: question.turns.contains(&question.candidates[*at].id),
        weight,
    };
    order.iter().take(HITS).map(hit).collect()
}

fn probability(inputs: &Weights, weights: &Weights) -> f64 {
    let logit: f64 = inputs.iter().zip(weights).map(|(a, b)| a * b).sum();
    1.0 / (1.0 + (-logit).exp())
}

/// Newton's method with a little ridge.
fn regress(rows: &[Row]) -> Weights {
    let mut weights = [0.0; INPUTS];
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    for _ in 0..ITERATIONS {
        let mut slope = [0.0; INPUTS];
        let mut curvature = [[0.0; INPUTS]; INPUTS];
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
        for a in 0..INPUTS {
            let ridge = 1e-6 * total;
            slope[a] += ridge * weights[a];
            curvature[a][a] += ridge;
        }
        let step = solve(curvature, slope);
        for (weight, step) in weights.iter_mut().zip(step) {
            *weight -= step;
        }
    }
    weights
}

/// Solves a system of linear equations by elimination.
fn solve(mut matrix: [[f64; INPUTS]; INPUTS], mut right: Weights) -> Weights {
    for pivot in 0..INPUTS {
        for row in pivot + 1..INPUTS {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            for (value, above) in matrix[row].iter_mut().zip(above) {
                *value -= factor * above;
            }
            right[row] -= factor * right[pivot];
        }
    }
    let mut solution = [0.0; INPUTS];
    for row in (0..INPUTS).rev() {
        let known: f64 = (row + 1..INPUTS)
            .map(|at| matrix[row][at] * solution[at])
            .sum();
        solution[row] = (right[row] - known) / matrix[row][row];
    }
    solution
}

/// Prints the share of answers among the hits of each tenth of the probability.
fn print(rows: &[Row], weights: &Weights) {
    for tenth in 0..10 {
        let (mut count, mut expected, mut actual) = (0.0, 0.0, 0.0);
        for row in rows {
            let probability = probability(&row.inputs, weights);
            if (probability * 10.0) as usize == tenth {
                count += row.weight;
                expected += row.weight * probability;
                actual += row.weight * f64::from(u8::from(row.answers));
            }
        }
        let total: f64 = rows.iter().map(|row| row.weight).sum();
        println!(
            "  {:.1} to {:.1}: {:4.1} % of hits, expected {:.3}, observed {:.3}",
            tenth as f64 / 10.0,
            (tenth + 1) as f64 / 10.0,
            100.0 * count / total,
            expected / count.max(1e-12),
            actual / count.max(1e-12),
        );
    }
}
