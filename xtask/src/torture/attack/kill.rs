//! `kill -9` at a random moment of the commands in `CASES`. Afterwards everything that was
//! acknowledged must be there, the killed operation must be there as a whole or not at all, and
//! `verify` must find nothing.

mod cases;
mod world;

use cases::CASES;
use world::KillRound;

use super::Attack;
use crate::torture::round::Round;

pub(super) const ATTACK: Attack = Attack {
    name: "kill",
    checks: "after a kill at a random moment of one of 27 commands: acknowledged drawers, files, \
             facts and links are there, the killed operation is whole or absent, nothing \
             forgotten is back, verify finds nothing",
    weight: 4,
    round,
};

/// Sizes of palaces; the larger one has an index file.
const SIZES: [(&str, usize); 3] = [("small", 12), ("small", 60), ("large", 2_300)];

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let (kind, drawers) = *round.random.choice(&SIZES).unwrap_or(&("small", 12));
    let mut world = KillRound::new(round, kind, drawers)?;
    let weights: u32 = CASES.iter().map(|case| case.weight).sum();
    while !world.round.is_over() {
        let mut ticket = world.round.random.u32(..weights);
        let case = CASES.iter().find(|case| {
            let found = ticket < case.weight;
            ticket = ticket.saturating_sub(case.weight);
            found
        });
        if let Some(case) = case {
            (case.run)(&mut world).map_err(|error| error.context(case.name))?;
        }
    }
    world.final_check()
}
