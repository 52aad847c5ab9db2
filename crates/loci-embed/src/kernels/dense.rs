//! Matrix product with weights that are packed once.

use super::fma;

/// Columns per panel: two AVX2 registers.
const WIDTH: usize = 16;
/// Rows per tile. With two columns of registers each, twelve accumulators stay in registers.
const HEIGHT: usize = 6;
/// Tiles that share a pass over the weights while the weights are in the second-level cache.
const TILES: usize = 8;

/// A weight matrix in the order in which the product reads it: panels of sixteen outputs, each with
/// all inputs in turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Packed {
    inputs: usize,
    outputs: usize,
    panels: Vec<[f32; WIDTH]>,
    bias: Vec<[f32; WIDTH]>,
}

impl Packed {
    /// Packs `value(output, input)` with one bias per output.
    pub(crate) fn new(
        inputs: usize,
        outputs: usize,
        value: impl Fn(usize, usize) -> f32,
        bias: impl Fn(usize) -> f32,
    ) -> Self {
        let mut packed = Self::default();
        packed.fill(inputs, outputs, value, bias);
        packed
    }

    /// Does the same as [`Packed::new`], and reuses the memory.
    pub(crate) fn fill(
        &mut self,
        inputs: usize,
        outputs: usize,
        value: impl Fn(usize, usize) -> f32,
        bias: impl Fn(usize) -> f32,
    ) {
        self.inputs = inputs;
        self.outputs = outputs;
        self.panels.clear();
        self.bias.clear();
        for first in (0..outputs).step_by(WIDTH) {
            let width = WIDTH.min(outputs - first);
            let lanes = |of: &dyn Fn(usize) -> f32| {
                let mut lanes = [0.0; WIDTH];
                for (lane, output) in lanes.iter_mut().take(width).zip(first..) {
                    *lane = of(output);
                }
                lanes
            };
            for input in 0..inputs {
                let lane = lanes(&|output| value(output, input));
                self.panels.push(lane);
            }
            self.bias.push(lanes(&bias));
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
pub(super) fn multiply<const FUSED: bool>(rows: &[f32], weights: &Packed, out: &mut [f32]) {
    let (inputs, outputs) = (weights.inputs, weights.outputs);
    if inputs == 0 || outputs == 0 {
        return;
    }
    let mut block = Vec::with_capacity(TILES * inputs);
    for (rows, out) in rows
        .chunks(inputs * HEIGHT * TILES)
        .zip(out.chunks_mut(outputs * HEIGHT * TILES))
    {
        block.clear();
        for rows in rows.chunks(inputs * HEIGHT) {
            interleave(rows, inputs, &mut block);
        }
        for (column, (panel, bias)) in weights
            .panels
            .chunks_exact(inputs)
            .zip(&weights.bias)
            .enumerate()
        {
            for (tile, out) in block
                .chunks_exact(inputs)
                .zip(out.chunks_mut(outputs * HEIGHT))
            {
                let sums = product::<FUSED>(tile, panel, bias);
                for (out, sums) in out.chunks_exact_mut(outputs).zip(&sums) {
                    for (out, sum) in out.iter_mut().skip(column * WIDTH).zip(sums) {
                        *out = *sum;
                    }
                }
            }
        }
    }
}

/// Up to six rows, interleaved by input. Missing rows count as zero.
fn interleave(rows: &[f32], inputs: usize, block: &mut Vec<[f32; HEIGHT]>) {
    let start = block.len();
    block.resize(start + inputs, [0.0; HEIGHT]);
    for (place, row) in rows.chunks_exact(inputs).enumerate() {
        for (tile, value) in block.iter_mut().skip(start).zip(row) {
            if let Some(slot) = tile.get_mut(place) {
                *slot = *value;
            }
        }
    }
}

#[expect(
    clippy::inline_always,
    reason = "inlined into functions compiled for AVX2"
)]
#[inline(always)]
fn product<const FUSED: bool>(
    tile: &[[f32; HEIGHT]],
    panel: &[[f32; WIDTH]],
    bias: &[f32; WIDTH],
) -> [[f32; WIDTH]; HEIGHT] {
    let mut sums = [*bias; HEIGHT];
    for (values, weights) in tile.iter().zip(panel) {
        for (sums, value) in sums.iter_mut().zip(values) {
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = fma::<FUSED>(*value, *weight, *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::Packed;
    use crate::kernels::multiply;

    #[test]
    fn product_equals_the_textbook_for_every_remainder() {
        for (rows, inputs, outputs) in [
            (1, 1, 1),
            (5, 7, 15),
            (6, 16, 16),
            (7, 33, 17),
            (49, 5, 40),
            (100, 3, 2),
        ] {
            let a: Vec<f32> = (0..rows * inputs)
                .map(|i| ((i * 7) % 13) as f32 - 6.0)
                .collect();
            let w = |o: usize, i: usize| ((o * 5 + i * 3) % 11) as f32 - 5.0;
            let packed = Packed::new(inputs, outputs, w, |o| o as f32);
            let mut out = vec![f32::NAN; rows * outputs];
            multiply(&a, &packed, &mut out);
            for r in 0..rows {
                for o in 0..outputs {
                    let expected: f32 = (0..inputs)
                        .map(|i| a[r * inputs + i] * w(o, i))
                        .sum::<f32>()
                        + o as f32;
                    assert!((out[r * outputs + o] - expected).abs() < 1e-3);
                }
            }
        }
    }
}
