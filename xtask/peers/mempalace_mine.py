"""Runs the real mempalace, with its own model or with vectors that cost nothing, and counts drawers.

usage: mempalace_mine.py hash|model ARGUMENT...    as `mempalace ARGUMENT...`
       mempalace_mine.py count PALACE              prints {"drawers": …, "others": …}

With `hash` the vector of each text is derived from its digest, so that only the engine is measured.
"""

import json
import pathlib
import sqlite3
import sys


def digest_vectors():
    import hashlib

    import numpy as np
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    def vectors(self, documents, batch_size=32):
        made = np.empty((len(documents), 384), dtype=np.float32)
        for row, document in enumerate(documents):
            digest = hashlib.shake_128(document.encode("utf-8", "replace")).digest(384)
            made[row] = np.frombuffer(digest, dtype=np.int8)
        made += 0.5
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    ONNXMiniLM_L6_V2._forward = vectors
    ONNXMiniLM_L6_V2._download_model_if_not_exists = lambda self: None


def count(palace):
    counts = {"drawers": 0, "others": 0}
    for path in pathlib.Path(palace).rglob("chroma.sqlite3"):
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        rows = database.execute(
            "SELECT c.name, count(*) FROM embeddings e JOIN segments s ON s.id = e.segment_id"
            " JOIN collections c ON c.id = s.collection GROUP BY c.name"
        )
        for name, number in rows:
            counts["drawers" if "drawers" in name else "others"] += number
    print(json.dumps(counts))


match sys.argv[1:]:
    case ["count", palace]:
        count(palace)
    case ["hash" | "model" as embedder, *arguments]:
        if embedder == "hash":
            digest_vectors()
        sys.argv = ["mempalace", *arguments]
        from mempalace.cli import main

        sys.exit(main())
    case _:
        sys.exit(__doc__)
