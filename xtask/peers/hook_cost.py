"""Measures the CPU time of a hook, a command that reads JSON from stdin, from its start to the end of
all processes that it started.

usage: hook_cost.py PLAN       a JSON file: {"command": [...], "environment": {...}, "runs": 20, "input": {...},
                               "sessions": false, "transcript": PATH, "grows": [JSON lines], "prefix": [JSON lines]}

If there is a transcript, `prefix` is written to it first and `grows` is appended before every run, each
line with ids of its own, so that every run finds something new. With `sessions` every run has a session
of its own, so that no run leaves out what an earlier one printed. Prints {"cpu_ms", "wall_ms",
"background_ms", "answer"}: the means of the command itself and of the processes that it left running,
and the output of the last run.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time
import uuid

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes processes that the command leaves running children of this process."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("cannot follow processes that the hook leaves running on this system")


def write(path, lines, mode):
    with open(path, mode, encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line | {"uuid": str(uuid.uuid4())}) + "\n")


def cpu_ms(usage):
    return 1000 * (usage.ru_utime + usage.ru_stime)


def run(plan):
    if "transcript" in plan:
        write(plan["transcript"], plan["grows"], "a")
    begun = time.monotonic()
    hook = subprocess.Popen(
        plan["command"],
        env=os.environ | plan.get("environment", {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    session = {"session_id": str(uuid.uuid4())} if plan.get("sessions") else {}
    hook.stdin.write(json.dumps(plan["input"] | session).encode())
    hook.stdin.close()
    answer = hook.stdout.read()
    _, status, usage = os.wait4(hook.pid, 0)
    wall = 1000 * (time.monotonic() - begun)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"status {status}: {hook.stderr.read().decode()[-400:]}")
    background = 0
    while True:
        try:
            _, _, left = os.wait4(-1, 0)
        except ChildProcessError:
            break
        background += cpu_ms(left)
    return cpu_ms(usage), wall, background, answer


adopt_orphans()
plan = json.loads(pathlib.Path(sys.argv[1]).read_text())
if "transcript" in plan:
    write(plan["transcript"], plan["prefix"], "w")
runs = [run(plan) for _ in range(plan["runs"])]
mean = [sum(run[column] for run in runs) / len(runs) for column in range(3)]
print(
    json.dumps(
        {
            "cpu_ms": mean[0],
            "wall_ms": mean[1],
            "background_ms": mean[2],
            "answer": runs[-1][3].decode(),
        }
    )
)
