//! Chapter 17: facts and links, and their common setup. Applies to backends whose `relations`
//! returns something.

mod calls;
mod ending;
mod facts;
mod links;
mod together;

use std::sync::Arc;

use loci_core::{DrawerRef, Fact, FactQuery, Link, LinkEnd, PalaceRef, Related, Relations};
use serde_json::json;

pub use self::calls::*;
pub use self::ending::*;
pub use self::facts::*;
pub use self::links::*;
pub use self::together::*;
use crate::Fixture;
use crate::scene::{DRAWERS, meta, open, plain};

/// A new palace with its relations; `None` if the backend stores none.
fn fresh(fixture: &dyn Fixture) -> Option<(PalaceRef, Arc<dyn Relations>)> {
    let palace = fixture.fresh_palace();
    open(fixture, &palace, DRAWERS, &plain()).unwrap();
    let relations = fixture.backend().relations(&palace).unwrap()?;
    Some((palace, relations))
}

fn fact(subject: &str, predicate: &str, object: &str) -> Fact {
    Fact {
        subject: subject.into(),
        predicate: predicate.into(),
        object: object.into(),
        ..Fact::default()
    }
}

fn named(id: &str) -> Fact {
    Fact {
        id: id.into(),
        ..fact("Alice", "likes", "tea")
    }
}

fn link(from: LinkEnd, to: LinkEnd, label: &str) -> Link {
    Link {
        from,
        to,
        label: label.into(),
        metadata: meta(&json!({})),
    }
}

fn at(id: &str) -> LinkEnd {
    LinkEnd::drawer(DRAWERS, id)
}

fn all_facts(relations: &dyn Relations) -> Vec<Fact> {
    relations
        .facts(&FactQuery::default(), usize::MAX, 0)
        .unwrap()
}

fn all_links(relations: &dyn Relations) -> Vec<Link> {
    relations.links(None, usize::MAX, 0).unwrap()
}

fn related(added: u64, known: u64) -> Related {
    Related { added, known }
}

fn full_fact() -> Fact {
    Fact {
        id: "f".into(),
        valid_from: Some("2024-05".into()),
        valid_to: Some("2026-01-31T23:59:59.5+01:00".into()),
        confidence: Some(0.1),
        source: Some(DrawerRef {
            collection: DRAWERS.into(),
            id: "a b".into(),
        }),
        metadata: meta(&json!({"tags": ["x", "y"], "n": 1, "weight": 1.0, "sure": true})),
        ..fact("Zoë 🌊", "lebt in", "Łódź\nund 'Lyon'")
    }
}
