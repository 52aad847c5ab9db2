//! The graph of rooms, as in MemPalace: rooms of the same name in all wings are one node, and rooms
//! of one wing are neighbours. Explicit links are not part of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loci_palace::{Collection, Filter, MetaValue, Result, Selection};
use serde_json::{Value, json};

use super::drawers;
use super::outcome::Outcome;
use super::overview::{Places, places};
use super::parse;
use crate::arguments::shortened;
use crate::tool::Call;

/// Maximum number of rooms in an answer.
const MOST_ROOMS: usize = 50;
/// Maximum number of suggested rooms with a similar name.
const SUGGESTIONS: usize = 5;
/// Maximum number of values of a key in one room.
const MOST_VALUES: usize = 10_000;

/// A room with its wings.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Room {
    wings: BTreeSet<String>,
    drawers: u64,
}

/// A room that a walk reached.
#[derive(Debug, PartialEq, Eq)]
struct ReachedRoom {
    room: String,
    hop: usize,
    /// Wings shared with the room it was reached from.
    via: Vec<String>,
}

fn rooms(places: &Places) -> BTreeMap<String, Room> {
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    let known = |name: &str| name != "unknown";
    for (wing, of_wing) in places.iter().filter(|(wing, _)| known(wing)) {
        for (name, drawers) in of_wing.iter().filter(|(name, _)| known(name)) {
            let room = rooms.entry(name.clone()).or_default();
            room.wings.insert(wing.clone());
            room.drawers += drawers;
        }
    }
    rooms
}

/// The reachable rooms, the nearest first, then those with the most drawers. Each wing is visited
/// once.
fn walk(rooms: &BTreeMap<String, Room>, start: &str, max_hops: usize) -> Vec<ReachedRoom> {
    let mut closed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, room) in rooms {
        for wing in &room.wings {
            closed.entry(wing).or_default().push(name);
        }
    }
    let mut reached = vec![ReachedRoom {
        room: start.to_owned(),
        hop: 0,
        via: Vec::new(),
    }];
    let mut seen: BTreeSet<&str> = [start].into();
    let mut next: VecDeque<(&str, usize)> = [(start, 0)].into();
    while let Some((at, hop)) = next.pop_front() {
        let Some(here) = rooms.get(at).filter(|_| hop < max_hops) else {
            continue;
        };
        let entered = here
            .wings
            .iter()
            .filter_map(|wing| closed.remove(wing.as_str()));
        for name in entered.flatten() {
            let Some(room) = rooms.get(name).filter(|_| seen.insert(name)) else {
                continue;
            };
            reached.push(ReachedRoom {
                room: name.to_owned(),
                hop: hop + 1,
                via: here.wings.intersection(&room.wings).cloned().collect(),
            });
            next.push_back((name, hop + 1));
        }
    }
    let drawers = |step: &ReachedRoom| rooms.get(&step.room).map_or(0, |room| room.drawers);
    reached.sort_by_cached_key(|step| (step.hop, Reverse(drawers(step)), step.room.clone()));
    reached.truncate(MOST_ROOMS);
    reached
}

pub(super) fn traverse(call: &Call<'_>) -> Outcome<Value> {
    let start = parse::required(&call.arguments, "start_room")?;
    let max_hops = parse::whole(&call.arguments, "max_hops", 2, (1, 10))?;
    let palace = call.palace()?;
    let Some(collection) = drawers::collection(&palace)? else {
        return Ok(unknown(start, &BTreeMap::new()));
    };
    let rooms = rooms(&places(collection.as_ref())?);
    if !rooms.contains_key(start) {
        return Ok(unknown(start, &rooms));
    }
    let mut shown = Vec::new();
    for step in walk(&rooms, start, max_hops) {
        let room = rooms.get(&step.room).cloned().unwrap_or_default();
        let mut row = json!({
            "room": step.room,
            "wings": room.wings,
            "halls": values(collection.as_ref(), "hall", &step.room)?,
            "count": room.drawers,
            "hop": step.hop,
        });
        if let (false, Some(row)) = (step.via.is_empty(), row.as_object_mut()) {
            row.insert("connected_via".into(), json!(step.via));
        }
        shown.push(row);
    }
    Ok(shown.into())
}

fn unknown(room: &str, rooms: &BTreeMap<String, Room>) -> Value {
    let asked = room.to_lowercase();
    let holds = |name: &&String| name.to_lowercase().contains(&asked);
    let shares = |name: &&String| {
        let mut words = asked.split('-').filter(|word| !word.is_empty());
        words.any(|word| name.to_lowercase().contains(word))
    };
    let near = rooms.keys().filter(holds);
    let rest = rooms.keys().filter(|name| !holds(name) && shares(name));
    let suggestions: Vec<&String> = near.chain(rest).take(SUGGESTIONS).collect();
    json!({
        "error": format!("there is no room `{}`; mempalace_list_rooms names them", shortened(room)),
        "suggestions": suggestions,
    })
}

