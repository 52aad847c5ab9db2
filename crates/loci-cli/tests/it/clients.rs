//! `loci mcp` under clients that others wrote: the official Python client, of this protocol revision and the one before, and
//! the CLI of the MCP Inspector. `cargo xtask test` installs them; without one its tests say SKIPPED and return.

mod every_tool;
mod inspected;
mod killed;
mod python;
mod refused;
mod revisions;
mod server;
mod together;
