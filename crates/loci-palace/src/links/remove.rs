//! Removes a link.

use loci_core::{Link, Metadata, Result, validate_links};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LinkPlace;
use crate::detail::Detail;
use crate::palace::Palace;

/// The link to remove, by its ends and label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    /// Where it starts.
    pub from: LinkPlace,
    /// Where it leads.
    pub to: LinkPlace,
    /// Its label.
    #[serde(default)]
    pub label: String,
    /// Whether the answer repeats the link.
    #[serde(default)]
    pub detail: Detail,
}

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
    /// Removes a link by its ends and label. It is not an error if the link does not exist.
    pub fn remove_link(&self, request: &Request) -> Result<Answer> {
        let links = [Link {
            from: self.end_of(&request.from)?,
            to: self.end_of(&request.to)?,
            label: request.label.clone(),
            metadata: Metadata::default(),
        }];
        validate_links(&links)?;
        let removed = self.kept_relations()?.remove_links(&links)?;
        let [link] = links;
        Ok(Answer {
            link: (request.detail == Detail::Full).then_some(link),
            removed,
        })
    }
}
