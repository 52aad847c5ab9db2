//! Rooms that join wings.

use std::collections::BTreeMap;

use loci_core::{Link, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE, taxonomy};
use crate::palace::Palace;

/// Links that an answer is made of at most.
const MOST_LINKS: usize = 100_000;

/// Which tunnels are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only tunnels that join all of these wings.
    pub wings: Vec<String>,
}

/// The tunnels; those with most drawers first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Each.
    pub tunnels: Vec<Tunnel>,
}

/// A room that stands in several wings, or that a link joins across wings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tunnel {
    /// Name of the room; of a link, the one it starts from.
    pub room: String,
    /// The wings it joins.
    pub wings: Vec<String>,
    /// Drawers in it.
    pub drawers: u64,
    /// The link, where one was made.
    pub link: Option<Link>,
}

impl Palace {
    /// Rooms that join wings: by name, or by a link; those with most drawers first. With wings
    /// named, only those that join them.
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
