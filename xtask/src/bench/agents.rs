//! `cargo xtask bench agents` measures what servers and hooks of Loci and MemPalace cost an agent,
//! and prints ratios of CPU time.
//!
//! Both programs hold the same drawers. MemPalace is filled with vectors that cost nothing, because
//! its model would take minutes. Its server searches and adds with the real model. Then Loci alone
//! is measured on a large palace.

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
    /// Number of drawers in both palaces
    #[arg(long, default_value_t = 2_000)]
    drawers: usize,
    /// Palace for the part that measures Loci alone; it is copied [default: a new one of 100,000
    /// drawers]
    #[arg(long, value_name = "DIR")]
    palace: Option<PathBuf>,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The binary to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    loci: Option<PathBuf>,
    /// Measure Loci alone
    #[arg(long)]
    no_peer: bool,
}

/// The figures of one side, by name.
type Figures = BTreeMap<String, f64>;

/// One side: how its server and its hooks are started, and on which palace.
struct Side {
    server: Vec<String>,
    environment: Value,
    tools: servers::Tools,
    hooks: Vec<hooks::Hook>,
    /// Where its hooks find a transcript.
    transcript: PathBuf,
    /// The working directory of sessions. Its name is the wing of the notes.
    project: PathBuf,
    runs: usize,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let directory = target().join("bench").join("agents");
    let home = directory.join("home");
    std::fs::create_dir_all(&home)?;
    let project = directory.join(notes::WING);
    std::fs::create_dir_all(&project)?;
    // The folder is inside a repository, whose name would otherwise be the wing.
    let wing = format!("wing = \"{}\"\n", notes::WING);
    std::fs::write(project.join(".loci.toml"), wing)?;
    let source = peer::source().context("fetching the source of the peer")?;
    let notes = Notes::read(&source)?;
    let binary = match &options.loci {
        Some(binary) => binary.canonicalize()?,
        None => build()?,
    };
    let records = directory.join("notes.jsonl");
    notes.write(&records, options.drawers)?;

    let theirs = if options.no_peer {
        None
    } else {
        let side = their_side(&home, &directory.join("peer"), &records)?;
        Some(measure("mempalace", &side, &notes)?)
    };
    let palace = directory.join("palace");
    fill(&binary, &home, &palace, &records)?;
    learn(&binary, &home, &palace)?;
    let ours = measure("loci", &our_side(&binary, &home, &palace), &notes)?;

    let large = directory.join("large");
    fresh(&large)?;
    if let Some(palace) = &options.palace {
        copy(palace, &large)?;
    } else {
        let records = directory.join("many-notes.jsonl");
        notes.write(&records, LARGE)?;
        fill(&binary, &home, &large, &records)?;
    }
    learn(&binary, &home, &large)?;
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

/// Measures everything on one side.
fn measure(name: &str, side: &Side, notes: &Notes) -> anyhow::Result<Figures> {
    let mut figures = servers::alone(side, notes)?;
    figures.extend(hooks::measure(side, notes)?);
    eprintln!("{name}: {}", json!(figures));
    Ok(figures)
}

/// Fills a palace of Loci with these records.
fn fill(binary: &Path, home: &Path, palace: &Path, records: &Path) -> anyhow::Result<()> {
    fresh(palace)?;
    let mut command = loci(binary, home);
    command
        .arg("--palace")
        .arg(palace)
        .args(["import", "jsonl"])
        .arg(records);
    peers::environment::run(&mut command).context("filling the palace")
}

/// Adds the drawer that the hook for failures should find.
fn learn(binary: &Path, home: &Path, palace: &Path) -> anyhow::Result<()> {
    let mut command = loci(binary, home);
    command
        .arg("--palace")
        .arg(palace)
        .args(["add", hooks::LESSON, "--wing", notes::WING]);
    peers::environment::run(&mut command).context("adding a drawer")
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
        project: palace.with_file_name(notes::WING),
        runs: 20,
    }
}

/// MemPalace, filled and with its model installed.
fn their_side(home: &Path, palace: &Path, records: &Path) -> anyhow::Result<Side> {
    let peer = Peer::install(home).context("installing the peer")?;
    peer.model(home).context("installing its model")?;
    fresh(palace)?;
    std::fs::create_dir_all(palace)?;
    peers::environment::run(
        peer.command()
            .arg(peers::script("mempalace_fill.py"))
            .arg(palace)
            .arg(records),
    )
    .context("filling its palace")?;
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
        project: palace.with_file_name(notes::WING),
        runs: 5,
    })
}

/// Runs a script of `xtask/peers` on a plan and reads its figures.
pub(super) fn figures_of(script: &str, plan: &Value) -> anyhow::Result<Value> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), serde_json::to_vec(plan)?)?;
    let mut command = Command::new("python3");
    // The benchmark must not touch the user's own memories.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["LOCI_", "XDG_", "MEMPALACE_", "CLAUDE_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name.as_ref());
        }
    }
    let output = command
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
