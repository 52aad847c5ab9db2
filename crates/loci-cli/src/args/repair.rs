//! Commands that check and repair palaces, those of other programs too.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// A palace of Loci, or a directory or file of another program [default: check the whole
    /// installation]
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,
    /// Also run `loci verify --deep` on the palace of Loci
    #[arg(long)]
    pub(crate) deep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct QuarantineArguments {
    /// The ChromaDB directory
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// A segment is stale if it is this much older than the database
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600)]
    pub(crate) stale_seconds: u64,
    /// Also quarantine segments whose content differs from the database, whatever their age
    #[arg(long)]
    pub(crate) check: bool,
    /// Only rename the segments; ChromaDB then loses the vectors that are stored nowhere else
    #[arg(long)]
    pub(crate) rename_only: bool,
    /// Show what would be done, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct RepairArguments {
    /// Repair this ChromaDB directory instead of the palace, so that ChromaDB can use it again
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) chroma: Option<PathBuf>,
    /// Repair a copy in this directory, and do not change the original
    #[arg(long, value_name = "DIR", requires = "chroma", value_hint = ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// Show what would be done, and write nothing; with `--chroma`
    #[arg(long, requires = "chroma")]
    pub(crate) dry_run: bool,
    /// Move records whose vector is lost into a file of JSON lines beside the backup; this is the
    /// default
    #[arg(long, requires = "chroma", conflicts_with = "embed")]
    pub(crate) set_aside: bool,
    /// Compute a new vector for records whose vector is lost, with the collection's own model
    #[arg(long, requires = "chroma")]
    pub(crate) embed: bool,
    /// Replace the damaged palace with the salvaged one; the damaged one is kept under another name
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

Makes a copy or renames before it changes anything. A database that cannot be read is salvaged
into a new palace beside it, and the damaged one stays. The answer counts the drawers before and
after, and lists every lost drawer with everything that is still known about it. `--replace`
replaces the damaged palace with the salvaged one; the damaged database stays in the directory as
palace.sqlite3.replaced-TIME. Exits with 0 only if this palace is complete and undamaged
afterwards.

With `--chroma`, a ChromaDB directory is repaired in place after a backup of its database. All
readable vectors are written back into the database, from which ChromaDB rebuilds its index.
ChromaDB fails on every filter that touches a record without a vector. Such records are moved
into chroma.sqlite3.set-aside-TIME.jsonl, which `loci import jsonl` reads. With `--embed` they
get a new vector from the collection's own model instead, if that model is known and installed
(`loci model add`). Texts that lost their id are written to chroma.sqlite3.candidates-TIME.jsonl.
Exits with 1, and lists the reasons, if records were moved, metadata is lost or a problem
remains.";

pub(super) const DOCTOR: &str = "\
Examples:
  loci doctor
  loci doctor --deep
  loci doctor --json
  loci doctor ~/.mempalace/palace
  loci doctor ./chroma --json

Without PATH, shows the state of the whole installation: the palace and the setting that chose
it, versions, index, models, files, the configuration of each agent, the last run of each hook, a
round trip (a drawer is written, read, found and forgotten in a transaction that is rolled back),
and palaces of other programs in the usual places (~/.mempalace, ~/.memtomem, ~/.cortexadb,
~/.chroma, ~/.config/mempalace and $MEMPALACE_PALACE_PATH). Each finding comes with a line of
advice.

With PATH, only reads the files, even while other programs use them. Do this before you open a
damaged directory with ChromaDB, because opening it may destroy data that can still be saved.

Exits with 0 if nothing needs to be done, 1 if something does, 2 if PATH cannot be read or is not
recognised. An agent that is not connected, and a palace that does not exist yet, are only notes.";

pub(super) const QUARANTINE: &str = "\
Examples:
  loci quarantine ~/.mempalace/palace --dry-run
  loci quarantine ~/.mempalace/palace --check

Stale segment directories are renamed to <uuid>.drift-YYYYMMDD-HHMMSS. Their vectors are first
written back into the database, so that ChromaDB rebuilds its index with all of them. Before you
run it, stop the programs that use the directory. Exits with 0 even if there was nothing to do,
and with 2 if a directory could not be renamed.";
