//! Titles of conversations, for people and agents: the name that the agent's program gave, else the
//! first request. Titles are derived when drawers are read, from what is stored anyway, so drawers
//! that were mined by earlier versions have titles too.

mod request;

use std::collections::HashMap;

use loci_core::{
    Collection, Filter, Get, GetResult, Include, MetaValue, Metadata, Result, Selection,
};

use crate::palace::Palace;

/// How many of the first drawers of a conversation are searched for its request.
const FIRST_DRAWERS: usize = 8;

impl Palace {
    /// The title of the conversation that a drawer belongs to, by the drawer's metadata. `None` if
    /// it belongs to none, or if nothing in the conversation is a title.
    pub fn title_of(&self, collection: &str, metadata: &Metadata) -> Result<Option<String>> {
        if !is_conversation(metadata) {
            return Ok(None);
        }
        let collection = self.collection(collection, false)?;
        Ok(Titles::of(collection.as_ref()).title(metadata))
    }

    /// The title of the conversation that the drawer with this id belongs to.
    pub fn title_of_drawer(&self, collection: &str, id: &str) -> Result<Option<String>> {
        let handle = self.collection(collection, false)?;
        let found = handle.get(&Get {
            include: Include {
                metadatas: true,
                ..Include::NONE
            },
            ..Get::new(Selection::ids([id]))
        })?;
        let metadata = found.metadatas.first();
        Ok(metadata.and_then(|metadata| Titles::of(handle.as_ref()).title(metadata)))
    }
}

/// The titles of the conversations of a collection. Each conversation is read once.
pub(crate) struct Titles<'a> {
    collection: &'a dyn Collection,
    known: HashMap<String, Option<String>>,
}

impl<'a> Titles<'a> {
    pub(crate) fn of(collection: &'a dyn Collection) -> Self {
        Self {
            collection,
            known: HashMap::new(),
        }
    }

    /// The title of the conversation that a drawer belongs to. An answer without titles is better
    /// than none, so an error counts as no title.
    pub(crate) fn title(&mut self, metadata: &Metadata) -> Option<String> {
        if !is_conversation(metadata) {
            return None;
        }
        if let Some(title) = metadata.get_str("heading").and_then(request::of_name) {
            return Some(title);
        }
        let source = metadata.get_str("source_file")?;
        if let Some(known) = self.known.get(source) {
            return known.clone();
        }
        let title = match self.first_drawers(source) {
            Ok(found) => title_in(found),
            Err(error) => {
                tracing::debug!(%error, "failed to read the title of a conversation");
                None
            }
        };
        self.known.insert(source.to_owned(), title.clone());
        title
    }

    fn first_drawers(&self, source: &str) -> Result<GetResult> {
        // The wing is left out: in a large palace, looking it up would take most of the time.
        let selection = Selection::matching(Filter::eq("source_file", source));
        self.collection.get(&Get {
            limit: Some(FIRST_DRAWERS),
            include: Include {
                documents: true,
                metadatas: true,
                ..Include::NONE
            },
            ..Get::new(selection)
        })
    }
}

/// Whether a drawer is a part of a conversation that was mined by Loci or MemPalace.
pub(crate) fn is_conversation(metadata: &Metadata) -> bool {
    metadata.get("exchange").is_some() || metadata.get_str("ingest_mode") == Some("convos")
}

/// The title of a conversation: its name, or the first of the requests.
pub(crate) fn title_of_session<'t>(
    name: &str,
    mut requests: impl Iterator<Item = &'t str>,
) -> Option<String> {
    request::of_name(name).or_else(|| requests.find_map(request::of_message))
}

/// The first request in some drawers of a conversation.
fn title_in(found: GetResult) -> Option<String> {
    let mut drawers: Vec<(Metadata, String)> =
        found.metadatas.into_iter().zip(found.documents).collect();
    drawers.sort_by_key(|(metadata, _)| (number(metadata, "exchange"), number(metadata, "part")));
    let named = drawers
        .iter()
        .find_map(|(metadata, _)| request::of_name(metadata.get_str("heading")?));
    named.or_else(|| {
        drawers.iter().find_map(|(metadata, text)| {
            let messages = messages_of_user(text, metadata);
            messages.iter().find_map(|said| request::of_message(said))
        })
    })
}

fn number(metadata: &Metadata, key: &str) -> i64 {
    match metadata.get(key) {
        Some(MetaValue::Int(number)) => *number,
        _ => 0,
    }
}

/// What the user says in a drawer of a conversation.
fn messages_of_user(text: &str, metadata: &Metadata) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    if metadata.get("exchange").is_none() {
        // MemPalace marks what the user says as a quotation.
        let said = text.lines().filter_map(|line| line.strip_prefix('>'));
        messages.extend(said.map(str::to_owned));
        return messages;
    }
    let (mut is_users, mut is_after_gap) = (false, true);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if is_after_gap && is_mark(line) {
            // A request that comes after a reminder is filed as context.
            let is_wrapped =
                line == "Context:" && lines.peek().is_some_and(|next| next.starts_with('<'));
            is_users = line == "User:" || is_wrapped;
            if is_users {
                messages.push(String::new());
            }
        } else if let Some(message) = messages.last_mut().filter(|_| is_users) {
            message.push_str(line);
            message.push('\n');
        }
        is_after_gap = line.trim().is_empty();
    }
    messages
}

/// Whether a line names who says what follows, as in a mined exchange.
fn is_mark(line: &str) -> bool {
    let Some(name) = line.strip_suffix(':') else {
        return false;
    };
    let name = name.strip_suffix(" (continued)").unwrap_or(name);
    let name = name.strip_suffix(" (thinking)").unwrap_or(name);
    matches!(
        name,
        "User"
            | "Assistant"
            | "System"
            | "Summary"
            | "Context"
            | "Tool output"
            | "Tool output (error)"
    ) || name.starts_with("Tool call ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_is_the_first_request_of_the_user_in_the_order_of_the_conversation() {
        let drawer = |exchange: i64, text: &str| {
            let metadata = serde_json::json!({"exchange": exchange, "part": 1});
            (Metadata::from_json(&metadata).unwrap(), text.to_owned())
        };
        let drawers = [
            drawer(3, "User:\nAnd the other lamp?\n\nAssistant:\nIt burns."),
            drawer(1, "User:\nhi\n\nAssistant:\nUser: what can I do?"),
            drawer(
                2,
                "Tool output:\nUser:\nnot a request\n\nUser:\n<system-reminder>x y</system-reminder>\n\nWhy is the lamp dark?\n\nAssistant:\nA fuse.",
            ),
        ];
        let (metadatas, documents) = drawers.into_iter().unzip();
        let found = GetResult {
            metadatas,
            documents,
            ..GetResult::default()
        };
        assert_eq!(title_in(found).as_deref(), Some("Why is the lamp dark?"));
    }
}
