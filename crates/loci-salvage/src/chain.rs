//! Reads overflow chains: the rest of a payload that did not fit into its cell, one page after
//! another. A chain is valid only if it ends exactly where the payload does. This also detects a
//! last page that was overwritten with something else.

use crate::bytes::be_u32;
use crate::pages::Pages;
use std::collections::{HashMap, HashSet};

/// How many chains may pass through one page. A sound file has one. A few more keep a stray chain
/// from blocking the right one, and the limit keeps a forged file from costing quadratic time.
const MAX_VISITS: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChainDamage {
    #[error("overflow chain leads to page {0}, which is not in the file")]
    Outside(u32),
    #[error("overflow page {0} cannot be read")]
    Unreadable(u32),
    #[error("overflow chain comes back to page {0}")]
    Cycle(u32),
    #[error("overflow page {0} is claimed by too many chains")]
    Claimed(u32),
    #[error("overflow chain ends too early at page {0}")]
    Short(u32),
    #[error("overflow chain does not end at page {0}")]
    Long(u32),
}

/// Follows chains and remembers their pages.
pub(crate) struct Chains<'a> {
    pages: &'a Pages,
    visits: HashMap<u32, u8>,
    known: HashSet<u32>,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(pages: &'a Pages) -> Self {
        Self {
            pages,
            visits: HashMap::new(),
            known: HashSet::new(),
        }
    }

    /// Whether a chain passed through this page and its link to the next page was valid.
    pub(crate) fn is_overflow(&self, page: u32) -> bool {
        self.known.contains(&page)
    }

    /// Appends `bytes` bytes of the chain that starts at page `first`.
    pub(crate) fn append(
        &mut self,
        first: u32,
        bytes: usize,
        payload: &mut Vec<u8>,
    ) -> Result<(), ChainDamage> {
        self.follow(first, bytes, Some(payload))
    }

    /// Walks a chain only to record its pages.
    pub(crate) fn mark(&mut self, first: u32, bytes: usize) {
        // A broken chain does not matter here, because its payload is not needed.
        let _ = self.follow(first, bytes, None);
    }

    fn follow(
        &mut self,
        first: u32,
        bytes: usize,
        mut payload: Option<&mut Vec<u8>>,
    ) -> Result<(), ChainDamage> {
        let mut page = first;
        let mut left = bytes;
        let mut seen = HashSet::new();
        let mut buffer = Vec::new();
        loop {
            self.enter(page)?;
            if !seen.insert(page) {
                return Err(ChainDamage::Cycle(page));
            }
            let content = left.min(self.pages.usable - 4);
            buffer.resize(4 + if payload.is_some() { content } else { 0 }, 0);
            self.pages
                .read_start(page, &mut buffer)
                .map_err(|_| ChainDamage::Unreadable(page))?;
            if let Some(payload) = &mut payload {
                payload.extend_from_slice(buffer.get(4..).unwrap_or_default());
            }
            left -= content;
            let next = be_u32(&buffer, 0).unwrap_or(0);
            match (left, next) {
                (0, 0) => {
                    self.known.insert(page);
                    return Ok(());
                }
                (0, _) => return Err(ChainDamage::Long(page)),
                (_, 0) => return Err(ChainDamage::Short(page)),
                _ if !self.may_hold_overflow(next) => return Err(ChainDamage::Outside(next)),
                _ => {
                    self.known.insert(page);
                    page = next;
                }
            }
        }
    }

    fn enter(&mut self, page: u32) -> Result<(), ChainDamage> {
        if !self.may_hold_overflow(page) {
            return Err(ChainDamage::Outside(page));
        }
        let visits = self.visits.entry(page).or_insert(0);
        if *visits >= MAX_VISITS {
            return Err(ChainDamage::Claimed(page));
        }
        *visits += 1;
        Ok(())
    }

    fn may_hold_overflow(&self, page: u32) -> bool {
        page > 1 && self.pages.has(page) && !self.pages.is_bookkeeping(page)
    }
}
