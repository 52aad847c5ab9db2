//! The verb `wake_up`: the text that an agent should know when a session begins, within a budget of
//! tokens. It lists the owner of the memory, pinned drawers, decisions, rules, open tasks, people and
//! the outcome of the last sessions. Each line names its source.
//!
//! `read` reads a bounded number of drawers. `talk`, `notes` and `records` recognise statements in
//! them by the words of `language`. `revise` leaves out what no longer holds. `compose` takes as many as
//! fit.

mod collect;
mod compose;
mod excerpt;
mod gather;
pub mod identity;
mod language;
mod lexicon;
mod notes;
mod place;
mod prose;
mod read;
mod record_words;
mod records;
mod replies;
mod revise;
mod score;
mod statement;
mod talk;
mod topic;
mod turns;

use std::sync::Arc;

use loci_core::{Collection, Error, Result, Warning};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::compose::compose;
use crate::palace::Palace;

/// The default budget in tokens.
const DEFAULT_BUDGET: usize = 800;

/// The wing, the agent and the budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only this wing; all if absent.
    pub wing: Option<String>,
    /// The agent; its last diary entries are part of the text.
    pub agent: Option<String>,
    /// Maximum number of tokens in the text; 0 means 800.
    pub budget: usize,
}

/// The text and its sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The text for a model; empty if there is nothing to show.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// Ids of the drawers in it.
    pub drawers: Vec<String>,
    /// Warnings about missing or omitted data.
    pub warnings: Vec<Warning>,
}

impl Palace {
    /// Returns the identity, the pinned drawers, the statements of conversations, notes and records
    /// of the wing (decisions, rules, open tasks, people), the outcome of the last sessions, the facts that
    /// hold now, and the agent's last diary entry, within a budget. All of it is in one fence, and
    /// long texts are cut. Texts that read like instructions to a model are left out, except in the
    /// identity. Chunks of other files are never part of it.
    pub fn wake_up(&self, request: &Request) -> Result<Answer> {
        let budget = match request.budget {
            0 => DEFAULT_BUDGET,
            budget => budget,
        };
        let (pieces, warnings) = self.gather(request)?;
        let mut answer = compose(&pieces, budget);
        answer.warnings.splice(0..0, warnings);
        Ok(answer)
    }

    /// A collection; `None` if it does not exist.
    pub(crate) fn kept(&self, name: &str) -> Result<Option<Arc<dyn Collection>>> {
        match self.collection(name, false) {
            Ok(collection) => Ok(Some(collection)),
            Err(Error::CollectionNotInitialized { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
