//! Loci's side of the benchmark. Each phase is one process that prints its figures as JSON.

use std::io::BufRead;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use loci_palace::{
    Batch, Collection, Durability, Filter, MAX_BATCH_RECORDS, MAX_BATCH_TEXT_BYTES,
    MaintenanceKind, Metadata, MetadataPatch, OpenOptions, Palace, Query, Selection, search_words,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::data::{self, K, Record};

/// The phases in the order in which they run. The first one creates the palace.
pub(crate) const PHASES: [&str; 10] = [
    "load",
    "cold",
    "warm",
    "words",
    "deleted",
    "exact",
    "single",
    "single-full",
    "crowd",
    "largest",
];

const SINGLES: usize = 1_000;
const CROWD: usize = 8;
const CROWD_ADDS: usize = 1_000;

pub(crate) fn phase(name: &str, directory: &Path) -> anyhow::Result<()> {
    let palace = directory.join("palace");
    let figures = match name {
        "load" => load(directory, &palace)?,
        "cold" => cold(directory, &palace, "cold")?,
        "warm" => warm(directory, &palace)?,
        "words" => words(&palace)?,
        "deleted" => deleted(directory, &palace)?,
        "exact" => exact(directory, &palace)?,
        "single" => single(directory, &palace, Durability::Normal, "single")?,
        "single-full" => single(directory, &palace, Durability::Full, "single_full")?,
        "crowd" => crowd(directory, &palace)?,
        "largest" => largest(directory, &palace)?,
        "crowd-member" => crowd_member(directory, &palace)?,
        other => bail!("unknown phase {other}"),
    };
    println!("{figures}");
    Ok(())
}

pub(super) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn since(start: Duration) -> Duration {
    cpu().saturating_sub(start)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Peak resident memory of this process in megabytes.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1024.0
}

fn disk_mb(directory: &Path) -> f64 {
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut total = 0;
    let mut stack = vec![directory.to_path_buf()];
    while let Some(path) = stack.pop() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                stack.push(entry.path());
            } else {
                total += bytes(&entry.path());
            }
        }
    }
    total as f64 / 1e6
}

fn load(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    if path.exists() {
        std::fs::remove_dir_all(path)?;
    }
    let vectors = data::read_vectors(&directory.join("vectors.f32"))?;
    let records: Vec<Record> =
        std::io::BufReader::new(std::fs::File::open(directory.join("records.jsonl"))?)
            .lines()
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect::<anyhow::Result<_>>()?;
    let palace = Palace::open(path, &OpenOptions::create())?;
    let drawers = palace.collection("drawers", true)?;
    let mut spent = Duration::ZERO;
    for (records, vectors) in records.chunks(100).zip(vectors.chunks(100)) {
        let batch = Batch::new(records.iter().map(|record| record.id.clone()))
            .documents(records.iter().map(|record| record.document.clone()))
            .metadatas(
                records
                    .iter()
                    .filter_map(|record| MetadataPatch::from_json(&record.metadata).ok()),
            )
            .embeddings(vectors.iter().cloned());
        let start = cpu();
        drawers.add(&batch)?;
        spent += since(start);
    }
    let start = cpu();
    palace.close()?;
    let close = since(start);
    Ok(json!({
        "insert_ms": ms(spent + close) / records.len() as f64,
        "close_ms": ms(close),
        "disk_mb": disk_mb(path),
    }))
}

/// Measures from the start of the process to the first answer.
fn cold(directory: &Path, path: &Path, name: &str) -> anyhow::Result<Value> {
    let mut query = vec![0_u8; data::DIMENSION * 4];
    std::io::Read::read_exact(
        &mut std::fs::File::open(directory.join("queries.f32"))?,
        &mut query,
    )?;
    let vector = query
        .as_chunks::<4>()
        .0
        .iter()
        .map(|chunk| f32::from_le_bytes(*chunk))
        .collect();
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let found = drawers.query(&Query::vector(vector).k(K))?;
    let (spent, peak) = (ms(cpu()), peak_mb());
    let recall = data::recall(
        &found.ids,
        data::read_exact(directory)?
            .all
            .get(..1)
            .unwrap_or_default(),
    );
    palace.close()?;
    Ok(json!({
        format!("{name}_ms"): spent,
        format!("{name}_mb"): peak,
        format!("{name}_recall"): recall,
        format!("{name}_total_ms"): ms(cpu()),
    }))
}

