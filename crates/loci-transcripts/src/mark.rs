//! Marks: the position and state needed to resume reading later.

use super::event::Conversation;
use super::record_tally::clip;
use super::utterance::Point;
use serde::{Deserialize, Serialize};

/// Values that are longer as JSON are left out of a mark to keep it small. Most files repeat them.
const MAX_ID_BYTES: usize = 120;
const MAX_FOLDER_BYTES: usize = 200;
const MAX_FACT_BYTES: usize = 60;

/// A resume point: everything needed to continue from a byte offset. It is small and stable across
/// versions. The caller must check that the first `offset` bytes of the file are unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The byte offset at which reading resumes.
    pub offset: u64,
    /// The number of lines before the offset. In formats without lines, the number of messages
    /// already read of the record at the offset.
    pub line: u64,
    /// The exchange that ended here, or that continues if `part` is not 0.
    pub exchange: u32,
    /// The parts of that exchange before this point; 0 between exchanges.
    pub part: u32,
    /// The facts known about the conversation.
    pub conversation: Conversation,
    #[serde(flatten)]
    pub(super) state: State,
}

/// The state that a format carries from one record to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// The latest time of any record, compared as strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) latest: Option<String>,
    /// Whether the file belongs to a subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sidechain: Option<bool>,
    /// Whether prompts are quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quotes: Option<bool>,
    /// Digests of texts that may occur again in another form. The stored member is named `said`.
    #[serde(default, rename = "said", skip_serializing_if = "Vec::is_empty")]
    pub(super) digests: Vec<u64>,
    /// A digest of everything before the mark, for sources that have no byte offset.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) check: u64,
}

impl Mark {
    pub(super) fn new(point: Point, conversation: &Conversation, state: &State) -> Self {
        let short = |fact: &Option<String>| fact.clone().filter(|fact| fits(fact, MAX_FACT_BYTES));
        let title = conversation
            .title
            .as_deref()
            .map(|title| clip(title, MAX_FACT_BYTES / 2));
        Self {
            offset: point.offset,
            line: point.line,
            exchange: 0,
            part: 0,
            conversation: Conversation {
                id: Some(&conversation.id)
                    .filter(|id| fits(id, MAX_ID_BYTES))
                    .cloned()
                    .unwrap_or_default(),
                title: short(&title.map(str::to_owned)),
                folder: conversation
                    .folder
                    .clone()
                    .filter(|folder| fits(folder, MAX_FOLDER_BYTES)),
                branch: short(&conversation.branch),
                started_at: short(&conversation.started_at),
            },
            state: State {
                model: short(&state.model),
                latest: short(&state.latest),
                ..state.clone()
            },
        }
    }

    pub(super) fn point(&self) -> Point {
        Point {
            offset: self.offset,
            line: self.line,
        }
    }
}

fn fits(fact: &str, limit: usize) -> bool {
    serde_json::to_string(fact).is_ok_and(|json| json.len() <= limit)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_takes_less_than_a_kibibyte_whatever_it_holds() {
        for unit in ["x", "\u{1}", "\"", "é", "船"] {
            for length in [10, 30, 58, 100, 118, 190, 5_000] {
                let fact = unit.repeat(length / unit.len());
                let conversation = Conversation {
                    id: fact.clone(),
                    title: Some(fact.clone()),
                    folder: Some(fact.clone()),
                    branch: Some(fact.clone()),
                    started_at: Some(fact.clone()),
                };
                let state = State {
                    model: Some(fact.clone()),
                    latest: Some(fact),
                    sidechain: Some(false),
                    quotes: Some(false),
                    digests: vec![u64::MAX; crate::codex::REMEMBERED],
                    check: u64::MAX,
                };
                let point = Point {
                    offset: u64::MAX,
                    line: u64::MAX,
                };
                let mut mark = Mark::new(point, &conversation, &state);
                (mark.exchange, mark.part) = (u32::MAX, u32::MAX);
                let json = serde_json::to_string(&mark).unwrap();
                assert!(json.len() < 1_024, "{} {json}", json.len());
                assert_eq!(serde_json::from_str::<Mark>(&json).unwrap(), mark);
            }
        }
    }

    /// Marks are stored in palaces. A renamed member would be lost without an error.
    #[test]
    fn the_members_of_a_stored_mark_keep_their_names() {
        let stored = r#"{"offset":7,"line":2,"exchange":1,"part":0,"conversation":{"id":"c"},"model":"m","latest":"t","sidechain":false,"quotes":true,"said":[5],"check":9}"#;
        let mark: Mark = serde_json::from_str(stored).unwrap();
        assert_eq!(mark.state.digests, [5]);
        let again = serde_json::to_value(&mark).unwrap();
        let stored: serde_json::Value = serde_json::from_str(stored).unwrap();
        for (name, value) in stored.as_object().unwrap() {
            if name != "conversation" {
                assert_eq!(again.get(name), Some(value), "{name}");
            }
        }
    }
}
