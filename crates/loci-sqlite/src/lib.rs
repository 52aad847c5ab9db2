//! The default backend: one SQLite file as truth.
