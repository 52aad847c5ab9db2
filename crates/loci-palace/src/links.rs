//! Links between drawers and between rooms of different wings: those that people and agents add,
//! which are stored, and those that mined files contain, which are derived. Rooms of the same name in different
//! wings are connected without a link.

pub mod add;
mod ends;
pub mod follow;
pub mod list;
pub mod mined;
pub mod remove;
mod taxonomy;
pub mod tunnels;

use std::collections::BTreeMap;

use loci_core::{Link, LinkEnd, Metadata, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::mined::MinedLinks;
use crate::detail::Detail;
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

/// A link to add or to remove, by its ends and label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Where it starts.
    pub from: LinkPlace,
    /// Where it leads.
    pub to: LinkPlace,
    /// How the first end relates to the second; may be empty.
    #[serde(default)]
    pub label: String,
    /// Whether the answer repeats the link.
    #[serde(default)]
    pub detail: Detail,
}

/// Number of drawers by wing and room.
pub type Taxonomy = BTreeMap<String, BTreeMap<String, u64>>;

impl Palace {
    /// The requested link. An end that is given by name is looked up.
    fn link_of(&self, request: &Request) -> Result<Link> {
        Ok(Link {
            from: self.end_of(&request.from)?,
            to: self.end_of(&request.to)?,
            label: request.label.clone(),
            metadata: Metadata::default(),
        })
    }

    /// The stored links of a place, or all stored links.
    fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        match self.relations()? {
            Some(relations) => relations.links(end, limit, offset),
            None => Ok(Vec::new()),
        }
    }

    /// The links of a place, or all links: stored ones first, then those of mined files.
    fn all_links_of(
        &self,
        end: Option<&LinkEnd>,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<Link>> {
        let mut links = self.links(end, limit, offset)?;
        if links.len() >= limit {
            return Ok(links);
        }
        let stored = if links.is_empty() && offset > 0 {
            self.links(end, usize::MAX >> 1, 0)?.len()
        } else {
            offset + links.len()
        };
        let left = limit - links.len();
        let skipped = offset.saturating_sub(stored);
        let mut mined = MinedLinks::of(self);
        match end {
            Some(end) => links.extend(mined.at(end)?.into_iter().skip(skipped).take(left)),
            None => links.extend(mined.all(left, skipped)?),
        }
        Ok(links)
    }
}
