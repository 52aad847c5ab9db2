//! Diaries: what an agent notes for itself. An entry is a drawer of room `diary` that names its agent, so that search, export
//! and forget know it like any other. Keys and wings are those of MemPalace, whose entries are read like our own.

use loci_core::clock::{new_id, now_ms};
use loci_core::{
    Batch, Collection, Error, Filter, KeyTest, MetaValue, Metadata, MetadataPatch, Outcome, Result,
    Selection, Warning,
};
use serde::Serialize;

use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// The room that holds entries.
pub(crate) const DIARY_ROOM: &str = "diary";
/// What an entry is about when nobody says.
const TOPIC: &str = "general";
/// Bytes of an agent's name or a topic at most.
const MOST_NAME: usize = 200;
/// Agents of one collection at most.
const MOST_AGENTS: usize = 10_000;
/// Entries that are put in order by the time written: beyond, those that were changed last.
const MOST_ORDERED: usize = 2_000;

/// An entry of a diary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiaryEntry {
    /// Id of its drawer.
    pub id: String,
    /// Whose diary it is.
    pub agent: String,
    /// What it is about.
    pub topic: String,
    /// The wing it stands in.
    pub wing: String,
    /// The text, word for word.
    pub text: String,
    /// When it was written (RFC 3339).
    pub written_at: String,
}

/// What is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiaryNote<'a> {
    /// Whose diary it is.
    pub agent: &'a str,
    /// The text.
    pub text: &'a str,
    /// What it is about; `general` if absent.
    pub topic: Option<&'a str>,
    /// The wing; the agent's own (`wing_` and its name) if absent.
    pub wing: Option<&'a str>,
}

/// What became of a note.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiaryWritten {
    /// The entry as it was written.
    #[serde(flatten)]
    pub entry: DiaryEntry,
    /// What should be known.
    pub warnings: Vec<Warning>,
    /// Secrets that were masked, by kind.
    pub masked: Tally,
}

/// The last entries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DiaryPage {
    /// The entries.
    pub entries: Vec<DiaryEntry>,
    /// How many there are in all.
    pub total: u64,
}

impl DiaryNote<'_> {
    /// Refuses everything that can be refused without a palace.
    pub fn validate(&self) -> Result<()> {
        let entry = entry_of(self, 0)?;
        batch_of(&entry).validate()
    }
}

impl Palace {
    /// Writes an entry; makes the collection when it is missing. The same text may be written
    /// again. The entry that is returned is the one that was written, with its secrets masked.
    pub fn write_diary(&self, note: &DiaryNote<'_>) -> Result<DiaryWritten> {
        let mut entry = entry_of(note, now_ms())?;
        let mut masked = Tally::new();
        self.secrets().apply(&mut entry.text, &mut masked);
        self.secrets().apply(&mut entry.topic, &mut masked);
        let batch = batch_of(&entry);
        batch.validate()?;
        let (memory, mut warnings) = self.memory(DEFAULT_COLLECTION, true)?;
        let written = memory.collection.add(&batch)?;
        warnings.extend(written.warnings);
        match written.outcomes.first() {
            Some(Outcome::Added) => Ok(DiaryWritten {
                entry,
                warnings,
                masked,
            }),
            other => Err(Error::Internal {
                doing: "writing the diary".into(),
                detail: format!("the entry came out as {other:?}"),
            }),
        }
    }

    /// The last entries of an agent, or of all agents; in one wing, or in all. Names match whatever their case. Entries are
    /// ordered by the time they were written; of more than 2,000, those changed last are.
    pub fn read_diary(
        &self,
        agent: Option<&str>,
        wing: Option<&str>,
        last: usize,
    ) -> Result<DiaryPage> {
        let agent = agent
            .map(|agent| name("name of the agent", agent))
            .transpose()?;
        let mut page = DiaryPage::default();
        let mut dated = Vec::new();
        for collection in self.scope(None)? {
            let Some((selection, total)) = selected(collection.as_ref(), agent, wing)? else {
                continue;
            };
            page.total += total;
            if last == 0 {
                continue;
            }
            let window = MOST_ORDERED.max(last);
            let window = usize::try_from(total).map_or(window, |total| total.min(window));
            let found = collection.get_recent(window, &selection, loci_core::Include::GET)?;
            let rows = found.ids.into_iter().zip(found.documents);
            for ((id, text), metadata) in rows.zip(found.metadatas) {
                dated.push(dated_entry(id, text, &metadata));
            }
        }
        // Ids of one moment are in the order drawn.
        dated.sort_by(|(a_moment, a), (b_moment, b)| (b_moment, &b.id).cmp(&(a_moment, &a.id)));
        page.entries = dated
            .into_iter()
            .map(|(_, entry)| entry)
            .take(last)
            .collect();
        Ok(page)
    }
}

