//! Turns sources into drawers: walk, recognise, split, mask, diff, watch.
//!
//! This crate reads projects, notes and agent conversations and files them through the ledger of a
//! collection ([`loci_core::Ledger`]). Unchanged files are not read, unchanged text keeps its
//! drawer, and everything left out is counted. It never writes to its sources and never opens a
//! palace itself.
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![forbid(unsafe_code)]

pub mod document;
mod intake;
mod known;
mod miner;
pub mod noise;
mod outbox;
pub mod place;
pub mod references;
mod report;
mod run;
mod source;
pub mod split;
mod sync;
mod tree;
pub mod walk;
pub mod watch;
mod wings;

pub use intake::{Intake, hash_of};
pub use miner::{MiningJob, Options};
pub use report::{Failure, Files, Messages, Meter, Report};
pub use run::Run;
pub use source::{Before, Description, Item, Listed, Read, Section, Since, Source};
pub use sync::{BRAKE_FILES, Gone, GoneReason, OtherMachine, SyncJob, SyncReport, remove_source};
pub use tree::{
    CONVERSATION, EXPORT, FILE, LINK_NAMES, LINKS_TO, Reading, TextOptions, Tree, is_gone,
    masking_recipe, masks,
};
pub use wings::{DistinctWing, claim as claim_wing};
