//! The MCP server: thin tools over [`loci_palace::Palace`], over stdio or streamable HTTP.
#![forbid(unsafe_code)]
