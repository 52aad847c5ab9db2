//! Reads weights from an ONNX file. Exporters keep the names of embeddings, norms and biases, but
//! fold the transposition of a linear weight into the weight and name the result by a number. The
//! bias that is added to the product identifies the weight.

mod wire;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::tensors::{Precision, Tensor, Tensors};
use wire::{Message, Value};

const HINT: &str = "; if the ONNX graph was optimised, use the plain export";

/// Whether these bytes may be an ONNX file. It begins with the version field of a model, while a
/// safetensors file has a brace at its ninth byte.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x08) && bytes.get(8) != Some(&b'{')
}

/// Reads the tensors. Linear weights get their own names.
pub(super) fn read(bytes: &[u8]) -> Result<Tensors<'_>, String> {
    let graph = parse(bytes).map_err(|problem| format!("its ONNX graph {problem}"))?;
    if let Some(node) = graph.nodes.iter().find(|node| is_quantised(node.operator)) {
        return Err(format!(
            "it is quantised (`{}`), so its vectors differ from those of the model; use the f32 file",
            node.operator
        ));
    }
    let producers: HashMap<&str, &Node<'_>> = graph
        .nodes
        .iter()
        .flat_map(|node| node.outputs.iter().map(move |&output| (output, node)))
        .collect();
    let mut weights = Vec::new();
    for sum in graph.nodes.iter().filter(|node| node.operator == "Add") {
        let [a, b] = *sum.inputs.as_slice() else {
            continue;
        };
        for (bias, product) in [(a, b), (b, a)] {
            if let Some(layer) = bias.strip_suffix(".bias")
                && graph.tensors.contains_key(bias)
                && let Some(product) = producers.get(product)
                && let Some(weight) = weight_of(product, &graph, &producers)?
            {
                weights.push((format!("{layer}.weight"), weight));
            }
        }
    }
    let named = graph.tensors.into_iter();
    let mut tensors: BTreeMap<String, Tensor<'_>> = named
        .map(|(name, tensor)| (name.to_owned(), tensor))
        .collect();
    tensors.extend(weights);
    Ok(Tensors::new(tensors, HINT))
}

/// The weight of a linear layer, one row per output.
fn weight_of<'a>(
    product: &Node<'a>,
    graph: &Graph<'a>,
    producers: &HashMap<&str, &Node<'a>>,
) -> Result<Option<Tensor<'a>>, String> {
    let ("MatMul", [_, weight]) = (product.operator, product.inputs.as_slice()) else {
        return Ok(None);
    };
    if let Some(tensor) = graph.tensors.get(weight) {
        return transpose(tensor)
            .map(Some)
            .ok_or_else(|| format!("tensor `{weight}` is {:?}, not a matrix", tensor.shape));
    }
    let turned = producers
        .get(weight)
        .filter(|node| node.operator == "Transpose")
        .and_then(|node| graph.tensors.get(node.inputs.first()?));
    Ok(turned.cloned())
}

fn transpose<'a>(tensor: &Tensor<'a>) -> Option<Tensor<'a>> {
    let [rows, columns] = *tensor.shape.as_slice() else {
        return None;
    };
    let width = tensor.precision.width()?;
    let stride = columns.checked_mul(width)?;
    if stride == 0 || tensor.bytes.len() != rows.checked_mul(stride)? {
        return None;
    }
    let mut bytes = Vec::with_capacity(tensor.bytes.len());
    for start in (0..stride).step_by(width) {
        for row in tensor.bytes.chunks_exact(stride) {
            bytes.extend_from_slice(row.get(start..start + width)?);
        }
    }
    Some(Tensor {
        shape: vec![columns, rows],
        precision: tensor.precision.clone(),
        bytes: Cow::Owned(bytes),
    })
}

fn is_quantised(operator: &str) -> bool {
    [
        "Quantize",
        "Integer",
        "QLinear",
        "QAttention",
        "QEmbed",
        "NBits",
    ]
    .iter()
    .any(|part| operator.contains(part))
}

#[derive(Debug, Default)]
struct Node<'a> {
    operator: &'a str,
    inputs: Vec<&'a str>,
    outputs: Vec<&'a str>,
}

#[derive(Debug, Default)]
struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    tensors: HashMap<&'a str, Tensor<'a>>,
}

/// Field numbers are those of `onnx.proto`.
fn parse(bytes: &[u8]) -> Result<Graph<'_>, String> {
    let mut graph = Graph::default();
    for field in Message::new(bytes) {
        if let (7, Value::Bytes(bytes)) = field? {
            for field in Message::new(bytes) {
                match field? {
                    (1, Value::Bytes(bytes)) => graph.nodes.push(node(bytes)?),
                    (5, Value::Bytes(bytes)) => {
                        let (name, tensor) = tensor(bytes)?;
                        graph.tensors.insert(name, tensor);
                    }
                    _ => {}
                }
            }
        }
    }
    if graph.nodes.is_empty() {
        return Err("contains no operators".into());
    }
    Ok(graph)
}

fn node(bytes: &[u8]) -> Result<Node<'_>, String> {
    let mut node = Node::default();
    for field in Message::new(bytes) {
        match field? {
            (1, Value::Bytes(bytes)) => node.inputs.push(wire::text(bytes)?),
            (2, Value::Bytes(bytes)) => node.outputs.push(wire::text(bytes)?),
            (4, Value::Bytes(bytes)) => node.operator = wire::text(bytes)?,
            _ => {}
        }
    }
    Ok(node)
}

fn tensor(bytes: &[u8]) -> Result<(&str, Tensor<'_>), String> {
    let (mut name, mut shape, mut kind) = ("", Vec::new(), 0);
    let (mut floats, mut raw, mut elsewhere) = (Cow::<[u8]>::default(), None, false);
    let side = |value: u64| {
        usize::try_from(value).map_err(|_| format!("has a tensor with a side of {value}"))
    };
    for field in Message::new(bytes) {
        match field? {
            (1, Value::Number(value)) => shape.push(side(value)?),
            (1, Value::Bytes(packed)) => {
                for value in wire::packed(packed) {
                    shape.push(side(value?)?);
                }
            }
            (2, Value::Number(value)) => kind = value,
            // Packed floats are little-endian, like raw data. A writer may split them into several
            // fields.
            (4, Value::Bytes(piece)) if floats.is_empty() => floats = Cow::Borrowed(piece),
            (4, Value::Bytes(piece)) => floats.to_mut().extend_from_slice(piece),
            (4, Value::Four(piece)) => floats.to_mut().extend_from_slice(&piece),
            (8, Value::Bytes(bytes)) => name = wire::text(bytes)?,
            (9, Value::Bytes(bytes)) => raw = Some(bytes),
            (14, Value::Number(place)) => elsewhere = place == 1,
            _ => {}
        }
    }
    if elsewhere {
        return Err(format!(
            "stores tensor `{name}` in another file; save it as one file"
        ));
    }
    let precision = match kind {
        1 => Precision::Single,
        10 => Precision::Half,
        other => Precision::Other(format!("{other} of ONNX")),
    };
    let tensor = Tensor {
        shape,
        precision,
        bytes: raw.map_or(floats, Cow::Borrowed),
    };
    Ok((name, tensor))
}

#[cfg(test)]
mod tests;
