//! The derived index as the truth sees it: which file is registered, what of it may be used, what
//! is newer and searched exactly, when it is rebuilt, and what happens to a file that fails its check.

pub(crate) mod build;
pub(crate) mod live;
pub(crate) mod recover;
pub(crate) mod registry;
