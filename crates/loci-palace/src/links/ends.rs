//! Checks that the ends of a link exist, and suggests existing ones.

use loci_core::{
    Advice, Error, Filter, Get, Include, LinkEnd, Result, Selection, quoted, quoted_list,
};

use super::LinkPlace;
use crate::palace::Palace;

/// Maximum number of names in an error.
const LISTED: usize = 5;

impl Palace {
    /// The end that a request means.
    pub(super) fn end_of(&self, place: &LinkPlace) -> Result<LinkEnd> {
        let (collection, name) = match place {
            LinkPlace::End(end) => return Ok(end.clone()),
            LinkPlace::Name { collection, name } => (collection, name),
        };
        if !name.is_empty()
            && let Some(kept) = self.kept(collection)?
            && holds(kept.as_ref(), Selection::ids([name.as_str()]))?
        {
            return Ok(LinkEnd::drawer(collection, name));
        }
        Ok(match name.split_once('/') {
            Some((wing, room)) if !wing.is_empty() && !room.is_empty() => LinkEnd::room(wing, room),
            // The check of the end reports a missing drawer.
            _ => LinkEnd::drawer(collection, name),
        })
    }

    /// Refuses an end that does not exist.
    pub(super) fn require_end(&self, end: &LinkEnd) -> Result<()> {
        match end {
            LinkEnd::Drawer(drawer) => {
                let there = self.kept(&drawer.collection)?;
                if let Some(collection) = &there
                    && holds(collection.as_ref(), Selection::ids([drawer.id.as_str()]))?
                {
                    return Ok(());
                }
                self.refuse_drawer(&drawer.collection, &drawer.id)
            }
            LinkEnd::Room { wing, room } => {
                let mut filters = vec![Filter::eq("wing", wing.as_str())];
                if !room.is_empty() {
                    filters.push(Filter::eq("room", room.as_str()));
                }
                let selection = Selection {
                    filter: Filter::all(filters),
                    ..Selection::default()
                };
                for collection in self.scope(None)? {
                    if holds(collection.as_ref(), selection.clone())? {
                        return Ok(());
                    }
                }
                self.refuse_room(wing, room)
            }
        }
    }

    fn refuse_drawer(&self, collection: &str, id: &str) -> Result<()> {
        let mut elsewhere = Vec::new();
        for other in self.scope(None)? {
            if holds(other.as_ref(), Selection::ids([id]))? {
                elsewhere.push(quoted(other.name()));
            }
        }
        let what = format!("drawer {}", quoted(id));
        let problem = format!("is not in collection {}", quoted(collection));
        if elsewhere.is_empty() {
            return Err(Error::invalid(what, problem).advise(Advice::ListDrawers));
        }
        let elsewhere = elsewhere.join(", ");
        Err(Error::invalid(
            what,
            format!("{problem} but in {elsewhere}"),
        ))
    }

    fn refuse_room(&self, wing: &str, room: &str) -> Result<()> {
        let taxonomy = self.taxonomy()?;
        let (what, name, known): (_, _, Vec<&String>) = match taxonomy.get(wing) {
            None => (
                format!("wing {}", quoted(wing)),
                wing,
                taxonomy.keys().collect(),
            ),
            Some(rooms) => (
                format!("room {} of wing {}", quoted(room), quoted(wing)),
                room,
                rooms.keys().collect(),
            ),
        };
        let mut known: Vec<&str> = known
            .into_iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        known.sort_by_key(|other| crate::names::distance(name, other));
        known.truncate(LISTED);
        let there = match known.len() {
            0 => "there is none".to_owned(),
            _ => format!("there are: {}", quoted_list(known)),
        };
        Err(Error::invalid(what, format!("has no drawer; {there}")))
    }
}

fn holds(collection: &dyn loci_core::Collection, selection: Selection) -> Result<bool> {
    let found = collection.get(&Get {
        limit: Some(1),
        include: Include::NONE,
        ..Get::new(selection)
    })?;
    Ok(!found.ids.is_empty())
}
