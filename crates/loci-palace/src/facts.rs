//! Facts: statements with validity dates. Facts are never overwritten; a fact that is not valid any
//! more is ended and stays recorded.
//!
//! A fact is valid from the first moment of `valid_from` up to, but not including, the first moment
//! of `valid_to`. A date is a year, a month, a day, a moment or words such as `yesterday`. A query
//! as of a year, month or day means its end. Case and surrounding space of names are ignored. A
//! source that does not exist is a warning, not an error: the drawer may be added later, and a fact
//! outlives a deleted drawer.

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

/// Selects facts. An absent member does not restrict the selection. The case of names is ignored.
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
    /// Only facts that were valid at this date or moment.
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

/// A stored fact with the flags of its text.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlaggedFact {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Flags of its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl From<Fact> for FlaggedFact {
    fn from(fact: Fact) -> Self {
        let flags = flags_of_fact(&fact);
        Self { fact, flags }
    }
}

/// A fact, and whether it is valid now.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FactState {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// Whether it is valid now.
    pub current: bool,
    /// Flags of its text.
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
    /// Adds a fact and reports its conflicts. An existing fact is not changed. If an existing fact
    /// has ended and the new one has neither id nor first date, the fact is added again, valid from
    /// now.
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

    /// Facts that match, in the order added. If there are none, the warnings say why.
    pub fn query_facts(&self, request: &query::Request) -> Result<query::Answer> {
        let request = query::Request {
            selector: mask_selector(self.secrets(), &request.selector),
            ..*request
        };
        query::find(&*self.kept_relations()?, &request)
    }

    /// Ends the valid facts that match, and returns the ended facts. If none is valid, the warnings
    /// say why. It is an error if all matching facts begin later.
    pub fn invalidate_facts(&self, request: &invalidate::Request) -> Result<invalidate::Answer> {
        let selector = mask_selector(self.secrets(), &request.selector);
        invalidate::invalidate(
            &*self.kept_relations()?,
            &selector,
            request.ended.as_deref(),
        )
    }

    /// Ends the facts that match `old` and adds `new`, which is valid from `at` (else from its own
    /// `valid_from`, else from now), in one transaction. `old` names an id, or subject and
    /// predicate; `new` inherits those that it does not name. If no valid fact matches, the error
    /// is a conflict that names the valid ones.
    pub fn supersede_fact(&self, request: &supersede::Request) -> Result<supersede::Answer> {
        let request = supersede::Request {
            old: mask_selector(self.secrets(), &request.old),
            ..request.clone()
        };
        supersede::supersede(&*self.kept_relations()?, &request, self.secrets())
    }

    /// Facts in the order in which they began, ended ones too; of one entity or of all. Facts
    /// without a first date come last.
    pub fn fact_timeline(&self, request: &timeline::Request) -> Result<timeline::Answer> {
        timeline::timeline(&*self.kept_relations()?, request)
    }

    /// Facts that overlap in time and differ in object; of one entity or of all.
    pub fn fact_conflicts(&self, request: &conflicts::Request) -> Result<conflicts::Answer> {
        let conflicts = conflicts::all(&*self.kept_relations()?, request.entity.as_deref())?;
        Ok(conflicts::Answer { conflicts })
    }

    /// Facts and links; an error if the backend does not store them.
    pub(crate) fn kept_relations(&self) -> Result<Arc<dyn Relations>> {
        self.relations()?
            .ok_or_else(|| self.backend.lacks(Capability::Relations))
    }
}
