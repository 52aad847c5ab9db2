//! `loci mcp`: the MCP server.

use loci_palace::Error;

use crate::args::McpArguments;
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::Session;

pub(crate) fn run(_: &McpArguments, _: &Session<'_>) -> Result<Reply> {
    Err(Error::invalid("command", "not yet").into())
}
