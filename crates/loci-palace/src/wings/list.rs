//! Lists wings with their projects.

use std::collections::BTreeMap;

use loci_core::{
    Collection, Filter, Include, MetaValue, ProjectRecord, Projects, Result, Selection,
};
use loci_recall::date_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Palace;

/// Maximum number of listed wings.
const MOST_WINGS: usize = 100_000;
/// Maximum number of listed rooms of a wing.
const MOST_ROOMS: usize = 100;

/// The collection to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// The collection.
    pub collection: String,
}

/// All wings of a collection, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The wings.
    pub wings: Vec<WingInfo>,
}

/// A wing with its drawers and projects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WingInfo {
    /// Its name.
    pub wing: String,
    /// Drawers.
    pub drawers: u64,
    /// Its rooms, the largest first; at most 100.
    pub rooms: Vec<RoomInfo>,
    /// When one of its drawers was last added or changed (RFC 3339), if known.
    pub changed_at: Option<String>,
    /// The projects that are recorded for it, one entry per folder. Several projects share a wing
    /// only if they did before projects were recorded.
    pub projects: Vec<ProjectRecord>,
}

/// A room with its drawers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoomInfo {
    /// Its name.
    pub room: String,
    /// Drawers.
    pub drawers: u64,
}

/// The rooms of a wing.
fn rooms(collection: &dyn Collection, wing: &Selection) -> Result<Vec<RoomInfo>> {
    let counts = collection.facet_counts("room", wing, MOST_ROOMS)?;
    let rooms = counts.values.into_iter().filter_map(|(value, drawers)| {
        let MetaValue::Str(room) = value else {
            return None;
        };
        Some(RoomInfo { room, drawers })
    });
    Ok(rooms.collect())
}

/// When a drawer of a wing was last added or changed.
fn last_change(collection: &dyn Collection, wing: &Selection) -> Result<Option<String>> {
    let newest = collection.get_recent(1, wing, Include::NONE)?;
    let histories = collection.histories(&newest.ids)?;
    let moment = histories.first().and_then(|history| history.updated_at);
    Ok(moment.map(date_of))
}

impl Palace {
    /// All wings of a collection by name, including wings without drawers that a project is
    /// recorded for.
    pub fn list_wings(&self, request: &Request) -> Result<Answer> {
        let collection = self.collection(&request.collection, false)?;
        let mut wings: BTreeMap<String, WingInfo> = BTreeMap::new();
        let facets = collection.facet_counts("wing", &Selection::all(), MOST_WINGS)?;
        for (value, drawers) in facets.values {
            let MetaValue::Str(wing) = value else {
                continue;
            };
            let info = wings.entry(wing.clone()).or_default();
            info.drawers += drawers;
        }
        let records = collection
            .projects()
            .map_or(Ok(Vec::new()), Projects::projects)?;
        for record in records {
            let info = wings.entry(record.wing.clone()).or_default();
            info.projects.push(record);
        }
        for (wing, info) in &mut wings {
            info.wing.clone_from(wing);
            if info.drawers > 0 {
                let only = Selection::matching(Filter::eq("wing", wing.as_str()));
                info.rooms = rooms(collection.as_ref(), &only)?;
                info.changed_at = last_change(collection.as_ref(), &only)?;
            }
        }
        Ok(Answer {
            wings: wings.into_values().collect(),
        })
    }
}
