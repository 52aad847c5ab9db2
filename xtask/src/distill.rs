//! Computes the static table from the weights of all-MiniLM-L6-v2. The result is the same in every
//! run, byte for byte.
//!
//! Every token of the vocabulary is put through the model alone, between the two special tokens.
//! Its vector is two thirds of the last layer's row of the token itself and one sixth of each of
//! the two rows around it. That is the mean over all three, as the model pools, and the token's own
//! row, in equal parts. Its weight grows with its rank in the vocabulary, which is sorted by
//! frequency from the first whole word on. The mean of all words by frequency is stored separately.
//! NOTICE in `crates/loci-embed/data` gives the figures behind each choice.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use loci_embed::{MiniLm, Table, TokenId, Tokenizer, write_table};

use crate::root;

/// The first token that is a whole word: `the`. Single characters and reserved entries come before.
const FIRST_WORD: TokenId = 1996;
/// The first single character outside ASCII.
const FIRST_LETTER_BEYOND_ASCII: TokenId = 1064;
/// Ranks of single characters, which the vocabulary lists by code point.
const RANK_OF_DIGITS: f32 = 1_000.0;
const RANK_BEYOND_ASCII: f32 = 3_000.0;
/// The special tokens around a text.
const BEGIN: TokenId = 101;
const END: TokenId = 102;
/// Tokens that go through the model together.
const BATCH: usize = 128;
/// The rank at which a token weighs one half.
const HALF_WEIGHT_RANK: f32 = 100.0;

/// Writes `data/static-384.bin` of `loci-embed` and prints whether it changed.
pub(crate) fn run(model: &Path) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return run_optimised(model);
    }
    let model = MiniLm::open(model)?;
    let tokenizer = Tokenizer::builtin();
    let count = TokenId::try_from(tokenizer.len()).context("the vocabulary is too long")?;
    let rows = rows(&model, count)?;
    let mean = mean(&rows);
    let weighted = rows.iter().zip(0..count).map(|(row, token)| {
        let rank = rank(token, tokenizer.token(token).unwrap_or_default());
        (rank / (rank + HALF_WEIGHT_RANK), row.as_slice())
    });
    let bytes = write_table(&mean, weighted);
    let table = Table::new(&bytes)?;
    table.verify()?;
    let path = root().join("crates/loci-embed/data/static-384.bin");
    let before = std::fs::read(&path).ok();
    let verdict = if before.as_deref() == Some(&bytes) {
        "unchanged"
    } else {
        "changed"
    };
    std::fs::write(&path, &bytes).with_context(|| format!("cannot write `{}`", path.display()))?;
    println!(
        "{verdict}: {} tokens, {} bytes, digest {}",
        table.tokens(),
        bytes.len(),
        table.digest()
    );
    Ok(())
}

/// Starts the optimised build of this command. Without optimisations the model takes an hour.
fn run_optimised(model: &Path) -> anyhow::Result<()> {
    let model = std::path::absolute(model)?;
    let status = Command::new(env!("CARGO"))
        .args([
            "run",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--",
            "distill",
        ])
        .arg(model)
        .current_dir(root())
        .status()?;
    ensure!(status.success(), "the optimised build failed");
    Ok(())
}

/// One row per token. The rows do not depend on threads or on the other texts of a batch.
fn rows(model: &MiniLm, count: TokenId) -> anyhow::Result<Vec<Vec<f32>>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let tokens: Vec<TokenId> = (0..count).collect();
    let share = tokens.len().div_ceil(threads).max(1);
    let parts: Vec<anyhow::Result<Vec<Vec<f32>>>> = std::thread::scope(|scope| {
        let work = |tokens: &[TokenId]| {
            let batches: anyhow::Result<Vec<_>> = tokens
                .chunks(BATCH)
                .map(|batch| vectors(model, batch))
                .collect();
            batches.map(|batches| batches.into_iter().flatten().collect())
        };
        let workers: Vec<_> = tokens
            .chunks(share)
            .map(|tokens| scope.spawn(move || work(tokens)))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| bail!("a thread panicked")))
            .collect()
    });
    let parts: anyhow::Result<Vec<_>> = parts.into_iter().collect();
    Ok(parts?.into_iter().flatten().collect())
}

fn vectors(model: &MiniLm, tokens: &[TokenId]) -> anyhow::Result<Vec<Vec<f32>>> {
    let texts: Vec<[TokenId; 3]> = tokens.iter().map(|&token| [BEGIN, token, END]).collect();
    let texts: Vec<&[TokenId]> = texts.iter().map(<[TokenId; 3]>::as_slice).collect();
    let hidden = model.hidden(&texts)?;
    ensure!(
        hidden.iter().all(|value| value.is_finite()),
        "the model gave values that are not numbers"
    );
    let size = hidden.len() / (3 * tokens.len().max(1));
    let of_text = |rows: &[f32]| {
        let (begin, rest) = rows.split_at(size);
        let (own, end) = rest.split_at(size);
        let around = begin
            .iter()
            .zip(end)
            .map(|(begin, end)| (begin + end) / 6.0);
        own.iter()
            .zip(around)
            .map(|(own, around)| own * 2.0 / 3.0 + around)
            .collect()
    };
    Ok(hidden.chunks_exact(3 * size.max(1)).map(of_text).collect())
}

/// The mean of all words, each counted by its frequency under Zipf's law.
fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0_f64; rows.first().map_or(0, Vec::len)];
    let mut total = 0.0;
    for (row, rank) in rows.iter().skip(usize::from(FIRST_WORD)).zip(1_u32..) {
        let frequency = 1.0 / f64::from(rank);
        total += frequency;
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += frequency * f64::from(*value);
        }
    }
    sum.into_iter().map(|sum| (sum / total) as f32).collect()
}

fn rank(token: TokenId, text: &str) -> f32 {
    if token >= FIRST_WORD {
        f32::from(token - FIRST_WORD + 1)
    } else if token >= FIRST_LETTER_BEYOND_ASCII {
        RANK_BEYOND_ASCII
    } else if text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        RANK_OF_DIGITS
    } else {
        1.0
    }
}
