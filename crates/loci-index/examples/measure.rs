//! Measures CPU time and recall of the index on generated data:
//! `cargo run --release -p loci-index --example measure [rows] [dimension] [queries]`
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![expect(clippy::print_stdout, reason = "a program whose purpose is a table")]
#![expect(
    clippy::indexing_slicing,
    reason = "measures; never part of the product"
)]

#[path = "../tests/it/data.rs"]
mod data;

use std::collections::HashSet;
use std::time::Duration;

use data::{Shape, Source, bytes};
use loci_core::Metric;
use loci_index::{BuildSpec, Builder, Identity, QueryVector, SlotSet, TopK, VectorIndex, open};
use rustix::time::{ClockId, clock_gettime};

const K: usize = 10;

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

fn spent<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = cpu();
    let outcome = work();
    (cpu().saturating_sub(start).as_secs_f64() * 1e3, outcome)
}

struct Set {
    vectors: Vec<f32>,
    dimension: usize,
    queries: Vec<QueryVector>,
}

impl Set {
    fn vector(&self, slot: usize) -> &[f32] {
        &self.vectors[slot * self.dimension..][..self.dimension]
    }

    fn top(&self, query: &QueryVector, rows: impl Iterator<Item = u64>) -> HashSet<u64> {
        let mut top = TopK::new(K);
        for row in rows {
            top.offer(query.distance(self.vector(row as usize - 1)), row);
        }
        top.into_sorted().into_iter().map(|(_, row)| row).collect()
    }
}

fn report(
    label: &str,
    set: &Set,
    index: &dyn VectorIndex,
    wanted: usize,
    allowed: Option<&SlotSet>,
) {
    let masked = SlotSet::new(0);
    let ask = |query| index.candidates(query, wanted, allowed, &masked);
    let (time, answers) = spent(|| set.queries.iter().map(ask).collect::<Vec<_>>());
    let (mut found, mut expected) = (0_u32, 0_u32);
    for (query, answer) in set.queries.iter().zip(answers) {
        let exact = match allowed {
            None => set.top(query, index.rows().iter().copied()),
            Some(slots) => set.top(query, slots.iter().map(|slot| slot as u64 + 1)),
        };
        let answer = set.top(query, answer.rows.iter().copied());
        found += exact.intersection(&answer).count() as u32;
        expected += exact.len() as u32;
    }
    let mean = time / set.queries.len() as f64;
    let recall = f64::from(found) / f64::from(expected);
    println!("  {label:<18} wanted {wanted:>4}  {mean:>7.3} ms  recall@{K} {recall:.4}");
}

fn measure(
    shape: Shape,
    metric: Metric,
    rows: usize,
    dimension: usize,
    queries: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut source = Source::new(shape, dimension, 1);
    let mut vectors = Vec::with_capacity(rows * dimension);
    for _ in 0..rows {
        vectors.extend(source.draw());
    }
    let queries = (0..queries)
        .map(|_| QueryVector::new(metric, &source.draw()))
        .collect();
    let set = Set {
        vectors,
        dimension,
        queries,
    };
    let dir = tempfile::tempdir()?;
    let spec = BuildSpec {
        identity: Identity {
            palace: [1; 16],
            generation: 1,
            collection: 1,
        },
        covered: rows as u64,
        dimension,
        metric,
    };
    let stored: Vec<Vec<u8>> = (0..rows).map(|slot| bytes(set.vector(slot))).collect();
    let sample = &set.vectors[..dimension * rows.min(4096)];
    let (build, registration) = spent(|| {
        let mut builder = Builder::create(dir.path(), spec, sample)?;
        for (row, vector) in (1..).zip(&stored) {
            builder.push(row, vector)?;
        }
        builder.finish()
    });
    let registration = registration?;
    drop(stored);
    let (opening, index) = spent(|| open(dir.path(), &registration));
    let index = index?;
    println!(
        "{shape:?} {metric:?} {rows} x {dimension}: build {build:.0} ms, open {opening:.1} ms"
    );
    if !index.is_warm() {
        report("cold", &set, &*index, 1000, None);
        let (warming, outcome) = spent(|| index.warm());
        outcome?;
        println!("  warm() {warming:.1} ms");
    }
    report("warm", &set, &*index, 30, None);
    report("warm", &set, &*index, 50, None);
    let mut random = fastrand::Rng::with_seed(3);
    for (label, percent) in [("1 %", 1), ("10 %", 10), ("50 %", 50)] {
        let mut slots = SlotSet::new(rows);
        (0..rows)
            .filter(|_| random.u32(..100) < percent)
            .for_each(|slot| {
                slots.insert(slot);
            });
        report(
            &format!("warm, filter {label}"),
            &set,
            &*index,
            50,
            Some(&slots),
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let number = |at: usize, default| numbers.get(at).copied().unwrap_or(default);
    let (rows, dimension, queries) = (number(0, 100_000), number(1, 384), number(2, 200));
    for shape in [
        Shape::Clusters(1000),
        Shape::Clusters(100),
        Shape::Latent(32),
        Shape::Sparse(40),
    ] {
        measure(shape, Metric::Cosine, rows, dimension, queries)?;
    }
    for metric in [Metric::L2, Metric::Ip] {
        measure(Shape::Clusters(1000), metric, rows, dimension, queries)?;
    }
    Ok(())
}
