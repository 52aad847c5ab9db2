//! Damages files of a palace at rest: flipped bits, overwritten and zeroed pages, truncation.

mod damage;
mod judge;

use damage::Damage;
use judge::Baseline;

use super::Attack;
use crate::torture::home::copy;
use crate::torture::round::Round;

pub(super) const ATTACK: Attack = Attack {
    name: "flips",
    checks: "bytes and pages of every file of a palace are damaged; no command panics or hangs, \
             no answer is wrong, damage of the truth is reported, repair lists what it loses, \
             damage of derived files changes no answer",
    weight: 2,
    round,
};

/// The most damages per round.
const TRIES: u32 = 40;

fn round(round: &mut Round<'_>) -> anyhow::Result<()> {
    let whole = round.home.with_palace(&round.home.path("whole"));
    let drawers = *round.random.choice(&[60, 2_300]).unwrap_or(&60);
    let known = round.context.fill(whole.palace(), drawers)?;
    let baseline = Baseline::new(&whole, known)?;
    for n in 0..TRIES {
        if round.is_over() {
            break;
        }
        let home = round
            .home
            .with_palace(&round.home.path(&format!("palace-{n}")));
        copy(whole.palace(), home.palace())?;
        let damage = Damage::random(&mut round.random, home.palace())?;
        round.tally.tries += 1;
        round.note(damage.area.name());
        match judge::judge(round, &home, &baseline, &damage) {
            Ok(()) => std::fs::remove_dir_all(home.palace())?,
            Err(error) => round.fail(format!("{damage}: {error:#}")),
        }
    }
    Ok(())
}
