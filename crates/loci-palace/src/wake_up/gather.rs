//! Collects the pieces of a wake-up, the most important first, with bounded reads.

use std::collections::HashSet;

use loci_core::{
    Collection, Error, Filter, Include, KeyTest, MetaValue, Metadata, Ordering, Result, Selection,
    Warning,
};
use loci_recall::date_of;

use super::compose::{Piece, Section, cut_to};
use super::excerpt::{cut, excerpt};
use super::identity::IDENTITY;
use super::{DEFAULT_BUDGET, Request};
use crate::diary;
use crate::diary::DIARY_ROOM;
use crate::facts::{self, Selector};
use crate::fence::instruction_like;
use crate::palace::Palace;

/// Number of newest drawers of a collection that are considered.
const NEWEST: usize = 150;
/// Number of drawers marked as important that are considered besides.
const MARKED: usize = 50;
/// Maximum number of collections that are read.
const COLLECTIONS: usize = 8;
/// Maximum number of pieces in a section.
const MOST_FACTS: usize = 8;
const MOST_IMPORTANT: usize = 15;
const MOST_DIARY: usize = 3;
const MOST_RECENT: usize = 15;
/// Maximum number of pieces of one source, because neighbouring passages add little.
const OF_ONE_SOURCE: usize = 2;
/// The importance of a drawer that names none; MemPalace's scale goes from 1 to 5.
const ORDINARY: f64 = 3.0;
/// The weight of a pinned drawer, which comes before all others.
const PINNED: f64 = 1e6;
/// Metadata keys under which programs store importance.
const WEIGHTS: [&str; 3] = ["importance", "emotional_weight", "weight"];
const IDENTITY_LINES: usize = 20;
const IDENTITY_CHARACTERS: usize = 1_500;
const MOST_PLACE: usize = 60;

struct Candidate {
    id: String,
    text: String,
    metadata: Metadata,
    weight: f64,
}

impl Palace {
    /// Pieces in the order in which they are chosen.
    pub(super) fn gather(&self, request: &Request) -> Result<(Vec<Piece>, Vec<Warning>)> {
        let wing = request.wing.as_deref();
        let mut warnings = Vec::new();
        let diary = self.diary_pieces(request.agent.as_deref(), wing)?;
        let mut seen: HashSet<String> = diary.iter().filter_map(|piece| piece.id.clone()).collect();
        seen.insert(IDENTITY.to_owned());
        let candidates = self.candidates(wing, &mut warnings)?;
        if let Some(wing) = wing.filter(|_| candidates.is_empty()) {
            // A new project has no wing yet; naming those that there are would count the whole
            // palace.
            warnings.push(Warning::UnknownPlace {
                kind: "wing".into(),
                name: wing.to_owned(),
                known: None,
            });
        }
        let (important, recent) = ranked(candidates, wing, request.agent.is_some(), &mut seen);
        let facts = self.fact_pieces(request)?;
        let mut pieces: Vec<Piece> = self.identity_piece(request.budget)?.into_iter().collect();
        let turns = interleaved([facts, important, diary, recent]);
        let (clean, orders): (Vec<Piece>, Vec<Piece>) = turns
            .into_iter()
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

    /// The valid facts about the wing and the agent.
    fn fact_pieces(&self, request: &Request) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for entity in [&request.wing, &request.agent].into_iter().flatten() {
            let request = facts::query::Request {
                selector: Selector {
                    entity: Some(entity.clone()),
                    ..Selector::default()
                },
                limit: MOST_FACTS,
                ..facts::query::Request::default()
            };
            let found = match self.query_facts(&request) {
                Ok(found) => found.facts,
                // A backend that does not store facts contributes none.
                Err(error) if matches!(error.plain(), Error::UnsupportedCapability { .. }) => {
                    Vec::new()
                }
                Err(error) => return Err(error),
            };
            pieces.extend(found.into_iter().map(|state| {
                let fact = state.fact;
                let since = match &fact.valid_from {
                    Some(from) => format!(" (since {from})"),
                    None => String::new(),
                };
                let said = format!("{} {} {}", fact.subject, fact.predicate, fact.object);
                Piece {
                    section: Section::Facts,
                    id: None,
                    text: format!("- {}{since}", excerpt(&said)),
                }
            }));
        }
        Ok(pieces)
    }

    fn diary_pieces(&self, agent: Option<&str>, wing: Option<&str>) -> Result<Vec<Piece>> {
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
        Ok(page
            .entries
            .into_iter()
            .map(|entry| {
                let day = entry.written_at.get(..10).unwrap_or_default();
                Piece {
                    section: Section::Diary,
                    text: format!("- ({day}) {}", excerpt(&entry.text)),
                    id: Some(entry.id),
                }
            })
            .collect())
    }

    /// The newest drawers and the marked ones, with their weight.
    fn candidates(
        &self,
        wing: Option<&str>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        let collections = self.collections()?;
        // Closets are MemPalace's index of its drawers, not memory.
        let names = collections
            .iter()
            .map(|info| info.name.as_str())
            .filter(|name| !name.ends_with("closets"));
        for name in names.take(COLLECTIONS) {
            let collection = self.collection(name, false)?;
            candidates.extend(newest(collection.as_ref(), wing, warnings)?);
        }
        Ok(candidates)
    }
}

