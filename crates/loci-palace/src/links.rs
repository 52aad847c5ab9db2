//! Links between drawers and between rooms of different wings, and where they lead. A room of the same name in another wing is
//! a tunnel that nobody had to dig.

mod ends;
mod taxonomy;
mod walk;

use std::collections::BTreeMap;

use loci_core::{Link, LinkEnd, Related, Result, Warning, validate_links};
use serde::Serialize;

use crate::palace::Palace;
use crate::secrets::{Tally, mask_link};

/// Links read at once.
const PAGE: usize = 1_000;
/// Links that an answer is made of at most.
const MOST_LINKS: usize = 100_000;

/// A place that a walk along links reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reached {
    /// The place.
    pub end: LinkEnd,
    /// Links from the start.
    pub hops: usize,
    /// The link it was reached by; absent for the start, and for a room of the same name in another wing.
    pub via: Option<Link>,
    /// Drawers there.
    pub drawers: u64,
}

/// Where a walk led.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Walk {
    /// Places in the order reached, the start first.
    pub reached: Vec<Reached>,
    /// Whether the limit cut it.
    pub cut: bool,
    /// What should be known.
    pub warnings: Vec<Warning>,
}

/// A room that stands in several wings, or that a link joins across wings.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

/// What became of links that were given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Linked {
    /// Written.
    pub added: u64,
    /// There already, unchanged.
    pub known: u64,
    /// Secrets that were masked in labels, by kind.
    pub masked: Tally,
}

/// Rooms of each wing with their drawers: wing, room, count.
pub type Taxonomy = BTreeMap<String, BTreeMap<String, u64>>;

impl Palace {
    /// Adds links; ends that do not exist are refused.
    pub fn link(&self, links: &[Link]) -> Result<Linked> {
        let (mut links, mut masked) = (links.to_vec(), Tally::new());
        for link in &mut links {
            mask_link(self.secrets(), link, &mut masked);
        }
        let links = links.as_slice();
        validate_links(links)?;
        for link in links {
            self.require_end(&link.from)?;
            self.require_end(&link.to)?;
        }
        let Related { added, known } = self.kept_relations()?.add_links(links)?;
        Ok(Linked {
            added,
            known,
            masked,
        })
    }

    /// Removes links by ends and label; gives how many there were.
    pub fn unlink(&self, links: &[Link]) -> Result<u64> {
        validate_links(links)?;
        self.kept_relations()?.remove_links(links)
    }

    /// Links at a place, or all.
    pub fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        match self.relations()? {
            Some(relations) => relations.links(end, limit, offset),
            None => Ok(Vec::new()),
        }
    }

    /// Rooms that join wings: by name, or by a link; those with most drawers first. With wings named, only those that join
    /// them.
    pub fn tunnels(&self, wing_a: Option<&str>, wing_b: Option<&str>) -> Result<Vec<Tunnel>> {
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
        let dug = links
            .iter()
            .filter_map(|link| taxonomy::tunnel_of(&taxonomy, link));
        let joins = |tunnel: &Tunnel, wing: Option<&str>| {
            wing.is_none_or(|wing| tunnel.wings.iter().any(|joined| joined == wing))
        };
        let mut tunnels: Vec<Tunnel> = by_name
            .chain(dug)
            .filter(|tunnel| joins(tunnel, wing_a) && joins(tunnel, wing_b))
            .collect();
        tunnels.sort_by_key(|tunnel| std::cmp::Reverse(tunnel.drawers));
        Ok(tunnels)
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
