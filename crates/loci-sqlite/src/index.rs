//! The derived index as the database sees it: which file is registered, which part of it may be
//! used, which vectors are newer and compared exactly, when it is rebuilt, and how a file that
//! fails its check is quarantined.

pub(crate) mod build;
pub(crate) mod live;
pub(crate) mod recover;
pub(crate) mod registry;
