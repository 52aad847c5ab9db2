//! Reads the last entries, newest first.

use loci_core::{Collection, Filter, Include, KeyTest, MetaValue, Result, Selection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DIARY_ROOM, Entry, dated_entry, name};
use crate::palace::Palace;

/// Maximum number of agents of one collection.
const MOST_AGENTS: usize = 10_000;
/// Maximum number of entries that are sorted by time. If there are more, those that were changed
/// last are sorted.
const MOST_ORDERED: usize = 2_000;

/// The entries to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only entries of this agent; case is ignored. Entries of all agents if absent.
    pub agent: Option<String>,
    /// Only entries in this wing.
    pub wing: Option<String>,
    /// Maximum number of entries; with 0 they are only counted.
    pub last: usize,
}

/// The last entries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Total number of entries.
    pub total: u64,
}

impl Palace {
    /// The last entries of one agent or of all agents, in one wing or in all. Entries are sorted by
    /// the time when they were written; if there are more than 2,000, only those that were changed
    /// last.
    pub fn read_diary(&self, request: &Request) -> Result<Answer> {
        let agent = match &request.agent {
            Some(agent) => Some(name("name of the agent", agent)?),
            None => None,
        };
        let (wing, last) = (request.wing.as_deref(), request.last);
        let mut page = Answer::default();
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
            let found = collection.get_recent(window, &selection, Include::GET)?;
            let rows = found.ids.into_iter().zip(found.documents);
            for ((id, text), metadata) in rows.zip(found.metadatas) {
                dated.push(dated_entry(id, text, &metadata));
            }
        }
        // Ids of the same moment sort in the order in which they were generated.
        dated.sort_by(|(a_moment, a), (b_moment, b)| (b_moment, &b.id).cmp(&(a_moment, &a.id)));
        page.entries = dated
            .into_iter()
            .map(|(_, entry)| entry)
            .take(last)
            .collect();
        Ok(page)
    }
}

/// The requested entries of a collection and their total; `None` if there are none.
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
