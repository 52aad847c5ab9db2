//! Collects the pieces of a wake-up, the most important first, with bounded reads.

use std::collections::{HashMap, HashSet};

use loci_core::clock::now_ms;
use loci_core::{DrawerRef, Error, Fact, Result, Warning};

use super::collect::{FEW, stated};
use super::compose::{Piece, Section, cut_to};
use super::excerpt::{cut, excerpt};
use super::identity::IDENTITY;
use super::place::Wings;
use super::read::{Mark, Read};
use super::statement::Ended;
use super::topic::Topic;
use super::{DEFAULT_BUDGET, Request};
use crate::diary;
use crate::facts::{self, Selector};
use crate::fence::instruction_like;
use crate::palace::Palace;

/// Maximum number of pieces in a section.
const MOST_FACTS: usize = 8;
const MOST_IMPORTANT: usize = 15;
const MOST_DIARY: usize = 3;
/// Up to this many facts, those about things that the wing mentions are found by reading all.
const FACTS_READ: u64 = 500;
const IDENTITY_LINES: usize = 20;
const IDENTITY_CHARACTERS: usize = 1_500;

impl Palace {
    /// Pieces in the order in which they are chosen.
    pub(super) fn gather(&self, request: &Request) -> Result<(Vec<Piece>, Vec<Warning>)> {
        let wing = request.wing.as_deref();
        let mut warnings = Vec::new();
        let mut drawers = self.read_for_wake_up(wing, &mut warnings)?;
        if let Some(wing) = wing.filter(|_| drawers.is_empty()) {
            // A new project has no wing yet; naming those that there are would count the whole
            // palace.
            warnings.push(Warning::UnknownPlace {
                kind: "wing".into(),
                name: wing.to_owned(),
                known: None,
            });
        }
        drawers.retain(|drawer| drawer.id != IDENTITY && !drawer.text.trim().is_empty());
        let wings = Wings {
            wing,
            tops: self.tops(wing)?,
        };
        let mut scored = marked(&drawers, &wings);
        let seen: HashSet<String> = scored
            .iter()
            .filter_map(|(_, piece)| piece.id.clone())
            .collect();
        let facts = self.read_facts(request)?;
        let stated = stated(&drawers, &wings, &seen, facts.ended());
        let is_new = stated.pieces.len() < FEW;
        scored.extend(stated.pieces);
        scored.extend(self.diary_pieces(
            request.agent.as_deref(),
            wing,
            &stated.settled,
            is_new,
        )?);
        scored.extend(facts.pieces(&drawers, &stated.topics));
        // Stable: of equal scores, the order above.
        scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        let mut pieces: Vec<Piece> = self.identity_piece(request.budget)?.into_iter().collect();
        let (clean, orders): (Vec<Piece>, Vec<Piece>) = scored
            .into_iter()
            .map(|(_, piece)| piece)
            .partition(|piece| instruction_like(&piece.text).is_empty());
        if !orders.is_empty() {
            warnings.push(Warning::InstructionsLeftOut {
                passages: orders.len(),
            });
        }
        pieces.extend(without_duplicates(clean));
        Ok((pieces, warnings))
    }

    fn identity_piece(&self, budget: usize) -> Result<Option<Piece>> {
        let budget = if budget == 0 { DEFAULT_BUDGET } else { budget };
        Ok(self.identity()?.map(|text| {
            let few = cut(&text, IDENTITY_LINES, IDENTITY_CHARACTERS);
            let half = cut_to(&few, budget / 2);
            Piece {
                section: Section::Identity,
                id: Some(IDENTITY.to_owned()),
                text: if half.is_empty() { few } else { half },
            }
        }))
    }

    /// The folders of the projects of a wing.
    fn tops(&self, wing: Option<&str>) -> Result<Vec<String>> {
        let mut tops = Vec::new();
        for info in self.collections()? {
            let collection = self.collection(&info.name, false)?;
            if let Some(projects) = collection.projects() {
                let records = projects.projects()?.into_iter();
                let here = records.filter(|record| wing.is_none_or(|wing| record.wing == wing));
                tops.extend(here.map(|record| record.path));
            }
        }
        Ok(tops)
    }

    /// All facts of a palace that has few, and those about the wing and the agent.
    fn read_facts(&self, request: &Request) -> Result<Facts> {
        let mut facts = Facts::default();
        for entity in [&request.wing, &request.agent].into_iter().flatten() {
            facts.own.extend(self.facts_of(Some(entity.clone()))?);
        }
        let is_small = match self.kept_relations() {
            Ok(relations) => relations.counts()?.0 <= FACTS_READ,
            Err(_) => false,
        };
        if is_small {
            let now = now_ms();
            let all = self.facts_of(None)?.into_iter();
            (facts.others, facts.ended) = all.partition(|fact| fact.holds_at(now));
        }
        Ok(facts)
    }

