//! How well curves rank the candidates of the sets. A source ranks by its best candidate.

use std::collections::HashSet;
use std::hash::Hasher;

use loci_bench::Examined;

use super::learn::{Curves, learn, scores};
use super::sets::Set;

#[derive(Default)]
struct Figures {
    questions: f64,
    any: [f64; 3],
    all: [f64; 2],
    turns: [f64; 3],
    with_turns: f64,
}

impl Figures {
    fn add(&mut self, question: &Examined, curves: &Curves) {
        let scores = scores(question, curves);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let mut sources: Vec<&str> = Vec::new();
        for at in &order {
            let source = question.candidates[*at].source.as_str();
            if !sources.contains(&source) {
                sources.push(source);
            }
            if sources.len() == 10 {
                break;
            }
        }
        let has = |k: usize, source: &String| sources.iter().take(k).any(|found| found == source);
        self.questions += 1.0;
        for (slot, k) in self.any.iter_mut().zip([1, 5, 10]) {
            *slot += f64::from(u8::from(
                question.sources.iter().any(|source| has(k, source)),
            ));
        }
        for (slot, k) in self.all.iter_mut().zip([5, 10]) {
            *slot += f64::from(u8::from(
                question.sources.iter().all(|source| has(k, source)),
            ));
        }
        if !question.turns.is_empty() {
            self.with_turns += 1.0;
            for (slot, k) in self.turns.iter_mut().zip([1, 5, 10]) {
                let first: HashSet<&str> = order
                    .iter()
                    .take(k)
                    .map(|at| question.candidates[*at].id.as_str())
                    .collect();
                let found = question
                    .turns
                    .iter()
                    .filter(|turn| first.contains(turn.as_str()));
                *slot += found.count() as f64 / question.turns.len() as f64;
            }
        }
    }

    fn print(&self, name: &str) {
        let (all, turns) = (self.questions.max(1.0), self.with_turns.max(1.0));
        println!(
            "  {name:18} {:4} questions; sources any@1 {:.3} @5 {:.3} @10 {:.3}, all@5 {:.3} @10 {:.3}; drawers @1 {:.3} @5 {:.3} @10 {:.3}",
            self.questions,
            self.any[0] / all,
            self.any[1] / all,
            self.any[2] / all,
            self.all[0] / all,
            self.all[1] / all,
            self.turns[0] / turns,
            self.turns[1] / turns,
            self.turns[2] / turns,
        );
    }
}

/// Prints the figures of each set by the curves for each question.
pub(super) fn print<'c>(sets: &[Set], curves: impl Fn(&Set, &Examined) -> Option<&'c Curves>) {
    for set in sets {
        let mut figures = Figures::default();
        for question in &set.questions {
            if question.unanswerable || question.sources.is_empty() {
                continue;
            }
            if let Some(curves) = curves(set, question) {
                figures.add(question, curves);
            }
        }
        figures.print(set.name);
    }
}

/// Learns without each fold in turn, and prints the figures of the folds that were left out.
pub(super) fn cross_validate(sets: &[Set], folds: usize) {
    let learned: Vec<Curves> = (0..folds)
        .map(|fold| learn(sets, |question| fold_of(question, folds) != fold))
        .collect();
    print(sets, |_, question| learned.get(fold_of(question, folds)));
}

/// All questions of one conversation are in one fold.
pub(super) fn fold_of(question: &Examined, folds: usize) -> usize {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(question.case.as_bytes());
    (hasher.finish() % folds as u64) as usize
}
