//! From files and conversations to drawers.
#![forbid(unsafe_code)]
