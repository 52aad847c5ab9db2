//! Facts: what holds, since when and until when. Nothing is overwritten: a fact that no longer holds is ended, and stays.

use loci_core::{Error, Fact, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;

/// Which facts are asked for; what is absent does not restrict. Names match whatever their case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactSearch {
    /// With this id.
    pub id: Option<String>,
    /// With this subject or object.
    pub entity: Option<String>,
    /// With this subject.
    pub subject: Option<String>,
    /// With this predicate.
    pub predicate: Option<String>,
    /// With this object.
    pub object: Option<String>,
    /// Only what held at this date or moment.
    pub as_of: Option<String>,
    /// Also what has ended or not begun; otherwise (and without `as_of`) only what holds now.
    pub ended: bool,
    /// At most so many; 0 means 100.
    pub limit: usize,
    /// Leave out so many first.
    pub offset: usize,
}

/// A fact with whether it holds now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactState {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Whether it holds now.
    pub current: bool,
}

/// Facts, and how many there are in all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FactAnswer {
    /// In the order asked for.
    pub facts: Vec<FactState>,
    /// How many match, whatever the limit.
    pub total: u64,
    /// What is missing or should be known.
    pub warnings: Vec<Warning>,
}

/// What became of a fact that was given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactAdded {
    /// Its id.
    pub id: String,
    /// False if it was there already.
    pub added: bool,
    /// Facts of the same subject and predicate that say something else of the same time.
    pub conflicts: Vec<Fact>,
}

/// What a supersession did, in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Superseded {
    /// The facts that were ended, as they are now.
    pub ended: Vec<Fact>,
    /// The fact that holds instead.
    pub added: Fact,
}

/// Facts that cannot all hold if the predicate has one object at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conflict {
    /// Whom it is about.
    pub subject: String,
    /// What is said.
    pub predicate: String,
    /// The facts that overlap in time and differ in object.
    pub facts: Vec<Fact>,
}

impl Palace {
    /// Adds facts in one transaction; each says what it conflicts with. A fact that is there stays as it is.
    pub fn add_facts(&self, facts: &[Fact]) -> Result<Vec<FactAdded>> {
        let _ = facts;
        Err(unfinished())
    }

    /// Facts that match.
    pub fn facts(&self, search: &FactSearch) -> Result<FactAnswer> {
        let _ = search;
        Err(unfinished())
    }

    /// Ends the facts that match and hold: `ended` is the date (now if absent). Gives them as they are afterwards.
    pub fn invalidate_facts(&self, search: &FactSearch, ended: Option<&str>) -> Result<Vec<Fact>> {
        let _ = (search, ended);
        Err(unfinished())
    }

    /// Ends the facts that match `old` and adds `new`, which holds from `at` (now if absent), in one transaction.
    pub fn supersede_fact(
        &self,
        old: &FactSearch,
        new: &Fact,
        at: Option<&str>,
    ) -> Result<Superseded> {
        let _ = (old, new, at);
        Err(unfinished())
    }

    /// Facts in the order in which they began to hold, ended ones too; of one entity or of all.
    pub fn fact_timeline(
        &self,
        entity: Option<&str>,
        limit: usize,
        offset: usize,
    ) -> Result<FactAnswer> {
        let _ = (entity, limit, offset);
        Err(unfinished())
    }

    /// Facts that overlap in time and differ in object; of one entity or of all.
    pub fn fact_conflicts(&self, entity: Option<&str>) -> Result<Vec<Conflict>> {
        let _ = entity;
        Err(unfinished())
    }
}

fn unfinished() -> Error {
    Error::UnsupportedCapability {
        capability: "facts".into(),
        reason: "not yet".into(),
    }
}
