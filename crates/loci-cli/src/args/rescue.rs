//! Commands about palaces of other programs: look at them, mend them, bring them home.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::SecretArguments;

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// What it is: chroma, mempalace, memtomem, cortexadb or jsonl [default: recognised]
    #[arg(value_name = "KIND", value_hint = ValueHint::AnyPath)]
    pub(crate) kind: Option<OsString>,
    /// The directory or file; `-` reads JSON lines from stdin; without one, the usual places are
    /// looked at
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Put everything into this collection, whatever the records say; of a palace of another
    /// program, its main collection
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// What happens to a record whose id is taken
    #[arg(long, value_enum, value_name = "RULE", default_value = "skip")]
    pub(crate) on_conflict: ConflictArgument,
    /// Take texts that were forgotten in this palace, too
    #[arg(long)]
    pub(crate) allow_again: bool,
    /// Do everything but write; for palaces of other programs
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
    /// Keep the drawer that is there
    Skip,
    /// Change the drawer that is there to the record
    Update,
    /// Add the record under a new id, unless it is the same text from the same place
    Duplicate,
    /// Import nothing at all
    Error,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Directory or file of another program, or a palace of Loci; without one, everything is looked
    /// at
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Also verify the palace of Loci, recomputing every row, posting and code
    #[arg(long)]
    pub(crate) deep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineArguments {
    /// The ChromaDB directory
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// A segment is stale when it is so much older than the database
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
    pub(crate) stale_seconds: u64,
    /// Also set aside segments that do not hold what the database says, whatever their age
    #[arg(long)]
    pub(crate) check: bool,
    /// Only rename: ChromaDB then loses the vectors that are nowhere else
    #[arg(long)]
    pub(crate) rename_only: bool,
    /// Say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct RepairArguments {
    /// Repair this ChromaDB directory instead of the palace, so that ChromaDB can use it again
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) chroma: Option<PathBuf>,
    /// Leave the ChromaDB directory as it is and repair a copy, made here
    #[arg(long, value_name = "DIR", requires = "chroma", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Say what would be done; with `--chroma`
    #[arg(long, requires = "chroma")]
    pub(crate) dry_run: bool,
    /// Move records whose vector is nowhere into a file of JSON lines beside the backup; this is the
    /// default
    #[arg(long, requires = "chroma", conflicts_with = "embed")]
    pub(crate) set_aside: bool,
    /// Give records whose vector is nowhere a new one, made from their text by the collection's own
    /// model
    #[arg(long, requires = "chroma")]
    pub(crate) embed: bool,
    /// Put a salvaged palace in the place of the damaged one, which is kept under another name
    #[arg(long, conflicts_with = "chroma")]
    pub(crate) replace: bool,
}

pub(super) const REPAIR: &str = "\
Examples:
  loci repair
  loci repair --json
  loci repair --replace
  loci repair --chroma ~/.mempalace/palace --dry-run
  loci repair --chroma ~/.mempalace/palace --output ./repaired
  loci repair --chroma ~/.mempalace/palace --embed

Copies or renames before it changes anything. A database that cannot be read is salvaged into a new
palace beside it, and the damaged one stays. The answer counts the drawers before and after and lists
every drawer that is lost, with what is still known of it. `--replace` puts the salvaged palace in the
place of the damaged one, whose database stays in the directory as palace.sqlite3.replaced-TIME.
Exits with 0 only if this palace is whole afterwards.

With `--chroma`, a ChromaDB directory is repaired in place, after a backup of its database: all
vectors that can be read go back into the database, from which ChromaDB builds its index again.
ChromaDB fails on every filter that touches a record without a vector. Such records are moved into
chroma.sqlite3.set-aside-TIME.jsonl, which `loci import jsonl` reads; with `--embed` they get a vector
from the collection's own model instead, if that is known and was added (`loci model add`). Texts that
lost their id go into chroma.sqlite3.candidates-TIME.jsonl. Exits with 1 if records were moved, if
metadata is lost, or if something is wrong all the same, and says what.";

pub(super) const IMPORT: &str = "\
Examples:
  loci import ~/.mempalace/palace
  loci import chroma ./chroma --dry-run
  loci import memtomem ~/.memtomem/memtomem.db --collection notes
  loci import
  loci import jsonl palace.jsonl
  loci import jsonl - --on-conflict update < palace.jsonl

Palaces of other programs are read from their files alone, damaged ones too, and are left as they
are; vectors come along. A second run adds only what is new. The report has counts and digests of
both sides: what was read from there and what is here. Vectors are as they were given, or from the
index of the other program, where they stand normalised beside their length; those that are missing
are made anew if their model is here. A text whose id is not certain goes into a file of JSON lines
(`--candidates`, else in the state directory) that the report names. Without PATH, it lists what is found in the usual places
(~/.mempalace, ~/.memtomem, ~/.cortexadb, ~/.chroma, ~/.config/mempalace and what MEMPALACE_PALACE_PATH
names) and imports nothing. Exits with 0 if everything came, 2 if something was lost.

A record of JSON lines is {\"id\", \"document\", \"metadata\", \"embedding\"}; docs/format.md describes
what an export adds. Each of them may be missing; a missing id is generated. Another field is an error
of its record. Bad records are reported and the rest is imported; the exit code is then 2.";

pub(super) const DOCTOR: &str = "\
Examples:
  loci doctor
  loci doctor --deep
  loci doctor --json
  loci doctor ~/.mempalace/palace
  loci doctor ./chroma --json

Without PATH, shows the state of everything: the palace and which setting chose it, versions, index,
models, files, the wiring of each agent, the last run of each hook, a round trip (a drawer is written,
read, found and forgotten in a transaction that is rolled back, so that nothing of it stays), and
palaces of other programs in the usual places (~/.mempalace, ~/.memtomem, ~/.cortexadb, ~/.chroma,
~/.config/mempalace and what MEMPALACE_PALACE_PATH names). Each finding comes with a line of advice.

With PATH, reads the files and never writes, also while other programs use them. Do this before you
open a damaged directory with ChromaDB: opening it may destroy what can still be saved.

Exits with 0 if nothing needs to be done, 1 if something does, 2 if PATH cannot be read or is nothing
known. An agent that is not wired, and a palace that is not made yet, are notes.";

pub(super) const QUARANTINE: &str = "\
Examples:
  loci quarantine ~/.mempalace/palace --dry-run
  loci quarantine ~/.mempalace/palace --check

Stale segment directories are renamed to <uuid>.drift-YYYYMMDD-HHMMSS. Their vectors are first
written back into the database, so that ChromaDB builds its index anew with all of them. Stop
programs that use the directory first. Exits with 0 also if there was nothing to do, 2 if a
directory could not be renamed.";
