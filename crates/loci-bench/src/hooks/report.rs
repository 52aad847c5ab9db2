//! The figures of a run, and their text.

use std::fmt::Write as _;
use std::path::Path;

use loci_agents::hooks::MIN_RELEVANCE;
use serde::Serialize;

use super::rows::{AskedKind, HookRow, PalaceSize};
use crate::clock::percentile;

/// The limits of the curve.
const LIMITS: [f32; 13] = [
    0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
];
/// How many drawers are added at most. The curve counts as many of the most relevant.
const MAX_PASSAGES: usize = 3;

/// What the hook added, in small palaces and in a large one.
#[derive(Debug, Clone, Serialize)]
pub struct HookReport {
    /// The file of the data set.
    pub dataset: String,
    /// The limit of the hook.
    pub min_relevance: f32,
    /// In palaces with notes and short chats of a project.
    pub notes: SizeFigures,
    /// In palaces with one conversation each.
    pub small: SizeFigures,
    /// In a palace with all conversations.
    pub large: SizeFigures,
    /// Questions about statements that were replaced later: pairs that weights were fitted to, and
    /// pairs that were held apart.
    pub replaced: [LaterFigures; 2],
    /// Questions about two statements that both hold, likewise.
    pub both_hold: [LaterFigures; 2],
    /// The share of the drawers added in palaces with one conversation that are marked as replaced,
    /// for questions that are not about an update.
    pub marked: f64,
}

/// What the hook added to questions about two statements on one thing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LaterFigures {
    /// Number of questions that got at least one of the two.
    pub answered: usize,
    /// The later statement, alone or before the earlier one, which is marked. If both hold: the
    /// earlier one is marked, which is wrong.
    pub later: f64,
    /// Both, and the earlier one is not marked. If both hold, also the later one alone.
    pub unmarked: f64,
    /// The earlier one alone.
    pub earlier: f64,
}

/// The figures of one size.
#[derive(Debug, Clone, Serialize)]
pub struct SizeFigures {
    /// Number of prompts of each kind: help, cross, junk.
    pub prompts: [usize; 3],
    /// The shares with the limit of the hook.
    pub shares: Shares,
    /// The shares with other limits.
    pub curve: Vec<Shares>,
    /// CPU milliseconds of a prompt in a process that is already running: median and 95th
    /// percentile.
    pub cpu_ms: [f64; 2],
}

/// How often a limit leads to which outcome.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Shares {
    /// The limit.
    pub min_relevance: f32,
    /// Questions with evidence that got a passage of it.
    pub help: f64,
    /// Questions without evidence that got anything.
    pub cross: f64,
    /// Everyday prompts that got anything.
    pub junk: f64,
}

pub(super) fn report(dataset: &Path, rows: &[HookRow]) -> HookReport {
    let name = dataset.file_name().unwrap_or_default();
    let of_size = |size: PalaceSize| {
        let rows: Vec<&HookRow> = rows.iter().filter(|row| row.size == size).collect();
        let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
        let cpu: Vec<f64> = rows.iter().map(|row| row.cpu_ms).collect();
        let curve = LIMITS.iter().map(|limit| shares(&rows, Some(*limit)));
        SizeFigures {
            prompts: [
                count(AskedKind::Help),
                count(AskedKind::Cross),
                count(AskedKind::Junk),
            ],
            shares: shares(&rows, None),
            curve: curve.collect(),
            cpu_ms: [percentile(&cpu, 0.5), percentile(&cpu, 0.95)],
        }
    };
    HookReport {
        dataset: name.to_string_lossy().into_owned(),
        min_relevance: MIN_RELEVANCE,
        notes: of_size(PalaceSize::Notes),
        small: of_size(PalaceSize::Small),
        large: of_size(PalaceSize::Large),
        replaced: [(true, false), (true, true)].map(|which| of_pairs(rows, which)),
        both_hold: [(false, false), (false, true)].map(|which| of_pairs(rows, which)),
        marked: marked(rows),
    }
}

