//! Wings and the projects they belong to: looked up for a folder, listed, and split where several projects share one.

mod split;

use std::collections::BTreeMap;

use loci_core::{ErrorKind, ProjectRecord, Projects, Result, Selection};
use loci_mine::place::locate_conversation;
use serde::Serialize;

use crate::Palace;

pub use split::{Split, SplitPart};

/// Wings that are listed at most.
const MOST_WINGS: usize = 100_000;

/// A wing with its drawers and projects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WingInfo {
    /// Its name.
    pub wing: String,
    /// Drawers.
    pub drawers: u64,
    /// The projects that are recorded for it, each folder by itself. Several only where they shared the wing before
    /// projects were recorded.
    pub projects: Vec<ProjectRecord>,
}

impl Palace {
    /// The wing of conversations that are held in a folder: the one that is recorded with its project, else the one that
    /// the project would get. Writes nothing and runs no program.
    pub fn wing_of_folder(&self, collection: &str, folder: &str) -> Result<String> {
        let located = locate_conversation(Some(folder));
        let Some(found) = located.project else {
            return Ok(located.place.wing);
        };
        let collection = match self.collection(collection, false) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(located.place.wing),
            other => other?,
        };
        match collection.projects() {
            Some(projects) => Ok(projects.wing_of(&found.project)?.wing),
            None => Ok(located.place.wing),
        }
    }

    /// All wings of a collection by name, also those that only a project is recorded for.
    pub fn wings(&self, collection: &str) -> Result<Vec<WingInfo>> {
        let collection = self.collection(collection, false)?;
        let mut wings: BTreeMap<String, WingInfo> = BTreeMap::new();
        let facets = collection.facet_counts("wing", &Selection::all(), MOST_WINGS)?;
        for (value, drawers) in facets.values {
            let loci_core::MetaValue::Str(wing) = value else {
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
        Ok(wings.into_values().collect())
    }
}
