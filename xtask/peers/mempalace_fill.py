"""Fills a palace of the real mempalace with drawers through its own storage layer.

usage: mempalace_fill.py PALACE RECORDS      RECORDS: JSON lines {"id", "document", "metadata"}

The vector of each text is derived from its digest, which costs nothing. Later measurements do not
depend on which vectors are found.
"""

import hashlib
import itertools
import json
import sys

import numpy as np
from mempalace.backends import get_backend
from mempalace.backends.base import EmbedderIdentity, PalaceRef

DIMENSION = 384
BATCH = 500


def vectors(texts):
    made = np.empty((len(texts), DIMENSION), dtype=np.float32)
    for row, text in enumerate(texts):
        digest = hashlib.shake_128(text.encode()).digest(DIMENSION)
        made[row] = np.frombuffer(digest, dtype=np.int8)
    made += 0.5
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).tolist()


def main(palace, records):
    backend = get_backend("chroma")
    place = PalaceRef(id=palace, local_path=palace)
    collection = backend.get_collection(palace=place, collection_name="mempalace_drawers", create=True)
    collection.set_embedder_identity(EmbedderIdentity(model_name="minilm", dimension=DIMENSION))
    with open(records, encoding="utf-8") as lines:
        while batch := [json.loads(line) for line in itertools.islice(lines, BATCH)]:
            texts = [record["document"] for record in batch]
            collection.add(
                ids=[record["id"] for record in batch],
                documents=texts,
                metadatas=[record["metadata"] for record in batch],
                embeddings=vectors(texts),
            )
    print(json.dumps({"drawers": collection.count()}))
    backend.close()


main(*sys.argv[1:])
