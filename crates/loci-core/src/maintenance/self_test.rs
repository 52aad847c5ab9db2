//! The result of a self-test, which writes a drawer and leaves no trace.

use crate::error::Error;

/// One step of a self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfTestStep {
    /// A drawer was written.
    Write,
    /// It was read back unchanged.
    Read,
    /// A search for its words found it.
    Find,
    /// It was forgotten, and it can be neither read nor found.
    Forget,
    /// A commit without changes succeeded.
    Commit,
}

/// The result of a self-test.
#[derive(Debug, Default)]
pub struct SelfTest {
    /// The steps that succeeded.
    pub done: Vec<SelfTestStep>,
    /// The error that stopped it; `None` if all steps succeeded.
    pub trouble: Option<Error>,
}