    /// The facts of an entity that hold now, or all facts.
    fn facts_of(&self, entity: Option<String>) -> Result<Vec<Fact>> {
        let limit = if entity.is_some() {
            MOST_FACTS
        } else {
            FACTS_READ as usize
        };
        let request = facts::query::Request {
            ended: entity.is_none(),
            selector: Selector {
                entity,
                ..Selector::default()
            },
            limit,
            ..facts::query::Request::default()
        };
        match self.query_facts(&request) {
            Ok(found) => Ok(found.facts.into_iter().map(|state| state.fact).collect()),
            // A backend that does not store facts contributes none.
            Err(error) if matches!(error.plain(), Error::UnsupportedCapability { .. }) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn diary_pieces(
        &self,
        agent: Option<&str>,
        wing: Option<&str>,
        settled: &[String],
        is_new: bool,
    ) -> Result<Vec<(f32, Piece)>> {
        let Some(agent) = agent else {
            return Ok(Vec::new());
        };
        // An agent's own wing holds its diary when no project is named; notes of the project come
        // first.
        let mut request = diary::read::Request {
            agent: Some(agent.to_owned()),
            wing: wing.map(str::to_owned),
            last: MOST_DIARY,
        };
        let mut page = self.read_diary(&request)?;
        if wing.is_some() && page.entries.is_empty() {
            request.wing = None;
            page = self.read_diary(&request)?;
        }
        // Older entries are often out of date, so they are included only if little else is known.
        let most = if is_new { MOST_DIARY } else { 1 };
        let pieces = page.entries.into_iter().take(most).map(|entry| {
            let day = entry.written_at.get(..10).unwrap_or_default();
            let piece = Piece {
                section: Section::Diary,
                text: format!("- ({day}) {}", excerpt(&without(&entry.text, settled))),
                id: Some(entry.id),
            };
            (1.55, piece)
        });
        Ok(pieces.collect())
    }
}

/// The pinned drawers, then the important ones, the newest first.
fn marked(drawers: &[Read], wings: &Wings<'_>) -> Vec<(f32, Piece)> {
    let mut marked: Vec<&Read> = drawers
        .iter()
        .filter(|drawer| drawer.mark != Mark::None)
        .collect();
    marked.sort_by(|one, other| {
        let order = other
            .mark
            .partial_cmp(&one.mark)
            .unwrap_or(std::cmp::Ordering::Equal);
        order.then(other.moment.cmp(&one.moment))
    });
    let titles = HashMap::new();
    let pieces = marked.into_iter().take(MOST_IMPORTANT).map(|drawer| {
        let (score, section) = match drawer.mark {
            Mark::Pinned => (10.0, Section::Pinned),
            Mark::Important(_) | Mark::None => (5.0, Section::Important),
        };
        let text = excerpt(&drawer.text);
        let place = wings.place(drawer, "", &titles);
        let piece = Piece {
            section,
            id: Some(drawer.id.clone()),
            text: wings.line(drawer, &place, &text),
        };
        (score, piece)
    });
    pieces.collect()
}

/// The facts that a wake-up considers.
#[derive(Default)]
struct Facts {
    /// About the wing and the agent.
    own: Vec<Fact>,
    /// All others that hold now.
    others: Vec<Fact>,
    ended: Vec<Fact>,
}

impl Facts {
    /// The objects of the ended facts, without the words of those that hold now.
    fn ended(&self) -> Vec<Ended> {
        let mut now = Topic::default();
        for fact in self.own.iter().chain(&self.others) {
            now.add(&Topic::of(&fact.object));
        }
        let ended = self.ended.iter().filter_map(|fact| {
            let mut topic = Topic::of(&fact.object);
            topic.without(&now);
            let until = fact.valid_to.clone()?;
            let same =
                self.own.iter().chain(&self.others).filter(|other| {
                    other.subject == fact.subject && other.predicate == fact.predicate
                });
            let objects: Vec<&str> = same.map(|other| other.object.as_str()).collect();
            (topic.len() > 0).then(|| Ended {
                topic,
                now: Topic::of(&objects.join(" ")),
                until,
            })
        });
        ended.collect()
    }

    /// The facts that hold now about the wing, the agent, or a thing that the wing mentions.
    fn pieces(self, drawers: &[Read], topics: &[Topic]) -> Vec<(f32, Piece)> {
        let is_read = |source: &DrawerRef| drawers.iter().any(|drawer| drawer.id == source.id);
        let is_mentioned = |name: &str| {
            let name = Topic::of(name);
            name.len() > 0 && topics.iter().any(|topic| topic.contains(&name))
        };
        let others = self.others.into_iter().filter(|fact| match &fact.source {
            Some(source) => is_read(source),
            None => is_mentioned(&fact.subject),
        });
        let mut known = HashSet::new();
        let found = self.own.into_iter().chain(others);
        let found = found.filter(|fact| known.insert(fact.id.clone()));
        let pieces = found.take(MOST_FACTS).map(|fact| {
            let since = match &fact.valid_from {
                Some(from) => format!(" (since {from})"),
                None => String::new(),
            };
            let text = format!("{} {} {}", fact.subject, fact.predicate, fact.object);
            let piece = Piece {
                section: Section::Facts,
                id: None,
                text: format!("- {}{since}", excerpt(&text)),
            };
            (1.35, piece)
        });
        pieces.collect()
    }
}

/// A text without the sentences that no longer hold.
fn without(text: &str, settled: &[String]) -> String {
    let mut text = text.to_owned();
    for sentence in settled {
        text = text.replace(sentence.as_str(), "");
    }
    text
}

/// Keeps the first of pieces that are the same apart from case, space and punctuation.
fn without_duplicates(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut known = HashSet::new();
    pieces
        .into_iter()
        .filter(|piece| {
            let statement = piece
                .text
                .rsplit_once(" (")
                .map_or(piece.text.as_str(), |(statement, _)| statement);
            let plain: String = statement
                .chars()
                .filter(|character| character.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect();
            known.insert(plain)
        })
        .collect()
}
