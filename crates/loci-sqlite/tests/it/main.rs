//! Tests of the SQLite backend through its public interface.

mod contract;
