//! `cargo xtask bench agents`: what an agent pays for its memory, by Loci and by MemPalace, in one run, as ratios of CPU time.
//!
//! Both sides mine the same notes, one drawer each. MemPalace gets vectors that cost nothing while it is filled, since its
//! model would take minutes; its server searches and adds with the real one. Then Loci alone on a large palace, which
//! MemPalace could not be filled with in reasonable time.

mod hooks;
mod notes;
mod servers;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use super::mine::peer::Peer;
use super::mine::{build, fresh, loci, peer};
use crate::peers;
use crate::target;
use notes::Notes;

/// Drawers of the palace that is measured for Loci alone.
const LARGE: usize = 100_000;

#[derive(Args, Clone)]
pub(crate) struct Options {
    /// Drawers on both sides
    #[arg(long, default_value_t = 2_000)]
    drawers: usize,
    /// A palace for the part that measures Loci alone; it is copied [default: one of 100,000 drawers is made]
    #[arg(long, value_name = "DIR")]
    palace: Option<PathBuf>,
    /// Write all figures here
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The binary to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    loci: Option<PathBuf>,
    /// Measure Loci alone
    #[arg(long)]
    no_peer: bool,
}

/// Figures by name, each of one side.
type Figures = BTreeMap<String, f64>;

/// One side: how its server and its hooks are started, and on which palace.
struct Side {
    server: Vec<String>,
    environment: Value,
    tools: servers::Tools,
    hooks: Vec<hooks::Hook>,
    /// Where its hooks find a transcript.
    transcript: PathBuf,
    runs: usize,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let directory = target().join("bench").join("agents");
    let home = directory.join("home");
    std::fs::create_dir_all(&home)?;
    let source = peer::source().context("fetching the source of the peer")?;
    let notes = Notes::read(&source)?;
    let binary = match &options.loci {
        Some(binary) => binary.canonicalize()?,
        None => build()?,
    };
    let folder = directory.join("notes");
    notes.write(&folder, options.drawers)?;

    let theirs = if options.no_peer {
        None
    } else {
        let side = their_side(&home, &directory.join("peer"), &folder)?;
        Some(measure("mempalace", &side, &notes)?)
    };
    let palace = directory.join("palace");
    fill(&binary, &home, &palace, &folder)?;
    let ours = measure("loci", &our_side(&binary, &home, &palace), &notes)?;

    let large = directory.join("large");
    fresh(&large)?;
    if let Some(palace) = &options.palace {
        copy(palace, &large)?;
    } else {
        let folder = directory.join("many-notes");
        notes.write(&folder, LARGE)?;
        fill(&binary, &home, &large, &folder)?;
    }
    let side = our_side(&binary, &home, &large);
    let mut large = measure("loci, large", &side, &notes)?;
    large.extend(servers::together(&side, &notes)?);

    table::print(options.drawers, theirs.as_ref(), &ours, &large);
    if let Some(file) = &options.json {
        let figures = json!({"loci": ours, "mempalace": theirs, "loci_large": large});
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// Everything about one side.
fn measure(name: &str, side: &Side, notes: &Notes) -> anyhow::Result<Figures> {
    let mut figures = servers::alone(side, notes)?;
    figures.extend(hooks::measure(side, notes)?);
    eprintln!("{name}: {}", json!(figures));
    Ok(figures)
}

/// A palace of Loci with these notes.
fn fill(binary: &Path, home: &Path, palace: &Path, folder: &Path) -> anyhow::Result<()> {
    fresh(palace)?;
    let mut command = loci(binary, home);
    command
        .arg("--palace")
        .arg(palace)
        .arg("mine")
        .arg(folder)
        .args(["--wing", "bench"]);
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "filling the palace: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status()?;
    ensure!(copied.success(), "copying {}", from.display());
    Ok(())
}

fn our_side(binary: &Path, home: &Path, palace: &Path) -> Side {
    let binary = binary.display().to_string();
    Side {
        server: vec![binary.clone(), "mcp".into()],
        environment: json!({"HOME": home, "LOCI_PALACE": palace, "XDG_CONFIG_HOME": home.join("config")}),
        tools: servers::LOCI,
        hooks: hooks::of_loci(&binary),
        transcript: palace.with_extension("jsonl"),
        runs: 20,
    }
}

/// MemPalace, filled and with its model.
fn their_side(home: &Path, palace: &Path, folder: &Path) -> anyhow::Result<Side> {
    let peer = Peer::install(home).context("installing the peer")?;
    peer.model(home).context("its model")?;
    fresh(palace)?;
    let corpus = super::mine::corpus::Corpus::read(folder)?;
    peer.mine("hash", palace, &corpus)?;
    let python = peer.command().get_program().to_string_lossy().into_owned();
    let palace_text = palace.display().to_string();
    Ok(Side {
        server: [
            &python,
            "-m",
            "mempalace.mcp_server",
            "--palace",
            &palace_text,
        ]
        .map(str::to_owned)
        .to_vec(),
        environment: json!({
            "HOME": home,
            "ANONYMIZED_TELEMETRY": "False",
            "MEMPALACE_PALACE_PATH": palace,
            "PYTHONDONTWRITEBYTECODE": "1",
        }),
        tools: servers::MEMPALACE,
        hooks: hooks::of_mempalace(&python),
        transcript: palace.with_extension("jsonl"),
        runs: 5,
    })
}

/// Runs a script of ours on a plan and reads its figures.
fn figures_of(script: &str, plan: &Value) -> anyhow::Result<Value> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), serde_json::to_vec(plan)?)?;
    let output = Command::new("python3")
        .arg(peers::script(script))
        .arg(file.path())
        .output()
        .context("running python3")?;
    ensure!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    serde_json::from_slice(&output.stdout).with_context(|| format!("reading what {script} wrote"))
}
