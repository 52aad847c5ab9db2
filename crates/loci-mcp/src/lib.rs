//! The MCP server: thin tools over [`loci_palace::Palace`], served over stdio or streamable HTTP.
//!
//! [`serve_stdio`] serves one client and ends with it, [`serve_streams`] does the same over the
//! caller's streams, and [`serve_http`] serves many clients. Only protocol messages are written to
//! stdout, and the palace is opened when a call first needs it. Tools are in sets: `core` (the
//! default), `full`, `mempalace`.
#![forbid(unsafe_code)]

mod arguments;
mod core;
mod drawer;
mod ending;
mod full;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod hint;
mod http;
mod lines;
mod mempalace;
mod mine_roots;
mod prompts;
mod resources;
mod server;
pub mod servers;
mod skim;
mod stdio;
mod structured;
mod tool;
mod work;

use std::fmt::Write as _;

use loci_palace::{OpenOptions, PalaceRef, Result};
use rmcp::model::ListToolsResult;
use serde_json::{Value, json};

pub use self::http::{Auth, HttpSettings, Listening, MIN_TOKEN_BYTES, serve_http};
pub use self::mine_roots::MineRoots;
pub use self::stdio::{serve_stdio, serve_streams};

/// Maximum number of bytes of a message from a client.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The tools that a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSet {
    /// Eight tools, in at most 1,500 tokens.
    #[default]
    Core,
    /// All tools.
    Full,
    /// MemPalace's names, parameters and result keys.
    Mempalace,
}

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The palace.
    pub palace: PalaceRef,
    /// How it is opened. `create` is ignored: the first write creates the palace.
    pub options: OpenOptions,
    /// The tools.
    pub tools: ToolSet,
    /// The paths that clients may mine.
    pub mine_roots: MineRoots,
    /// Refuses directories of other programs, before a palace is opened or created.
    pub guard: fn(&PalaceRef) -> Result<()>,
}

impl ToolSet {
    fn tools(self) -> Vec<tool::Tool> {
        match self {
            Self::Core => core::tools(),
            Self::Full => {
                let mut tools = core::tools();
                tools.extend(full::tools());
                tools
            }
            Self::Mempalace => mempalace::tools(),
        }
    }

    /// The result of `tools/list`, as sent to clients.
    pub fn listing(self) -> Value {
        let tools = self.tools().iter().map(server::listed).collect();
        json!(ListToolsResult::with_all_items(tools))
    }
}

impl Settings {
    fn server(&self, closing: tokio_util::sync::CancellationToken) -> server::Server {
        let handle =
            handle::PalaceHandle::new(self.palace.clone(), self.options.clone(), self.guard);
        server::Server::new(handle, self.tools.tools(), self.mine_roots.clone(), closing)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
