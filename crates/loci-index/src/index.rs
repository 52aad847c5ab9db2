//! What every kind of index answers. `flat` is the only kind; a graph would be another
//! implementation.

use std::fmt;

use crate::damage::Damage;
use crate::distance::QueryVector;
use crate::registration::Registration;
use crate::slots::SlotSet;

/// Rows that an index proposes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates {
    /// Probably nearest first; ascending by row when [`complete`](Self::complete).
    pub rows: Vec<u64>,
    /// Every allowed, unmasked row is in it, so exact distances give the exact answer.
    pub complete: bool,
}

/// One opened snapshot. Immutable; it answers from private memory, whatever happens to its file.
pub trait VectorIndex: fmt::Debug + Send + Sync {
    /// What the snapshot was opened as.
    fn registration(&self) -> &Registration;

    /// All rows, ascending; the position in it is the row's slot.
    fn rows(&self) -> &[u64];

    /// The slot of a row.
    fn slot(&self, row: u64) -> Option<usize>;

    /// At most `wanted` rows that are probably nearest; exactly `wanted` if so many are allowed and
    /// not masked. A query of another dimension or metric gets none.
    fn candidates(
        &self,
        query: &QueryVector,
        wanted: usize,
        allowed: Option<&SlotSet>,
        masked: &SlotSet,
    ) -> Candidates;

    /// Loads and checks what was not needed for the first query; false if that was done before.
    /// Until then candidates are coarser, so a caller should want more of them: for a top 10, about
    /// 1,000 or a hundredth of the rows, whichever is more.
    fn warm(&self) -> Result<bool, Damage>;

    /// Whether [`warm`](Self::warm) has nothing left to do.
    fn is_warm(&self) -> bool;

    /// Whether the codes of this row are those of this vector (little-endian f32); `None` for a row
    /// that the snapshot does not hold. Before [`warm`](Self::warm), only what is loaded is
    /// compared.
    fn agrees(&self, row: u64, vector_bytes: &[u8]) -> Option<bool>;
}
