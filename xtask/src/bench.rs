//! `cargo xtask bench`. `bench store` runs Loci and ChromaDB on the same documents and vectors and
//! prints ratios of CPU time. Each figure comes from a process of its own. [`mine`] is
//! `bench mine`, [`agents`] is `bench agents`, and [`search`] is `bench search`.

mod agents;
mod chroma;
mod data;
mod loci;
mod mine;
mod search;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use clap::Subcommand;
use serde_json::Value;

use crate::peers::environment::CHROMADB;
use crate::{root, target};

#[derive(Subcommand, Clone)]
pub(crate) enum Bench {
    /// Measures the storage layer (writing, querying, filtering, opening) and compares it with
    /// ChromaDB.
    Store {
        /// Number of drawers; may be repeated.
        #[arg(long, default_values_t = [10_000, 100_000])]
        rows: Vec<usize>,
        /// Measure Loci alone.
        #[arg(long)]
        no_peer: bool,
    },
    /// Measures mining and compares it with MemPalace.
    Mine(mine::Options),
    /// Measures the MCP server and the hooks and compares them with MemPalace.
    Agents(agents::Options),
    /// Measures searches of a palace: in the library, in an MCP server, and as a command.
    Search(search::Options),
}

#[derive(Subcommand, Clone)]
pub(crate) enum Measure {
    /// Runs the whole store benchmark, in a build with optimisations.
    Store {
        #[arg(long)]
        rows: Vec<usize>,
        #[arg(long)]
        no_peer: bool,
    },
    /// Searches a palace in this process, built with optimisations.
    Search { palace: PathBuf, questions: PathBuf },
    /// Runs one phase of the store benchmark in this process.
    Phase { phase: String, directory: PathBuf },
}

/// Runs a benchmark. `bench store` measures code of this program, so it is built again with
/// optimisations first.
pub(crate) fn run(what: Bench) -> anyhow::Result<()> {
    let (rows, no_peer) = match what {
        Bench::Store { rows, no_peer } => (rows, no_peer),
        Bench::Mine(options) => return mine::run(&options),
        Bench::Agents(options) => return agents::run(&options),
        Bench::Search(options) => return search::run(&options),
    };
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args([
        "run",
        "--quiet",
        "--release",
        "-p",
        "xtask",
        "--",
        "measure",
        "store",
    ]);
    for count in rows {
        command.args(["--rows", &count.to_string()]);
    }
    if no_peer {
        command.arg("--no-peer");
    }
    ensure!(command.status()?.success(), "the benchmark failed");
    Ok(())
}

pub(crate) fn measure(what: Measure) -> anyhow::Result<()> {
    match what {
        Measure::Phase { phase, directory } => loci::phase(&phase, &directory),
        Measure::Search { palace, questions } => search::measure(&palace, &questions),
        Measure::Store { rows, no_peer } => {
            let python = if no_peer {
                None
            } else {
                Some(CHROMADB.program()?)
            };
            for count in rows {
                let directory = target().join("bench").join(format!("store-{count}"));
                store(count, &directory, python.as_deref())?;
            }
            Ok(())
        }
    }
}

fn store(count: usize, directory: &Path, python: Option<&Path>) -> anyhow::Result<()> {
    println!("\n# {count} drawers");
    let data = data::ensure(directory, count)?;
    println!(
        "{} dimensions, cosine, documents of {} bytes on average, {} queries, exact neighbours computed",
        data::DIMENSION,
        data.mean_text_bytes,
        data::QUERIES
    );
    let mut ours = serde_json::Map::new();
    for phase in loci::PHASES {
        let figures = child(phase, directory)?;
        eprintln!("loci {phase}: {figures}");
        ours.extend(figures.as_object().cloned().unwrap_or_default());
    }
    let theirs = match python {
        Some(python) => chroma::measure(python, directory)?,
        None => Value::Null,
    };
    table::print(&Value::Object(ours), &theirs);
    Ok(())
}

/// Runs one phase in a fresh process and reads its figures.
fn child(phase: &str, directory: &Path) -> anyhow::Result<Value> {
    let output = Command::new(std::env::current_exe()?)
        .args(["measure", "phase", phase])
        .arg(directory)
        .output()?;
    ensure!(
        output.status.success(),
        "phase {phase}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}
