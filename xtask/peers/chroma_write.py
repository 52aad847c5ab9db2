"""Writes a ChromaDB directory with the real chromadb, any release from 0.5 on, and its contents.

usage: chroma_write.py FOLDER PLAN      PLAN is a JSON object, see `PLAN` below

FOLDER gets `now` (the directory) and `expected.json` (the results of `get` in the same process). If
the plan asks for them, it also gets `earlier` with `earlier.json` (the state after the first flush),
`queued`, and `flushed` with `flushed.json` (the state inside the next flush, before and after the
files were written).
"""

import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import struct
import sys

PLAN = {
    "seed": 1,
    "collections": [{"name": "drawers", "metric": "cosine", "records": 1200, "sync_threshold": 400}],
    "dimension": 16,
    "batch": 40,
    "lists": True,  # list-valued metadata: 1.5 and later
    "changes": True,  # updates, upserts, deletes, ids that are added again
    "returned": False,  # also the vectors as `get` returned them, if they differ from those written
    "earlier": False,
    "crash": False,
    "trim": False,  # truncate the part that no record uses; for fixtures
    "end": "close",  # or "kill": the process kills itself after the last write, "kill_writing": while it writes
}
WORDS = "amber birch cedar delta ember fjord grove heron inlet juniper kelp larch moss north opal pine".split()


def as_f32(numbers):
    return list(struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers)))


class Writer:
    """One collection: the next records to write, and those written."""

    def __init__(self, collection, plan, options):
        self.collection, self.plan, self.options = collection, plan, options
        self.name, self.metric = options["name"], options["metric"]
        self.random = random.Random(f"{plan['seed']} {self.name}")
        self.next, self.written, self.gone = 0, {}, []

    @classmethod
    def create(cls, client, plan, options):
        threshold = options["sync_threshold"]
        hnsw = {"space": options["metric"], "sync_threshold": threshold}
        if options.get("configuration"):
            return cls(client.create_collection(options["name"], configuration={"hnsw": hnsw}), plan, options)
        metadata = {f"hnsw:{key}": value for key, value in hnsw.items()}
        metadata["hnsw:batch_size"] = min(threshold, 100)
        if plan.get("dense"):
            # Old releases refuse a query for all records if their graph does not reach each of them.
            metadata |= {"hnsw:M": 64, "hnsw:construction_ef": 400, "hnsw:search_ef": 1000}
        return cls(client.create_collection(options["name"], metadata=metadata), plan, options)

    def vector(self):
        length = self.random.uniform(*self.options.get("lengths", (0.5, 4.0)))
        return as_f32([self.random.gauss(0, length) for _ in range(self.plan["dimension"])])

    def document(self, number):
        if number % 11 == 5:
            return None
        words = " ".join(self.random.choice(WORDS) for _ in range(self.options.get("words", 6)))
        return f"{self.name} {number}: {words}" + (" žluťoučký 日本" if number % 17 == 3 else "")

    def metadata(self, number):
        if number % 13 == 7:
            return None
        values = {"number": number, "wing": f"wing {number % 5}", "share": number / 8 + 0.0625, "even": number % 2 == 0}
        if self.plan["lists"] and number % 7 == 0:
            values |= {"tags": ["a", f"t{number % 3}"], "lines": [number, -number], "odds": [0.5, 1.25], "flags": [True, False]}
        return values

    def record(self, number):
        return f"{self.name}-{number:05}", self.vector(), self.document(number), self.metadata(number)

    def write(self, operation, records):
        ids, vectors, documents, metadatas = (list(column) for column in zip(*records))
        getattr(self.collection, operation)(ids=ids, embeddings=vectors, documents=documents, metadatas=metadatas)
        for identifier, vector, *_ in records:
            self.written[identifier] = vector

    def add(self, count):
        count = min(count, self.options["records"] - self.next)
        if count > 0:
            self.write("add", [self.record(self.next + offset) for offset in range(count)])
            self.next += count

    def change(self):
        """Changes old and new records with each operation of the log."""
        known = sorted(self.written)
        if len(known) < 8:
            return
        chosen = self.random.sample(known, 6)
        numbers = [int(identifier.rsplit("-", 1)[1]) for identifier in chosen]
        self.write("update", [(chosen[0], self.vector(), f"updated {numbers[0]}", {"changed": True, "number": numbers[0]})])
        self.collection.update(ids=[chosen[1]], metadatas=[{"changed": True, "number": numbers[1]}])
        self.write("upsert", [(chosen[2], self.vector(), f"upserted {numbers[2]}", {"number": numbers[2]})])
        leaving = chosen[3:]
        self.collection.delete(ids=leaving)
        for identifier in leaving:
            del self.written[identifier]
        if self.gone:
            back = self.gone.pop(0)
            self.write("add", [(back, self.vector(), f"back {back}", {"number": -1})])
        self.gone.append(leaving[0])

    def done(self):
        return self.next >= self.options["records"]

    def expected(self):
        kept = self.collection.get(include=["embeddings", "documents", "metadatas"])
        assert sorted(kept["ids"]) == sorted(self.written), "chromadb returned other ids than were written"
        records = []
        for identifier, vector, document, metadata in zip(*(kept[key] for key in ("ids", "embeddings", "documents", "metadatas"))):
            returned, written = [float(value) for value in vector], self.written[identifier]
            assert all(abs(a - b) < 1e-4 for a, b in zip(returned, written)), f"{identifier}: another vector"
            record = {"id": identifier, "document": document, "metadata": metadata, "embedding": written}
            differs = self.plan["returned"] and returned != written
            records.append(record | ({"returned": returned} if differs else {}))
        return {"name": self.name, "metric": self.metric, "dimension": self.plan["dimension"], "records": records}


