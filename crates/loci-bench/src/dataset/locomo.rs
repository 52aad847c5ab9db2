//! LoCoMo: conversations of many sessions, with questions about them.

use std::collections::{BTreeMap, HashSet};

use loci_palace::{Error, MetaValue, Metadata, Result};
use serde::Deserialize;
use serde_json::Value;

use super::evidence::{DialogueId, parse};
use super::{Case, Drawer, Half, Question, day_after, moment};

/// The category whose questions name the wrong person, so that there is no answer.
const ADVERSARIAL: u32 = 5;

#[derive(Deserialize)]
pub(super) struct Entry {
    #[serde(default)]
    sample_id: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u32,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    #[serde(default)]
    text: String,
    blip_caption: Option<String>,
}

/// Converts an entry to a case. A session that cannot be read is an error, because leaving it out
/// would make search look worse.
pub(super) fn case(at: usize, entry: Entry) -> Result<Case> {
    let mut id = entry.sample_id;
    if id.is_empty() {
        id = format!("conversation-{at}");
    }
    let half = match at % 2 {
        0 => Half::Tuning,
        _ => Half::Reporting,
    };
    let mut conversation = entry.conversation;
    let mut drawers = Vec::new();
    let mut last = None;
    let mut numbers: Vec<u32> = conversation.keys().filter_map(|key| session(key)).collect();
    numbers.sort_unstable();
    for number in numbers {
        let name = format!("session_{number}");
        let date = conversation
            .get(&format!("{name}_date_time"))
            .and_then(|written| moment(written.as_str()?));
        last = last.max(date.as_ref().map(|(_, day)| *day));
        let turns = conversation.remove(&name).unwrap_or_default();
        let turns: Vec<Turn> = serde_json::from_value(turns).map_err(|error| {
            Error::invalid(
                format!("`{name}` of `{id}`"),
                format!("not a session: {error}"),
            )
        })?;
        for (turn, place) in turns.into_iter().zip(1..) {
            let date = date.as_ref().map(|(stamp, _)| stamp.as_str());
            drawers.push(drawer(turn, place, &name, &id, date));
        }
    }
    let known: HashSet<&str> = drawers.iter().map(|drawer| drawer.id.as_str()).collect();
    let questions = entry.qa.into_iter().enumerate();
    let questions = questions
        .map(|(place, asked)| question(asked, place, &id, &known))
        .collect();
    Ok(Case {
        id,
        half,
        drawers,
        today: last.map(day_after),
        questions,
    })
}

/// The number of a session's key; `None` for `session_1_date_time` and other keys.
fn session(key: &str) -> Option<u32> {
    key.strip_prefix("session_")?.parse().ok()
}

fn drawer(turn: Turn, place: i64, session: &str, sample: &str, date: Option<&str>) -> Drawer {
    let mut text = format!("{}: {}", turn.speaker, turn.text);
    if let Some(caption) = turn.blip_caption.filter(|caption| !caption.is_empty()) {
        text = format!("{text} [image: {caption}]");
    }
    let mut metadata = Metadata::default();
    let mut put = |key: &str, value| metadata.0.insert(key.to_owned(), value);
    put("source_file", MetaValue::Str(session.to_owned()));
    put("start_line", MetaValue::Int(place));
    put("wing", MetaValue::Str(sample.to_owned()));
    put("speaker", MetaValue::Str(turn.speaker));
    if let Some(date) = date {
        put("authored_at", MetaValue::Str(date.to_owned()));
    }
    Drawer {
        id: turn.dia_id,
        text,
        metadata,
    }
}

fn question(asked: Asked, place: usize, sample: &str, known: &HashSet<&str>) -> Question {
    let mut turns = Vec::new();
    let mut sessions = Vec::new();
    let mut mempalace = Vec::new();
    for DialogueId { session, turn } in asked.evidence.iter().flat_map(|text| parse(text)) {
        let name = format!("session_{session}");
        let id = format!("D{session}:{turn}");
        if known.contains(id.as_str()) {
            push_new(&mut turns, id);
            push_new(&mut sessions, name.clone());
        }
        push_new(&mut mempalace, name);
    }
    Question {
        id: format!("{sample}/{place}"),
        category: asked.category.to_string(),
        text: asked.question,
        turns,
        sessions,
        mempalace: Some(mempalace),
        unanswerable: asked.category == ADVERSARIAL,
    }
}

fn push_new(list: &mut Vec<String>, value: String) {
    if !list.contains(&value) {
        list.push(value);
    }
}
