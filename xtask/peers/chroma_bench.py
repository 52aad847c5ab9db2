"""Runs chromadb on the data of the benchmark and prints its own CPU figures as JSON.

usage: chroma_bench.py work|cold DIRECTORY
"""

import json
import os
import resource
import shutil
import sys
import time

DIMENSION, K = 384, 10


def disk(path):
    return sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(path) for name in names) / 1e6


def load_queries(directory, np):
    return np.fromfile(os.path.join(directory, "queries.f32"), dtype="<f4").reshape(-1, DIMENSION)


def work(directory):
    import chromadb
    import numpy as np

    path = os.path.join(directory, "chroma")
    shutil.rmtree(path, ignore_errors=True)
    vectors = np.fromfile(os.path.join(directory, "vectors.f32"), dtype="<f4").reshape(-1, DIMENSION)
    queries = load_queries(directory, np)
    with open(os.path.join(directory, "records.jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    with open(os.path.join(directory, "exact.json"), encoding="utf-8") as file:
        exact = json.load(file)
    client = chromadb.PersistentClient(path=path)
    collection = client.create_collection("drawers", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    figures, spent = {}, 0.0
    for start in range(0, len(records), 100):
        part = records[start : start + 100]
        begun = time.process_time()
        collection.add(
            ids=[record["id"] for record in part],
            documents=[record["document"] for record in part],
            metadatas=[record["metadata"] for record in part],
            embeddings=vectors[start : start + 100],
        )
        spent += time.process_time() - begun
    figures["insert_ms"] = spent * 1e3 / len(records)
    figures["disk_mb"] = disk(path)
    for name, where, answers in [
        ("query", None, exact["all"]),
        ("one_percent", {"room": "room-7"}, exact["one_percent"]),
        ("ten_percent", {"wing": "wing-3"}, exact["ten_percent"]),
    ]:
        for query in queries[:3]:
            collection.query(query_embeddings=[query], n_results=K, where=where)
        found, begun = [], time.process_time()
        for query in queries:
            found.append(collection.query(query_embeddings=[query], n_results=K, where=where)["ids"][0])
        figures[f"{name}_ms"] = (time.process_time() - begun) * 1e3 / len(queries)
        hits = sum(len({f"d{row}" for row in right} & set(ids)) for ids, right in zip(found, answers))
        figures[f"{name}_recall"] = hits / sum(map(len, answers))
    begun = time.process_time()
    for at in range(1000):
        collection.add(
            ids=[f"single-{at}"],
            documents=[records[at]["document"]],
            metadatas=[records[at]["metadata"]],
            embeddings=[queries[at % len(queries)]],
        )
    figures["single_ms"] = (time.process_time() - begun) * 1e3 / 1000
    return figures


def cold(directory):
    import numpy as np

    begun = time.process_time()
    import chromadb

    imported = time.process_time()
    query = load_queries(directory, np)[0]
    client = chromadb.PersistentClient(path=os.path.join(directory, "chroma"))
    client.get_collection("drawers", embedding_function=None).query(query_embeddings=[query], n_results=K)
    return {
        "import_ms": (imported - begun) * 1e3,
        "cold_ms": (time.process_time() - imported) * 1e3,
        "cold_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


print(json.dumps({"work": work, "cold": cold}[sys.argv[1]](sys.argv[2])))
