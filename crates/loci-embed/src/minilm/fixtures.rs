//! The tiny model of the tests, in every format.

use std::io::Write as _;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use super::Shape;
use crate::kernels;

pub(crate) const CONFIG: &[u8] = include_bytes!("../../tests/it/fixtures/tiny/config.json");
pub(crate) const FULL: &[u8] = include_bytes!("../../tests/it/fixtures/tiny/model.safetensors");
pub(crate) const HALF: &[u8] = include_bytes!("../../tests/it/fixtures/tiny/half.safetensors");

pub(crate) fn shape() -> Shape {
    Shape::parse(CONFIG).unwrap()
}

struct Named {
    name: String,
    shape: Vec<usize>,
    values: Vec<f32>,
}

fn tensors(change: impl Fn(f32) -> f32) -> Vec<Named> {
    let file = SafeTensors::deserialize(FULL).unwrap();
    let mut tensors: Vec<Named> = file
        .iter()
        .filter(|(_, view)| view.dtype() == Dtype::F32)
        .map(|(name, view)| Named {
            name: name.to_owned(),
            shape: view.shape().to_vec(),
            values: (view.data().as_chunks().0.iter())
                .map(|&bytes| change(f32::from_le_bytes(bytes)))
                .collect(),
        })
        .collect();
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    tensors
}

fn singles(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn halves(values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * 2];
    kernels::round_to_halves(values, &mut bytes);
    bytes
}

/// The model with every weight multiplied, in f32 or rounded to f16, with names under a prefix.
pub(crate) fn scaled(factor: f32, dtype: Dtype, prefix: &str) -> Vec<u8> {
    let tensors = tensors(|value| value * factor);
    let tensors: Vec<_> = tensors
        .into_iter()
        .map(|tensor| {
            let bytes = match dtype {
                Dtype::F16 => halves(&tensor.values),
                _ => singles(&tensor.values),
            };
            (format!("{prefix}{}", tensor.name), tensor.shape, bytes)
        })
        .collect();
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| (name, TensorView::new(dtype, shape.clone(), bytes).unwrap()));
    safetensors::serialize(views, None).unwrap()
}

/// How an ONNX file is written.
#[expect(clippy::struct_excessive_bools, reason = "they are independent")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Export {
    pub(crate) factor: f32,
    pub(crate) prefix: &'static str,
    /// Linear weights are transposed and have numbers as names, as from exporters that fold
    /// constants.
    pub(crate) folded: bool,
    /// Values are raw bytes instead of a list of floats.
    pub(crate) raw: bool,
    pub(crate) half: bool,
    pub(crate) bias_first: bool,
    /// The operator of linear layers.
    pub(crate) operator: &'static str,
}

impl Export {
    /// The style of torch.
    pub(crate) const TORCH: Self = Self {
        factor: 1.0,
        prefix: "",
        folded: true,
        raw: true,
        half: false,
        bias_first: true,
        operator: "MatMul",
    };

    pub(crate) fn bytes(self) -> Vec<u8> {
        let tensors = tensors(|value| value * self.factor);
        let mut graph = Vec::new();
        for (number, tensor) in tensors.iter().enumerate() {
            let name = format!("{}{}", self.prefix, tensor.name);
            let layer = name.strip_suffix(".weight").unwrap_or_default();
            let is_linear = tensor.shape.len() == 2 && !name.contains("embeddings");
            if !is_linear {
                field(
                    &mut graph,
                    5,
                    &self.tensor(&name, &tensor.shape, &tensor.values),
                );
                continue;
            }
            let weight = format!("onnx::MatMul_{number}");
            if self.folded {
                let (rows, columns) = (tensor.shape[0], tensor.shape[1]);
                let turned: Vec<f32> = (0..rows * columns)
                    .map(|at| tensor.values[at % rows * columns + at / rows])
                    .collect();
                field(
                    &mut graph,
                    5,
                    &self.tensor(&weight, &[columns, rows], &turned),
                );
            } else {
                field(
                    &mut graph,
                    5,
                    &self.tensor(&name, &tensor.shape, &tensor.values),
                );
                field(&mut graph, 1, &node("Transpose", &[&name], &weight));
            }
            let (product, bias) = (format!("product_{number}"), format!("{layer}.bias"));
            field(
                &mut graph,
                1,
                &node(self.operator, &["state", &weight], &product),
            );
            let inputs = if self.bias_first {
                [&bias, &product]
            } else {
                [&product, &bias]
            };
            let inputs = inputs.map(String::as_str);
            field(
                &mut graph,
                1,
                &node("Add", &inputs, &format!("sum_{number}")),
            );
        }
        let mut model = vec![0x08, 8];
        field(&mut model, 2, b"pytorch");
        field(&mut model, 7, &graph);
        model
    }

    fn tensor(self, name: &str, shape: &[usize], values: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &side in shape {
            bytes.push(0x08);
            number(&mut bytes, side);
        }
        bytes.extend([0x10, if self.half { 10 } else { 1 }]);
        field(&mut bytes, 8, name.as_bytes());
        match (self.half, self.raw) {
            (true, _) => field(&mut bytes, 9, &halves(values)),
            (false, true) => field(&mut bytes, 9, &singles(values)),
            (false, false) => field(&mut bytes, 4, &singles(values)),
        }
        bytes
    }
}

fn node(operator: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for input in inputs {
        field(&mut bytes, 1, input.as_bytes());
    }
    field(&mut bytes, 2, output.as_bytes());
    field(&mut bytes, 4, operator.as_bytes());
    bytes
}

fn field(bytes: &mut Vec<u8>, key: u8, value: &[u8]) {
    bytes.push(key << 3 | 2);
    number(bytes, value.len());
    bytes.extend_from_slice(value);
}

fn number(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// An archive with these members.
pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
