//! The data set of `bench store`: clustered vectors of low intrinsic dimension, documents of words
//! with Zipf's frequencies, metadata with keys that select 1 % and 10 %, and the exact answers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) const DIMENSION: usize = 384;
pub(crate) const QUERIES: usize = 200;
pub(crate) const K: usize = 10;
const LATENT: usize = 32;
const CLUSTERS: usize = 1_000;
const WORDS_PER_TEXT: usize = 30;
const VOCABULARY: usize = 20_000;

/// A summary of the data, which can be read without the data.
#[derive(Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) mean_text_bytes: usize,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) document: String,
    pub(crate) metadata: serde_json::Value,
}

/// The exact nearest rows per query: among all rows, in the 1 % and in the 10 %.
#[derive(Serialize, Deserialize)]
pub(crate) struct Exact {
    pub(crate) all: Vec<Vec<u32>>,
    pub(crate) one_percent: Vec<Vec<u32>>,
    pub(crate) ten_percent: Vec<Vec<u32>>,
}

/// Generates the data set unless it exists.
pub(crate) fn ensure(directory: &Path, count: usize) -> anyhow::Result<Summary> {
    let summary = directory.join("summary.json");
    if !summary.exists() {
        std::fs::create_dir_all(directory)?;
        let made = generate(directory, count)?;
        std::fs::write(&summary, serde_json::to_vec(&made)?)?;
    }
    Ok(serde_json::from_slice(&std::fs::read(&summary)?)?)
}

fn generate(directory: &Path, count: usize) -> anyhow::Result<Summary> {
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let shape = Shape::new(&mut rng);
    let vectors = shape.draw(count, &mut rng);
    let queries = shape.draw(QUERIES, &mut rng);
    write_vectors(&directory.join("vectors.f32"), &vectors)?;
    write_vectors(&directory.join("queries.f32"), &queries)?;
    let exact = Exact {
        all: nearest(&vectors, &queries, |_| true),
        one_percent: nearest(&vectors, &queries, |row| row % 100 == 7),
        ten_percent: nearest(&vectors, &queries, |row| row % 10 == 3),
    };
    std::fs::write(directory.join("exact.json"), serde_json::to_vec(&exact)?)?;
    let words = vocabulary(&mut rng);
    let mut output = BufWriter::new(File::create(directory.join("records.jsonl"))?);
    let mut bytes = 0;
    for row in 0..count {
        let document = text(&words, row, &mut rng);
        bytes += document.len();
        let metadata = json!({
            "wing": format!("wing-{}", row % 10),
            "room": format!("room-{}", row % 100),
            "source_file": format!("notes/{}.md", row / 20),
            "start_line": row % 20 * 10 + 1,
            "year": 2016 + row % 11,
        });
        serde_json::to_writer(
            &mut output,
            &Record {
                id: format!("d{row}"),
                document,
                metadata,
            },
        )?;
        output.write_all(b"\n")?;
    }
    output.flush()?;
    Ok(Summary {
        mean_text_bytes: bytes / count.max(1),
    })
}

struct Shape {
    projection: Vec<f32>,
    centres: Vec<f32>,
}

impl Shape {
    fn new(rng: &mut fastrand::Rng) -> Self {
        Self {
            projection: (0..LATENT * DIMENSION).map(|_| gauss(rng)).collect(),
            centres: (0..CLUSTERS * LATENT).map(|_| gauss(rng)).collect(),
        }
    }

    fn draw(&self, count: usize, rng: &mut fastrand::Rng) -> Vec<f32> {
        let mut vectors = Vec::with_capacity(count * DIMENSION);
        for _ in 0..count {
            let centre = self
                .centres
                .chunks_exact(LATENT)
                .nth(rng.usize(..CLUSTERS))
                .unwrap_or_default();
            let mut vector = vec![0.0_f32; DIMENSION];
            for (latent, row) in centre.iter().zip(self.projection.chunks_exact(DIMENSION)) {
                let weight = latent + 0.6 * gauss(rng);
                for (number, step) in vector.iter_mut().zip(row) {
                    *number += weight * step;
                }
            }
            for number in &mut vector {
                *number += 0.4 * gauss(rng);
            }
            let norm = vector
                .iter()
                .map(|number| number * number)
                .sum::<f32>()
                .sqrt();
            vectors.extend(vector.iter().map(|number| number / norm));
        }
        vectors
    }
}

