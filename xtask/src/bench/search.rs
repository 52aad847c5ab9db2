//! `cargo xtask bench search` measures what a search costs on a palace of any size: in a program
//! that uses the library, in a running MCP server, and as a command that starts and ends.
//!
//! Everything runs on a copy of the palace, because searches count how often drawers are shown.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use loci_palace::{DEFAULT_COLLECTION, Get, OpenOptions, Palace, Selection, search};
use serde_json::{Value, json};

use super::agents::figures_of;
use super::loci::cpu;
use super::mine::{build, cost, fresh, loci};
use crate::{root, target};

/// Searches that are not measured, because they load the index into memory.
const WARM_UP: usize = 3;
/// Commands that are started.
const COMMANDS: usize = 40;
/// Drawers that are read at once to add up their texts.
const PAGE: usize = 20_000;

#[derive(Args, Clone)]
pub(crate) struct Options {
    /// The palace to search; it is copied
    #[arg(value_name = "PALACE")]
    palace: PathBuf,
    /// The questions, one per line
    #[arg(value_name = "QUESTIONS")]
    questions: PathBuf,
    /// Write all figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The binary to measure [default: a release build]
    #[arg(long, value_name = "FILE")]
    loci: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let directory = target().join("bench").join("search");
    let home = directory.join("home");
    std::fs::create_dir_all(&home)?;
    let palace = directory.join("palace");
    fresh(&palace)?;
    let copied = Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .arg(&options.palace)
        .arg(&palace)
        .status()?;
    ensure!(copied.success(), "copying {}", options.palace.display());
    let questions = read_questions(&options.questions)?;
    let binary = match &options.loci {
        Some(binary) => binary.canonicalize()?,
        None => build()?,
    };
    let library = measured(&palace, &options.questions)?;
    eprintln!("library: {library}");
    let server = server(&binary, &home, &palace, &questions)?;
    eprintln!("server: {server}");
    let command = commands(&binary, &home, &palace, &questions)?;
    eprintln!("command: {command}");
    let figures = json!({"library": library, "server": server, "command": command});
    print(&figures);
    if let Some(file) = &options.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    fresh(&palace)
}

fn read_questions(file: &Path) -> anyhow::Result<Vec<String>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let questions: Vec<String> = lines.map(str::to_owned).collect();
    ensure!(
        questions.len() > WARM_UP,
        "{} has too few questions",
        file.display()
    );
    Ok(questions)
}