fn newest(
    collection: &dyn Collection,
    wing: Option<&str>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Candidate>> {
    let of_wing: Vec<Filter> = wing
        .map(|wing| Filter::eq("wing", wing))
        .into_iter()
        .collect();
    let mut marked = of_wing.clone();
    marked.push(marks());
    let mut candidates: Vec<Candidate> = Vec::new();
    for (filters, limit) in [(of_wing, NEWEST), (marked, MARKED)] {
        let selection = Selection {
            filter: Filter::all(filters),
            ..Selection::default()
        };
        let found = collection.get_recent(limit, &selection, Include::GET)?;
        warnings.extend(found.warnings);
        let rows = found.ids.into_iter().zip(found.documents);
        for ((id, text), metadata) in rows.zip(found.metadatas) {
            if candidates.iter().all(|known| known.id != id) {
                candidates.push(Candidate {
                    weight: weight(&metadata),
                    id,
                    text,
                    metadata,
                });
            }
        }
    }
    let ids: Vec<String> = candidates.iter().map(|known| known.id.clone()).collect();
    let shown = collection.access_counts(&ids)?;
    for (candidate, times) in candidates.iter_mut().zip(shown) {
        // Ten times shown weighs as much as one step of importance.
        candidate.weight += (times.min(1 << 20) as f64).ln_1p() / 11_f64.ln();
    }
    Ok(candidates)
}

/// Selects the drawers that are marked as important.
fn marks() -> Filter {
    let heavier = WEIGHTS.iter().map(|key| Filter::Key {
        key: (*key).to_owned(),
        test: KeyTest::Order(Ordering::Greater, MetaValue::Float(ORDINARY)),
    });
    Filter::Or(
        heavier
            .chain([Filter::eq("pinned", MetaValue::Bool(true))])
            .collect(),
    )
}

fn weight(metadata: &Metadata) -> f64 {
    let number = |key: &&str| match metadata.get(key) {
        Some(MetaValue::Int(number)) => Some(*number as f64),
        Some(MetaValue::Float(number)) if number.is_finite() => Some(*number),
        Some(MetaValue::Str(text)) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    };
    let said = WEIGHTS.iter().find_map(number).unwrap_or(ORDINARY);
    let pinned = metadata.get("pinned") == Some(&MetaValue::Bool(true));
    said.clamp(-PINNED, PINNED) + if pinned { 2.0 * PINNED } else { 0.0 }
}

/// Important pieces, heaviest first, and recent ones, newest first.
fn ranked(
    mut candidates: Vec<Candidate>,
    wing: Option<&str>,
    has_diary: bool,
    seen: &mut HashSet<String>,
) -> (Vec<Piece>, Vec<Piece>) {
    candidates.retain(|candidate| {
        let in_diary = candidate.metadata.get_str("room") == Some(DIARY_ROOM);
        !(candidate.text.trim().is_empty() || has_diary && in_diary)
    });
    let mut heavy: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| candidate.weight > ORDINARY)
        .collect();
    // Stable: of equal weight, the newer one first.
    heavy.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let important = pieces(heavy, Section::Important, MOST_IMPORTANT, wing, seen);
    let recent = pieces(
        candidates.iter().collect(),
        Section::Recent,
        MOST_RECENT,
        wing,
        seen,
    );
    (important, recent)
}

fn pieces(
    candidates: Vec<&Candidate>,
    section: Section,
    most: usize,
    wing: Option<&str>,
    seen: &mut HashSet<String>,
) -> Vec<Piece> {
    let mut sources: Vec<&str> = Vec::new();
    let mut pieces = Vec::new();
    for candidate in candidates {
        if pieces.len() == most {
            break;
        }
        let source = candidate
            .metadata
            .get_str("source_file")
            .unwrap_or_default();
        let of_source = sources.iter().filter(|known| **known == source).count();
        if (!source.is_empty() && of_source >= OF_ONE_SOURCE) || !seen.insert(candidate.id.clone())
        {
            continue;
        }
        sources.push(source);
        pieces.push(Piece {
            section,
            id: Some(candidate.id.clone()),
            text: line(candidate, wing),
        });
    }
    pieces
}

/// The line of a drawer: its place, its date and its first lines.
fn line(candidate: &Candidate, wing: Option<&str>) -> String {
    let of = |key: &str| candidate.metadata.get_str(key).unwrap_or_default();
    let place = match (wing, of("wing"), of("room")) {
        (Some(_), _, room) | (None, "", room) => room.to_owned(),
        (None, wing, "") => wing.to_owned(),
        (None, wing, room) => format!("{wing}/{room}"),
    };
    let moment = candidate
        .metadata
        .authored_at()
        .or_else(|| candidate.metadata.moment("filed_at"));
    let day = moment.map(date_of).unwrap_or_default();
    let day = day.get(..10).unwrap_or_default();
    let about: Vec<&str> = [place.as_str(), day]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let about = cut(&about.join(", "), 1, MOST_PLACE);
    let about = if about.is_empty() {
        about
    } else {
        format!("({about}) ")
    };
    format!("- {about}{}", excerpt(&candidate.text))
}

/// Takes one piece of each list in turn.
fn interleaved<const N: usize>(lists: [Vec<Piece>; N]) -> Vec<Piece> {
    let mut lists = lists.map(Vec::into_iter);
    let mut turns = Vec::new();
    loop {
        let before = turns.len();
        for list in &mut lists {
            turns.extend(list.next());
        }
        if turns.len() == before {
            return turns;
        }
    }
}

/// Keeps the first of pieces that are the same apart from case, space and punctuation.
fn without_duplicates(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut told = HashSet::new();
    pieces
        .into_iter()
        .filter(|piece| {
            let said = piece
                .text
                .split_once(") ")
                .map_or(piece.text.as_str(), |(_, said)| said);
            let plain: String = said
                .chars()
                .filter(|character| character.is_alphanumeric())
                .flat_map(char::to_lowercase)
                .collect();
            told.insert(plain)
        })
        .collect()
}
