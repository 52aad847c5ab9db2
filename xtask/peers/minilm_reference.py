"""Writes reference values for the tests of `loci-embed`.

usage: minilm_reference.py tokens MODEL_DIR OUTPUT.json
       minilm_reference.py vectors MODEL_DIR OUTPUT.json [COUNT]
       minilm_reference.py tiny OUTPUT_DIR

`tokens`   token ids of varied texts from the `tokenizers` package and the model's tokenizer.json.
`vectors`  vectors of varied texts from onnxruntime, on a graph built here from model.safetensors.
           A second forward pass in numpy, in double precision, must agree before anything is written.
`tiny`     a random model of two layers with the vectors that the numpy pass gives for it.

Needs numpy, safetensors, tokenizers, onnx, onnxruntime. Nothing is downloaded.
"""

import base64
import json
import math
import pathlib
import random
import struct
import sys

import numpy as np

WORDS = """the a of to and in is it was for on with as by at from palace memory drawer garden library server
database connection timeout migration Alice Bob Lyon Zürich café naïve résumé São façade piñata Ångström
jumped running unbelievable antidisestablishmentarianism tokenization WordPiece snake_case camelCase
foo_bar() std::vec::Vec https://example.org/a?b=c#d user@example.org C++ C# .NET v1.2.3 10:45 2026-11-15
$19.99 50% #hashtag @someone don't it's we'll e-mail state-of-the-art ... -- — “quoted” ‘single’ «guillemets»
日本語 東京都 北京 你好世界 한국어 안녕하세요 русский привет ёлка Ελληνικά ὀξύς עברית שלום العربية مَرْحَبًا हिन्दी नमस्ते ไทย
😀 👩‍💻 🇫🇷 ✈️ ½ ² № ™ € ﬁne Ⅳ ＡＢＣ ß ẞ İstanbul ı ŀ ø Ł đ 𝒜 𝟙 a\u0301 e\u0302\u0323 x\u200by zero\u00adwidth
\u00a0nbsp\u00a0 \u3000wide tab\tnew\nline\r\n [MASK] [CLS] [unused5] ##ing [ MASK ] [mask]""".split(" ")
WORDS = [word for word in " ".join(WORDS).split(" ") if word]

SENTENCES = [
    "Melanie took her kids to the pottery workshop last Friday and they made clay pots.",
    "What did Caroline say about the adoption agency she contacted in June?",
    "The HNSW files drift from the SQLite metadata, then the process crashes.",
    "fn main() { println!(\"{}\", 6 * 7); } // a comment",
    "SELECT id, body FROM drawers WHERE wing = 'alice' ORDER BY seq DESC LIMIT 10;",
    "Der Zug nach Zürich fährt um 10:45 Uhr von Gleis 7 ab, nicht von Gleis 3.",
    "昨日は友達と東京でラーメンを食べました。とても美味しかったです。",
    "Вчера мы ходили в музей, а потом пили чай с вареньем.",
    "I'm so excited!!! 🎉🎉 We finally got the keys to our new apartment 🏠",
    "error[E0502]: cannot borrow `x` as mutable because it is also borrowed as immutable",
]


def texts(count, seed=7):
    """Edge cases first, then sentences, then random mixtures; the same for the same arguments."""
    rng = random.Random(seed)
    edges = ["", " ", "\n\t", "a", "[SEP]", "\u0000null\u0000", "\ufffd\ufffe", "é" * 120, "x" * 100, "x" * 101, "supercalifragilisticexpialidocious",
             "\u0301", "a\u0301\u0327", "ÀÉÎÕÜ", "word" * 30, "1234567890" * 12, "!?.,;:" * 5, "\u2028line\u2029", "\ue000private", "e\u0301́"]
    made = edges + SENTENCES
    while len(made) < count:
        words = [rng.choice(WORDS) for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 21, 34]))]
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words) + 1), "".join(chr(rng.choice([
                rng.randrange(0x20, 0x250), rng.randrange(0x250, 0x2000), rng.randrange(0x2000, 0x3100), rng.randrange(0x3100, 0xd7ff),
                rng.randrange(0xf900, 0xfffe), rng.randrange(0x1f000, 0x1fa00), rng.randrange(0x10000, 0x14000), rng.randrange(0x20000, 0x2ffff)])) for _ in range(6)))
        if rng.random() < 0.3:
            words.insert(rng.randrange(len(words) + 1), rng.choice(SENTENCES))
        made.append(rng.choice([" ", " ", "", ", "]).join(words))
    return made[:count]


