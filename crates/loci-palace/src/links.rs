//! Links between drawers and between rooms of different wings. Rooms of the same name in different
//! wings are connected without a link.

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

/// An end of a link in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LinkPlace {
    /// A drawer, a room or a wing.
    End(LinkEnd),
    /// A name: the drawer with this id if the collection has one, else the room `WING/ROOM`.
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

/// Number of drawers by wing and room.
pub type Taxonomy = BTreeMap<String, BTreeMap<String, u64>>;

impl Palace {
    /// The links of a place, or all links.
    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        match self.relations()? {
            Some(relations) => relations.links(end, limit, offset),
            None => Ok(Vec::new()),
        }
    }
}
