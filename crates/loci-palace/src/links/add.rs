//! Adds links.

use loci_core::{Link, Related, Result, validate_links};
use schemars::JsonSchema;
use serde::Serialize;

pub use super::Request;
use crate::detail::Detail;
use crate::palace::Palace;
use crate::secrets::{Tally, mask_link};

/// The result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The stored link, in a full answer about one link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Number of new links.
    pub added: u64,
    /// Number of links that existed already.
    pub known: u64,
    /// Secrets that were masked in labels, by kind.
    pub masked: Tally,
}

impl Palace {
    /// Adds a link. An end that does not exist is refused.
    pub fn add_link(&self, request: &Request) -> Result<Answer> {
        let (mut links, mut answer) = self.add_masked(&[self.link_of(request)?])?;
        answer.link = links.pop().filter(|_| request.detail == Detail::Full);
        Ok(answer)
    }

    /// Adds several links in one transaction. If an end does not exist, none is added.
    pub fn add_links(&self, links: &[Link]) -> Result<Answer> {
        let (_, answer) = self.add_masked(links)?;
        Ok(answer)
    }

    /// Adds links, and returns the stored links.
    fn add_masked(&self, links: &[Link]) -> Result<(Vec<Link>, Answer)> {
        let (mut links, mut masked) = (links.to_vec(), Tally::new());
        for link in &mut links {
            mask_link(self.secrets(), link, &mut masked);
        }
        validate_links(&links)?;
        for link in &links {
            self.require_end(&link.from)?;
            self.require_end(&link.to)?;
        }
        let Related { added, known } = self.kept_relations()?.add_links(&links)?;
        let answer = Answer {
            link: None,
            added,
            known,
            masked,
        };
        Ok((links, answer))
    }
}
