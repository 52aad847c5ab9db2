//! Lists wings with their projects.

use std::collections::BTreeMap;

use loci_core::{MetaValue, ProjectRecord, Projects, Result, Selection};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Palace;

/// Maximum number of listed wings.
const MOST_WINGS: usize = 100_000;

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
    /// The projects that are recorded for it, one entry per folder. Several projects share a wing
    /// only if they did before projects were recorded.
    pub projects: Vec<ProjectRecord>,
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
        }
        Ok(Answer {
            wings: wings.into_values().collect(),
        })
    }
}
