//! Facts and links.

use anyhow::Context;

use super::super::world::{Blow, Possible, World};

pub(super) fn add_fact(world: &mut World<'_, '_>) -> anyhow::Result<()> {
    let object = world.fresh("object");
    let blow = world.strike("facts add", &["facts", "add", "Ana", "keeps", &object])?;
    fact_came(world, &blow, object)
}

pub(super) fn supersede_fact(world: &mut World<'_, '_>) -> anyhow::Result<()> {
    let old = world.fresh("object");
    world.json(&["facts", "add", "Bo", "owns", &old])?;
    world.state.facts.insert(old.clone());
    let new = world.fresh("object");
    let arguments = ["facts", "supersede", "Bo", "owns", &old, &new];
    let blow = world.strike("facts supersede", &arguments)?;
    fact_came(world, &blow, new.clone())?;
    // Of the two, exactly one holds.
    let both = world.json(&["facts", "query", "Bo", "--limit", "10000"])?;
    let facts = both["facts"].as_array().context("no facts listed")?;
    let holding = facts
        .iter()
        .filter(|fact| fact["object"] == *old || fact["object"] == *new)
        .count();
    anyhow::ensure!(
        holding == 1,
        "{holding} of two facts hold after a supersede"
    );
    Ok(())
}

fn fact_came(world: &mut World<'_, '_>, blow: &Blow, object: String) -> anyhow::Result<()> {
    let is_there = match blow {
        Blow::Done(_) => true,
        Blow::Killed => {
            let arguments = ["facts", "query", &object, "--ended"];
            let ran = world.home.run(&[&arguments[..], &["--json"]].concat())?;
            ran.json().is_some_and(|answer| answer["total"] == 1)
        }
    };
    if is_there {
        world.state.facts.insert(object);
    }
    world.settle_relations()?;
    world.home.verify(false)
}

pub(super) fn add_link(world: &mut World<'_, '_>) -> anyhow::Result<()> {
    let (from, to) = (world.any_drawer()?, world.any_drawer()?);
    let label = world.fresh("label");
    let arguments = ["links", "add", &from, &to, "--label", &label];
    if from == to {
        return Ok(());
    }
    if let Blow::Done(_) = world.strike("links add", &arguments)? {
        // The link goes with either of its drawers.
        world.state.links.insert((label, [from, to]));
    }
    world.settle(&Possible::default())?;
    world.settle_relations()
}