pub(super) fn find_tunnels(call: &Call<'_>) -> Outcome<Value> {
    let wanted = [
        parse::optional_name(&call.arguments, "wing_a")?,
        parse::optional_name(&call.arguments, "wing_b")?,
    ];
    let palace = call.palace()?;
    let Some(collection) = drawers::collection(&palace)? else {
        return Ok(json!([]));
    };
    let rooms = rooms(&places(collection.as_ref())?);
    let joins =
        |room: &Room, wing: &str| room.wings.contains(wing) || room.wings.contains(&plain(wing));
    let mut found: Vec<(&String, &Room)> = rooms
        .iter()
        .filter(|(_, room)| room.wings.len() > 1)
        .filter(|(_, room)| wanted.iter().flatten().all(|wing| joins(room, wing)))
        .collect();
    found.sort_by_key(|(_, room)| Reverse(room.drawers));
    let mut shown = Vec::new();
    for (name, room) in found.into_iter().take(MOST_ROOMS) {
        let dates = values(collection.as_ref(), "date", name)?;
        shown.push(json!({
            "room": name,
            "wings": room.wings,
            "halls": values(collection.as_ref(), "hall", name)?,
            "count": room.drawers,
            "recent": dates.last().cloned().unwrap_or_default(),
        }));
    }
    Ok(shown.into())
}

/// A wing's name as MemPalace derives it from a directory's.
fn plain(wing: &str) -> String {
    let plain = wing.to_lowercase().replace([' ', '-'], "_");
    plain.trim_matches('_').to_owned()
}

/// The texts that drawers of a room have under a key, in order.
fn values(collection: &dyn Collection, key: &str, room: &str) -> Result<BTreeSet<String>> {
    let here = Selection::matching(Filter::eq("room", room));
    let found = collection.facet_counts(key, &here, MOST_VALUES)?;
    let texts = found
        .values
        .into_iter()
        .filter_map(|(value, _)| match value {
            MetaValue::Str(text) if !text.is_empty() => Some(text),
            _ => None,
        });
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BTreeMap<String, Room> {
        let place = |rooms: &[(&str, u64)]| {
            rooms
                .iter()
                .map(|(room, count)| ((*room).to_owned(), *count))
                .collect()
        };
        rooms(&Places::from([
            ("home".into(), place(&[("garden", 9), ("kitchen", 1)])),
            (
                "work".into(),
                place(&[("kitchen", 1), ("ledger", 2), ("unknown", 5)]),
            ),
            ("club".into(), place(&[("ledger", 1), ("boat", 1)])),
            ("unknown".into(), place(&[("garden", 3)])),
        ]))
    }

    #[test]
    fn a_room_is_one_node_in_all_its_wings() {
        let kitchen = &example()["kitchen"];
        assert_eq!(kitchen.drawers, 2);
        assert!(kitchen.wings.iter().eq(["home", "work"]));
        assert!(!example().contains_key("unknown"));
    }

    #[test]
    fn a_walk_goes_through_shared_wings_hop_by_hop() {
        let names = |max_hops| {
            let steps = walk(&example(), "kitchen", max_hops);
            let names = steps.into_iter().map(|step| (step.room, step.hop));
            names.collect::<Vec<(String, usize)>>()
        };
        let near = [("kitchen", 0), ("garden", 1), ("ledger", 1)];
        let owned = |pairs: &[(&str, usize)]| {
            let pairs = pairs.iter().map(|(room, hop)| ((*room).to_owned(), *hop));
            pairs.collect::<Vec<(String, usize)>>()
        };
        assert_eq!(names(1), owned(&near));
        assert_eq!(names(2), owned(&[&near[..], &[("boat", 2)]].concat()));
        assert_eq!(walk(&example(), "kitchen", 1)[2].via, ["work"]);
    }

    #[test]
    fn a_room_that_is_not_there_is_reported_with_similar_ones() {
        let answer = unknown("kit", &example());
        assert_eq!(answer["suggestions"], json!(["kitchen"]));
        let answer = unknown("boat-kitchen", &example());
        assert_eq!(answer["suggestions"], json!(["boat", "kitchen"]));
    }

    #[test]
    fn directories_names_find_the_wings_made_of_them() {
        assert_eq!(plain("My-Project x"), "my_project_x");
    }
}