def expected(writers):
    import chromadb

    return {"version": chromadb.__version__, "uncertain": [], "collections": [writer.expected() for writer in writers]}


def dump(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def open_client(path):
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


def flushed_once(path):
    """The vector watermark appears with the first flush; before 0.6 only the pickle does."""
    return any(path.glob("*/index_metadata.pickle"))


def hold_back(path, threshold):
    """Sets the flush threshold of every collection, so that a due flush does not happen."""
    database = sqlite3.connect(path / "chroma.sqlite3")
    database.execute("UPDATE collection_metadata SET int_value = ? WHERE key = 'hnsw:sync_threshold'", [threshold])
    for identifier, text in database.execute("SELECT id, schema_str FROM collections").fetchall():
        schema = json.loads(text)
        for place in (schema["defaults"], schema["keys"]["#embedding"]):
            place["float_list"]["vector_index"]["config"]["hnsw"]["sync_threshold"] = threshold
        database.execute("UPDATE collections SET schema_str = ? WHERE id = ?", [json.dumps(schema, separators=(",", ":")), identifier])
    database.commit()
    database.close()


def watermark(path):
    database = sqlite3.connect(f"file:{path}/chroma.sqlite3?mode=ro", uri=True)
    rows = database.execute("SELECT m.seq_id FROM max_seq_id m JOIN segments s ON s.id = m.segment_id WHERE s.scope = 'VECTOR'").fetchall()
    database.close()
    return rows


def crash(folder, writers, known):
    """Writes until the first collection flushes again, and does the same writes without a flush."""
    now, queued, flushed = folder / "now", folder / "queued", folder / "flushed"
    first = writers[0]
    for path in (queued, flushed):
        shutil.copytree(now, path)
    hold_back(queued, 1_000_000_000)
    before, copies = watermark(flushed), [open_client(path).get_collection(first.name) for path in (flushed, queued)]
    number = 0
    while watermark(flushed) == before:
        assert number <= first.options["sync_threshold"], "no flush when one was due"
        records = [first.record(900_000 + number + offset) for offset in range(20)]
        for copy in copies:
            first.collection = copy
            first.write("add", records)
        number += 20
    first.collection = copies[0]
    dump(folder / "flushed.json", known | {"collections": [first.expected(), *known["collections"][1:]], "labels": labels(flushed)})
    hold_back(queued, first.options["sync_threshold"])


def run(folder, plan):
    now = folder / "now"
    client = open_client(now)
    writers = [Writer.create(client, plan, options) for options in plan["collections"]]
    turn, earlier = 0, False
    while not all(writer.done() for writer in writers):
        for writer in writers:
            writer.add(plan["batch"])
            if plan["changes"] and turn % 3 == 2:
                writer.change()
        turn += 1
        if plan["earlier"] and not earlier and flushed_once(now):
            shutil.copytree(now, folder / "earlier")
            dump(folder / "earlier.json", expected(writers))
            earlier = True
    known = expected(writers)
    known["labels"] = labels(now) if known["version"].startswith("1.") else {}
    dump(folder / "expected.json", known)
    if plan["crash"]:
        crash(folder, writers, known)
    finish(folder, plan, writers, known)


def labels(path):
    """The label of each id in each segment, from the files of 1.x. Tests must not need a reader for it."""
    import pickle

    return {file.parent.name: pickle.loads(file.read_bytes())["id_to_label"] for file in path.glob("*/index_metadata.pickle")}


def trim(path):
    """Keeps the used elements and a few empty ones. The rest of the file is uninitialised memory."""
    database = sqlite3.connect(path / "chroma.sqlite3")
    database.execute("VACUUM")
    database.close()
    for header in path.glob("*/header.bin"):
        count, size = struct.unpack_from("<QQ", header.read_bytes(), 20)
        for name, width in (("data_level0.bin", size), ("length.bin", 4)):
            file = header.with_name(name)
            file.write_bytes(file.read_bytes()[: count * width].ljust(max(count, 10) * width, b"\0"))


def finish(folder, plan, writers, known):
    if plan["trim"]:
        trim(folder / "now")
    if plan["end"] == "kill_writing":
        import threading

        first = writers[0]
        records = [first.record(800_000 + offset) for offset in range(2000)]
        known["uncertain"] = [record[0] for record in records]
        dump(folder / "expected.json", known)
        begun = threading.Event()

        def write():
            for start in range(0, len(records), 10):
                if start >= 100:
                    begun.set()
                first.write("add", records[start : start + 10])

        threading.Thread(target=write, daemon=True).start()
        begun.wait()
    if plan["end"] != "close":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    run(target, PLAN | json.loads(sys.argv[2]))
