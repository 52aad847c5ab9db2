//! The figures of the projects, and their text.

use std::fmt::Write as _;

use serde::Serialize;

/// The number of the first project that was written after the rules.
const FIRST_NEW: u32 = 31;

/// The figures of one project.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WakeUpRow {
    /// The number of its file.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The sum of the weights of all statements that the text should contain.
    pub weight: u32,
    /// The sum of the weights of those that it contains.
    pub included_weight: u32,
    /// The statements that are missing.
    pub missed: Vec<String>,
    /// Forbidden passages in the text.
    pub forbidden: Vec<String>,
    /// Tokens of the text.
    pub tokens: usize,
    /// CPU milliseconds of the wake-up.
    pub cpu_ms: f64,
    /// The text.
    pub text: String,
}

/// The figures of a run.
#[derive(Debug, Clone, Serialize)]
pub struct WakeUpReport {
    /// Of the projects up to 30 with odd numbers, which the rules are tuned on.
    pub odd: WakeUpFigures,
    /// Of the projects up to 30 with even numbers.
    pub even: WakeUpFigures,
    /// Of the projects from 31 on, which were written after the others.
    pub new: WakeUpFigures,
}

/// The figures of some projects.
#[derive(Debug, Clone, Default, Serialize)]
pub struct WakeUpFigures {
    /// Number of projects.
    pub projects: usize,
    /// The weights of the statements in the text, as a share of all weights.
    pub included: f64,
    /// The share of projects with a forbidden passage.
    pub projects_with_forbidden: f64,
    /// Number of forbidden passages in the texts.
    pub forbidden: usize,
    /// Mean number of tokens.
    pub tokens: f64,
    /// Mean CPU milliseconds.
    pub cpu_ms: f64,
}

pub(super) fn report(rows: &[WakeUpRow]) -> WakeUpReport {
    let of = |is_chosen: fn(u32) -> bool| {
        let rows = rows.iter().filter(|row| is_chosen(row.number));
        figures(&rows.collect::<Vec<_>>())
    };
    WakeUpReport {
        odd: of(|number| number < FIRST_NEW && number % 2 == 1),
        even: of(|number| number < FIRST_NEW && number % 2 == 0),
        new: of(|number| number >= FIRST_NEW),
    }
}

fn figures(rows: &[&WakeUpRow]) -> WakeUpFigures {
    let sum = |of: fn(&WakeUpRow) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let count = rows.len() as f64;
    let with_forbidden = rows.iter().filter(|row| !row.forbidden.is_empty()).count();
    WakeUpFigures {
        projects: rows.len(),
        included: share(
            sum(|row| f64::from(row.included_weight)),
            sum(|row| f64::from(row.weight)),
        ),
        projects_with_forbidden: share(with_forbidden as f64, count),
        forbidden: rows.iter().map(|row| row.forbidden.len()).sum(),
        tokens: share(sum(|row| row.tokens as f64), count),
        cpu_ms: share(sum(|row| row.cpu_ms), count),
    }
}

impl WakeUpReport {
    /// The report for people.
    pub fn to_text(&self) -> String {
        let mut text =
            String::from("files  projects  included  with forbidden  forbidden  tokens  CPU ms\n");
        for (name, figures) in [("odd", &self.odd), ("even", &self.even), ("new", &self.new)] {
            let _ = writeln!(
                text,
                "{name:<5}  {:>8}  {:>7.1}%  {:>13.1}%  {:>9}  {:>6.0}  {:>6.1}",
                figures.projects,
                figures.included * 100.0,
                figures.projects_with_forbidden * 100.0,
                figures.forbidden,
                figures.tokens,
                figures.cpu_ms
            );
        }
        text
    }
}
