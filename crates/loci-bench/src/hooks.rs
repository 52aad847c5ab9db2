//! Measures what the prompt hook adds to prompts, through the code that the hook runs.
//!
//! - *help*: questions of the data set in a palace with their evidence. A passage of an evidence
//!   session should be added.
//! - *cross*: questions in a palace without their evidence. Nothing should be added.
//! - *junk*: everyday prompts to a coding agent that need no memory. Nothing should be added.
//!
//! Each is measured in small palaces, one for each conversation, and in one large palace with all
//! conversations. In the large palace the evidence of every fifth question is left out, and these
//! questions are the cross questions there.

mod later;
mod notes;
mod report;
mod rows;

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use loci_agents::hooks::{PROMPT_TOKENS, Prompt, choose, inject};
use loci_palace::{OpenOptions, Palace, Result, today};

use crate::clock;
use crate::dataset::{self, Case, Question};
use crate::details::Details;
use crate::run::Progress;
use crate::sample::Sample;
use crate::store::{Filling, PalacesDir};
use crate::together::Merger;
use later::Truth;

pub use report::{HookReport, LaterFigures, Shares, SizeFigures};
pub use rows::{AskedKind, AskedPair, Compared, Considered, HookRow, PalaceSize};

/// Prompts to a coding agent that need no memory, one per line.
const EVERYDAY: &str = include_str!("../data/everyday-prompts.txt");
/// How many questions of other conversations, and how many everyday prompts, each small palace gets.
const CROSS: usize = 4;
const JUNK: usize = 8;
/// How many pairs of statements are in one palace.
const PAIRS: usize = 10;
/// In the large palace, one of this many questions has no evidence.
const LEFT_OUT: usize = 5;

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct HookOptions {
    /// Maximum number of questions.
    pub limit: Option<usize>,
    /// A file with other prompts that need no memory, one per line.
    pub prompts: Option<PathBuf>,
    /// A file to write, with one line of JSON per prompt ([`HookRow`]).
    pub details: Option<PathBuf>,
}

/// Runs a data set.
pub fn measure(
    dataset: &Path,
    options: &HookOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<HookReport> {
    let outline = dataset::outline(dataset)?;
    let everyday = match &options.prompts {
        None => EVERYDAY.to_owned(),
        Some(file) => loci_files::foreign::read_to_string(file)
            .map_err(|source| loci_palace::Error::io("cannot read", file, source))?,
    };
    let everyday = everyday
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let everyday: Vec<String> = everyday.map(str::to_owned).collect();
    let sample = Sample::new(outline.questions, options.limit);
    let mut run = Run {
        place: PalacesDir::new(None)?,
        everyday,
        rows: Vec::new(),
        details: Details::create(options.details.as_deref())?,
    };
    let mut at = 0;
    let mut cases: Vec<Case> = Vec::new();
    let large = run.place.palace(0, "large");
    let mut filling = Filling::open(&large, &OpenOptions::create())?;
    let mut merger = Merger::default();
    dataset::cases(dataset, outline.kind, |mut case| {
        let first = at;
        at += case.questions.len();
        let mut place = first..;
        let is_asked = |_: &Question| place.next().is_some_and(|place| sample.contains(place));
        case.questions.retain(is_asked);
        if !case.questions.is_empty() {
            run.small(&case, &cases)?;
        }
        if cases.len().is_multiple_of(LEFT_OUT) {
            let evidence: Vec<String> = case
                .questions
                .iter()
                .flat_map(|question| question.sessions.clone())
                .collect();
            case.drawers.retain(|drawer| {
                let source = drawer.metadata.get_str("source_file");
                source.is_none_or(|source| !evidence.iter().any(|other| other == source))
            });
        }
        filling.add(merger.merge(&mut case))?;
        progress(Progress {
            palace: case.id.clone(),
            done: at.min(sample.wanted()),
            total: sample.wanted(),
        });
        cases.push(case);
        Ok(())
    })?;
    filling.finish()?;
    run.large(&large, &cases)?;
    run.notes()?;
    run.details.finish()?;
    Ok(report::report(dataset, &run.rows))
}

struct Run {
    place: PalacesDir,
    everyday: Vec<String>,
    rows: Vec<HookRow>,
    details: Details,
}

/// One prompt.
struct Asked<'a> {
    kind: AskedKind,
    id: &'a str,
    text: &'a str,
    today: Option<Date>,
    evidence: &'a [String],
    /// The statements that replace others: an earlier and a later drawer.
    truth: Truth<'a>,
}

