"""Opens a directory with the real chromadb and compares its answers with the expected contents.

usage: chroma_judge.py DIRECTORY EXPECTED [SECONDS]

Prints one JSON object: {"died": null | "signal 11 in …" | "hung in …", "collections": {name: {step:
result}}}. The result of a step that raised is {"error": "…"}. The steps run in a child, because a
damaged index can kill the process. They write to the directory. An expected embedding of null means
that the vector is lost: the record must be kept, but a vector query need not find it.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

SAMPLE = 10


def some(names):
    names = sorted(names)
    return {"count": len(names), "some": names[:SAMPLE]}


def close(got, wanted):
    if got is None or len(got) != len(wanted):
        return False
    scale = max(1.0, max(abs(value) for value in wanted))
    return all(abs(a - b) <= 1e-4 * scale for a, b in zip(got, wanted))


def same(got, wanted):
    return (got or None) == (wanted or None)


class Steps:
    def __init__(self, collection, wanted, uncertain):
        self.collection = collection
        self.records = {record["id"]: record for record in wanted["records"]}
        self.uncertain = set(uncertain)
        self.dimension = wanted["dimension"]

        self.searchable = {name: record for name, record in self.records.items() if record["embedding"]}

    def difference(self, found, wanted=None):
        found, wanted = set(found), set(self.records if wanted is None else wanted)
        return {"missing": some(wanted - found), "extra": some(found - set(self.records) - self.uncertain)}

    def count(self):
        return {"records": self.collection.count(), "wanted": len(self.records)}

    def get(self):
        kept = self.collection.get(include=["documents", "metadatas"])
        wrong_documents, wrong_metadatas = [], []
        for identifier, document, metadata in zip(kept["ids"], kept["documents"], kept["metadatas"]):
            record = self.records.get(identifier)
            if record and not same(document, record["document"]):
                wrong_documents.append(identifier)
            if record and not same(metadata, record["metadata"]):
                wrong_metadatas.append(identifier)
        return self.difference(kept["ids"]) | {"documents": some(wrong_documents), "metadatas": some(wrong_metadatas)}

    def embeddings(self):
        kept = self.collection.get(include=["embeddings"])
        vectors = kept["embeddings"]
        vectors = [None] * len(kept["ids"]) if vectors is None else vectors
        wrong = [
            identifier
            for identifier, vector in zip(kept["ids"], vectors)
            if identifier in self.searchable and not close(vector, self.records[identifier]["embedding"])
        ]
        return self.difference(kept["ids"]) | {"vectors": some(wrong)}

    def query(self):
        """One query must return everything."""
        first = next(iter(self.searchable.values()), None)
        vector = first["embedding"] if first else [1.0] * self.dimension
        found = self.collection.query(query_embeddings=[vector], n_results=len(self.records) + len(self.uncertain) + 100, include=["distances"])
        return self.difference(found["ids"][0], self.searchable)

    def nearest(self):
        """Each vector must find its own record first."""
        names, missed = list(self.searchable), []
        for start in range(0, len(names), 200):
            part = names[start : start + 200]
            found = self.collection.query(query_embeddings=[self.records[name]["embedding"] for name in part], n_results=1, include=["distances"])
            missed += [name for name, ids in zip(part, found["ids"]) if ids != [name]]
        return {"missed": some(missed)}

    def filtered(self):
        """Splits the records by a number, and queries each part as a whole."""
        numbers = sorted(self.number(record) for record in self.searchable.values() if self.number(record) is not None)
        if not numbers:
            return {"wrong": some([])}
        middle, wrong = numbers[len(numbers) // 2], set()
        for operator, chosen in (("$gte", lambda number: number >= middle), ("$lt", lambda number: number < middle)):
            wanted = {name for name, record in self.searchable.items() if self.number(record) is not None and chosen(self.number(record))}
            if wanted:
                found = self.collection.query(
                    query_embeddings=[self.records[next(iter(wanted))]["embedding"]],
                    n_results=len(self.records) + len(self.uncertain) + 100,
                    where={"number": {operator: middle}},
                    include=["distances"],
                )
                wrong |= wanted ^ (set(found["ids"][0]) - self.uncertain)
        return {"wrong": some(wrong)}

    @staticmethod
    def number(record):
        return (record["metadata"] or {}).get("number")

    def contains(self):
        """Finds documents by a word, through the full-text table."""
        wanted = {name for name, record in self.records.items() if "amber" in (record["document"] or "")}
        found = set(self.collection.get(where_document={"$contains": "amber"}, include=[])["ids"]) - self.uncertain
        return {"wrong": some(wanted ^ found)}

    def write(self):
        """Adds, changes and deletes a record, and reads them back."""
        vector = [100.0 + place for place in range(self.dimension)]
        other = [-100.0 + 7 * place for place in range(self.dimension)]
        self.collection.add(ids=["judge new", "judge gone"], embeddings=[vector, other], documents=["written by the judge", "leaves"], metadatas=[{"judge": 1}, {"judge": 2}])
        self.collection.delete(ids=["judge gone"])
        kept = self.collection.get(ids=["judge new", "judge gone"], include=["embeddings", "documents", "metadatas"])
        problems = []
        if kept["ids"] != ["judge new"]:
            problems.append(f"get gives {kept['ids']}")
        elif not close(kept["embeddings"][0], vector) or kept["documents"] != ["written by the judge"] or kept["metadatas"] != [{"judge": 1}]:
            problems.append("the new record came back changed")
        found = self.collection.query(query_embeddings=[vector], n_results=1, include=["distances"])["ids"][0]
        if found != ["judge new"]:
            problems.append(f"query gives {found}")
        found = self.collection.query(query_embeddings=[other], n_results=5, where={"judge": {"$gte": 1}}, include=["distances"])["ids"][0]
        if found != ["judge new"]:
            problems.append(f"filtered query gives {found}")
        name = next(iter(self.records), None)
        if name:
            self.collection.upsert(ids=[name], embeddings=[other], documents=["changed by the judge"])
            kept = self.collection.get(ids=[name], include=["embeddings", "documents"])
            if kept["ids"] != [name] or not close(kept["embeddings"][0], other) or kept["documents"] != ["changed by the judge"]:
                problems.append(f"{name} did not change")
        return {"problems": problems}


STEPS = ["count", "get", "embeddings", "query", "nearest", "filtered", "contains", "write"]


def steps(directory, expected, output):
    """Runs in the child. Writes a line before and after each step."""
    import chromadb
    from chromadb.config import Settings

    with open(output, "a", encoding="utf-8") as file:

        def say(**line):
            print(json.dumps(line), file=file, flush=True)

        def attempt(name, step, action):
            say(collection=name, begun=step)
            try:
                seen = action()
            except BaseException as error:  # noqa: BLE001 - the Rust side panics with exceptions of its own
                seen = {"error": f"{type(error).__name__}: {error}"[:400]}
            say(collection=name, step=step, seen=seen)
            return seen

        opened = {}
        attempt("", "open", lambda: opened.update(client=chromadb.PersistentClient(directory, settings=Settings(anonymized_telemetry=False))) or {})
        if "client" not in opened:
            return
        for wanted in expected["collections"]:
            name, kept = wanted["name"], {}
            attempt(name, "open", lambda: kept.update(collection=opened["client"].get_collection(name)) or {})
            if "collection" in kept:
                judge = Steps(kept["collection"], wanted, expected["uncertain"])
                for step in STEPS:
                    attempt(name, step, getattr(judge, step))


def judge(directory, expected, seconds):
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        died, begun = None, "open"
        try:
            child = subprocess.run([sys.executable, __file__, "--steps", directory, expected, output.name], timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if child.returncode < 0:
                died = f"signal {-child.returncode}"
            elif child.returncode > 0:
                died = f"status {child.returncode}: {child.stderr.decode(errors='replace')[-300:]}"
        except subprocess.TimeoutExpired:
            died = "hung"
        collections = {}
        for line in output:
            line = json.loads(line)
            begun = line.get("begun", begun)
            if "step" in line:
                collections.setdefault(line["collection"], {})[line["step"]] = line["seen"]
    return {"died": died and f"{died} in {begun}", "collections": collections}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--steps", directory, expected, output]:
            steps(directory, json.loads(pathlib.Path(expected).read_text(encoding="utf-8")), output)
        case [directory, expected, *seconds]:
            print(json.dumps(judge(directory, expected, float(seconds[0]) if seconds else 30.0)))
        case _:
            sys.exit(__doc__)
