//! Facts: statements with the time in which they hold. Nothing is overwritten: a fact that no
//! longer holds is ended, and stays.
//!
//! A fact holds from the first moment of `valid_from` until before the first moment of `valid_to`.
//! A date is a year, a month, a day, a moment or words such as `yesterday`; as of a year, month or
//! day means at its end. Names are the same whatever their letter case and surrounding space. A
//! source that does not exist is a warning, not an error: the drawer may come later, and a fact
//! outlives a drawer that is deleted.

pub mod add;
pub mod conflicts;
mod dates;
pub mod invalidate;
mod matching;
pub mod query;
pub mod supersede;
pub mod timeline;

use std::sync::Arc;

use loci_core::{Capability, Fact, FactQuery, Relations, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::detail::{Flag, flags_of};
use crate::palace::Palace;
use crate::secrets::mask_selector;

/// Which facts are meant. An absent member does not restrict. Names match whatever their case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Selector {
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
    /// Only facts that held at this date or moment.
    pub as_of: Option<String>,
}

impl Selector {
    fn query(&self) -> FactQuery {
        FactQuery {
            id: self.id.clone(),
            entity: self.entity.clone(),
            subject: self.subject.clone(),
            predicate: self.predicate.clone(),
            object: self.object.clone(),
            any_case: true,
        }
    }
}

/// A stored fact with the flags of its words.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlaggedFact {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Flags of its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl From<Fact> for FlaggedFact {
    fn from(fact: Fact) -> Self {
        let flags = flags_of_fact(&fact);
        Self { fact, flags }
    }
}

/// A fact with whether it holds now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FactState {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Whether it holds now.
    pub current: bool,
    /// Flags of its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl FactState {
    fn at(fact: Fact, now: i64) -> Self {
        Self {
            current: fact.holds_at(now),
            flags: flags_of_fact(&fact),
            fact,
        }
    }
}

fn flags_of_fact(fact: &Fact) -> Vec<Flag> {
    flags_of(&format!(
        "{} {} {}",
        fact.subject, fact.predicate, fact.object
    ))
}

impl Palace {
    /// Adds a fact and reports what it conflicts with. A fact that is there stays as it is. One
    /// without an id and a beginning that was there and has ended is added anew: it holds again,
    /// from now on.
    pub fn add_fact(&self, request: &add::Request) -> Result<add::Answer> {
        let mut answers = add::add(self, std::slice::from_ref(&request.fact))?;
        answers.pop().ok_or_else(|| loci_core::Error::Internal {
            doing: "adding a fact".into(),
            detail: "the fact has no outcome".into(),
        })
    }

    /// [`Palace::add_fact`] for several facts in one transaction.
    pub fn add_facts(&self, facts: &[Fact]) -> Result<Vec<add::Answer>> {
        add::add(self, facts)
    }

    /// Facts that match, in the order added. Where there are none the warnings say why.
    pub fn query_facts(&self, request: &query::Request) -> Result<query::Answer> {
        let request = query::Request {
            selector: mask_selector(self.secrets(), &request.selector),
            ..*request
        };
        query::find(&*self.kept_relations()?, &request)
    }

    /// Ends the facts that match and hold, and returns them as they are afterwards. If none holds,
    /// the warnings say why. Refused if all that match begin later.
    pub fn invalidate_facts(&self, request: &invalidate::Request) -> Result<invalidate::Answer> {
        let selector = mask_selector(self.secrets(), &request.selector);
        invalidate::invalidate(
            &*self.kept_relations()?,
            &selector,
            request.ended.as_deref(),
        )
    }

    /// Ends the facts that match `old` and adds `new`, which holds from `at` (else from its own
    /// `valid_from`, else from now), in one transaction. `old` names an id, or subject and
    /// predicate; `new` has the same where it names none. If nothing that matches holds, it is a
    /// conflict that names what does.
    pub fn supersede_fact(&self, request: &supersede::Request) -> Result<supersede::Answer> {
        let request = supersede::Request {
            old: mask_selector(self.secrets(), &request.old),
            ..request.clone()
        };
        supersede::supersede(&*self.kept_relations()?, &request, self.secrets())
    }

    /// Facts in the order in which they began to hold, ended ones too; of one entity or of all.
    /// Those whose beginning is unknown come last.
    pub fn fact_timeline(&self, request: &timeline::Request) -> Result<timeline::Answer> {
        timeline::timeline(&*self.kept_relations()?, request)
    }

    /// Facts that overlap in time and differ in object; of one entity or of all.
    pub fn fact_conflicts(&self, request: &conflicts::Request) -> Result<conflicts::Answer> {
        let conflicts = conflicts::all(&*self.kept_relations()?, request.entity.as_deref())?;
        Ok(conflicts::Answer { conflicts })
    }

    /// Facts and links; an error where the backend keeps none.
    pub(crate) fn kept_relations(&self) -> Result<Arc<dyn Relations>> {
        self.relations()?
            .ok_or_else(|| self.backend.lacks(Capability::Relations))
    }
}
