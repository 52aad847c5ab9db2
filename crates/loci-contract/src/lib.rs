//! Conformance suite of the storage contract; any backend can run it.
