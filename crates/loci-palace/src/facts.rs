//! Facts: what holds, since when and until when. Nothing is overwritten: a fact that no longer holds is ended, and stays.
//!
//! A fact holds from the first moment of `valid_from` until before the first moment of `valid_to`. A date is a year, a month,
//! a day, a moment or words such as `yesterday`; as of a year, month or day means at its end. Names are the same whatever
//! their letter case and surrounding space. A source that does not exist is a warning, not an error: the drawer may come
//! later, and a fact outlives a drawer that is deleted.

mod add;
mod change;
mod conflicts;
mod dates;
mod search;

use std::sync::Arc;

use loci_core::{Capability, Fact, Relations, Result, Warning};
use serde::Serialize;

use crate::palace::Palace;
use crate::secrets::{Tally, mask_search};

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
    /// Facts of the same subject and predicate that say something else of the same time; twenty at most.
    pub conflicts: Vec<Fact>,
    /// What should be known: the drawer it was taken from is not there, or it was there already and
    /// has ended.
    pub warnings: Vec<Warning>,
    /// The fact as it was written, with its secrets masked.
    #[serde(skip)]
    pub fact: Fact,
    /// Secrets that were masked in it, by kind.
    pub masked: Tally,
}

/// What a supersession did, in one transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Superseded {
    /// The facts that were ended, as they are now.
    pub ended: Vec<Fact>,
    /// The fact that holds instead.
    pub added: Fact,
    /// Secrets that were masked in it, by kind.
    pub masked: Tally,
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
    /// Adds facts in one transaction; each says what it conflicts with. A fact that is there stays as it is. One without an
    /// id and a beginning that was there and has ended is added anew: it holds again, from now on.
    pub fn add_facts(&self, facts: &[Fact]) -> Result<Vec<FactAdded>> {
        add::add(self, facts)
    }

    /// Facts that match, in the order added. Where there are none the warnings say why.
    pub fn facts(&self, search: &FactSearch) -> Result<FactAnswer> {
        search::find(&*self.facts_kept()?, &mask_search(self.secrets(), search))
    }

    /// Ends the facts that match and hold: `ended` is the date (now if absent). Gives them as they are afterwards; none if
    /// none holds. Refused if all that match begin later.
    pub fn invalidate_facts(&self, search: &FactSearch, ended: Option<&str>) -> Result<Vec<Fact>> {
        let search = mask_search(self.secrets(), search);
        change::invalidate(&*self.facts_kept()?, &search, ended)
    }

    /// Ends the facts that match `old` and adds `new`, which holds from `at` (else from its own `valid_from`, else from now),
    /// in one transaction. `old` names an id, or subject and predicate; `new` has the same where it names none. If nothing
    /// that matches holds, it is a conflict that names what does.
    pub fn supersede_fact(
        &self,
        old: &FactSearch,
        new: &Fact,
        at: Option<&str>,
    ) -> Result<Superseded> {
        let old = mask_search(self.secrets(), old);
        change::supersede(&*self.facts_kept()?, &old, new, at, self.secrets())
    }

    /// Facts in the order in which they began to hold, ended ones too; of one entity or of all. Those whose beginning is
    /// unknown come last.
    pub fn fact_timeline(
        &self,
        entity: Option<&str>,
        limit: usize,
        offset: usize,
    ) -> Result<FactAnswer> {
        search::timeline(&*self.facts_kept()?, entity, limit, offset)
    }

    /// Facts that overlap in time and differ in object; of one entity or of all.
    pub fn fact_conflicts(&self, entity: Option<&str>) -> Result<Vec<Conflict>> {
        conflicts::all(&*self.facts_kept()?, entity)
    }

    fn facts_kept(&self) -> Result<Arc<dyn Relations>> {
        self.relations()?
            .ok_or_else(|| self.backend.lacks(Capability::Relations))
    }
}
