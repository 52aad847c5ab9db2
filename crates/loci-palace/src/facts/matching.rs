//! Which of the matching facts can be ended.

use loci_core::clock::now_ms;
use loci_core::{Fact, Relations, Result};

use super::{Selector, dates};

/// Facts that match and can be ended, and facts that match and cannot.
#[derive(Default)]
pub(super) struct Matching {
    pub(super) open: Vec<Fact>,
    pub(super) other: Option<Fact>,
    later: Option<Fact>,
}

impl Matching {
    pub(super) fn find(
        relations: &dyn Relations,
        selector: &Selector,
        date: &dates::ParsedDate,
    ) -> Result<Self> {
        let now = now_ms();
        let as_of = match &selector.as_of {
            Some(as_of) => Some(dates::read("as_of", as_of)?.span.last),
            None => None,
        };
        let mut matching = Self::default();
        relations.each_fact(&selector.query(), &mut |fact| {
            if as_of.is_some_and(|moment| !fact.holds_at(moment)) {
                return;
            }
            if fact.can_end(date.span, now) {
                matching.open.push(fact);
            } else if fact.valid_to.is_none() {
                matching.later = Some(fact);
            } else {
                matching.other = Some(fact);
            }
        })?;
        Ok(matching)
    }

    /// Refuses the date if all matching facts begin after it.
    pub(super) fn refuse_later(&self, date: &dates::ParsedDate) -> Result<()> {
        match &self.later {
            Some(later) if self.open.is_empty() => dates::check_order(
                &Fact {
                    valid_to: Some(date.written.clone()),
                    ..later.clone()
                },
                date.span,
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.open.iter().map(|fact| fact.id.clone()).collect()
    }
}
