"""Writes a ChromaDB directory with collections whose records have the same ids, and its contents.

usage: chroma_twins.py FOLDER PLAN      PLAN is a JSON list of collections, see `run` below

FOLDER gets `now` (the directory) and `expected.json` (the results of `get` in the same process).
"""

import json
import os
import pathlib
import sys

from chroma_write import PLAN, Writer, dump, expected, labels, open_client


class Twin(Writer):
    """A collection whose records have the same ids as those of every other collection."""

    def record(self, number):
        _, *rest = super().record(number)
        return f"id-{number:05}", *rest


def run(folder, collections):
    """Each collection: name, metric, records, sync_threshold, dimension."""
    now = folder / "now"
    client = open_client(now)
    plans = [PLAN | {"dimension": options["dimension"]} for options in collections]
    writers = [Twin.create(client, plan, options) for plan, options in zip(plans, collections)]
    while not all(writer.done() for writer in writers):
        for writer in writers:
            writer.add(20)
    dump(folder / "expected.json", expected(writers) | {"labels": labels(now)})
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    run(target, json.loads(sys.argv[2]))
