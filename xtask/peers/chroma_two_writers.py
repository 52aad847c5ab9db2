"""Lets two real chromadb processes write to one directory in turn. Neither is killed.

usage: chroma_two_writers.py FOLDER TURNS

FOLDER gets `now` and `expected.json`, as from chroma_write.py. Each turn adds to the same collection.
A turn begins when the turn of the other process is over.
"""

import json
import pathlib
import subprocess
import sys

from chroma_write import PLAN, Writer, dump, labels, open_client

DIMENSION, BATCH, BATCHES, THRESHOLD = 16, 20, 5, 100


def plan():
    return PLAN | {"dimension": DIMENSION, "lists": False, "seed": 2}


def worker(path, offset):
    """Adds `BATCHES` batches for each line that it reads, and prints the records."""
    client, writer, number = open_client(path), None, 0
    for _ in sys.stdin:
        if writer is None:
            options = {"name": "drawers", "metric": "cosine"}
            writer = Writer(client.get_collection("drawers"), plan() | {"seed": offset}, options)
        records = [writer.record(offset + number + step) for step in range(BATCH * BATCHES)]
        number += len(records)
        for start in range(0, len(records), BATCH):
            writer.write("add", records[start : start + BATCH])
        print(json.dumps(records), flush=True)


def main(folder, turns):
    now = folder / "now"
    first = Writer.create(open_client(now), plan(), {"name": "drawers", "metric": "cosine", "records": 600, "sync_threshold": THRESHOLD})
    while not first.done():
        first.add(BATCH)
    records = [{"id": name, "embedding": vector} for name, vector in first.written.items()]
    kept = first.collection.get(include=["documents", "metadatas"])
    texts = dict(zip(kept["ids"], zip(kept["documents"], kept["metadatas"])))
    for record in records:
        record["document"], record["metadata"] = texts[record["id"]]
    workers = [
        subprocess.Popen([sys.executable, __file__, "--worker", str(now), str(offset)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for offset in (10_000, 20_000)
    ]
    for turn in range(turns):
        chosen = workers[turn % 2]
        chosen.stdin.write("go\n")
        chosen.stdin.flush()
        for name, vector, document, metadata in json.loads(chosen.stdout.readline()):
            records.append({"id": name, "document": document, "metadata": metadata, "embedding": vector})
    for process in workers:
        process.stdin.close()
        process.wait()
    import chromadb

    collection = {"name": "drawers", "metric": "cosine", "dimension": DIMENSION, "records": records}
    dump(folder / "expected.json", {"version": chromadb.__version__, "uncertain": [], "labels": labels(now), "collections": [collection]})


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--worker", path, offset]:
            worker(path, int(offset))
        case [folder, turns]:
            target = pathlib.Path(folder)
            target.mkdir(parents=True, exist_ok=True)
            main(target, int(turns))
        case _:
            sys.exit(__doc__)
