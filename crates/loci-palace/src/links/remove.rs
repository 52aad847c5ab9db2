//! Removes a link.

use loci_core::{Error, Link, Result, validate_links};
use schemars::JsonSchema;
use serde::Serialize;

pub use super::Request;
use super::mined;
use crate::detail::Detail;
use crate::palace::Palace;

/// The result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The link, in a full answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// How many were removed.
    pub removed: u64,
}

impl Palace {
    /// Removes a link by its ends and label. It is not an error if the link does not exist. A link of
    /// a mined file is refused.
    pub fn remove_link(&self, request: &Request) -> Result<Answer> {
        let links = [self.link_of(request)?];
        validate_links(&links)?;
        let removed = self.kept_relations()?.remove_links(&links)?;
        let [link] = links;
        if removed == 0 && self.is_mined(&link)? {
            return Err(Error::invalid(
                "the link",
                "is written in a mined file; remove it there, and mine the file again",
            ));
        }
        Ok(Answer {
            link: (request.detail == Detail::Full).then_some(link),
            removed,
        })
    }

    /// Whether a mined file contains this link.
    fn is_mined(&self, link: &Link) -> Result<bool> {
        if link.label != mined::LABEL {
            return Ok(false);
        }
        let mined = mined::MinedLinks::of(self).at(&link.from)?;
        Ok(mined
            .iter()
            .any(|other| other.from == link.from && other.to == link.to))
    }
}
