//! Facts and links.

use anyhow::Context;

use super::super::world::{KillOutcome, KillRound, Possible};

pub(super) fn add_fact(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let object = world.fresh("object");
    let outcome = world.run_and_kill("facts add", &["facts", "add", "Ana", "keeps", &object])?;
    fact_came(world, &outcome, object)
}

pub(super) fn supersede_fact(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let old = world.fresh("object");
    world.json(&["facts", "add", "Bo", "owns", &old])?;
    world.state.facts.insert(old.clone());
    let new = world.fresh("object");
    let arguments = ["facts", "supersede", "Bo", "owns", &old, &new];
    let outcome = world.run_and_kill("facts supersede", &arguments)?;
    fact_came(world, &outcome, new.clone())?;
    // Exactly one of the two facts is valid.
    let both = world.json(&["facts", "query", "Bo", "--limit", "10000"])?;
    let facts = both["facts"].as_array().context("no facts listed")?;
    let holding = facts
        .iter()
        .filter(|fact| fact["object"] == *old || fact["object"] == *new)
        .count();
    anyhow::ensure!(
        holding == 1,
        "{holding} of two facts are valid after a supersede"
    );
    Ok(())
}

fn fact_came(
    world: &mut KillRound<'_, '_>,
    outcome: &KillOutcome,
    object: String,
) -> anyhow::Result<()> {
    let is_there = match outcome {
        KillOutcome::Done(_) => true,
        KillOutcome::Killed => {
            let arguments = ["facts", "query", &object, "--ended"];
            let ran = world.home.run(&[&arguments[..], &["--json"]].concat())?;
            ran.json().is_some_and(|answer| answer["total"] == 1)
        }
    };
    if is_there {
        world.state.facts.insert(object);
    }
    world.check_relations()?;
    world.home.verify(false)
}

pub(super) fn add_link(world: &mut KillRound<'_, '_>) -> anyhow::Result<()> {
    let (from, to) = (world.any_drawer()?, world.any_drawer()?);
    let label = world.fresh("label");
    let arguments = ["links", "add", &from, &to, "--label", &label];
    if from == to {
        return Ok(());
    }
    if let KillOutcome::Done(_) = world.run_and_kill("links add", &arguments)? {
        // The link is removed with either of its drawers.
        world.state.links.insert((label, [from, to]));
    }
    world.check(&Possible::default())?;
    world.check_relations()
}