fn warm(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    let queries = data::read_vectors(&directory.join("queries.f32"))?;
    let exact = data::read_exact(directory)?;
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let mut figures = serde_json::Map::new();
    for (name, filter, exact) in [
        ("query", None, &exact.all),
        (
            "one_percent",
            Some(Filter::eq("room", "room-7")),
            &exact.one_percent,
        ),
        (
            "ten_percent",
            Some(Filter::eq("wing", "wing-3")),
            &exact.ten_percent,
        ),
    ] {
        let selection = Selection {
            filter,
            ..Selection::all()
        };
        let ask = |vector: &Vec<f32>| {
            drawers.query(
                &Query::vector(vector.clone())
                    .k(K)
                    .selection(selection.clone()),
            )
        };
        for vector in queries.iter().take(3) {
            ask(vector)?;
        }
        let (mut found, mut walls) = (Vec::new(), Vec::new());
        let start = cpu();
        for vector in &queries {
            let begun = Instant::now();
            found.extend(ask(vector)?.ids);
            walls.push(ms(begun.elapsed()));
        }
        let spent = ms(since(start)) / queries.len() as f64;
        walls.sort_by(f64::total_cmp);
        figures.insert(format!("{name}_ms"), json!(spent));
        figures.insert(
            format!("{name}_p50_wall_ms"),
            json!(percentile(&walls, 0.5)),
        );
        figures.insert(format!("{name}_recall"), json!(data::recall(&found, exact)));
    }
    figures.insert("warm_mb".into(), json!(peak_mb()));
    palace.close()?;
    Ok(Value::Object(figures))
}

fn words(path: &Path) -> anyhow::Result<Value> {
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let mut figures = serde_json::Map::new();
    for (name, query) in [
        ("words_rare", "what about the balokar and the turmosvi"),
        ("words_usual", "the bake lomi nura"),
        ("words_half", "common"),
        ("words_half_and_rare", "the common balokar"),
    ] {
        search_words(&*drawers, query, K, &Selection::all())?;
        let start = cpu();
        for _ in 0..20 {
            search_words(&*drawers, query, K, &Selection::all())?;
        }
        figures.insert(format!("{name}_ms"), json!(ms(since(start)) / 20.0));
    }
    palace.close()?;
    Ok(Value::Object(figures))
}

/// Deletes the index file. The answer must be right at once, and the index must be rebuilt soon.
fn deleted(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    for entry in std::fs::read_dir(path.join("index"))?.flatten() {
        std::fs::remove_file(entry.path())?;
    }
    let figures = cold(directory, path, "deleted")?;
    let back = std::fs::read_dir(path.join("index"))?.count();
    let mut figures = figures.as_object().cloned().unwrap_or_default();
    figures.insert("deleted_index_back".into(), json!(back));
    Ok(Value::Object(figures))
}

/// Measures a query while there is no index.
fn exact(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    let queries = data::read_vectors(&directory.join("queries.f32"))?;
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let start = cpu();
    drawers.run_maintenance(MaintenanceKind::Reindex)?;
    let build = ms(since(start));
    for entry in std::fs::read_dir(path.join("index"))?.flatten() {
        std::fs::remove_file(entry.path())?;
    }
    let vector = queries.first().context("no query")?.clone();
    let start = cpu();
    drawers.query(&Query::vector(vector).k(K))?;
    let spent = ms(since(start));
    palace.close()?;
    Ok(json!({ "exact_ms": spent, "build_ms": build }))
}

fn single(
    directory: &Path,
    path: &Path,
    durability: Durability,
    name: &str,
) -> anyhow::Result<Value> {
    let vectors = data::read_vectors(&directory.join("queries.f32"))?;
    let palace = Palace::open(
        path,
        &OpenOptions {
            durability: Some(durability),
            ..OpenOptions::existing()
        },
    )?;
    let drawers = palace.collection("drawers", false)?;
    let mut walls = Vec::new();
    let start = cpu();
    for (at, vector) in vectors.iter().cycle().take(SINGLES).enumerate() {
        let begun = Instant::now();
        add_one(
            drawers.as_ref(),
            &format!("{name}-{}-{at}", std::process::id()),
            at,
            vector,
        )?;
        walls.push(ms(begun.elapsed()));
    }
    let spent = ms(since(start)) / SINGLES as f64;
    walls.sort_by(f64::total_cmp);
    palace.close()?;
    Ok(json!({
        format!("{name}_ms"): spent,
        format!("{name}_p50_wall_ms"): percentile(&walls, 0.5),
        format!("{name}_p99_wall_ms"): percentile(&walls, 0.99),
    }))
}

