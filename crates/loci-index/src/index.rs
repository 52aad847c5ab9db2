//! The interface of every kind of index. `flat` is the only kind; a graph would be another
//! implementation.

use std::fmt;

use crate::damage::Damage;
use crate::distance::QueryVector;
use crate::registration::Registration;
use crate::slots::SlotSet;

/// The rows that an index proposes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates {
    /// Probably nearest first. Ascending by row if [`complete`](Self::complete).
    pub rows: Vec<u64>,
    /// Whether every allowed, unmasked row is included, so that exact distances give the exact
    /// answer.
    pub complete: bool,
}

/// An open snapshot. It is immutable, and its answers do not depend on what happens to its file:
/// bytes that are read from it later are compared with checksums in memory.
pub trait VectorIndex: fmt::Debug + Send + Sync {
    /// The registration that it was opened with.
    fn registration(&self) -> &Registration;

    /// All rows, ascending. The position of a row is its slot.
    fn rows(&self) -> &[u64];

    /// The slot of a row.
    fn slot(&self, row: u64) -> Option<usize>;

    /// At most `wanted` rows that are probably nearest. Exactly `wanted` if that many rows are
    /// allowed and not masked. Empty for a query of another dimension or metric. If the file was
    /// damaged after [`warm`](Self::warm), candidates are coarser and there are more of them. Then
    /// [`is_warm`](Self::is_warm) is false, and the next `warm` reports the damage.
    fn candidates(
        &self,
        query: &QueryVector,
        wanted: usize,
        allowed: Option<&SlotSet>,
        masked: &SlotSet,
    ) -> Candidates;

    /// Loads and checks what the first query did not need. False if that was already done. Until
    /// then candidates are coarser, so a caller should request more of them: for a top 10, about
    /// 1,000 or a hundredth of the rows, whichever is more.
    fn warm(&self) -> Result<bool, Damage>;

    /// Whether [`warm`](Self::warm) was done.
    fn is_warm(&self) -> bool;

    /// Whether the codes of this row match this stored vector. `None` for a row that is not in the
    /// snapshot. Before [`warm`](Self::warm), only loaded codes are compared.
    fn agrees(&self, row: u64, vector_bytes: &[u8]) -> Option<bool>;
}
