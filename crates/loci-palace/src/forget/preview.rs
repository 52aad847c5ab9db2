//! The preview of a `forget`: how many drawers a selection has, where they are, and some of them.

use loci_core::{Filter, MetaValue, Result, Selection};
use schemars::JsonSchema;
use serde::Serialize;

use super::Request;
use crate::list;
use crate::palace::Palace;

/// Number of drawers that are shown.
const EXAMPLES: usize = 3;
/// Maximum number of wings, rooms and sources that are counted.
const MOST: usize = 100_000;

/// What a `forget` would remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Preview {
    /// Drawers that are selected.
    pub drawers: u64,
    /// Number of their sources.
    pub sources: u64,
    /// Where they are: wings by name, in each wing the rooms by name.
    pub places: Vec<Place>,
    /// Some of them, in the order added.
    pub examples: Vec<Example>,
}

/// Selected drawers of a room.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The wing; empty for drawers without one.
    pub wing: String,
    /// The room; empty for drawers without one.
    pub room: String,
    /// Number of drawers.
    pub drawers: u64,
}

/// A selected drawer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Example {
    /// Its id.
    pub id: String,
    /// Its source, if it has one.
    pub source: Option<String>,
    /// Its text.
    pub text: String,
}

impl Palace {
    /// What [`Palace::forget`] would remove. Copies that repairs and runs kept of other drawers of
    /// the selection are not counted.
    pub fn preview_forget(&self, request: &Request) -> Result<Preview> {
        let listed = self.list(&list::Request {
            collection: request.collection.clone(),
            selection: request.selection.clone(),
            limit: EXAMPLES,
            ..list::Request::default()
        })?;
        let mut preview = Preview {
            drawers: listed.total as u64,
            examples: listed
                .drawers
                .into_iter()
                .map(|drawer| Example {
                    id: drawer.id,
                    source: drawer.source,
                    text: drawer.text,
                })
                .collect(),
            ..Preview::default()
        };
        if preview.drawers == 0 {
            return Ok(preview);
        }
        for (wing, in_wing) in self.by_value("wing", &request.selection, request)? {
            let only = and(&request.selection, Filter::eq("wing", wing.as_str()));
            let mut rest = in_wing;
            for (room, drawers) in self.by_value("room", &only, request)? {
                rest = rest.saturating_sub(drawers);
                preview.count(&wing, room, drawers);
            }
            preview.count(&wing, String::new(), rest);
        }
        let placed: u64 = preview.places.iter().map(|place| place.drawers).sum();
        preview.count("", String::new(), preview.drawers.saturating_sub(placed));
        preview
            .places
            .sort_by(|one, other| (&one.wing, &one.room).cmp(&(&other.wing, &other.room)));
        preview.sources = self
            .by_value("source_file", &request.selection, request)?
            .len() as u64;
        Ok(preview)
    }

    /// Selected drawers by the value of a key, over the collections of the request.
    fn by_value(
        &self,
        key: &str,
        selection: &Selection,
        request: &Request,
    ) -> Result<std::collections::BTreeMap<String, u64>> {
        let mut counts = std::collections::BTreeMap::new();
        for collection in self.scope(request.collection.as_deref())? {
            for (value, count) in collection.facet_counts(key, selection, MOST)?.values {
                if let MetaValue::Str(name) = value {
                    *counts.entry(name).or_default() += count;
                }
            }
        }
        Ok(counts)
    }
}

impl Preview {
    fn count(&mut self, wing: &str, room: String, drawers: u64) {
        if drawers > 0 {
            self.places.push(Place {
                wing: wing.to_owned(),
                room,
                drawers,
            });
        }
    }
}

fn and(selection: &Selection, filter: Filter) -> Selection {
    let mut parts: Vec<Filter> = selection.filter.iter().cloned().collect();
    parts.push(filter);
    Selection {
        filter: Filter::all(parts),
        ..selection.clone()
    }
}
