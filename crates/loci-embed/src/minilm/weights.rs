//! From the bytes of a safetensors file to an [`Encoder`]. Names, types and shapes are all checked; a tensor
//! that is not there or not as expected is named in the error.

use std::fmt;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::encoder::{Encoder, Layer, Norm};
use crate::kernels::Packed;

/// Sizes of a BERT encoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shape {
    pub(crate) hidden: usize,
    pub(crate) intermediate: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) epsilon: f32,
}

impl Shape {
    /// all-MiniLM-L6-v2.
    pub(crate) const MINILM: Self = Self {
        hidden: 384,
        intermediate: 1536,
        heads: 12,
        layers: 6,
        vocabulary: 30_522,
        positions: 512,
        epsilon: 1e-12,
    };

    /// Reads a `config.json`.
    pub(crate) fn parse(config: &[u8]) -> Result<Self, String> {
        let config: Config = serde_json::from_slice(config)
            .map_err(|error| format!("its `config.json` cannot be read: {error}"))?;
        if config.hidden_act != "gelu" {
            return Err(format!(
                "its activation is `{}`, not `gelu`",
                config.hidden_act
            ));
        }
        if config.num_attention_heads == 0
            || !config
                .hidden_size
                .is_multiple_of(config.num_attention_heads)
        {
            return Err("its `config.json` has a wrong number of heads".into());
        }
        Ok(Self {
            hidden: config.hidden_size,
            intermediate: config.intermediate_size,
            heads: config.num_attention_heads,
            layers: config.num_hidden_layers,
            vocabulary: config.vocab_size,
            positions: config.max_position_embeddings,
            epsilon: config.layer_norm_eps,
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} layers of {} with {} heads, {} tokens",
            self.layers, self.hidden, self.heads, self.vocabulary
        )
    }
}

#[derive(serde::Deserialize)]
struct Config {
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    layer_norm_eps: f32,
    hidden_act: String,
}

/// Builds the encoder from the bytes of a safetensors file.
pub(crate) fn load(bytes: &[u8], shape: Shape) -> Result<Encoder, String> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| format!("its weights cannot be read: {error}"))?;
    let tensors = Tensors { file };
    let Shape {
        hidden,
        intermediate,
        vocabulary,
        positions,
        ..
    } = shape;
    let words = tensors.floats("embeddings.word_embeddings.weight", &[vocabulary, hidden])?;
    let mut places = tensors.floats(
        "embeddings.position_embeddings.weight",
        &[positions, hidden],
    )?;
    let segments = tensors.floats("embeddings.token_type_embeddings.weight", &[2, hidden])?;
    for place in places.chunks_exact_mut(hidden) {
        for (place, segment) in place.iter_mut().zip(&segments) {
            *place += segment;
        }
    }
    let norm = tensors.norm("embeddings.LayerNorm", hidden)?;
    let mut layers = Vec::new();
    for layer in 0..shape.layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        layers.push(Layer {
            projections: tensors.dense(
                &["query", "key", "value"].map(|part| name(&format!("attention.self.{part}"))),
                hidden,
                hidden,
            )?,
            mixed: tensors.dense(&[name("attention.output.dense")], hidden, hidden)?,
            mixed_norm: tensors.norm(&name("attention.output.LayerNorm"), hidden)?,
            inner: tensors.dense(&[name("intermediate.dense")], hidden, intermediate)?,
            outer: tensors.dense(&[name("output.dense")], intermediate, hidden)?,
            outer_norm: tensors.norm(&name("output.LayerNorm"), hidden)?,
        });
    }
    Ok(Encoder {
        shape,
        words,
        positions: places,
        norm,
        layers,
    })
}

struct Tensors<'a> {
    file: SafeTensors<'a>,
}

impl Tensors<'_> {
    fn find(&self, name: &str) -> Result<TensorView<'_>, String> {
        // Files saved with a head on top carry the encoder under a prefix.
        self.file
            .tensor(name)
            .or_else(|_| self.file.tensor(&format!("bert.{name}")))
            .map_err(|_| format!("tensor `{name}` is missing"))
    }

    /// A tensor's values, row by row.
    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.find(name)?;
        if tensor.shape() != shape {
            return Err(format!(
                "tensor `{name}` is {:?}, expected {shape:?}",
                tensor.shape()
            ));
        }
        let count = shape
            .iter()
            .try_fold(1_usize, |product, &side| product.checked_mul(side));
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => tensor
                .data()
                .as_chunks::<4>()
                .0
                .iter()
                .map(|&bytes| f32::from_le_bytes(bytes))
                .collect(),
            Dtype::F16 => tensor
                .data()
                .as_chunks::<2>()
                .0
                .iter()
                .map(|&bytes| half(u16::from_le_bytes(bytes)))
                .collect(),
            other => {
                return Err(format!(
                    "tensor `{name}` is of type {other:?}, expected F32 or F16"
                ));
            }
        };
        if Some(values.len()) != count {
            return Err(format!(
                "tensor `{name}` holds {} values, expected {shape:?}",
                values.len()
            ));
        }
        if !all_finite(&values) {
            return Err(format!(
                "tensor `{name}` holds a value that is not a number"
            ));
        }
        Ok(values)
    }

    fn norm(&self, name: &str, length: usize) -> Result<Norm, String> {
        Ok(Norm {
            weight: self.floats(&format!("{name}.weight"), &[length])?,
            bias: self.floats(&format!("{name}.bias"), &[length])?,
        })
    }

    /// One or more linear maps of the same input, packed one after the other.
    fn dense(&self, names: &[String], inputs: usize, outputs: usize) -> Result<Packed, String> {
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for name in names {
            weights.extend(self.floats(&format!("{name}.weight"), &[outputs, inputs])?);
            biases.extend(self.floats(&format!("{name}.bias"), &[outputs])?);
        }
        Ok(Packed::new(
            inputs,
            outputs * names.len(),
            |output, input| {
                weights
                    .get(output * inputs + input)
                    .copied()
                    .unwrap_or_default()
            },
            |output| biases.get(output).copied().unwrap_or_default(),
        ))
    }
}

/// Whether no value is infinite or not a number.
fn all_finite(values: &[f32]) -> bool {
    let sizes = values.iter().map(|value| value.to_bits() & 0x7fff_ffff);
    sizes.fold(0, u32::max) < f32::INFINITY.to_bits()
}

/// A half-precision number. Shifted into place its exponent is 112 too small, which one exact product mends.
fn half(bits: u16) -> f32 {
    let size = f32::from_bits(u32::from(bits & 0x7fff) << 13) * 2.0_f32.powi(112);
    // The exponent that is kept for infinity and for what is not a number.
    let size = if size < 65_536.0 { size } else { f32::NAN };
    f32::from_bits(size.to_bits() | u32::from(bits & 0x8000) << 16)
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn half_precision_numbers_are_read_exactly() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x7bff, 65_504.0),
            (0x0000, 0.0),
        ] {
            assert!(
                (half(bits) - value).abs() <= f32::EPSILON * value.abs(),
                "{bits:#x}"
            );
        }
        assert!(half(0x7c00).is_nan() && half(0x7e00).is_nan() && half(0xfc00).is_nan());
        assert!(half(0x8000).is_sign_negative());
    }
}
