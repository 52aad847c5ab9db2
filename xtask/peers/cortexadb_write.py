"""Writes databases with the real cortexadb, each with the contents that a reader must find.

usage: cortexadb_write.py TARGET

Creates TARGET/<scene>/ for every scene, with `db/` (the database) and `expected.json`: the live
memories, the edges between them, and the deleted ids. Vectors and texts are derived from the ids, so
two runs differ only in times.
"""

import json
import pathlib
import shutil
import sys

from cortexadb import CortexaDB

DIMENSION = 8


def vector(number):
    return [((number * 37 + position * 11) % 64 - 32) / 64 for position in range(DIMENSION)]


class Scene:
    def __init__(self, target, name):
        self.home = target / name
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.path = self.home / "db"
        self.database = None
        self.alive = {}
        self.edges = []
        self.deleted = []
        self.open()

    def open(self):
        self.database = CortexaDB.open(str(self.path), dimension=DIMENSION, sync="strict")

    def close(self):
        self.database = None

    def add(self, text, collection=None, metadata=None):
        number = len(self.alive) + len(self.deleted) + 1
        made = self.database.add(text, vector=vector(number), metadata=metadata, collection=collection)
        memory = self.database.get(made)
        self.alive[made] = {
            "id": made,
            "collection": memory.collection,
            "content": bytes(memory.content).decode(),
            "embedding": list(memory.embedding),
            "metadata": dict(memory.metadata),
            "created_at": memory.created_at,
            "importance": memory.importance,
        }
        return made

    def delete(self, made):
        self.database.delete(made)
        del self.alive[made]
        self.deleted.append(made)
        self.edges = [edge for edge in self.edges if made not in edge[:2]]

    def connect(self, source, target, relation):
        self.database.connect(source, target, relation)
        self.edges.append([source, target, relation])

    def refused(self, action):
        """Makes a call that cortexadb logs first and then refuses."""
        try:
            action()
        except Exception:
            return
        raise SystemExit("cortexadb accepted a call that it should refuse")

    def write(self):
        self.close()
        for name in ("cortexadb.hnsw",):
            (self.path / name).unlink(missing_ok=True)
        expected = {
            "memories": [self.alive[made] for made in sorted(self.alive)],
            "edges": sorted(self.edges),
            "deleted": self.deleted,
        }
        (self.home / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def fill(scene, count=6):
    made = [
        scene.add(
            f"memory {number}: the {['kettle', 'ledger', 'harbour'][number % 3]} is number {number}",
            collection=[None, "notes", None][number % 3],
            metadata={"who": ["ann", "ben"][number % 2], "note": f"ü{number}"} if number % 4 else None,
        )
        for number in range(count)
    ]
    scene.connect(made[0], made[2], "leads_to")
    scene.connect(made[0], made[3], "contradicts")
    scene.connect(made[1], made[4], "same_as")
    return made


def log_only(target):
    scene = Scene(target, "log_only")
    made = fill(scene)
    scene.delete(made[3])
    scene.add("after the delete")
    scene.write()


def checkpointed(target):
    scene = Scene(target, "checkpointed")
    made = fill(scene)
    scene.delete(made[5])
    scene.database.checkpoint()
    scene.add("added after the checkpoint", metadata={"who": "cleo"})
    scene.delete(made[2])
    scene.write()


def poisoned(target):
    """A delete and links of missing ids. cortexadb cannot open this database again."""
    scene = Scene(target, "poisoned")
    made = fill(scene)
    scene.refused(lambda: scene.database.delete(9999))
    scene.refused(lambda: scene.database.connect(made[0], 8888, "nowhere"))
    scene.refused(lambda: scene.database.connect(made[0], made[1], "across"))
    scene.add("after the poison")
    scene.write()


def stale_log(target):
    """Killed between checkpoint and truncation, so the log holds deletes that the checkpoint has."""
    scene = Scene(target, "stale_log")
    made = fill(scene)
    scene.database.checkpoint()
    scene.delete(made[0])
    scene.add("between the checkpoints")
    log = (scene.path / "cortexadb.wal").read_bytes()
    scene.database.checkpoint()
    scene.write()
    (scene.path / "cortexadb.wal").write_bytes(log)


def restarted(target):
    """Positions in the log restart after a truncation, and the last id is assigned again."""
    scene = Scene(target, "restarted")
    made = fill(scene)
    scene.database.checkpoint()
    scene.delete(made[5])
    scene.database.checkpoint()
    scene.close()
    scene.open()
    scene.deleted.clear()
    scene.add("after the restart")
    scene.add("and one more")
    scene.write()


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    for make in (log_only, checkpointed, poisoned, stale_log, restarted):
        make(target)
