//! Lists links.

use loci_core::{Link, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LinkPlace;
use crate::detail::{Flag, flags_of};
use crate::palace::Palace;

/// The links to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// Links that start or end here; all if absent.
    pub place: Option<LinkPlace>,
    /// Maximum number of results.
    pub limit: usize,
    /// Number of results to skip.
    pub offset: usize,
}

/// A page of links: stored ones in the order added, then those of mined files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The links.
    pub links: Vec<FlaggedLink>,
}

/// A link with the flags of its label. The metadata of a link of a mined file has `mined`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlaggedLink {
    /// The link.
    #[serde(flatten)]
    pub link: Link,
    /// Flags of its label.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
}

impl From<Link> for FlaggedLink {
    fn from(link: Link) -> Self {
        let flags = flags_of(&link.label);
        Self { link, flags }
    }
}

impl Palace {
    /// The links of a place, or all links. Those of mined files come last.
    pub fn list_links(&self, request: &Request) -> Result<Answer> {
        let end = match &request.place {
            Some(place) => Some(self.end_of(place)?),
            None => None,
        };
        let links = self.all_links_of(end.as_ref(), request.limit, request.offset)?;
        Ok(Answer {
            links: links.into_iter().map(FlaggedLink::from).collect(),
        })
    }
}
