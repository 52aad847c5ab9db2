"""Writes a database with the real memtomem, and the contents that a reader must find.

usage: memtomem_write.py TARGET

Creates TARGET/<scene>/memtomem.db and TARGET/<scene>/expected.json. If the sqlite3 of this Python
cannot load extensions, `pysqlite3` replaces it. Vectors are derived from the texts; no model is used.
"""

import asyncio
import hashlib
import json
import pathlib
import shutil
import sqlite3
import sys
import uuid
from datetime import datetime, timezone

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3

    sys.modules["sqlite3"] = sqlite3 = pysqlite3

from memtomem.config import StorageConfig  # noqa: E402
from memtomem.models import Chunk, ChunkMetadata, ChunkType  # noqa: E402
from memtomem.storage.sqlite_backend import SqliteBackend  # noqa: E402

DIMENSION = 4
MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)


def vector(text):
    return [byte / 256 - 0.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]


def chunk(number, **metadata):
    text = f"chunk {number}: the {['kettle', 'ledger', 'harbour'][number % 3]} is number {number}"
    return Chunk(
        id=uuid.UUID(int=number + 1),
        content=text,
        embedding=vector(text) if number % 5 != 4 else [],
        created_at=MOMENT,
        updated_at=MOMENT,
        metadata=ChunkMetadata(
            source_file=pathlib.Path(f"/notes/file{number % 2}.md"),
            heading_hierarchy=("Notes", f"Part {number}") if number % 2 else (),
            chunk_type=ChunkType.MARKDOWN_SECTION if number % 2 else ChunkType.RAW_TEXT,
            start_line=number * 10 + 1,
            end_line=number * 10 + 9,
            tags=("tea", f"tag{number}") if number % 3 == 0 else (),
            namespace=["default", "work"][number % 2],
            valid_from_unix=1767225600 if number == 2 else None,
            valid_to_unix=1798761599 if number == 2 else None,
            **metadata,
        ),
    )


def backend(path, dimension):
    provider, model = ("onnx", "all-MiniLM-L6-v2") if dimension else ("none", "")
    return SqliteBackend(
        config=StorageConfig(sqlite_path=path),
        dimension=dimension,
        embedding_provider=provider,
        embedding_model=model,
    )


async def fill(storage):
    chunks = [chunk(number) for number in range(12)]
    await storage.upsert_chunks(chunks)
    await storage.delete_chunks([chunks[3].id, chunks[7].id])
    alive = [one for index, one in enumerate(chunks) if index not in (3, 7)]
    await storage.increment_access([alive[0].id, alive[1].id])
    await storage.add_relation(alive[0].id, alive[1].id, "explains")
    await storage.add_chunk_link(alive[2].id, alive[3].id, "summarizes", "work")
    await storage.create_session("session-1", "agent", "default", {})
    return alive


def expected(path, dimension):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    rows = [dict(row) for row in database.execute("SELECT rowid AS number, * FROM chunks ORDER BY rowid")]
    if dimension:
        import sqlite_vec

        database.enable_load_extension(True)
        sqlite_vec.load(database)
        vectors = {
            row["rowid"]: json.loads(row["vector"])
            for row in database.execute("SELECT rowid, vec_to_json(embedding) AS vector FROM chunks_vec")
        }
    else:
        vectors = {}
    for row in rows:
        row["vector"] = vectors.get(row["number"])
    links = [
        list(row)
        for row in database.execute(
            "SELECT source_id, target_id, relation_type FROM chunk_relations"
            " UNION ALL SELECT source_id, target_id, link_type FROM chunk_links"
        )
    ]
    database.close()
    return {"chunks": rows, "links": links}


def write(target, name, dimension):
    home = target / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    path = home / "memtomem.db"

    async def run():
        storage = backend(path, dimension)
        await storage.initialize()
        await fill(storage)
        await storage.close()

    # Small pages, because the schema has about thirty tables and nearly all are empty.
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 512")
    database.execute("VACUUM")
    database.close()
    asyncio.run(run())
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    (home / "expected.json").write_text(
        json.dumps(expected(path, dimension), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    )


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    write(target, "with_vectors", DIMENSION)
    write(target, "words_only", 0)
