//! Diaries: notes that an agent writes for itself. An entry is a drawer in the room `diary` that
//! names its agent, so search, export and forget treat it like any other drawer. Keys and wings are
//! those of MemPalace, whose entries are read too.

pub mod read;
pub mod write;

use loci_core::clock::new_id;
use loci_core::{Batch, Error, MetaValue, Metadata, MetadataPatch, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::{Flag, flags_of};

/// The room of entries.
pub(crate) const DIARY_ROOM: &str = "diary";
/// The default topic.
const TOPIC: &str = "general";
/// Maximum number of bytes of an agent's name or a topic.
const MOST_NAME: usize = 200;

/// An entry of a diary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Entry {
    /// Id of its drawer.
    pub id: String,
    /// The agent that wrote it.
    pub agent: String,
    /// Its topic.
    pub topic: String,
    /// Its wing.
    pub wing: String,
    /// The text, word for word.
    pub text: String,
    /// When it was written (RFC 3339).
    pub written_at: String,
    /// Flags of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

fn entry_of(note: &write::Request, now: i64) -> Result<Entry> {
    let agent = name("name of the agent", &note.agent)?;
    if note.text.trim().is_empty() {
        return Err(Error::invalid(
            "text",
            "empty; an entry holds at least one word",
        ));
    }
    let topic = match &note.topic {
        Some(topic) => name("topic", topic)?,
        None => TOPIC,
    };
    let wing = match &note.wing {
        Some(wing) => name("wing", wing)?.to_owned(),
        None => wing_of_agent(agent),
    };
    Ok(Entry {
        id: new_id(),
        agent: agent.to_owned(),
        topic: topic.to_owned(),
        wing,
        flags: flags_of(&note.text),
        text: note.text.clone(),
        written_at: moment_text(now),
    })
}

/// The default wing of an agent's diary.
pub(crate) fn wing_of_agent(agent: &str) -> String {
    let agent = agent.trim().to_lowercase();
    format!("wing_{}", agent.replace(' ', "_"))
}

/// A name in its stored form: trimmed, not empty, one line, of limited length.
fn name<'a>(what: &str, given: &'a str) -> Result<&'a str> {
    let given = given.trim();
    if given.is_empty() {
        return Err(Error::invalid(what, "empty"));
    }
    if given.len() > MOST_NAME || given.chars().any(char::is_control) {
        return Err(Error::invalid(
            what,
            format!("must be one line of at most {MOST_NAME} bytes"),
        ));
    }
    Ok(given)
}

fn batch_of(entry: &Entry) -> Batch {
    Batch::new([entry.id.clone()])
        .documents([entry.text.clone()])
        .metadatas([metadata_of(entry)])
}

fn metadata_of(entry: &Entry) -> MetadataPatch {
    let date = entry.written_at.get(..10).unwrap_or_default();
    let values = [
        ("wing", entry.wing.as_str()),
        ("room", DIARY_ROOM),
        ("type", "diary_entry"),
        ("agent", &entry.agent),
        ("topic", &entry.topic),
        ("filed_at", &entry.written_at),
        ("date", date),
    ];
    MetadataPatch(
        values
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Some(MetaValue::from(value))))
            .collect(),
    )
}

/// An entry with the moment when it was written; 0 if unknown.
fn dated_entry(id: String, text: String, metadata: &Metadata) -> (i64, Entry) {
    let value = |key: &str| metadata.get_str(key).unwrap_or_default().to_owned();
    let moment = metadata
        .moment("filed_at")
        .or_else(|| metadata.authored_at());
    let entry = Entry {
        id,
        agent: value("agent"),
        topic: value("topic"),
        wing: value("wing"),
        flags: flags_of(&text),
        text,
        written_at: moment.map_or_else(|| value("filed_at"), moment_text),
    };
    (moment.unwrap_or_default(), entry)
}

/// A moment in RFC 3339, to the millisecond.
fn moment_text(moment: i64) -> String {
    let second = loci_recall::date_of(moment);
    let second = second.trim_end_matches('Z');
    format!("{second}.{:03}Z", moment.rem_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_was_written() {
        for moment in [0, 1, 999, 1_763_283_849_123, 253_000_000_000_999] {
            let text = moment_text(moment);
            assert_eq!(loci_text::when::authored(&text), Some(moment), "{text}");
        }
        assert_eq!(moment_text(1_763_283_849_123), "2025-11-16T09:04:09.123Z");
    }

    #[test]
    fn names_are_trimmed_and_never_empty() {
        assert_eq!(name("agent", "  Claude ").unwrap(), "Claude");
        for refused in ["", "  ", "a\nb", &"a".repeat(201)] {
            assert!(name("agent", refused).is_err(), "{refused}");
        }
        assert_eq!(wing_of_agent(" Code Reviewer "), "wing_code_reviewer");
    }
}
