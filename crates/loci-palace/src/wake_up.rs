//! The verb `wake_up`: the text that an agent should know when a session begins, within a budget of
//! tokens. It says who owns the memory, what matters most in a wing, and what happened last. It
//! reads only the newest and the marked drawers, never all of them.

mod compose;
mod excerpt;
mod gather;
pub mod identity;

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
    /// The agent whose last diary entries are part of the text.
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
    /// Returns the identity, the valid facts about the wing and the agent, the most important and
    /// the most recent drawers of the wing, and the agent's last diary entries, within a budget.
    /// All of it is in one fence, and long texts are cut. Texts that read like instructions to a
    /// model are left out, except in the identity.
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