/// The entries of a collection that are asked for, and how many there are; nothing if there are none.
fn selected(
    collection: &dyn Collection,
    agent: Option<&str>,
    wing: Option<&str>,
) -> Result<Option<(Selection, u64)>> {
    let mut filters = vec![Filter::eq("room", DIARY_ROOM)];
    filters.extend(wing.map(|wing| Filter::eq("wing", wing)));
    let in_room = Selection {
        filter: Filter::all(filters.clone()),
        ..Selection::default()
    };
    let agents = collection.facet_counts("agent", &in_room, MOST_AGENTS)?;
    let wanted = agent.map(str::to_lowercase);
    let meant: Vec<(MetaValue, u64)> = agents
        .values
        .into_iter()
        .filter(|(value, _)| match (value, &wanted) {
            (MetaValue::Str(_), None) => true,
            (MetaValue::Str(value), Some(wanted)) => value.trim().to_lowercase() == *wanted,
            _ => false,
        })
        .collect();
    if meant.is_empty() {
        return Ok(None);
    }
    let total = meant.iter().map(|(_, count)| count).sum();
    filters.push(Filter::Key {
        key: "agent".into(),
        test: KeyTest::In(meant.into_iter().map(|(value, _)| value).collect()),
    });
    let selection = Selection {
        filter: Filter::all(filters),
        ..Selection::default()
    };
    Ok(Some((selection, total)))
}

fn entry_of(note: &DiaryNote<'_>, now: i64) -> Result<DiaryEntry> {
    let agent = name("name of the agent", note.agent)?;
    if note.text.trim().is_empty() {
        return Err(Error::invalid(
            "text",
            "is empty; an entry holds at least one word",
        ));
    }
    let topic = match note.topic {
        Some(topic) => name("topic", topic)?,
        None => TOPIC,
    };
    let wing = match note.wing {
        Some(wing) => name("wing", wing)?.to_owned(),
        None => wing_of_agent(agent),
    };
    Ok(DiaryEntry {
        id: new_id(),
        agent: agent.to_owned(),
        topic: topic.to_owned(),
        wing,
        text: note.text.to_owned(),
        written_at: moment_text(now),
    })
}

/// The wing that an agent's diary stands in when none is named.
pub(crate) fn wing_of_agent(agent: &str) -> String {
    let agent = agent.trim().to_lowercase();
    format!("wing_{}", agent.replace(' ', "_"))
}

/// A name as it is kept: without space around it, neither empty nor endless.
fn name<'a>(what: &str, given: &'a str) -> Result<&'a str> {
    let given = given.trim();
    if given.is_empty() {
        return Err(Error::invalid(what, "is empty"));
    }
    if given.len() > MOST_NAME || given.chars().any(char::is_control) {
        return Err(Error::invalid(
            what,
            format!("must be one line of at most {MOST_NAME} bytes"),
        ));
    }
    Ok(given)
}

fn batch_of(entry: &DiaryEntry) -> Batch {
    Batch::new([entry.id.clone()])
        .documents([entry.text.clone()])
        .metadatas([metadata_of(entry)])
}

fn metadata_of(entry: &DiaryEntry) -> MetadataPatch {
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

/// An entry with the moment it was written, 0 if nobody knows.
fn dated_entry(id: String, text: String, metadata: &Metadata) -> (i64, DiaryEntry) {
    let value = |key: &str| metadata.get_str(key).unwrap_or_default().to_owned();
    let moment = metadata
        .moment("filed_at")
        .or_else(|| metadata.authored_at());
    let entry = DiaryEntry {
        id,
        agent: value("agent"),
        topic: value("topic"),
        wing: value("wing"),
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
