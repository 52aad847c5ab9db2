//! The verb `why_not`: where a drawer fell out of a search, and what would bring it in.

use loci_core::{Result, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::search;

pub use loci_recall::{Cause, Condition, Remedy, Stage, WhyNot as Answer};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Request {
    /// The drawer.
    pub id: String,
    /// The search that should have found it.
    pub search: search::Request,
}

/// An answer with the words that a front end has for its cause and its remedies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Worded {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// The cause in words.
    pub reason: String,
    /// The remedies in words, in the same order.
    pub advice: Vec<String>,
}

/// The words of a front end. Every front end names causes and remedies by what its users have: flags,
/// arguments of a tool, members of a request.
pub trait Words {
    /// What excludes a drawer, such as `the flag --wing`.
    fn condition(&self, condition: &Condition) -> String;

    /// What can be done, for the drawer of this id.
    fn remedy(&self, remedy: &Remedy, id: &str) -> String;

    /// How the greatest allowed distance is named.
    fn max_distance(&self) -> &'static str;

    /// Puts an answer into words.
    fn put(&self, answer: Answer) -> Worded {
        let reason = self.reason(&answer);
        let remedies = answer.remedies.iter();
        let advice = remedies
            .map(|remedy| self.remedy(remedy, &answer.id))
            .collect();
        Worded {
            answer,
            reason,
            advice,
        }
    }

    /// Why a drawer is not among the hits, or that it is.
    fn reason(&self, answer: &Answer) -> String {
        match &answer.cause {
            Cause::NoSuchDrawer { collection } => format!(
                "there is no {} in collection {}",
                quoted(&answer.id),
                quoted(collection)
            ),
            Cause::IsHit { place } => format!("it is hit {place}"),
            Cause::Excluded { conditions } => {
                let named: Vec<String> = conditions.iter().map(|of| self.condition(of)).collect();
                format!("the search admits other drawers only: {}", named.join("; "))
            }
            Cause::NoWord => {
                "it holds no word of the question, and only words were searched".into()
            }
            Cause::NoWordAndNoVector => {
                "it holds no word of the question and has no vector that can be compared".into()
            }
            Cause::TooFar => format!(
                "it holds no word of the question and is farther than {}",
                self.max_distance()
            ),
            Cause::NotACandidate { depth } => {
                format!("both arms name other candidates first: {depth} looked at from each")
            }
            Cause::SameText { hit } => {
                format!("{} has the same text and is shown for both", quoted(hit))
            }
            Cause::SameSource => "a better hit of the same source is shown for it".into(),
            Cause::OverBudget { rank } => {
                format!("it is number {rank} but does not fit the budget")
            }
            Cause::Outranked { rank, ranked } => format!("it is number {rank} of {ranked}"),
        }
    }
}

impl Palace {
    /// Follows a drawer through a search.
    pub fn why_not(&self, request: &Request) -> Result<Answer> {
        let (handle, _) = self.reading(&request.search.collection)?;
        loci_recall::why_not(
            handle.collection.as_ref(),
            handle.embedder.as_deref(),
            &request.search.question(),
            &request.id,
        )
    }
}
