//! The verb `why_not`: explains which stage of a search dropped a drawer, and what would include
//! it.

use loci_core::{Result, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::search;

pub use loci_recall::{Cause, Condition, Remedy, Stage, WhyNot as Answer};

/// The request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The drawer.
    pub id: String,
    /// The search that should have found it.
    pub search: search::Request,
}

/// An answer with its cause and remedies as text of a front end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Worded {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// The cause as text.
    pub reason: String,
    /// The remedies as text, in the same order.
    pub advice: Vec<String>,
    /// The title of the conversation that the drawer belongs to: its name, or its first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// The wording of a front end. Every front end describes causes and remedies in terms of its own
/// interface: flags, arguments of a tool, members of a request.
pub trait Words {
    /// The condition that excludes a drawer, such as `the flag --wing`.
    fn condition(&self, condition: &Condition) -> String;

    /// The name of the maximum distance.
    fn max_distance(&self) -> &'static str;

    /// How a drawer without a vector gets one.
    fn embed_it(&self) -> String;

    /// How a greater distance is allowed.
    fn allow_distance(&self) -> String;

    /// How this many hits are requested.
    fn more_hits(&self, k: usize) -> String;

    /// How several hits of one source are allowed.
    fn allow_same_source(&self) -> String;

    /// How a larger budget is allowed.
    fn raise_budget(&self) -> String;

    /// How improbable hits are allowed.
    fn allow_improbable(&self) -> String;

    /// How the drawer with this id is read.
    fn read_drawer(&self, id: &str) -> String;

    /// The remedy for the drawer with this id.
    fn remedy(&self, remedy: &Remedy, id: &str) -> String {
        match remedy {
            Remedy::DropCondition { condition } => {
                format!("search without {}", self.condition(condition))
            }
            Remedy::UseItsWords => "use words that it contains".into(),
            Remedy::EmbedIt => self.embed_it(),
            Remedy::AllowDistance => self.allow_distance(),
            Remedy::MoreHits { k } => self.more_hits(*k),
            Remedy::NoNumberOfHits { most } => {
                format!("more hits do not include it, up to {most}")
            }
            Remedy::AllowSameSource => self.allow_same_source(),
            Remedy::RaiseBudget => self.raise_budget(),
            Remedy::AllowImprobable => self.allow_improbable(),
            Remedy::ReadDrawer => self.read_drawer(id),
            Remedy::WordsFitLess => "its words match less: use words that it contains".into(),
            Remedy::SourceFitsLess => format!(
                "its source matches less: name the topic of its source, or search within it with {}",
                self.condition(&Condition::Source)
            ),
            Remedy::MeaningFitsLess => {
                "its meaning matches less: phrase the question closer to its text".into()
            }
            Remedy::NameSpeaker => "name who speaks in it".into(),
            Remedy::NameDate => "name its date".into(),
        }
    }

    /// Adds the text to an answer.
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
            title: None,
        }
    }

    /// Why a drawer is not among the hits, or that it is.
    fn reason(&self, answer: &Answer) -> String {
        match &answer.cause {
            Cause::NoSuchDrawer { collection } => format!(
                "no drawer {} in collection {}",
                quoted(&answer.id),
                quoted(collection)
            ),
            Cause::IsHit { place } => format!("it is hit {place}"),
            Cause::Excluded { conditions } => {
                let named: Vec<String> = conditions.iter().map(|of| self.condition(of)).collect();
                format!("the search excludes it: {}", named.join("; "))
            }
            Cause::NoWord => {
                "it contains no word of the question, and only words were searched".into()
            }
            Cause::NoWordAndNoVector => {
                "it contains no word of the question, and has no vector that can be compared".into()
            }
            Cause::TooFar => format!(
                "it contains no word of the question, and is farther than {}",
                self.max_distance()
            ),
            Cause::NotACandidate { depth } => {
                format!("it is not among the first {depth} candidates by words or by meaning")
            }
            Cause::SameText { hit } => {
                format!("{} has the same text and represents both", quoted(hit))
            }
            Cause::SameSource => "a better hit of the same source is shown instead".into(),
            Cause::OverBudget { rank } => {
                format!("it is number {rank} but does not fit the budget")
            }
            Cause::Improbable { rank } => {
                format!("it is number {rank} but probably does not answer the question")
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
            &request.search.recalled(&request.search.read()),
            &request.id,
        )
    }
}
