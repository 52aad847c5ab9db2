"""Writes the committed fixtures of old releases. Run it under each release.

usage: chroma_fixtures.py FOLDER      FOLDER is crates/loci-foreign/tests/fixtures

Creates `chroma-X.Y-flushed` and `chroma-X.Y-queued`, each with `now` and `expected.json`. Runs differ
in uuids, times and the shape of the graph.
"""

import json
import pathlib
import subprocess
import sys

import chromadb

release = ".".join(chromadb.__version__.split(".")[:2])
for state, threshold in (("flushed", 10), ("queued", 1000)):
    collections = [
        {"name": name, "metric": metric, "records": 44, "sync_threshold": threshold, "words": 2}
        for name, metric in (("drawers", "cosine"), ("notes", "l2"))
    ]
    plan = {"lists": False, "returned": True, "trim": True, "dimension": 8, "batch": 9, "collections": collections}
    folder = pathlib.Path(sys.argv[1]) / f"chroma-{release}-{state}"
    subprocess.run([sys.executable, pathlib.Path(__file__).with_name("chroma_write.py"), folder, json.dumps(plan)], check=True)
