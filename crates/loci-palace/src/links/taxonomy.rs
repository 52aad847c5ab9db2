//! Wings and rooms with their drawers, counted by facets.

use loci_core::{Collection, Filter, Link, LinkEnd, MetaValue, Result, Selection};

use super::Taxonomy;
use super::tunnels::Tunnel;
use crate::palace::Palace;

/// Maximum number of wings or rooms of one collection.
const MOST_NAMES: usize = 10_000;

impl Palace {
    /// Number of drawers by wing and room, over all collections. A drawer without a wing or room
    /// counts under an empty name.
    pub fn taxonomy(&self) -> Result<Taxonomy> {
        let mut taxonomy = Taxonomy::new();
        for collection in self.scope(None)? {
            count(collection.as_ref(), &mut taxonomy)?;
        }
        for rooms in taxonomy.values_mut() {
            rooms.retain(|_, drawers| *drawers > 0);
        }
        taxonomy.retain(|_, rooms| !rooms.is_empty());
        Ok(taxonomy)
    }
}

fn count(collection: &dyn Collection, taxonomy: &mut Taxonomy) -> Result<()> {
    for (wing, selection) in groups(collection, "wing")? {
        let rooms = taxonomy.entry(wing).or_default();
        let facets = collection.facet_counts("room", &selection, MOST_NAMES)?;
        for (value, drawers) in facets.values {
            if let MetaValue::Str(room) = value {
                *rooms.entry(room).or_default() += drawers;
            }
        }
        *rooms.entry(String::new()).or_default() += facets.missing;
    }
    Ok(())
}

/// Each value of a key with the selection of its drawers, and the selection of drawers without one.
fn groups(collection: &dyn Collection, key: &str) -> Result<Vec<(String, Selection)>> {
    let facets = collection.facet_counts(key, &Selection::all(), MOST_NAMES)?;
    let names: Vec<String> = facets
        .values
        .into_iter()
        .filter_map(|(value, _)| match value {
            MetaValue::Str(name) => Some(name),
            _ => None,
        })
        .collect();
    let mut groups: Vec<(String, Selection)> = names
        .iter()
        .map(|name| {
            let selection = Selection::matching(Filter::eq(key, name.as_str()));
            (name.clone(), selection)
        })
        .collect();
    if facets.missing > 0 {
        let none = Filter::Key {
            key: key.to_owned(),
            test: loci_core::KeyTest::NotIn(names.into_iter().map(MetaValue::Str).collect()),
        };
        groups.push((String::new(), Selection::matching(none)));
    }
    Ok(groups)
}

/// A link between rooms of different wings as a tunnel.
pub(super) fn tunnel_of(taxonomy: &Taxonomy, link: &Link) -> Option<Tunnel> {
    let (LinkEnd::Room { wing: from, room }, LinkEnd::Room { wing: to, .. }) =
        (&link.from, &link.to)
    else {
        return None;
    };
    (from != to).then(|| Tunnel {
        room: room.clone(),
        wings: vec![from.clone(), to.clone()],
        drawers: drawers_at(taxonomy, &link.from) + drawers_at(taxonomy, &link.to),
        link: Some(link.clone()),
    })
}

/// Drawers of a room, or of a wing as a whole.
pub(super) fn drawers_at(taxonomy: &Taxonomy, end: &LinkEnd) -> u64 {
    match end {
        LinkEnd::Drawer(_) => 1,
        LinkEnd::Room { wing, room } => {
            let rooms = taxonomy.get(wing);
            match room.as_str() {
                "" => rooms.map_or(0, |rooms| rooms.values().sum()),
                room => rooms
                    .and_then(|rooms| rooms.get(room))
                    .copied()
                    .unwrap_or_default(),
            }
        }
    }
}
