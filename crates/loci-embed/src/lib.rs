//! Embedders and their identity.
//!
//! [`StaticEmbedder`] is a table in the binary: no file, no download, no start-up cost. [`MiniLm`]
//! is all-MiniLM-L6-v2, read from a file that the user names or from a [`ModelStore`]. Both make
//! vectors of 384 numbers with unit length in the same space, so [`StaticEmbedder::embed_centred`]
//! can search stored MiniLM vectors without the model. [`RemoteEmbedder`] calls a server with the
//! OpenAI protocol.
//!
//! Only [`ModelStore::pull`] and [`RemoteEmbedder`] use the network, and only when they are called.
//! Damaged files and responses never cause a panic.
//!
//! ```
//! use loci_embed::StaticEmbedder;
//! let embedder = StaticEmbedder::builtin();
//! assert_eq!(embedder.embed_one("Alice moved to Lyon.").len(), 384);
//! assert_eq!(embedder.identity().name, "static");
//! ```
#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make and damage files")
)]
#![deny(unsafe_code)]

#[cfg(feature = "http")]
mod http;
mod kernels;
mod minilm;
mod models;
#[cfg(feature = "http")]
mod remote;
mod static_embedder;
mod table;
#[cfg(all(test, feature = "http"))]
mod test_server;

pub use loci_text::{TokenId, Tokenizer};
pub use minilm::{MINILM_MAX_TOKENS, MINILM_NAME, MiniLm};
pub use models::{Added, Change, ModelStore, StoredModel};
#[cfg(feature = "http")]
pub use models::{KNOWN_MODELS, KnownModel, Progress, PullLimits};
#[cfg(feature = "http")]
pub use remote::{RemoteEmbedder, RemoteOptions, Secret};
pub use static_embedder::{
    ComparedTokens, STATIC_NAME, StaticEmbedder, earlier_tables, is_earlier_table,
};
pub use table::{Table, TableError, write_table};
