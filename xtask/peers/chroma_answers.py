"""Sends random records and filters to the real chromadb and writes its answers as JSON.

usage: chroma_answers.py DIRECTORY OUTPUT METRIC
"""

import json
import random
import sys

import chromadb

WORDS = ["palace", "Palace", "drawer", "100%", "a_b", "émigré", "index", "Lyon", "x.y", "line\nbreak"]


def metadata(rng):
    fields = {
        "wing": lambda: rng.choice(["alice", "bob", "Alice", ""]),
        "year": lambda: rng.choice([2024, 2025, 2026, 2025.5, -1, 2.5]),
        "pinned": lambda: rng.choice([True, False]),
        "mixed": lambda: rng.choice([1, 1.0, True, "1", 0]),
        "tags": lambda: rng.sample(["red", "green", "blue"], rng.randint(1, 3)),
        "scores": lambda: rng.sample([1, 2, 3], rng.randint(1, 3)),
    }
    chosen = {key: make() for key, make in fields.items() if rng.random() < 0.7}
    return chosen or {"only": 1}


def scalar(rng, key):
    return rng.choice({
        "wing": ["alice", "bob", "Alice", "nobody"],
        # No fractions: chromadb truncates an operand of 2025.5 to 2025 when it compares it with
        # integers. Loci compares the exact numbers.
        "year": [2024, 2025, 2025.0, 2026.0, 2026, -1],
        "pinned": [True, False],
        "mixed": [1, 1.0, True, "1", 0, False],
    }[key])


def where(rng, depth=0):
    if depth < 2 and rng.random() < 0.4:
        operator = rng.choice(["$and", "$or"])
        return {operator: [where(rng, depth + 1) for _ in range(rng.randint(2, 3))]}
    if rng.random() < 0.2:
        key, values = rng.choice([("tags", ["red", "green", "pink"]), ("scores", [1, 2, 9])])
        return {key: {rng.choice(["$contains", "$not_contains"]): rng.choice(values)}}
    key = rng.choice(["wing", "year", "pinned", "mixed"])
    if rng.random() < 0.2:
        return {key: scalar(rng, key)}
    operators = ["$eq", "$ne", "$in", "$nin"] + (["$gt", "$gte", "$lt", "$lte"] * 2 if key == "year" else [])
    operator = rng.choice(operators)
    if operator in ("$in", "$nin"):
        first = scalar(rng, key)
        same = [value for value in (scalar(rng, key) for _ in range(6)) if type(value) is type(first)]
        return {key: {operator: [first, *same[:2]]}}
    return {key: {operator: scalar(rng, key)}}


def where_document(rng, depth=0):
    if depth < 1 and rng.random() < 0.3:
        return {rng.choice(["$and", "$or"]): [where_document(rng, depth + 1) for _ in range(2)]}
    if rng.random() < 0.3:
        return {rng.choice(["$regex", "$not_regex"]): rng.choice(["[Pp]alace", "dr.wer", "100%", "Ly(on)?"])}
    return {rng.choice(["$contains", "$not_contains"]): rng.choice(["palace", "Palace", "0%", "a_b", "émi", "zzz"])}


def main(directory, output, metric):
    rng = random.Random(f"loci {metric}")
    client = chromadb.PersistentClient(path=directory)
    collection = client.create_collection("drawers", metadata={"hnsw:space": metric}, embedding_function=None)
    records = [
        {
            "id": f"r{n}",
            "document": " ".join(rng.choices(WORDS, k=rng.randint(1, 6))),
            "metadata": metadata(rng),
            "embedding": [round(rng.gauss(0, 1), 3) for _ in range(16)],
        }
        for n in range(200)
    ]
    collection.add(
        ids=[record["id"] for record in records],
        documents=[record["document"] for record in records],
        metadatas=[record["metadata"] for record in records],
        embeddings=[record["embedding"] for record in records],
    )
    updates = []
    for record in rng.sample(records, 30):
        patch = {"wing": rng.choice([None, "carol"]), "year": rng.choice([None, 2030]), "new": 1}
        updates.append({"id": record["id"], "metadata": patch})
        collection.update(ids=[record["id"]], metadatas=[patch])
    gets, queries = [], []
    for _ in range(150):
        case = {"where": where(rng), "where_document": where_document(rng) if rng.random() < 0.4 else None}
        case["ids"] = collection.get(where=case["where"], where_document=case["where_document"], include=[])["ids"]
        gets.append(case)
    for _ in range(40):
        case = {"where": where(rng) if rng.random() < 0.7 else None}
        case["embedding"] = [round(rng.gauss(0, 1), 3) for _ in range(16)]
        found = collection.query(
            query_embeddings=[case["embedding"]], n_results=10, where=case["where"], include=["distances"]
        )
        case["ids"], case["distances"] = found["ids"][0], found["distances"][0]
        queries.append(case)
    answers = {
        "version": chromadb.__version__,
        "metric": metric,
        "records": records,
        "updates": updates,
        "gets": gets,
        "queries": queries,
    }
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answers, file)


main(*sys.argv[1:])
