"""Measures the CPU time of MCP servers over stdio, with the same small client for all of them.

usage: mcp_cost.py PLAN        a JSON file: {"command": [...], "environment": {...}, "clients": 1,
                               "steps": [{"name": ..., "tool": ..., "arguments": [{...}, ...], "untimed": false}]}

Prints {"handshake_ms", "schema_bytes", "schema": [...], "steps": {name: ms per call}, "rss_bytes":
[...], "life_ms"}. The handshake is everything that a server does until it has answered `initialize`
and `tools/list`. Every client runs every step; the figures are those of the first client. Resident
memory is measured for every server after all steps, while all of them run. An error answer ends the
run, because the cost of refused calls is not a useful figure.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, plan):
        self.process = subprocess.Popen(
            plan["command"],
            env=os.environ | plan.get("environment", {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.last = 0

    def cpu_s(self):
        """CPU time of the process with all its threads, by its own clock, and of its ended children."""
        clock = (~self.process.pid << 3) | 2
        own = time.clock_gettime_ns(clock) / 1e9
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return own + (int(fields[13]) + int(fields[14])) / TICKS

    def rss_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, parameters):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": parameters})
        while line := self.process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") != self.last:
                continue
            if "error" in answer:
                sys.exit(f"{method} {parameters}: {answer['error']}")
            return answer["result"], line
        sys.exit(f"{method}: the server has ended")

    def greet(self):
        client = {"name": "loci-bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})
        tools, _ = self.ask("tools/list", {})
        return tools["tools"]

    def call(self, tool, arguments):
        result, line = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError") or b'\\"error\\":' in line:
            sys.exit(f"{tool} {arguments}: {line.decode()[:400]}")

    def close(self):
        """Ends the server, and returns its total CPU time, with its children."""
        self.process.stdin.close()
        _, _, usage = os.wait4(self.process.pid, 0)
        return usage.ru_utime + usage.ru_stime


def step(server, wanted):
    before = server.cpu_s()
    for arguments in wanted["arguments"]:
        server.call(wanted["tool"], arguments)
    return 1000 * (server.cpu_s() - before) / len(wanted["arguments"])


def main(plan):
    servers = [Server(plan) for _ in range(plan.get("clients", 1))]
    first = servers[0]
    schema = first.greet()
    handshake = first.cpu_s()
    for server in servers[1:]:
        server.greet()
    steps = {}
    for wanted in plan["steps"]:
        costs = [step(server, wanted) for server in servers]
        if not wanted.get("untimed"):
            steps[wanted["name"]] = costs[0]
    resident = [server.rss_bytes() for server in servers]
    lives = [server.close() for server in servers]
    compact = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    return {
        "handshake_ms": 1000 * handshake,
        "schema_bytes": len(compact.encode()),
        "schema": compact,
        "tools": len(schema),
        "steps": steps,
        "rss_bytes": resident,
        "life_ms": 1000 * lives[0],
    }


print(json.dumps(main(json.loads(pathlib.Path(sys.argv[1]).read_text()))))