fn gauss(rng: &mut fastrand::Rng) -> f32 {
    let radius = (-2.0 * (1.0 - rng.f32()).ln()).sqrt();
    radius * (std::f32::consts::TAU * rng.f32()).cos()
}

fn nearest(
    vectors: &[f32],
    queries: &[f32],
    allowed: impl Fn(usize) -> bool + Sync,
) -> Vec<Vec<u32>> {
    queries
        .chunks_exact(DIMENSION)
        .map(|query| {
            let mut scored: Vec<(f32, u32)> = vectors
                .chunks_exact(DIMENSION)
                .enumerate()
                .filter(|(row, _)| allowed(*row))
                .map(|(row, vector)| (-dot(query, vector), row as u32))
                .collect();
            let k = K.min(scored.len());
            if k < scored.len() {
                scored.select_nth_unstable_by(k, |a, b| a.0.total_cmp(&b.0));
            }
            scored.truncate(k);
            scored.into_iter().map(|(_, row)| row).collect()
        })
        .collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for (left, right) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for ((sum, x), y) in sums.iter_mut().zip(left).zip(right) {
            *sum += x * y;
        }
    }
    sums.iter().sum()
}

fn vocabulary(rng: &mut fastrand::Rng) -> Vec<String> {
    let syllables = [
        "ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "zu", "den", "kar", "lin", "mos",
        "pel", "tur",
    ];
    (0..VOCABULARY)
        .map(|_| {
            (0..rng.usize(1..4))
                .chain([9])
                .filter_map(|_| rng.choice(syllables))
                .collect()
        })
        .collect()
}

/// Every second text holds the word `common`.
fn text(words: &[String], row: usize, rng: &mut fastrand::Rng) -> String {
    let mut chosen: Vec<&str> = (0..WORDS_PER_TEXT)
        .filter_map(|_| {
            let rank = (VOCABULARY as f32).powf(rng.f32()) as usize - 1;
            words.get(rank).map(String::as_str)
        })
        .collect();
    if row.is_multiple_of(2) {
        chosen.push("common");
    }
    chosen.join(" ")
}

fn write_vectors(path: &Path, vectors: &[f32]) -> anyhow::Result<()> {
    let mut output = BufWriter::new(File::create(path)?);
    for number in vectors {
        output.write_all(&number.to_le_bytes())?;
    }
    Ok(output.flush()?)
}

/// Reads a file of vectors.
pub(crate) fn read_vectors(path: &Path) -> anyhow::Result<Vec<Vec<f32>>> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let numbers: Vec<f32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|chunk| f32::from_le_bytes(*chunk))
        .collect();
    Ok(numbers
        .chunks_exact(DIMENSION)
        .map(<[f32]>::to_vec)
        .collect())
}

/// Reads the exact answers.
pub(crate) fn read_exact(directory: &Path) -> anyhow::Result<Exact> {
    Ok(serde_json::from_slice(&std::fs::read(
        directory.join("exact.json"),
    )?)?)
}

/// The mean share of the exact answers that were found.
pub(crate) fn recall(found: &[Vec<String>], exact: &[Vec<u32>]) -> f64 {
    let (mut hits, mut total) = (0, 0);
    for (found, exact) in found.iter().zip(exact) {
        total += exact.len();
        hits += exact
            .iter()
            .filter(|row| found.contains(&format!("d{row}")))
            .count();
    }
    hits as f64 / f64::from(u32::try_from(total.max(1)).unwrap_or(1))
}
