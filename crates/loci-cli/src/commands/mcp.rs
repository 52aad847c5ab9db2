//! `loci mcp`: the MCP server. Its stdout belongs to the protocol.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use loci_mcp::{
    Auth, HttpSettings, Listening, MineRoots, Settings, ToolSet, serve_http, serve_stdio,
};
use loci_palace::{Config, Error};

use crate::args::{McpArguments, ToolsArgument};
use crate::failure::Result;
use crate::print::Printer;
use crate::reply::Reply;
use crate::session::{Session, refuse_foreign};

const TOKEN_VARIABLE: &str = "LOCI_MCP_TOKEN";
/// Size limit of a token file.
const MAX_TOKEN_BYTES: u64 = 4_096;
/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

pub(crate) fn run(arguments: &McpArguments, session: &Session<'_>) -> Result<Reply> {
    session.secrets(arguments.secrets);
    let settings = Settings {
        palace: session.place()?,
        options: session.options(false),
        tools: match arguments.tools {
            ToolsArgument::Core => ToolSet::Core,
            ToolsArgument::Full => ToolSet::Full,
            ToolsArgument::Mempalace => ToolSet::Mempalace,
        },
        mine_roots: mine_roots(arguments, session.printer)?,
        guard: refuse_foreign,
    };
    match arguments.http {
        None => serve_stdio(&settings)?,
        Some(address) => {
            let http = HttpSettings {
                address,
                auth: auth(arguments)?,
                hosts: arguments.allow_host.clone(),
            };
            serve_http(&settings, &http, &mut |listening| {
                announce(listening, arguments, session.printer);
            })?;
        }
    }
    Ok(Reply::printed())
}

fn announce(listening: Listening<'_>, arguments: &McpArguments, printer: Printer) {
    printer.note(&format!("listening at http://{}/mcp", listening.address));
    if arguments.no_auth {
        printer.note(
            "warning: no token is required: every user and program on this machine can read and \
             change this palace",
        );
    } else {
        let file = listening.file.display();
        printer.note(&format!("the token is in `{file}`"));
    }
    if arguments.token.is_some() {
        printer.note(
            "note: other users can see `--token` in the process list; use LOCI_MCP_TOKEN or \
             `--token-file`",
        );
    }
}

/// The token that clients must send: the configured one, else a new one.
fn auth(arguments: &McpArguments) -> Result<Auth> {
    // An empty variable counts as not set.
    let variable = std::env::var_os(TOKEN_VARIABLE).filter(|token| !token.is_empty());
    if arguments.no_auth {
        if variable.is_some() {
            return Err(Error::invalid(
                "`--no-auth`",
                format!("contradicts the token in {TOKEN_VARIABLE}; use only one of them"),
            )
            .into());
        }
        return Ok(Auth::None);
    }
    if let Some(token) = arguments.token.as_ref().filter(|token| !token.is_empty()) {
        return Ok(Auth::Token(token.clone()));
    }
    if let Some(file) = &arguments.token_file {
        return Ok(Auth::Token(token_in(file)?));
    }
    match variable {
        Some(token) => Ok(Auth::Token(token.to_string_lossy().into_owned())),
        None => Ok(Auth::generate()?),
    }
}

fn token_in(path: &Path) -> Result<String> {
    let fail = |error| Error::io("cannot read the token in", path, error);
    let file = loci_files::foreign::open(path).map_err(fail)?;
    let about = file.metadata().map_err(fail)?;
    if about.is_file() && about.mode() & OTHERS != 0 {
        let problem = "can be used by other users; run `chmod 600` on it";
        return Err(Error::invalid(format!("token file `{}`", path.display()), problem).into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_TOKEN_BYTES)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The paths that clients may mine: the user's `mine_roots` and `--allow-mine`.
fn mine_roots(arguments: &McpArguments, printer: Printer) -> Result<MineRoots> {
    let mut roots = MineRoots::default();
    let configured = Config::of_user()?.mcp.unwrap_or_default().mine_roots;
    for path in configured.unwrap_or_default() {
        roots.allow(&path, "`mine_roots` in config.toml:")?;
    }
    for path in &arguments.allow_mine {
        let is_from_home = path.starts_with("~");
        let absolute = match std::path::absolute(path) {
            Ok(absolute) if !is_from_home => absolute,
            _ => path.clone(),
        };
        roots.allow(&absolute, "`--allow-mine`")?;
    }
    for missing in roots.missing() {
        let missing = missing.display();
        printer.note(&format!(
            "warning: `{missing}` is allowed to be mined, but does not exist"
        ));
    }
    Ok(roots)
}
