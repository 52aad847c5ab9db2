//! Links between drawers and between rooms of different wings, and where they lead. A room of the
//! same name in another wing is connected without a link.

pub mod add;
mod ends;
pub mod follow;
pub mod list;
pub mod remove;
mod taxonomy;
pub mod tunnels;

use std::collections::BTreeMap;

use loci_core::{Link, LinkEnd, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::palace::Palace;

/// Links read at once.
const PAGE: usize = 1_000;

/// An end of a link as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkPlace {
    /// A drawer, a room or a wing.
    End(LinkEnd),
    /// A name: the drawer of this id if the collection has one, else the room `WING/ROOM`.
    Name {
        /// The collection of the drawer.
        collection: String,
        /// The id, or wing and room.
        name: String,
    },
}

impl From<LinkEnd> for LinkPlace {
    fn from(end: LinkEnd) -> Self {
        Self::End(end)
    }
}

/// Rooms of each wing with their drawers: wing, room, count.
pub type Taxonomy = BTreeMap<String, BTreeMap<String, u64>>;

impl Palace {
    /// Links at a place, or all.
    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        match self.relations()? {
            Some(relations) => relations.links(end, limit, offset),
            None => Ok(Vec::new()),
        }
    }
}
