//! `loci mcp`: the MCP server. Its stdout belongs to the protocol.

use loci_mcp::{HttpSettings, Settings, ToolSet, serve_http, serve_stdio};

use crate::args::{McpArguments, ToolsArgument};
use crate::failure::Result;
use crate::reply::Reply;
use crate::session::{Session, refuse_foreign};

pub(crate) fn run(arguments: &McpArguments, session: &Session<'_>) -> Result<Reply> {
    let settings = Settings {
        palace: session.place()?,
        options: session.options(false),
        tools: match arguments.tools {
            ToolsArgument::Core => ToolSet::Core,
            ToolsArgument::Full => ToolSet::Full,
            ToolsArgument::Mempalace => ToolSet::Mempalace,
        },
        guard: refuse_foreign,
    };
    match arguments.http {
        None => serve_stdio(&settings)?,
        Some(address) => {
            // An empty variable counts as not set.
            let token = arguments.token.clone().filter(|token| !token.is_empty());
            let http = HttpSettings {
                address,
                token,
                hosts: arguments.allow_host.clone(),
            };
            serve_http(&settings, &http, &mut |address| {
                session
                    .printer
                    .note(&format!("listening at http://{address}/mcp"));
            })?;
        }
    }
    Ok(Reply::printed())
}
