//! The bodies of the fuzz targets. Each takes the bytes of one input, passes them to a parser of
//! untrusted bytes, and panics if an invariant does not hold.
//!
//! The package in `fuzz/` runs them under libFuzzer. The tests of this crate run them on the seeds
//! in `fuzz/seeds/`, so a bug that comes back is found without libFuzzer.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a fuzz target reports a failed check by a panic, and creates files to be read"
)]

pub mod config_files;
pub mod documents;
pub mod filters;
pub mod hnsw;
pub mod index;
mod input;
pub mod jsonl;
pub mod mcp_lines;
pub mod pickle;
mod scratch;
pub mod secrets;
pub mod sqlite_pages;
pub mod text;
pub mod transcripts;

/// A target with its name.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the binary in `fuzz/` and of the folder of its seeds.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 14] = [
    Target {
        name: "config_files",
        run: config_files::run,
    },
    Target {
        name: "docx",
        run: documents::docx,
    },
    Target {
        name: "filters",
        run: filters::run,
    },
    Target {
        name: "hnsw",
        run: hnsw::run,
    },
    Target {
        name: "html",
        run: documents::html,
    },
    Target {
        name: "index",
        run: index::run,
    },
    Target {
        name: "jsonl",
        run: jsonl::run,
    },
    Target {
        name: "mcp_lines",
        run: mcp_lines::run,
    },
    Target {
        name: "pdf",
        run: documents::pdf,
    },
    Target {
        name: "pickle",
        run: pickle::run,
    },
    Target {
        name: "secrets",
        run: secrets::run,
    },
    Target {
        name: "sqlite_pages",
        run: sqlite_pages::run,
    },
    Target {
        name: "text",
        run: text::run,
    },
    Target {
        name: "transcripts",
        run: transcripts::run,
    },
];
