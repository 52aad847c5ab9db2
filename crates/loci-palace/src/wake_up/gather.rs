//! Collects the pieces of a wake-up, the most important first, with bounded reads.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::clock::now_ms;
use loci_core::{DrawerRef, Error, Fact, Result, Warning};

use super::compose::{Piece, Section, cut_to};
use super::excerpt::{cut, excerpt};
use super::identity::IDENTITY;
use super::notes::Note;
use super::place::Wings;
use super::read::{Mark, Read};
use super::records::{Chunk, Record, date_in};
use super::revise::revise;
use super::statement::{Ended, Kind, Recognised, Statement};
use super::talk::Session;
use super::topic::Topic;
use super::turns::{Speaker, is_conversation, order_of, turns_of};
use super::{DEFAULT_BUDGET, Request};
use crate::diary::{self, DIARY_ROOM};
use crate::facts::{self, Selector};
use crate::fence::instruction_like;
use crate::palace::Palace;
use crate::title::title_of_session;

/// Maximum number of pieces in a section.
const MOST_FACTS: usize = 8;
const MOST_IMPORTANT: usize = 15;
const MOST_DIARY: usize = 3;
const MOST_OUTCOMES: usize = 3;
const MOST_REQUESTS: usize = 5;
const MOST_NOTES: usize = 8;
/// The same beside other statements.
const FEW_NOTES: usize = 3;
/// With fewer statements than this, other notes are included.
const FEW: usize = 3;
/// Up to this many facts, those about things that the wing mentions are found by reading all.
const FACTS_READ: u64 = 500;
const IDENTITY_LINES: usize = 20;
const IDENTITY_CHARACTERS: usize = 1_500;
const MOST_TITLE: usize = 40;

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

/// What was recognised.
struct Stated {
    pieces: Vec<(f32, Piece)>,
    /// What each session, note and file is about.
    topics: Vec<Topic>,
    /// Sentences that no longer hold.
    settled: Vec<String>,
}

/// The statements of conversations, notes, diary entries and records.
fn stated(
    drawers: &[Read],
    wings: &Wings<'_>,
    seen: &HashSet<String>,
    ended: Vec<Ended>,
) -> Stated {
    let mut recognised = Recognised {
        ended,
        ..Recognised::default()
    };
    let mut sessions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, drawer) in drawers.iter().enumerate() {
        let source = drawer.source();
        if is_conversation(&drawer.metadata) {
            sessions.entry(source).or_default().push(at);
        } else if source.is_empty() {
            let note = Note {
                text: &drawer.text,
                drawer: at,
                moment: drawer.moment.unwrap_or_default(),
                is_diary: drawer.metadata.get_str("room") == Some(DIARY_ROOM),
            };
            note.recognise(&mut recognised);
        } else {
            files.entry(source).or_default().push(at);
        }
    }
    let last_entry = drawers
        .iter()
        .filter(|drawer| drawer.metadata.get_str("room") == Some(DIARY_ROOM))
        .filter_map(|drawer| drawer.moment)
        .max();
    for statement in &mut recognised.statements {
        let drawer = drawers.get(statement.drawer);
        let in_diary =
            drawer.is_some_and(|drawer| drawer.metadata.get_str("room") == Some(DIARY_ROOM));
        if in_diary && Some(statement.moment) < last_entry {
            statement.score -= 0.8;
        }
    }
    let titles = recognise_sessions(&sessions, drawers, &mut recognised);
    recognise_files(&files, drawers, wings, &mut recognised);
    let settled = revise(&mut recognised);
    let mut statements = recognised.statements;
    statements.retain(|statement| {
        let id = drawers.get(statement.drawer).map(|drawer| &drawer.id);
        id.is_some_and(|id| !seen.contains(id))
    });
    keep_last(&mut statements);
    // The newest first; the order of the scores comes later and keeps it.
    statements.sort_by_key(|statement| std::cmp::Reverse(statement.moment));
    let pieces = statements.iter().filter_map(|statement| {
        let drawer = drawers.get(statement.drawer)?;
        let place = wings.place(drawer, &statement.text, &titles);
        let piece = Piece {
            section: section_of(statement.kind),
            id: Some(drawer.id.clone()),
            text: wings.line(drawer, &place, &statement.text),
        };
        Some((statement.score, piece))
    });
    Stated {
        pieces: pieces.collect(),
        topics: recognised.units,
        settled,
    }
}