impl<'a> Asked<'a> {
    fn question(kind: AskedKind, question: &'a Question, today: Option<Date>) -> Self {
        Self {
            kind,
            id: &question.id,
            text: &question.text,
            today,
            evidence: match kind {
                AskedKind::Help => &question.sessions,
                _ => &[],
            },
            truth: Truth::Updates {
                sessions: &question.sessions,
                turns: match question.category.as_str() {
                    "knowledge-update" => &question.turns,
                    _ => &[],
                },
            },
        }
    }
}

impl Run {
    /// Asks the questions of a case, and some that it cannot answer, in a palace of its own.
    fn small(&mut self, case: &Case, others: &[Case]) -> Result<()> {
        let at = others.len();
        let path = self.place.palace(at + 1, &case.id);
        let mut filling = Filling::open(&path, &OpenOptions::create())?;
        filling.add(case.drawers.iter().map(copy).collect())?;
        filling.finish()?;
        let palace = Palace::open(&path, &OpenOptions::create())?;
        for question in answerable(case) {
            self.ask(
                &palace,
                PalaceSize::Small,
                &Asked::question(AskedKind::Help, question, case.today),
            )?;
        }
        // The questions of different conversations, the same ones for the same data set.
        for other in others.iter().rev().step_by(7).take(CROSS) {
            for question in other.questions.iter().take(1) {
                let asked = Asked::question(AskedKind::Cross, question, other.today);
                self.ask(&palace, PalaceSize::Small, &asked)?;
            }
        }
        for n in 0..JUNK.min(self.everyday.len()) {
            let n = (at * JUNK + n) % self.everyday.len();
            self.everyday(&palace, PalaceSize::Small, n, case.today)?;
        }
        palace.close()?;
        self.place.done_with(&path)
    }

    fn large(&mut self, path: &Path, cases: &[Case]) -> Result<()> {
        let palace = Palace::open(path, &OpenOptions::create())?;
        for (at, case) in cases.iter().enumerate() {
            let kind = match at % LEFT_OUT {
                0 => AskedKind::Cross,
                _ => AskedKind::Help,
            };
            for question in answerable(case) {
                self.ask(
                    &palace,
                    PalaceSize::Large,
                    &Asked::question(kind, question, case.today),
                )?;
            }
        }
        let last = cases.last().and_then(|case| case.today);
        for n in 0..self.everyday.len() {
            self.everyday(&palace, PalaceSize::Large, n, last)?;
        }
        palace.close()?;
        self.place.done_with(path)
    }

    /// Asks the questions of the pairs in small palaces of notes and chats, together with
    /// questions of other pairs and everyday prompts.
    fn notes(&mut self) -> Result<()> {
        let pairs = notes::pairs();
        let groups: Vec<&[notes::Pair]> = pairs.chunks(PAIRS).collect();
        for (at, group) in groups.iter().enumerate() {
            let path = self.place.palace(at, "notes");
            let mut filling = Filling::open(&path, &OpenOptions::create())?;
            filling.add(group.iter().flat_map(notes::Pair::drawers).collect())?;
            filling.finish()?;
            let palace = Palace::open(&path, &OpenOptions::create())?;
            for pair in *group {
                let ids = pair.ids();
                for question in &pair.questions {
                    self.ask(
                        &palace,
                        PalaceSize::Notes,
                        &Asked {
                            kind: AskedKind::Help,
                            id: &pair.id,
                            text: question,
                            today: None,
                            evidence: &ids,
                            truth: Truth::Pair(pair),
                        },
                    )?;
                }
            }
            let next = groups
                .get((at + 1) % groups.len())
                .copied()
                .unwrap_or_default();
            for pair in next {
                for question in &pair.questions {
                    self.ask(
                        &palace,
                        PalaceSize::Notes,
                        &Asked {
                            kind: AskedKind::Cross,
                            id: &pair.id,
                            text: question,
                            today: None,
                            evidence: &[],
                            truth: Truth::Unknown,
                        },
                    )?;
                }
            }
            for n in 0..3 * JUNK {
                let n = (at * 3 * JUNK + n) % self.everyday.len().max(1);
                self.everyday(&palace, PalaceSize::Notes, n, None)?;
            }
            palace.close()?;
            self.place.done_with(&path)?;
        }
        Ok(())
    }

