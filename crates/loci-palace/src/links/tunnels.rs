//! Tunnels: rooms that connect wings.

use std::collections::BTreeMap;

use loci_core::{Link, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE, taxonomy};
use crate::palace::Palace;

/// Maximum number of links that are read.
const MOST_LINKS: usize = 100_000;

/// The tunnels to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only tunnels that connect all of these wings.
    pub wings: Vec<String>,
}

/// The tunnels; those with the most drawers first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The tunnels.
    pub tunnels: Vec<Tunnel>,
}

/// A room that exists in several wings, or that a link connects across wings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tunnel {
    /// Name of the room; for a link, the room that it starts from.
    pub room: String,
    /// The wings that it connects.
    pub wings: Vec<String>,
    /// Drawers in it.
    pub drawers: u64,
    /// The link, if it is one.
    pub link: Option<Link>,
}

impl Palace {
    /// Rooms that connect wings by name or by a link; those with the most drawers first. If wings
    /// are named, only rooms that connect them.
    pub fn tunnels(&self, request: &Request) -> Result<Answer> {
        let taxonomy = self.taxonomy()?;
        let mut by_room: BTreeMap<&str, (Vec<String>, u64)> = BTreeMap::new();
        for (wing, rooms) in taxonomy.iter().filter(|(wing, _)| !wing.is_empty()) {
            for (room, drawers) in rooms.iter().filter(|(room, _)| !room.is_empty()) {
                let found = by_room.entry(room).or_default();
                found.0.push(wing.clone());
                found.1 += drawers;
            }
        }
        let by_name = by_room
            .into_iter()
            .filter(|(_, (wings, _))| wings.len() > 1)
            .map(|(room, (wings, drawers))| Tunnel {
                room: room.to_owned(),
                wings,
                drawers,
                link: None,
            });
        let links = self.all_links()?;
        let linked = links
            .iter()
            .filter_map(|link| taxonomy::tunnel_of(&taxonomy, link));
        let mut tunnels: Vec<Tunnel> = by_name
            .chain(linked)
            .filter(|tunnel| request.wings.iter().all(|wing| tunnel.wings.contains(wing)))
            .collect();
        tunnels.sort_by_key(|tunnel| std::cmp::Reverse(tunnel.drawers));
        Ok(Answer { tunnels })
    }

    fn all_links(&self) -> Result<Vec<Link>> {
        let mut links = Vec::new();
        while links.len() < MOST_LINKS {
            let page = self.links(None, PAGE, links.len())?;
            let last = page.len() < PAGE;
            links.extend(page);
            if last {
                break;
            }
        }
        Ok(links)
    }
}
