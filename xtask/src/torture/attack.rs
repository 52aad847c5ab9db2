//! The attacks. To add one, write its file and add a line to `ATTACKS`.

mod clock;
mod crowd;
mod flips;
mod full_disk;
mod import_lines;
mod kill;
mod links;
mod restore;
mod shm;
mod stopped;

use super::round::Round;

pub(super) use stopped::hold;

pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) checks: &'static str,
    /// Its share of the time, relative to the other attacks.
    pub(super) weight: u32,
    /// Runs one round. An error is a failure that ends the round.
    pub(super) round: fn(&mut Round<'_>) -> anyhow::Result<()>,
}

pub(super) const ATTACKS: &[Attack] = &[
    kill::ATTACK,
    crowd::ATTACK,
    restore::ATTACK,
    flips::ATTACK,
    full_disk::ATTACK,
    stopped::ATTACK,
    links::ATTACK,
    shm::ATTACK,
    clock::ATTACK,
    import_lines::ATTACK,
];
