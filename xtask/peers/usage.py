"""Runs a command and writes the cost of it and its children.

usage: usage.py OUTPUT COMMAND...

OUTPUT gets {"cpu_s", "rss_bytes", "wall_s", "status"}; the command's stdout and stderr pass through.
"""

import json
import os
import sys
import time

output, *command = sys.argv[1:]
begun = time.monotonic()
child = os.fork()
if child == 0:
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(error, file=sys.stderr)
        os._exit(127)
_, status, usage = os.wait4(child, 0)
with open(output, "w", encoding="utf-8") as file:
    json.dump(
        {
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "rss_bytes": usage.ru_maxrss * 1024,
            "wall_s": time.monotonic() - begun,
            "status": os.waitstatus_to_exitcode(status),
        },
        file,
    )
