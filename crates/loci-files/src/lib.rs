//! File access for the other crates.
//!
//! * [`foreign`] opens files that do not belong to a palace: files that are mined, imported,
//!   restored from or read as a model. On Unix, closing *any* descriptor of a file drops *all*
//!   POSIX locks that the process holds on it. A link to a palace's own database or `-shm` file
//!   must therefore be detected before it is opened: see [`foreign::open`].
//! * [`allowed`] limits what is read for a client to the roots that the owner allowed.
//! * [`palace`] records which palaces this process has open, and which files its connections use.
//! * [`locked`] has directories that the next process removes if their process was killed.
//! * [`FileLock`] is an advisory lock with a deadline; its error names the process that holds it.
//! * [`openers_of`] finds the processes that have a file open.
//! * [`output`] writes a file that a user names. It is written completely or not at all, and never
//!   replaces a device.
//! * [`owner`] sets the owner of a new file when root creates it in another user's directory.
//! * [`scratch`] records the directories that must not outlive the process.
//! * [`user_cache`] is the directory for files that can be deleted at any time.
//! * [`Stamp`] shows whether a file has changed.
//! * [`sync_directory`] and [`create_directory`] make names durable.
//!
//! This crate is the only place that calls `File::open` and its relatives on paths from outside;
//! `clippy.toml` disallows them elsewhere.
//!
//! ```
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("notes.md");
//! std::fs::write(&path, "text")?;
//! assert_eq!(loci_files::foreign::read_to_string(&path)?, "text");
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod allowed;
mod cache;
mod directory;
pub mod foreign;
pub mod holders;
mod linkless;
mod lock;
pub mod locked;
mod openers;
pub mod output;
pub mod own;
pub mod owner;
pub mod palace;
pub mod scratch;
mod stamp;

pub use allowed::AllowedRoots;
pub use cache::user_cache;
pub use directory::{create_directory, create_directory_with, sync_directory, sync_parent};
pub use lock::{FileLock, LOCK_LIMIT};
pub use openers::{OpenerProcess, openers_of};
pub use stamp::Stamp;