/// The figures of the library, from a process of its own that is built with optimisations.
fn measured(palace: &Path, questions: &Path) -> anyhow::Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root())
        .args(["run", "--quiet", "--release", "-p", "xtask", "--"])
        .args(["measure", "search"])
        .arg(palace.canonicalize()?)
        .arg(questions.canonicalize()?)
        .output()?;
    ensure!(
        output.status.success(),
        "measuring the library: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures the library in this process, and prints its figures.
pub(crate) fn measure(palace: &Path, questions: &Path) -> anyhow::Result<()> {
    let questions = read_questions(questions)?;
    let place = loci_palace::PalaceRef::local(palace);
    let palace = Palace::open(&place, &OpenOptions::default())?;
    let mut costs = Vec::with_capacity(questions.len());
    for question in &questions {
        let before = cpu();
        palace.search(&search::Request::new(question))?;
        costs.push(cpu().saturating_sub(before));
    }
    let (drawers, text_bytes) = texts(&palace)?;
    let files = palace
        .status(&loci_palace::status::Request::default())?
        .bytes;
    let mut figures = percentiles(&costs)?;
    figures.extend([
        ("drawers".to_owned(), json!(drawers)),
        ("text_bytes".to_owned(), json!(text_bytes)),
        ("disk_bytes".to_owned(), json!(files)),
    ]);
    println!("{}", Value::Object(figures));
    Ok(())
}

/// The number of drawers, and the bytes of their texts.
fn texts(palace: &Palace) -> anyhow::Result<(u64, u64)> {
    let collection = palace.collection(DEFAULT_COLLECTION, false)?;
    let (mut drawers, mut bytes) = (0, 0);
    loop {
        let mut get = Get::new(Selection::all());
        get.offset = drawers;
        get.limit = Some(PAGE);
        get.include.embeddings = false;
        let page = collection.get(&get)?;
        if page.ids.is_empty() {
            return Ok((drawers as u64, bytes));
        }
        drawers += page.ids.len();
        bytes += page
            .documents
            .iter()
            .map(|text| text.len() as u64)
            .sum::<u64>();
    }
}

/// The figures of a server that one client asks all questions.
fn server(
    binary: &Path,
    home: &Path,
    palace: &Path,
    questions: &[String],
) -> anyhow::Result<Value> {
    let step = |(at, question): (usize, &String)| {
        json!({
            "name": at.to_string(),
            "tool": "loci_search",
            "arguments": [{"query": question}],
        })
    };
    let steps: Vec<Value> = questions.iter().enumerate().map(step).collect();
    let answer = figures_of(
        "mcp_cost.py",
        &json!({
            "command": [binary, "mcp"],
            "environment": {
                "HOME": home,
                "LOCI_PALACE": palace,
                "XDG_CONFIG_HOME": home.join("config"),
            },
            "steps": steps,
        }),
    )?;
    let cost = |at: usize| answer.get("steps")?.get(at.to_string())?.as_f64();
    let costs: Option<Vec<Duration>> = (0..questions.len())
        .map(|at| cost(at).map(|milliseconds| Duration::from_secs_f64(milliseconds / 1e3)))
        .collect();
    let mut figures = percentiles(&costs.context("the server answered too few questions")?)?;
    let resident = answer.pointer("/rss_bytes/0").cloned();
    figures.insert("rss_bytes".to_owned(), resident.unwrap_or_default());
    Ok(Value::Object(figures))
}

/// The figures of `loci search`, started for each question.
fn commands(
    binary: &Path,
    home: &Path,
    palace: &Path,
    questions: &[String],
) -> anyhow::Result<Value> {
    let mut costs = Vec::new();
    let mut rss_bytes = 0.0_f64;
    for question in questions.iter().take(COMMANDS) {
        let mut command = loci(binary, home);
        command
            .arg("--palace")
            .arg(palace)
            .arg("search")
            .arg(question);
        let (cost, _) = cost::measure(&command)?;
        costs.push(Duration::from_secs_f64(cost.cpu_s));
        rss_bytes = rss_bytes.max(cost.rss_bytes);
    }
    let mut figures = percentiles(&costs)?;
    figures.insert("rss_bytes".to_owned(), json!(rss_bytes));
    Ok(Value::Object(figures))
}

/// The median and the 95th percentile after the warm-up, and the first search.
fn percentiles(costs: &[Duration]) -> anyhow::Result<serde_json::Map<String, Value>> {
    let milliseconds = |cost: &Duration| cost.as_secs_f64() * 1e3;
    let first = costs.first().map(milliseconds);
    let mut warm: Vec<f64> = costs.iter().skip(WARM_UP).map(milliseconds).collect();
    warm.sort_by(f64::total_cmp);
    let at = |share: f64| warm.get((warm.len() as f64 * share) as usize).copied();
    let (p50, p95) = at(0.5).zip(at(0.95)).context("too few searches")?;
    let named = [
        ("first_ms", first),
        ("p50_ms", Some(p50)),
        ("p95_ms", Some(p95)),
    ];
    Ok(named
        .map(|(name, figure)| (name.to_owned(), json!(figure)))
        .into_iter()
        .collect())
}

fn print(figures: &Value) {
    let number = |key: &str| {
        let found = figures.pointer(key).and_then(Value::as_f64);
        found.unwrap_or(f64::NAN)
    };
    let both = |of: &str| {
        let (p50, p95) = (
            number(&format!("/{of}/p50_ms")),
            number(&format!("/{of}/p95_ms")),
        );
        format!("{p50:.1} / {p95:.1} ms")
    };
    let megabytes = |key: &str| format!("{:.0} MB", number(key) / 1e6);
    let text = number("/library/text_bytes");
    println!(
        "\n| search, CPU | {} drawers |\n|---|---|",
        number("/library/drawers")
    );
    for (title, figure) in [
        ("library, warm, p50 / p95", both("library")),
        ("MCP server, warm, p50 / p95", both("server")),
        (
            "MCP server, first",
            format!("{:.1} ms", number("/server/first_ms")),
        ),
        ("`loci search`, p50 / p95", both("command")),
        (
            "resident memory of the server",
            megabytes("/server/rss_bytes"),
        ),
        (
            "largest memory of `loci search`",
            megabytes("/command/rss_bytes"),
        ),
        ("texts", format!("{:.0} MB", text / 1e6)),
        (
            "disk, compared with the texts",
            format!("{:.2}", number("/library/disk_bytes") / text),
        ),
    ] {
        println!("| {title} | {figure} |");
    }
}
