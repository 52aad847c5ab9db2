//! Embedders and their identity.
//!
//! [`StaticEmbedder`] is a table in the binary: no file, no download, no start-up cost. [`MiniLm`] is
//! all-MiniLM-L6-v2, read from a file that the user names. Both make vectors of 384 numbers and of unit length in
//! the same space: [`StaticEmbedder::embed_centred`] searches stored MiniLM vectors without the model.
//! Nothing here touches the network, and nothing panics on a damaged file.
//!
//! ```
//! use loci_embed::StaticEmbedder;
//! let embedder = StaticEmbedder::builtin();
//! assert_eq!(embedder.embed_one("Alice moved to Lyon.").len(), 384);
//! assert_eq!(embedder.identity().name, "static");
//! ```
#![deny(unsafe_code)]

mod kernels;
mod minilm;
mod static_embedder;
mod table;

pub use loci_text::{TokenId, Tokenizer};
pub use minilm::{MINILM_MAX_TOKENS, MINILM_NAME, MiniLm};
pub use static_embedder::{STATIC_NAME, StaticEmbedder};
pub use table::{Table, TableError, write_table};
