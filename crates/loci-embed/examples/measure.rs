//! Measures the cost of embedding: `cargo run --release -p loci-embed --example measure [MODEL]`.
//!
//! Reports processor time, not wall time. Passages have 128 tokens.
#![allow(
    clippy::disallowed_methods,
    reason = "tests and tools have no palace open whose locks could be lost, or mean to damage it"
)]
#![expect(clippy::print_stdout, reason = "it reports to a terminal")]

use std::time::Duration;

use loci_core::Embedder as _;
use loci_embed::{MiniLm, StaticEmbedder, TokenId, Tokenizer};
use rustix::time::{ClockId, clock_gettime};

fn cpu(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let start = now();
    work();
    now().saturating_sub(start)
}

/// The shortest of several runs, because other programs use the machine too.
fn best(runs: usize, mut work: impl FnMut()) -> f64 {
    (0..runs)
        .map(|_| cpu(&mut work).as_secs_f64())
        .fold(f64::INFINITY, f64::min)
}

/// Passages of exactly this many tokens, as the model counts them.
fn passages(count: usize, tokens: usize) -> Vec<String> {
    let tokenizer = Tokenizer::builtin();
    let mut state = 1_u64;
    let mut word = || loop {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Ranks decrease roughly as in prose.
        let share = (state >> 40) as f64 / f64::from(1 << 24);
        let id = 1996 + (share.powi(3) * 20_000.0) as TokenId;
        if let Some(word) = tokenizer.token(id)
            && word.is_ascii()
            && !word.starts_with("##")
        {
            return word;
        }
    };
    (0..count)
        .map(|_| (2..tokens).map(|_| word()).collect::<Vec<_>>().join(" "))
        .collect()
}

fn main() -> loci_core::Result<()> {
    println!(
        "vocabulary: {:.2} ms",
        1e3 * cpu(|| drop(Tokenizer::builtin().encode("a"))).as_secs_f64()
    );
    println!(
        "first static vector: {:.3} ms",
        1e3 * cpu(|| drop(StaticEmbedder::builtin().embed_one("hello"))).as_secs_f64()
    );
    let texts = passages(4_000, 130);
    let embedder = StaticEmbedder::builtin();
    let seconds = best(5, || {
        for text in &texts {
            std::hint::black_box(embedder.embed_one(text));
        }
    });
    println!(
        "static: {:.0} passages of 128 tokens per CPU second",
        4_000.0 / seconds
    );
    let seconds = best(5, || {
        for text in &texts {
            std::hint::black_box(embedder.tokens(text));
        }
    });
    println!(
        "tokens alone: {:.0} passages per CPU second",
        4_000.0 / seconds
    );
    let seconds = best(5, || {
        for id in 0..30_000 {
            std::hint::black_box(embedder.token_similarity(2_500, id));
        }
    });
    println!("token similarity: {:.0} ns", seconds / 30_000.0 * 1e9);

    let Some(path) = std::env::args_os().nth(1) else {
        return Ok(());
    };
    let mut model = None;
    let load = cpu(|| model = Some(MiniLm::open(&path)));
    let Some(model) = model.transpose()? else {
        return Ok(());
    };
    println!(
        "minilm: {} loaded in {:.0} ms CPU",
        model.identity(),
        1e3 * load.as_secs_f64()
    );
    let model = model.with_threads(1);
    for (count, tokens, runs) in [(1, 16, 20), (1, 128, 8), (8, 128, 3), (32, 128, 2)] {
        let texts = passages(count, tokens);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let seconds = best(runs, || {
            std::hint::black_box(model.embed(&texts).ok());
        });
        println!(
            "minilm {count} x {tokens} tokens: {:.1} ms CPU, {:.1} texts/s/core",
            1e3 * seconds,
            count as f64 / seconds
        );
    }
    Ok(())
}
