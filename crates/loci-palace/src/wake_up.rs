//! Wake-up: what an agent should know when a session begins, under a budget of tokens: who it works for, what matters most in a
//! wing, and what happened last. Reads only the newest and the marked drawers, never all of them.

mod compose;
mod excerpt;
mod gather;

use std::sync::Arc;

use loci_core::{
    Batch, Collection, Error, Get, MetaValue, MetadataPatch, Result, Selection, Warning,
};
use serde::Serialize;

use self::compose::compose;
use crate::palace::{DEFAULT_COLLECTION, Palace};
use crate::secrets::Tally;

/// Id and room of the drawer that says who the memory belongs to.
const IDENTITY: &str = "identity";
/// Tokens when nobody says how many.
const DEFAULT_BUDGET: usize = 800;

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
    /// Identity, what holds of the wing and the agent, the most important and the most recent of a wing, and the agent's last
    /// diary entries, under a budget. All of it stands in one fence; long texts are cut. What reads like an order to a model
    /// is left out, except in the identity.
    pub fn wake_up(&self, options: &WakeUpOptions) -> Result<WakeUp> {
        let budget = match options.budget {
            0 => DEFAULT_BUDGET,
            given => given,
        };
        let (pieces, warnings) = self.gather(options)?;
        let mut told = compose(&pieces, budget);
        told.warnings.splice(0..0, warnings);
        Ok(told)
    }

    /// Who the memory belongs to, in the owner's words: the drawer `identity`. Nothing if it was never said.
    pub fn identity(&self) -> Result<Option<String>> {
        let Some(collection) = self.kept(DEFAULT_COLLECTION)? else {
            return Ok(None);
        };
        let found = collection.get(&Get::new(Selection::ids([IDENTITY])))?;
        Ok(found
            .documents
            .into_iter()
            .next()
            .filter(|text| !text.trim().is_empty()))
    }

    /// Sets it; an empty text removes it. Gives the secrets that were masked, by kind.
    pub fn set_identity(&self, text: &str) -> Result<Tally> {
        if text.trim().is_empty() {
            if let Some(collection) = self.kept(DEFAULT_COLLECTION)? {
                collection.delete(&Selection::ids([IDENTITY]))?;
            }
            return Ok(Tally::new());
        }
        let place = [("room", IDENTITY), ("type", IDENTITY)]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), Some(MetaValue::from(value))))
            .collect();
        let batch = Batch::new([IDENTITY])
            .documents([text])
            .metadatas([MetadataPatch(place)]);
        batch.validate()?;
        let (memory, _) = self.memory(DEFAULT_COLLECTION, true)?;
        Ok(memory.collection.upsert(&batch)?.masked)
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