def prose(count, seed=11):
    """Texts whose length goes from one word to beyond the model's limit."""
    rng = random.Random(seed)
    made = list(SENTENCES) + [text for text in texts(60, seed) if text.strip() and "\u0000" not in text]
    while len(made) < count:
        made.append(" ".join(rng.choice(SENTENCES) if rng.random() < 0.5 else rng.choice(WORDS) for _ in range(rng.choice([1, 3, 9, 30]))))
    rng.shuffle(made)
    return made[:count]


def tokenizer(directory, limit):
    from tokenizers import Tokenizer
    made = Tokenizer.from_file(str(directory / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    if limit:
        made.enable_truncation(limit)
    return made


def weights(directory):
    from safetensors.numpy import load_file
    return load_file(str(directory / "model.safetensors"))


def erf(x):
    return np.vectorize(math.erf)(x)


def forward(tensors, config, ids):
    """One text in double precision: mean of the last layer, unit length."""
    t = {name: tensor.astype(np.float64) for name, tensor in tensors.items() if tensor.dtype.kind == "f"}
    heads = config["num_attention_heads"]
    eps = config["layer_norm_eps"]

    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + eps) * t[name + ".weight"] + t[name + ".bias"]

    def dense(x, name):
        return x @ t[name + ".weight"].T + t[name + ".bias"]

    n = len(ids)
    x = t["embeddings.word_embeddings.weight"][ids] + t["embeddings.position_embeddings.weight"][:n] + t["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    size = x.shape[1] // heads
    for layer in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{layer}."
        q, k, v = (dense(x, p + "attention.self." + part).reshape(n, heads, size).transpose(1, 0, 2) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(size)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ v).transpose(1, 0, 2).reshape(n, -1)
        x = norm(x + dense(mixed, p + "attention.output.dense"), p + "attention.output.LayerNorm")
        inner = dense(x, p + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + dense(inner, p + "output.dense"), p + "output.LayerNorm")
    mean = x.mean(0)
    return mean / max(np.linalg.norm(mean), 1e-12)


def graph(tensors, config):
    """The same pass as an ONNX graph, batched and padded."""
    from onnx import TensorProto, helper, numpy_helper
    nodes, constants = [], {}

    def constant(name, value):
        constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def op(kind, inputs, name, **attributes):
        nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    heads, hidden = config["num_attention_heads"], config["hidden_size"]
    size = hidden // heads

    def dense(x, source, name):
        kernel = constant(source + ".T", tensors[source + ".weight"].T)
        return op("Add", [op("MatMul", [x, kernel], name + ".mm"), constant(source + ".bias", tensors[source + ".bias"])], name)

    def norm(x, source, name):
        return op("LayerNormalization", [x, constant(source + ".weight", tensors[source + ".weight"]), constant(source + ".bias", tensors[source + ".bias"])],
                  name, axis=-1, epsilon=config["layer_norm_eps"])

    def integers(name, values):
        return constant(name, np.array(values, dtype=np.int64))

    zero, one = integers("zero", [0]), integers("one", [1])
    length = op("Gather", [op("Shape", ["ids"], "shape"), one], "length", axis=0)
    positions = op("Slice", [constant("positions", tensors["embeddings.position_embeddings.weight"]), zero, length, zero], "position")
    x = op("Gather", [constant("words", tensors["embeddings.word_embeddings.weight"]), "ids"], "word")
    x = op("Add", [x, positions], "word.position")
    x = op("Add", [x, constant("type", tensors["embeddings.token_type_embeddings.weight"][0])], "word.type")
    x = norm(x, "embeddings.LayerNorm", "embedded")
    mask = op("Cast", ["mask"], "mask.float", to=TensorProto.FLOAT)
    bias = op("Mul", [op("Sub", [constant("1", np.float32(1)), mask], "mask.off"), constant("-1e9", np.float32(-1e9))], "bias2")
    bias = op("Unsqueeze", [bias, integers("axes12", [1, 2])], "bias")
    split, merged = integers("split", [0, 0, heads, size]), integers("merged", [0, 0, hidden])
    for layer in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{layer}."
        q, k, v = (op("Transpose", [op("Reshape", [dense(x, p + "attention.self." + part, p + part), split], p + part + ".s")], p + part + ".t", perm=perm)
                   for part, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        scores = op("Mul", [op("MatMul", [q, k], p + "qk"), constant("scale", np.float32(1 / math.sqrt(size)))], p + "scaled")
        scores = op("Softmax", [op("Add", [scores, bias], p + "masked")], p + "softmax", axis=-1)
        mixed = op("Reshape", [op("Transpose", [op("MatMul", [scores, v], p + "av")], p + "avt", perm=[0, 2, 1, 3]), merged], p + "mixed")
        x = norm(op("Add", [x, dense(mixed, p + "attention.output.dense", p + "o")], p + "res1"), p + "attention.output.LayerNorm", p + "ln1")
        inner = dense(x, p + "intermediate.dense", p + "inner")
        gelu = op("Add", [op("Erf", [op("Mul", [inner, constant("r2", np.float32(1 / math.sqrt(2)))], p + "r2")], p + "erf"), constant("1", np.float32(1))], p + "erf1")
        inner = op("Mul", [op("Mul", [inner, gelu], p + "gelu2"), constant("half", np.float32(0.5))], p + "gelu")
        x = norm(op("Add", [x, dense(inner, p + "output.dense", p + "out")], p + "res2"), p + "output.LayerNorm", p + "ln2")
    wide = op("Unsqueeze", [mask, integers("axis2", [2])], "mask.wide")
    total = op("ReduceSum", [op("Mul", [x, wide], "kept"), one], "total", keepdims=0)
    mean = op("Div", [total, op("ReduceSum", [mask, one], "count", keepdims=1)], "mean")
    op("LpNormalization", [mean], "vector", axis=-1, p=2)
    shape = ["batch", "length"]
    made = helper.make_graph(nodes, "minilm",
                             [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("ids", "mask")],
                             [helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", hidden])], list(constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Reference:
    """onnxruntime on the graph above."""

    def __init__(self, directory, threads=1):
        import onnxruntime
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        self.tensors = weights(directory)
        self.tokenizer = tokenizer(directory, 256)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(graph(self.tensors, self.config).SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(self, ids):
        """One vector per list of token ids, in one padded batch."""
        length = max(map(len, ids))
        padded = np.array([row + [0] * (length - len(row)) for row in ids], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in ids], dtype=np.int64)
        return self.session.run(None, {"ids": padded, "mask": mask})[0]

    def embed(self, given):
        return np.concatenate([self.run([self.tokenizer.encode(text).ids]) for text in given])


def packed(vector):
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def write(path, value):
    pathlib.Path(path).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("},{", "},\n{") + "\n")


def tokens(directory, output):
    made = tokenizer(directory, None)
    write(output, [{"text": text, "ids": made.encode(text, add_special_tokens=False).ids} for text in texts(340)])


def vectors(directory, output, count):
    reference = Reference(directory)
    given = prose(count)
    found = reference.embed(given)
    worst = min(float(forward(reference.tensors, reference.config, reference.tokenizer.encode(text).ids) @ row) for text, row in zip(given[:40], found))
    assert worst > 0.999999, worst
    write(output, [{"text": text, "vector": packed(row)} for text, row in zip(given, found)])
    print(f"{count} texts; smallest cosine between onnxruntime and numpy: {worst:.8f}")


def tiny(output):
    from safetensors.numpy import save_file
    rng = np.random.default_rng(3)
    config = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "layer_norm_eps": 1e-12,
              "vocab_size": 40, "max_position_embeddings": 24, "hidden_act": "gelu"}
    h, m = config["hidden_size"], config["intermediate_size"]
    shapes = {"embeddings.word_embeddings.weight": (40, h), "embeddings.position_embeddings.weight": (24, h), "embeddings.token_type_embeddings.weight": (2, h),
              "embeddings.LayerNorm.weight": (h,), "embeddings.LayerNorm.bias": (h,)}
    for layer in range(2):
        p = f"encoder.layer.{layer}."
        for name, out, into in (("attention.self.query", h, h), ("attention.self.key", h, h), ("attention.self.value", h, h), ("attention.output.dense", h, h),
                                ("intermediate.dense", m, h), ("output.dense", h, m)):
            shapes[p + name + ".weight"], shapes[p + name + ".bias"] = (out, into), (out,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[p + name + ".weight"], shapes[p + name + ".bias"] = (h,), (h,)
    tensors = {name: rng.normal(1.0 if name.endswith("LayerNorm.weight") else 0.0, 0.5, shape).astype(np.float16) for name, shape in shapes.items()}
    output.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(output / "half.safetensors"))
    full = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    save_file(full, str(output / "model.safetensors"))
    (output / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (output / "vocab.txt").write_text("".join(f"{word}\n" for word in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"w{i}" for i in range(35)]))
    draw = random.Random(5)
    rows = [[2, 3], [2, 7, 3], [2] + list(range(5, 27)) + [3]] + [[2] + [draw.randrange(5, 40) for _ in range(n)] + [3] for n in (2, 4, 5, 9, 14)]
    write(output / "expected.json", [{"ids": ids, "vector": [float(f"{x:.9g}") for x in forward(full, config, ids)]} for ids in rows])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["tokens", directory, output]:
            tokens(pathlib.Path(directory), output)
        case ["vectors", directory, output, *count]:
            vectors(pathlib.Path(directory), output, int(count[0]) if count else 40)
        case ["tiny", output]:
            tiny(pathlib.Path(output))
        case _:
            sys.exit(__doc__)
