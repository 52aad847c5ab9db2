//! Passes items to a callback in batches.

use loci_core::Result;

use crate::palace::OnBatch;

/// Gathers items and passes them on when there are enough.
pub(crate) struct Batches<'a, T> {
    limit: usize,
    gathered: Vec<T>,
    handed: u64,
    take: OnBatch<'a, T>,
}

impl<'a, T> Batches<'a, T> {
    /// Creates batches of up to `limit` items.
    pub(crate) fn new(limit: usize, take: OnBatch<'a, T>) -> Self {
        Self {
            limit: limit.max(1),
            gathered: Vec::new(),
            handed: 0,
            take,
        }
    }

    pub(crate) fn push(&mut self, thing: T) -> Result<()> {
        self.gathered.push(thing);
        if self.gathered.len() >= self.limit {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Passes on the rest and returns the total number of items.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.hand_over()?;
        Ok(self.handed)
    }

    fn hand_over(&mut self) -> Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.gathered);
        self.handed += batch.len() as u64;
        (self.take)(batch)
    }
}