fn add_one(drawers: &dyn Collection, id: &str, at: usize, vector: &[f32]) -> anyhow::Result<()> {
    let metadata = json!({
        "wing": format!("wing-{}", at % 10), "room": format!("room-{}", at % 100), "year": 2026,
        "source_file": format!("singles/{id}.md"), "start_line": 1,
    });
    let text = format!(
        "a single drawer number {at} with a few words of text about balokar turmosvi and nura that makes \
                        it as long as the other documents of this benchmark are on average, which is what we want here"
    );
    let batch = Batch::new([id])
        .documents([text])
        .metadatas([MetadataPatch::from_json(&metadata)?])
        .embeddings([vector.to_vec()]);
    drawers.add(&batch)?;
    Ok(())
}

/// Measures the longest write transactions: a full batch, and the delete of as many drawers.
fn largest(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    let vectors = data::read_vectors(&directory.join("queries.f32"))?;
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let ids: Vec<String> = (0..MAX_BATCH_RECORDS)
        .map(|n| format!("large-{}-{n}", std::process::id()))
        .collect();
    let text = "balokar turmosvi nura ".repeat(MAX_BATCH_TEXT_BYTES / MAX_BATCH_RECORDS / 22);
    let batch =
        Batch::new(ids.clone())
            .documents(ids.iter().map(|id| {
                format!("{id} {text}")
                    .chars()
                    .take(text.len())
                    .collect::<String>()
            }))
            .metadatas(ids.iter().map(|id| {
                MetadataPatch::from(Metadata([("room".into(), id.as_str().into())].into()))
            }))
            .embeddings(vectors.iter().cycle().take(ids.len()).cloned());
    let begun = Instant::now();
    drawers.add(&batch)?;
    let add = ms(begun.elapsed());
    let begun = Instant::now();
    drawers.delete(&Selection::ids(ids))?;
    let delete = ms(begun.elapsed());
    palace.close()?;
    Ok(json!({ "largest_add_wall_ms": add, "largest_delete_wall_ms": delete }))
}

/// Lets eight processes add single drawers at the same time.
fn crowd(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    let started = Instant::now();
    let members: Vec<_> = (0..CROWD)
        .map(|_| {
            Command::new(std::env::current_exe()?)
                .args(["measure", "phase", "crowd-member"])
                .arg(directory)
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    let (mut longest, mut errors) = (0.0_f64, 0);
    for member in members {
        let output = member.wait_with_output()?;
        if !output.status.success() {
            errors += 1;
            continue;
        }
        let figures: Value = serde_json::from_slice(&output.stdout)?;
        longest = longest.max(
            figures
                .get("longest_ms")
                .and_then(Value::as_f64)
                .unwrap_or(f64::MAX),
        );
    }
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let total = palace
        .status(&loci_palace::status::Request::default())?
        .total;
    Ok(json!({
        "crowd_adds": CROWD * CROWD_ADDS, "crowd_errors": errors, "crowd_longest_ms": longest,
        "crowd_wall_s": started.elapsed().as_secs_f64(), "drawers_after": total,
    }))
}

fn crowd_member(directory: &Path, path: &Path) -> anyhow::Result<Value> {
    let vectors = data::read_vectors(&directory.join("queries.f32"))?;
    let palace = Palace::open(path, &OpenOptions::existing())?;
    let drawers = palace.collection("drawers", false)?;
    let mut longest = 0.0_f64;
    for (at, vector) in vectors.iter().cycle().take(CROWD_ADDS).enumerate() {
        let begun = Instant::now();
        add_one(
            drawers.as_ref(),
            &format!("crowd-{}-{at}", std::process::id()),
            at,
            vector,
        )?;
        longest = longest.max(ms(begun.elapsed()));
    }
    palace.close()?;
    Ok(json!({ "longest_ms": longest }))
}
