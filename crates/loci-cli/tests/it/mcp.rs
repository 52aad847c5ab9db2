//! `loci mcp` as clients see it: the real binary, driven by a client that speaks JSON-RPC and nothing more.

mod client;
mod endings;
mod faults;
mod http;
mod revisions;
mod tools;
