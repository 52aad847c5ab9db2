//! `loci mcp` as clients see it: the real binary, driven by a client that speaks JSON-RPC and nothing more.

mod access;
mod bounds;
pub(crate) mod client;
mod endings;
mod faults;
mod fencing;
mod http;
mod mine_roots;
mod revisions;
mod server;
mod streams;
mod tools;
