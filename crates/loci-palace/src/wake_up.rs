//! Wake-up: what an agent should know when a session begins, under a budget of tokens: who it works
//! for, what matters most in a wing, and what happened last. Reads only the newest and the marked
//! drawers, never all of them.

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

/// Tokens, if no number is asked for.
const DEFAULT_BUDGET: usize = 800;

/// For which wing and agent, and how long the text may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Only this wing; all if absent.
    pub wing: Option<String>,
    /// The agent whose last diary entries are part of the text.
    pub agent: Option<String>,
    /// Tokens of the text at most; 0 means 800.
    pub budget: usize,
}

/// The text and what it is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// The text, ready to be shown to a model; empty if there is nothing to say.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// Ids of the drawers in it.
    pub drawers: Vec<String>,
    /// What is missing or was left out.
    pub warnings: Vec<Warning>,
}

impl Palace {
    /// Identity, what holds of the wing and the agent, the most important and the most recent of a
    /// wing, and the agent's last diary entries, under a budget. All of it stands in one fence;
    /// long texts are cut. What reads like an order to a model is left out, except in the identity.
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

    /// A collection as it is; nothing if it was never made.
    pub(crate) fn kept(&self, name: &str) -> Result<Option<Arc<dyn Collection>>> {
        match self.collection(name, false) {
            Ok(collection) => Ok(Some(collection)),
            Err(Error::CollectionNotInitialized { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
