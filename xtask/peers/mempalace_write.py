"""Writes a small palace with the real mempalace, and the contents that a reader must find.

usage: mempalace_write.py chroma|sqlite_exact TARGET

Creates TARGET/palace/ with drawers and closets, a knowledge graph and tunnels, and
TARGET/expected.json. Vectors are derived from the texts; no model is used.
"""

import hashlib
import json
import os
import pathlib
import shutil
import sqlite3
import sys

BACKEND, TARGET = sys.argv[1], pathlib.Path(sys.argv[2])
PALACE = TARGET / "palace"
shutil.rmtree(TARGET, ignore_errors=True)
PALACE.mkdir(parents=True)
# The user's own palace must not be touched.
os.environ["HOME"] = str(TARGET)
os.environ["MEMPALACE_CONFIG_DIR"] = str(TARGET)
os.environ["MEMPALACE_PALACE_PATH"] = str(PALACE)
os.environ["MEMPALACE_BACKEND"] = BACKEND

from mempalace.backends import get_backend  # noqa: E402
from mempalace.backends.base import EmbedderIdentity, PalaceRef  # noqa: E402
from mempalace.knowledge_graph import KnowledgeGraph  # noqa: E402
from mempalace.palace_graph import create_tunnel  # noqa: E402

DIMENSION = 8


def vector(text):
    return [byte / 256 - 0.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]


def fill(collection, kind, count):
    ids = [f"{kind}_{number}" for number in range(count)]
    texts = [f"{kind} {number}: the {['kettle', 'ledger'][number % 2]} is number {number}" for number in range(count)]
    metadatas = [
        {
            "wing": ["home", "work"][number % 2],
            "room": f"room{number % 3}",
            "source_file": f"/notes/file{number % 2}.md",
            "chunk_index": number,
            "filed_at": f"2026-03-0{number % 9 + 1}T08:00:00",
            "score": number / 4,
            "kept": number % 2 == 0,
        }
        for number in range(count)
    ]
    collection.add(ids=ids, documents=texts, metadatas=metadatas, embeddings=[vector(text) for text in texts])
    collection.delete(ids=ids[3:4])


def told(collection):
    """The contents as mempalace itself returns them."""
    found = collection.get(include=["documents", "metadatas", "embeddings"])
    rows = zip(found.ids, found.documents, found.metadatas, found.embeddings)
    return [
        {"id": id, "document": document, "metadata": metadata, "embedding": [float(one) for one in embedding]}
        for id, document, metadata, embedding in sorted(rows, key=lambda row: row[0])
    ]


def facts():
    graph = KnowledgeGraph(db_path=str(PALACE / "knowledge_graph.sqlite3"))
    graph.add_entity("Max", "person", {"age": 9})
    graph.add_triple("Max", "child_of", "Alice", valid_from="2015-04-01", source_drawer_id="drawer_1")
    graph.add_triple("Max", "does", "swimming", valid_from="2025-01-01", confidence=0.75, source_file="/notes/file1.md")
    graph.invalidate("Max", "does", "swimming", ended="2026-01-31")
    graph.add_triple("Alice Smith", "likes", "tea")
    graph.close()


def small_pages(path):
    """The tables are nearly empty."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    database.execute("VACUUM")
    database.close()


def settle(path):
    """No log is left beside the database."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()


def main():
    own = ["knowledge_graph.sqlite3"]
    if BACKEND == "sqlite_exact":
        own.append("sqlite_exact.sqlite3")
    for name in own:
        small_pages(PALACE / name)
    backend = get_backend(BACKEND)
    place = PalaceRef(id=str(PALACE), local_path=str(PALACE))
    expected = {}
    for name, kind, count in (("mempalace_drawers", "drawer", 9), ("mempalace_closets", "closet", 4)):
        collection = backend.get_collection(palace=place, collection_name=name, create=True)
        collection.set_embedder_identity(EmbedderIdentity(model_name="minilm", dimension=DIMENSION))
        fill(collection, kind, count)
        expected[name] = told(collection)
    facts()
    create_tunnel("home", "room0", "work", "room1", label="see also", source_drawer_id="drawer_0", target_drawer_id="drawer_1")
    create_tunnel("home", "room2", "work", "topic:tea", label="tea", kind="topic")
    backend.close()
    for name in own:
        settle(PALACE / name)
    # Lock files contain the path that they were created in.
    for name in (".mempalace", ".cache"):
        shutil.rmtree(TARGET / name, ignore_errors=True)
    (TARGET / "identity.txt").write_text("I am the keeper of this palace.\n")
    (TARGET / "people_map.json").write_text('{"ann": "Ann", "ben": "Ben"}\n')
    (TARGET / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
