//! The derived vector index: codes, snapshot file, checks.