fn of_pairs(rows: &[HookRow], (overruled, held_apart): (bool, bool)) -> LaterFigures {
    let mut counts = [0_usize; 3];
    for row in rows {
        let Some(pair) = &row.pair else { continue };
        if (pair.overruled, pair.held_apart) != (overruled, held_apart) {
            continue;
        }
        let [before, after] = &pair.ids;
        let added = |id: &String| {
            let mut considered = row.considered.iter();
            considered.find(|drawer| drawer.is_added && drawer.id == *id)
        };
        let (earlier, later) = (added(before), added(after));
        let is_marked = earlier.is_some_and(|earlier| earlier.later.as_ref() == Some(after));
        let kind = match (earlier.is_some(), later.is_some()) {
            (false, false) => continue,
            (is_added, _) if is_marked || (overruled && !is_added) => 0,
            (_, true) => 1,
            (true, false) => 2,
        };
        if let Some(count) = counts.get_mut(kind) {
            *count += 1;
        }
    }
    let answered: usize = counts.iter().sum();
    let [later, unmarked, earlier] = counts.map(|count| count as f64 / answered.max(1) as f64);
    LaterFigures {
        answered,
        later,
        unmarked,
        earlier,
    }
}

fn marked(rows: &[HookRow]) -> f64 {
    let rows = rows
        .iter()
        .filter(|row| row.size == PalaceSize::Small && !row.is_update);
    let added = rows.flat_map(|row| row.considered.iter().filter(|drawer| drawer.is_added));
    let (marked, all) = added.fold((0_usize, 0_usize), |(marked, all), drawer| {
        (marked + usize::from(drawer.later.is_some()), all + 1)
    });
    marked as f64 / all.max(1) as f64
}

fn shares(rows: &[&HookRow], limit: Option<f32>) -> Shares {
    let share = |kind| {
        let of_kind: Vec<_> = rows.iter().filter(|row| row.kind == kind).collect();
        let counted = of_kind.iter().filter(|row| counts(row, limit)).count();
        counted as f64 / of_kind.len().max(1) as f64
    };
    Shares {
        min_relevance: limit.unwrap_or(MIN_RELEVANCE),
        help: share(AskedKind::Help),
        cross: share(AskedKind::Cross),
        junk: share(AskedKind::Junk),
    }
}

/// Whether the outcome counts: evidence was added to a question that has some, or anything to
/// another prompt. With a limit, as if that were the limit of the hook.
fn counts(row: &HookRow, limit: Option<f32>) -> bool {
    let most = limit.map_or(usize::MAX, |_| MAX_PASSAGES);
    row.considered.iter().take(most).any(|drawer| {
        let is_added = limit.map_or(drawer.is_added, |limit| drawer.relevance >= limit);
        is_added && (drawer.is_evidence || row.kind != AskedKind::Help)
    })
}

impl HookReport {
    /// The report for people.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.dataset);
        for (name, size) in [
            ("notes and short chats", &self.notes),
            ("one palace per conversation", &self.small),
            ("one palace with all conversations", &self.large),
        ] {
            let [help, cross, junk] = size.prompts;
            let [half, most] = size.cpu_ms;
            let _ = writeln!(text, "\n{name}");
            let _ = writeln!(
                text,
                "prompts: {help} with evidence, {cross} without, {junk} everyday"
            );
            let _ = writeln!(text, "CPU: median {half:.1} ms, 95 % {most:.1} ms");
            let _ = writeln!(text, "  limit    help   cross    junk");
            let _ = writeln!(text, "{}   the hook", line(&size.shares));
            for shares in &size.curve {
                let _ = writeln!(text, "{}", line(shares));
            }
        }
        let _ = writeln!(text, "\ntwo statements on one thing");
        let _ = writeln!(
            text,
            "                                answered  later  unmarked  earlier"
        );
        for (name, figures) in [
            ("the later one replaces it", &self.replaced),
            ("both hold", &self.both_hold),
        ] {
            for (half, figures) in ["fitted to", "held apart"].iter().zip(figures) {
                let percent = |share: f64| format!("{:.1}%", share * 100.0);
                let _ = writeln!(
                    text,
                    "  {:<30} {:>7} {:>6} {:>9} {:>8}",
                    format!("{name}, {half}"),
                    figures.answered,
                    percent(figures.later),
                    percent(figures.unmarked),
                    percent(figures.earlier)
                );
            }
        }
        let _ = writeln!(
            text,
            "drawers marked as replaced, one palace per conversation: {:.1}%",
            self.marked * 100.0
        );
        text
    }
}

fn line(shares: &Shares) -> String {
    format!(
        "  {:>5.2}  {:>5.1}%  {:>5.1}%  {:>5.1}%",
        shares.min_relevance,
        shares.help * 100.0,
        shares.cross * 100.0,
        shares.junk * 100.0
    )
}
