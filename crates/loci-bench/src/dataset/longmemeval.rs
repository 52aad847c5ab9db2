//! LongMemEval: each question comes with the chats before it.

use std::collections::HashMap;

use loci_palace::{MetaValue, Metadata};
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use super::{Case, Drawer, Half, Question, moment};

/// Suffix of the ids of questions without an answer.
const ABSTENTION: &str = "_abs";

#[derive(Deserialize)]
pub(super) struct Entry {
    question_id: String,
    #[serde(default)]
    question_type: String,
    question: String,
    #[serde(default)]
    question_date: String,
    #[serde(default)]
    haystack_session_ids: Vec<String>,
    #[serde(default)]
    haystack_dates: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    #[serde(default)]
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: Option<bool>,
}

/// Converts an entry to a case. Texts are moved, not copied.
pub(super) fn case(entry: Entry) -> Case {
    let half = half_of(&entry.question_id);
    let mut drawers = Vec::new();
    let mut evidence = Vec::new();
    // A session may occur in a haystack twice. The numbering of its turns continues, so that ids
    // stay unique.
    let mut counts: HashMap<String, i64> = HashMap::new();
    let mut ids = entry.haystack_session_ids.into_iter();
    let mut dates = entry.haystack_dates.iter();
    for (place, turns) in entry.haystack_sessions.into_iter().enumerate() {
        let session = ids.next().unwrap_or_else(|| format!("session-{place}"));
        let date = dates.next().and_then(|written| moment(written));
        let count = counts.entry(session.clone()).or_default();
        for turn in turns {
            *count += 1;
            let id = format!("{session}:{count}");
            if turn.has_answer == Some(true) {
                evidence.push(id.clone());
            }
            let mut metadata = Metadata::default();
            let mut put = |key: &str, value| metadata.0.insert(key.to_owned(), value);
            put("source_file", MetaValue::Str(session.clone()));
            put("start_line", MetaValue::Int(*count));
            put("role", MetaValue::Str(turn.role));
            if let Some((stamp, _)) = &date {
                put("authored_at", MetaValue::Str(stamp.clone()));
            }
            drawers.push(Drawer {
                id,
                text: turn.content,
                metadata,
            });
        }
    }
    let mut sessions = entry.answer_session_ids;
    sessions.sort();
    sessions.dedup();
    let unanswerable = entry.question_id.ends_with(ABSTENTION);
    Case {
        id: entry.question_id.clone(),
        half,
        drawers,
        today: moment(&entry.question_date).map(|(_, day)| day),
        questions: vec![Question {
            id: entry.question_id,
            category: entry.question_type,
            text: entry.question,
            turns: evidence,
            sessions,
            mempalace: None,
            unanswerable,
        }],
    }
}

/// The half of a question, by the lowest bit of the hash of its id. It does not depend on the file.
fn half_of(question_id: &str) -> Half {
    match xxh3_64(question_id.as_bytes()) & 1 {
        0 => Half::Tuning,
        _ => Half::Reporting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_never_change() {
        let tuning: Vec<u32> = (0..16)
            .filter(|n| half_of(&format!("gpt4_{n:04}")) == Half::Tuning)
            .collect();
        assert_eq!(tuning, [1, 2, 4, 6, 7, 8, 12, 13, 15]);
    }
}
