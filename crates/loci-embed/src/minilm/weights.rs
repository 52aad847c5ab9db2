//! Builds an [`Encoder`] from the tensors of a file. Names, types and shapes are checked, and the
//! error names the tensor that is missing or wrong.

use std::fmt;

use super::digest::Digest;
use super::encoder::{Encoder, Layer, Norm};
use super::tensors::{Precision, Tensors};
use crate::kernels::{self, Packed};

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

    /// Parses a `config.json`.
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

/// An encoder and the digest of its weights.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) encoder: Encoder,
    pub(super) digest: String,
}

/// Builds the encoder.
pub(super) fn load(tensors: &Tensors<'_>, shape: Shape) -> Result<Weights, String> {
    let mut tensors = Reader {
        tensors,
        digest: Digest::default(),
    };
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
    Ok(Weights {
        encoder: Encoder {
            shape,
            words,
            positions: places,
            norm,
            layers,
        },
        digest: tensors.digest.finish(),
    })
}

/// Takes tensors one by one, checks them and adds them to the digest.
struct Reader<'a> {
    tensors: &'a Tensors<'a>,
    digest: Digest,
}

impl Reader<'_> {
    /// The values of a tensor, in row order.
    fn floats(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.tensors.find(name)?;
        if tensor.shape != shape {
            return Err(format!(
                "tensor `{name}` is {:?}, expected {shape:?}",
                tensor.shape
            ));
        }
        let count = shape
            .iter()
            .try_fold(1_usize, |product, &side| product.checked_mul(side));
        let values: Vec<f32> = match &tensor.precision {
            Precision::Single => (tensor.bytes.as_chunks().0.iter())
                .map(|&bytes| f32::from_le_bytes(bytes))
                .collect(),
            Precision::Half => (tensor.bytes.as_chunks().0.iter())
                .map(|&bytes| kernels::half(u16::from_le_bytes(bytes)))
                .collect(),
            Precision::Other(other) => {
                return Err(format!(
                    "tensor `{name}` is of type {other}, expected F32 or F16"
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
                "tensor `{name}` contains a value that is not a number"
            ));
        }
        self.digest.name(name, shape);
        match tensor.precision {
            Precision::Half => self.digest.halves(&tensor.bytes),
            Precision::Single | Precision::Other(_) => self.digest.singles(&values),
        }
        Ok(values)
    }

    fn norm(&mut self, name: &str, length: usize) -> Result<Norm, String> {
        Ok(Norm {
            weight: self.floats(&format!("{name}.weight"), &[length])?,
            bias: self.floats(&format!("{name}.bias"), &[length])?,
        })
    }

    /// One or more linear maps of the same input, packed together.
    fn dense(&mut self, names: &[String], inputs: usize, outputs: usize) -> Result<Packed, String> {
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

/// Whether all values are finite.
fn all_finite(values: &[f32]) -> bool {
    let sizes = values.iter().map(|value| value.to_bits() & 0x7fff_ffff);
    sizes.fold(0, u32::max) < f32::INFINITY.to_bits()
}
