//! Wake-up: what an agent should know when a session begins, under a budget of tokens: who it works for, what matters most in a
//! wing, and what happened last.

use loci_core::{Error, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;

/// What to wake up to.
#[derive(Debug, Clone, Default)]
pub struct WakeUpOptions {
    /// Only this wing; all if absent.
    pub wing: Option<String>,
    /// Whose diary is looked at, too.
    pub agent: Option<String>,
    /// Tokens of the text at most; 0 means 800.
    pub budget: usize,
}

/// The text and what it is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WakeUp {
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
    /// Identity, the most important and the most recent of a wing, under a budget.
    pub fn wake_up(&self, options: &WakeUpOptions) -> Result<WakeUp> {
        let _ = options;
        Err(unfinished())
    }

    /// Who the memory belongs to, in the owner's words: the drawer `identity`. Nothing if it was never said.
    pub fn identity(&self) -> Result<Option<String>> {
        Err(unfinished())
    }

    /// Sets it; an empty text removes it.
    pub fn set_identity(&self, text: &str) -> Result<()> {
        let _ = text;
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::UnsupportedCapability {
        capability: "wake-up".into(),
        reason: "not yet".into(),
    }
}