fn section_of(kind: Kind) -> Section {
    match kind {
        Kind::Decision => Section::Decisions,
        Kind::Rule => Section::Rules,
        Kind::Task => Section::Tasks,
        Kind::Person => Section::People,
        Kind::Outcome | Kind::Request => Section::Sessions,
        Kind::Note => Section::Notes,
    }
}

/// Keeps the outcomes of the last sessions. Of the notes without a form of their own a few are kept,
/// more if little else is known. The requests of the sessions are kept only if nothing else is known.
fn keep_last(statements: &mut Vec<Statement>) {
    let firm = statements
        .iter()
        .filter(|statement| !matches!(statement.kind, Kind::Outcome | Kind::Request | Kind::Note))
        .count();
    statements.sort_by_key(|statement| std::cmp::Reverse(statement.moment));
    let (mut outcomes, mut requests, mut notes) = (0, 0, 0);
    statements.retain_mut(|statement| match statement.kind {
        Kind::Outcome => {
            outcomes += 1;
            statement.score = match outcomes {
                1 => 1.9,
                2 => 1.4,
                _ => 1.1,
            };
            outcomes <= MOST_OUTCOMES
        }
        Kind::Request => {
            requests += 1;
            firm == 0 && requests <= MOST_REQUESTS
        }
        Kind::Note => {
            notes += 1;
            notes <= if firm < FEW { MOST_NOTES } else { FEW_NOTES }
        }
        _ => true,
    });
}

/// Recognises the statements of conversations. Returns their titles.
fn recognise_sessions<'a>(
    sessions: &BTreeMap<&'a str, Vec<usize>>,
    drawers: &[Read],
    into: &mut Recognised,
) -> HashMap<&'a str, String> {
    let mut titles = HashMap::new();
    for (source, places) in sessions {
        let mut parts: Vec<(usize, &Read)> = places
            .iter()
            .filter_map(|at| Some((*at, drawers.get(*at)?)))
            .collect();
        parts.sort_by_key(|(_, drawer)| (order_of(&drawer.metadata), drawer.moment));
        let mut session = Session::default();
        for (at, drawer) in parts {
            let turns = turns_of(&drawer.text, &drawer.metadata, at);
            session
                .moments
                .extend(turns.iter().map(|_| drawer.moment.unwrap_or_default()));
            session.turns.extend(turns);
            if let Some(title) = drawer.metadata.get_str("heading") {
                title.clone_into(&mut session.title);
            }
        }
        session.recognise(into);
        let users = session.turns.iter();
        let users = users.filter(|turn| turn.speaker == Speaker::User);
        let requests = users.map(|turn| turn.text.as_str());
        let title = match title_of_session(&session.title, std::iter::empty()) {
            Some(title) => cut(&title, 1, MOST_TITLE),
            None => match title_of_session("", requests) {
                Some(request) => format!("\"{}\"", cut(&request, 1, MOST_TITLE)),
                None => "session".to_owned(),
            },
        };
        titles.insert(*source, title);
    }
    titles
}

fn recognise_files(
    files: &BTreeMap<&str, Vec<usize>>,
    drawers: &[Read],
    wings: &Wings<'_>,
    into: &mut Recognised,
) {
    for (source, places) in files {
        let mut chunks: Vec<(usize, &Read)> = places
            .iter()
            .filter_map(|at| Some((*at, drawers.get(*at)?)))
            .collect();
        chunks.sort_by_key(|(_, drawer)| order_of(&drawer.metadata));
        let dated = chunks.iter().filter_map(|(_, drawer)| drawer.moment).max();
        let moment = date_in(source).or(dated);
        let status = chunks
            .iter()
            .find_map(|(_, drawer)| drawer.metadata.get_str("status"));
        let record = Record {
            path: wings.path(source),
            status: status.unwrap_or_default(),
            chunks: chunks
                .iter()
                .map(|(at, drawer)| Chunk {
                    text: &drawer.text,
                    headings: drawer.metadata.get_str("heading").unwrap_or_default(),
                    drawer: *at,
                })
                .collect(),
            moment: moment.unwrap_or_default(),
        };
        record.recognise(into);
    }
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
