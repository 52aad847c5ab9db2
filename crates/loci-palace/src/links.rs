//! Links between drawers and between rooms of different wings, and where they lead.

use std::collections::BTreeMap;

use loci_core::{Error, Link, LinkEnd, Related, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;

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

/// Rooms of each wing with their drawers: wing, room, count.
pub type Taxonomy = BTreeMap<String, BTreeMap<String, u64>>;

impl Palace {
    /// Adds links; ends that do not exist are refused.
    pub fn link(&self, links: &[Link]) -> Result<Related> {
        let _ = links;
        Err(unfinished())
    }

    /// Removes links by ends and label; gives how many there were.
    pub fn unlink(&self, links: &[Link]) -> Result<u64> {
        let _ = links;
        Err(unfinished())
    }

    /// Links at a place, or all.
    pub fn links(&self, end: Option<&LinkEnd>, limit: usize, offset: usize) -> Result<Vec<Link>> {
        let _ = (end, limit, offset);
        Err(unfinished())
    }

    /// Walks along links in both directions, nearest first; a room also leads to rooms of the same name in other wings.
    pub fn traverse(&self, start: &LinkEnd, max_hops: usize, limit: usize) -> Result<Walk> {
        let _ = (start, max_hops, limit);
        Err(unfinished())
    }

    /// Rooms that join wings: by name, or by a link. With wings named, only those that join them.
    pub fn tunnels(&self, wing_a: Option<&str>, wing_b: Option<&str>) -> Result<Vec<Tunnel>> {
        let _ = (wing_a, wing_b);
        Err(unfinished())
    }

    /// Wings, their rooms and how many drawers they hold, over all collections. A drawer without wing or room counts under
    /// an empty name.
    pub fn taxonomy(&self) -> Result<Taxonomy> {
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::UnsupportedCapability {
        capability: "links".into(),
        reason: "not yet".into(),
    }
}
