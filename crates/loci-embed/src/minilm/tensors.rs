//! The named tensors of a model file of any format. Names are those of the model's own safetensors
//! file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::onnx;

/// The first tensor of the model. A prefix of its name is a prefix of all names.
const FIRST: &str = "embeddings.word_embeddings.weight";

/// The number format of values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Precision {
    Single,
    Half,
    /// The name of a type that model weights do not have.
    Other(String),
}

impl Precision {
    /// Bytes per value.
    pub(super) fn width(&self) -> Option<usize> {
        match self {
            Self::Single => Some(4),
            Self::Half => Some(2),
            Self::Other(_) => None,
        }
    }
}

/// One tensor, in row order, little-endian.
#[derive(Debug, Clone)]
pub(super) struct Tensor<'a> {
    pub(super) shape: Vec<usize>,
    pub(super) precision: Precision,
    pub(super) bytes: Cow<'a, [u8]>,
}

/// All tensors of a file.
#[derive(Debug)]
pub(super) struct Tensors<'a> {
    by_name: BTreeMap<String, Tensor<'a>>,
    /// A hint for the error about a missing tensor.
    hint: &'static str,
}

impl<'a> Tensors<'a> {
    /// Parses either format.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        if onnx::looks_like(bytes) {
            return onnx::read(bytes);
        }
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| format!("its weights cannot be read: {error}"))?;
        let tensors = file.iter().map(|(name, view)| {
            let precision = match view.dtype() {
                Dtype::F32 => Precision::Single,
                Dtype::F16 => Precision::Half,
                other => Precision::Other(format!("{other:?}")),
            };
            let tensor = Tensor {
                shape: view.shape().to_vec(),
                precision,
                bytes: Cow::Borrowed(view.data()),
            };
            (name.to_owned(), tensor)
        });
        Ok(Self::new(tensors.collect(), ""))
    }

    /// Files that were saved with a head, or by sentence-transformers, have the encoder under a
    /// prefix such as `bert.`, which is removed here.
    pub(super) fn new(tensors: BTreeMap<String, Tensor<'a>>, hint: &'static str) -> Self {
        let prefix = tensors
            .keys()
            .filter_map(|name| name.strip_suffix(FIRST))
            .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
            .min_by_key(|prefix| prefix.len())
            .unwrap_or_default()
            .to_owned();
        let by_name = tensors
            .into_iter()
            .filter_map(|(name, tensor)| Some((name.strip_prefix(&prefix)?.to_owned(), tensor)))
            .collect();
        Self { by_name, hint }
    }

    pub(super) fn find(&self, name: &str) -> Result<&Tensor<'a>, String> {
        self.by_name
            .get(name)
            .ok_or_else(|| format!("tensor `{name}` is missing{}", self.hint))
    }

    /// The tensors of the encoder as a safetensors file.
    pub(super) fn to_safetensors(&self) -> Result<Vec<u8>, String> {
        let failed =
            |error: safetensors::SafeTensorError| format!("its weights cannot be written: {error}");
        let mut views = Vec::new();
        for (name, tensor) in &self.by_name {
            let dtype = match tensor.precision {
                Precision::Single => Dtype::F32,
                Precision::Half => Dtype::F16,
                Precision::Other(_) => continue,
            };
            if name.starts_with("embeddings.") || name.starts_with("encoder.") {
                let view = TensorView::new(dtype, tensor.shape.clone(), &tensor.bytes);
                views.push((name, view.map_err(failed)?));
            }
        }
        safetensors::serialize(views, None).map_err(failed)
    }
}
