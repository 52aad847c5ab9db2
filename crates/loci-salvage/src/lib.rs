//! Reads records out of SQLite database files, page by page, without SQLite.
