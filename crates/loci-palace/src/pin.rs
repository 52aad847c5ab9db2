//! The verb `pin`: pins drawers, so that they come first in a wake-up, and takes pins off.
//!
//! A pin is the metadata `pinned` with the value true. Mining never sets or removes it, so it stays
//! while the text of the drawer stays.

use loci_core::{Filter, MetaValue, Metadata, MetadataPatch, OutcomeKind, Result, Warning};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::update;

/// The metadata key of a pin.
pub const PINNED: &str = "pinned";

/// The request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The drawers.
    pub ids: Vec<String>,
    /// Take the pins off.
    pub off: bool,
    /// Their collection; `None` means the first one that contains a drawer.
    pub collection: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Whether the drawers are pinned now.
    pub pinned: bool,
    /// One entry for each id of the request, in order.
    pub drawers: Vec<Pin>,
    /// Warnings for the caller.
    pub warnings: Vec<Warning>,
}

/// The outcome for one drawer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pin {
    /// The drawer.
    pub id: String,
    /// Its collection.
    pub collection: String,
    /// Updated, unchanged, or unknown if no drawer has the id.
    pub outcome: OutcomeKind,
}

impl Palace {
    /// Pins drawers, or takes their pins off. Each drawer is changed in a transaction of its own. An
    /// unknown id is reported, and the others are changed.
    pub fn pin(&self, request: &Request) -> Result<Answer> {
        let mut answer = Answer {
            pinned: !request.off,
            ..Answer::default()
        };
        for id in &request.ids {
            let updated = self.update(&update::Request {
                id: id.clone(),
                collection: request.collection.clone(),
                metadata: Some(pin_patch(!request.off)),
                ..update::Request::default()
            })?;
            answer.warnings.extend(updated.warnings);
            answer.drawers.push(Pin {
                id: updated.id,
                collection: updated.collection,
                outcome: updated.outcome,
            });
        }
        answer.warnings.dedup();
        Ok(answer)
    }
}

/// The change of metadata that pins a drawer or takes its pin off.
pub fn pin_patch(is_pinned: bool) -> MetadataPatch {
    let value = is_pinned.then_some(MetaValue::Bool(true));
    MetadataPatch([(PINNED.to_owned(), value)].into_iter().collect())
}

/// Selects the pinned drawers.
pub fn pinned_filter() -> Filter {
    Filter::eq(PINNED, MetaValue::Bool(true))
}

/// Whether a drawer with this metadata is pinned.
pub fn is_pinned(metadata: &Metadata) -> bool {
    metadata.get(PINNED) == Some(&MetaValue::Bool(true))
}
