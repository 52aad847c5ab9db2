//! `loci import`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::SecretArguments;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Format: chroma, mempalace, memtomem, cortexadb or jsonl [default: detected]
    #[arg(value_name = "KIND", value_hint = ValueHint::AnyPath)]
    pub(crate) kind: Option<OsString>,
    /// The directory or file; `-` reads JSON lines from stdin. Without PATH, the usual places are
    /// listed
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Import JSON lines into this collection, whatever the records name; for a palace of another
    /// program, the name for its main collection
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// What to do with a record whose id exists
    #[arg(long, value_enum, value_name = "RULE", default_value = "skip")]
    pub(crate) on_conflict: ConflictArgument,
    /// Also import texts that were forgotten in this palace
    #[arg(long)]
    pub(crate) allow_again: bool,
    /// Read and check everything, but write nothing; only for palaces of other programs
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write texts whose id is not certain to this new file, as JSON lines [default: a file in the
    /// state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) candidates: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) secrets: SecretArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ConflictArgument {
    /// Keep the existing drawer
    Skip,
    /// Overwrite the existing drawer with the record
    Update,
    /// Add the record under a new id, unless the drawer is the same; a second run adds nothing
    Duplicate,
    /// Import nothing at all
    Error,
}

pub(super) const IMPORT: &str = "\
Examples:
  loci import ~/.mempalace/palace
  loci import chroma ./chroma --dry-run
  loci import memtomem ~/.memtomem/memtomem.db --collection notes
  loci import
  loci import jsonl palace.jsonl
  loci import jsonl - --on-conflict update < palace.jsonl

Palaces of other programs, damaged ones too, are read from their files alone and are not changed.
Vectors are imported with the texts. A second run adds only new records. The report compares
counts and digests of the source and of the palace. Vectors are the original ones, or come from
the index of the other program, which stores them normalised beside their length. Missing vectors
are recomputed if their model is installed. A text whose id is not certain is written to a file
of JSON lines (`--candidates`, else in the state directory) that the report names.

Without PATH, it lists the palaces found in the usual places (~/.mempalace, ~/.memtomem,
~/.cortexadb, ~/.chroma, ~/.config/mempalace and $MEMPALACE_PALACE_PATH) and imports nothing.
Exits with 0 if everything was imported, 2 if something was lost.

A record of JSON lines is {\"id\", \"document\", \"metadata\", \"embedding\"}; docs/format.md
describes the fields that an export adds. Each field may be missing; a missing id is derived from
the content, so that a second run adds nothing. A record with an unknown field is an error. Bad
records are reported, the others are imported, and the exit code is 2.";
