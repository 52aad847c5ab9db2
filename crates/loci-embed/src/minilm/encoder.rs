//! The forward pass: embeddings, layers of attention and feed-forward, and the mean over the tokens
//! of a text.

use super::Shape;
use crate::kernels::{self, Packed};
use loci_text::TokenId;

/// Scale and shift of a layer norm.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// The weights of one layer.
#[derive(Debug)]
pub(super) struct Layer {
    /// Query, key and value, one after the other.
    pub(super) projections: Packed,
    pub(super) mixed: Packed,
    pub(super) mixed_norm: Norm,
    pub(super) inner: Packed,
    pub(super) outer: Packed,
    pub(super) outer_norm: Norm,
}

/// All weights.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(super) shape: Shape,
    pub(super) words: Vec<f32>,
    /// Position vectors plus the vector of the first segment.
    pub(super) positions: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<Layer>,
}

/// Buffers that are reused between batches.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    state: Vec<f32>,
    wide: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
    attention: Attention,
}

#[derive(Debug, Default)]
struct Attention {
    query: Vec<f32>,
    keys: Packed,
    values: Packed,
    scores: Vec<f32>,
    head: Vec<f32>,
}

impl Encoder {
    /// One vector of unit length per text.
    pub(crate) fn embed(
        &self,
        texts: &[&[TokenId]],
        scratch: &mut Scratch,
    ) -> Result<Vec<Vec<f32>>, String> {
        let hidden = self.shape.hidden;
        let mut rest = self.run(texts, scratch)?;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let (rows, after) = rest
                .split_at_checked(text.len() * hidden)
                .unwrap_or((rest, &[]));
            rest = after;
            let mut mean = vec![0.0; hidden];
            for row in rows.chunks_exact(hidden) {
                for (mean, value) in mean.iter_mut().zip(row) {
                    *mean += value;
                }
            }
            kernels::normalise(&mut mean);
            vectors.push(mean);
        }
        Ok(vectors)
    }

    /// The rows of the last layer for the tokens of all texts, text by text.
    pub(crate) fn run<'s>(
        &self,
        texts: &[&[TokenId]],
        scratch: &'s mut Scratch,
    ) -> Result<&'s [f32], String> {
        let Shape {
            hidden, epsilon, ..
        } = self.shape;
        self.look_up(texts, scratch)?;
        let rows = scratch.state.len() / hidden;
        resize(&mut scratch.wide, rows * 3 * hidden);
        resize(&mut scratch.mixed, rows * hidden);
        resize(&mut scratch.inner, rows * self.shape.intermediate);
        for layer in &self.layers {
            kernels::multiply(&scratch.state, &layer.projections, &mut scratch.wide);
            let mut first = 0;
            for text in texts {
                self.attend(
                    &scratch.wide,
                    first,
                    text.len(),
                    &mut scratch.mixed,
                    &mut scratch.attention,
                );
                first += text.len();
            }
            let out = scratch.wide.get_mut(..rows * hidden).unwrap_or_default();
            kernels::multiply(&scratch.mixed, &layer.mixed, out);
            let norm = &layer.mixed_norm;
            kernels::add_and_normalise(&mut scratch.state, out, &norm.weight, &norm.bias, epsilon);
            kernels::multiply(&scratch.state, &layer.inner, &mut scratch.inner);
            kernels::gelu(&mut scratch.inner);
            kernels::multiply(&scratch.inner, &layer.outer, out);
            let norm = &layer.outer_norm;
            kernels::add_and_normalise(&mut scratch.state, out, &norm.weight, &norm.bias, epsilon);
        }
        Ok(&scratch.state)
    }

    fn look_up(&self, texts: &[&[TokenId]], scratch: &mut Scratch) -> Result<(), String> {
        let Shape {
            hidden,
            epsilon,
            positions,
            ..
        } = self.shape;
        scratch.state.clear();
        scratch.mixed.clear();
        for text in texts {
            if text.len() > positions {
                return Err(format!(
                    "a text of {} tokens; the model reads {positions}",
                    text.len()
                ));
            }
            for &token in *text {
                let start = usize::from(token) * hidden;
                let row = self.words.get(start..start + hidden);
                let row = row.ok_or_else(|| format!("token {token} is not in its vocabulary"))?;
                scratch.state.extend_from_slice(row);
            }
            scratch
                .mixed
                .extend(self.positions.iter().take(text.len() * hidden));
        }
        let Norm { weight, bias } = &self.norm;
        kernels::add_and_normalise(&mut scratch.state, &scratch.mixed, weight, bias, epsilon);
        Ok(())
    }

    /// Attention of one text over all heads, from rows of query, key and value to rows of `mixed`.
    fn attend(
        &self,
        wide: &[f32],
        first: usize,
        length: usize,
        mixed: &mut [f32],
        memory: &mut Attention,
    ) {
        let Shape { hidden, heads, .. } = self.shape;
        let size = hidden / heads;
        let rows = wide
            .get(first * 3 * hidden..(first + length) * 3 * hidden)
            .unwrap_or_default();
        let at = |row: usize, column: usize| {
            rows.get(row * 3 * hidden + column)
                .copied()
                .unwrap_or_default()
        };
        let mixed = mixed
            .get_mut(first * hidden..(first + length) * hidden)
            .unwrap_or_default();
        let scale = 1.0 / (size as f32).sqrt();
        resize(&mut memory.scores, length * length);
        resize(&mut memory.head, length * size);
        for head in 0..heads {
            let column = head * size;
            memory.query.clear();
            for row in rows.chunks_exact(3 * hidden) {
                memory.query.extend(row.iter().skip(column).take(size));
            }
            memory
                .keys
                .fill(size, length, |row, i| at(row, hidden + column + i), |_| 0.0);
            memory.values.fill(
                length,
                size,
                |i, row| at(row, 2 * hidden + column + i),
                |_| 0.0,
            );
            kernels::multiply(&memory.query, &memory.keys, &mut memory.scores);
            kernels::softmax(&mut memory.scores, length, scale);
            kernels::multiply(&memory.scores, &memory.values, &mut memory.head);
            for (mixed, head) in mixed
                .chunks_exact_mut(hidden)
                .zip(memory.head.chunks_exact(size))
            {
                for (mixed, value) in mixed.iter_mut().skip(column).zip(head) {
                    *mixed = *value;
                }
            }
        }
    }
}

fn resize(buffer: &mut Vec<f32>, length: usize) {
    buffer.resize(length, 0.0);
}

#[cfg(test)]
mod tests;
