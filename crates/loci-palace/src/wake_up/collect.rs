//! Recognises the statements of the drawers that were read, and keeps those that hold.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::compose::{Piece, Section};
use super::excerpt::cut;
use super::notes::Note;
use super::place::Wings;
use super::read::Read;
use super::records::{Chunk, Record, date_in};
use super::revise::revise;
use super::statement::{Ended, Kind, Recognised, Statement};
use super::talk::Session;
use super::topic::Topic;
use super::turns::{Speaker, is_conversation, order_of, turns_of};
use crate::diary::DIARY_ROOM;
use crate::title::title_of_session;

/// Maximum number of statements of a kind.
const MOST_OUTCOMES: usize = 3;
const MOST_REQUESTS: usize = 5;
const MOST_NOTES: usize = 8;
/// The same beside other statements.
const FEW_NOTES: usize = 3;
/// With fewer statements than this, little is known of a wing.
pub(super) const FEW: usize = 3;
/// Maximum number of characters of the title of a session.
const MOST_TITLE: usize = 40;

/// What was recognised.
pub(super) struct Stated {
    pub(super) pieces: Vec<(f32, Piece)>,
    /// What each session, note and file is about.
    pub(super) topics: Vec<Topic>,
    /// Sentences that no longer hold.
    pub(super) settled: Vec<String>,
}

/// The statements of conversations, notes, diary entries and records.
pub(super) fn stated(
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
