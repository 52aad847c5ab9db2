//! A write that is tried and leaves no trace.

use crate::error::Error;

/// One step of a rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RehearsalStep {
    /// A drawer was written.
    Write,
    /// It was read as it was written.
    Read,
    /// Its words find it.
    Find,
    /// It was forgotten: neither read nor found any more.
    Forget,
    /// A commit that changes nothing went through.
    Commit,
}

/// How far a rehearsal came.
#[derive(Debug, Default)]
pub struct SelfTest {
    /// The steps that worked.
    pub done: Vec<RehearsalStep>,
    /// What stopped it; nothing if all steps worked.
    pub trouble: Option<Error>,
}