    fn everyday(
        &mut self,
        palace: &Palace,
        size: PalaceSize,
        n: usize,
        today: Option<Date>,
    ) -> Result<()> {
        let Some(text) = self.everyday.get(n).cloned() else {
            return Ok(());
        };
        let asked = Asked {
            kind: AskedKind::Junk,
            id: &n.to_string(),
            text: &text,
            today,
            evidence: &[],
            truth: Truth::Unknown,
        };
        self.ask(palace, size, &asked)
    }

    fn ask(&mut self, palace: &Palace, size: PalaceSize, asked: &Asked<'_>) -> Result<()> {
        let prompt = Prompt {
            text: asked.text,
            wing: None,
            other_wings: true,
            transcript: None,
            today: asked.today.unwrap_or_else(today),
        };
        let (candidates, cpu_ms) = clock::timed(|| choose(palace, &prompt));
        let candidates = candidates?;
        let relevant: Vec<_> = candidates.iter().filter(|one| one.is_relevant()).collect();
        let injected = inject(&relevant, "", "", PROMPT_TOKENS);
        let is_added = |id: &str| {
            let passages = injected.iter().flat_map(|injected| &injected.passages);
            passages.into_iter().any(|passage| passage.drawer == id)
        };
        let considered = candidates.iter().map(|candidate| {
            let hit = &candidate.hit;
            let details = hit.details.as_ref();
            Considered {
                id: hit.id.clone(),
                relevance: candidate.relevance,
                inputs: details
                    .map(|details| details.relevance.inputs())
                    .unwrap_or_default(),
                is_evidence: asked.evidence.contains(&hit.id)
                    || hit
                        .source
                        .value()
                        .is_some_and(|source| asked.evidence.contains(source)),
                is_added: is_added(&hit.id),
                later: hit.later.clone(),
            }
        });
        let is_fitted = self.details.is_wanted() && size != PalaceSize::Large;
        let compared = match asked.truth {
            Truth::Unknown => Vec::new(),
            _ if !is_fitted => Vec::new(),
            truth => later::compare(palace, &prompt, truth)?,
        };
        let row = HookRow {
            kind: asked.kind,
            id: asked.id.to_owned(),
            prompt: asked.text.to_owned(),
            size,
            considered: considered.collect(),
            is_update: matches!(asked.truth, Truth::Updates { turns, .. } if !turns.is_empty()),
            pair: match asked.truth {
                Truth::Pair(pair) => Some(AskedPair {
                    ids: pair.ids(),
                    overruled: pair.overruled,
                    held_apart: pair.held_apart,
                }),
                _ => None,
            },
            compared,
            cpu_ms,
        };
        self.details.write_line(&row)?;
        self.rows.push(row);
        Ok(())
    }
}

fn answerable(case: &Case) -> impl Iterator<Item = &Question> {
    let questions = case.questions.iter();
    questions.filter(|question| !question.unanswerable)
}

fn copy(drawer: &dataset::Drawer) -> dataset::Drawer {
    dataset::Drawer {
        id: drawer.id.clone(),
        text: drawer.text.clone(),
        metadata: drawer.metadata.clone(),
    }
}
