"""Runs the MCP server of the real mempalace and sends it the calls of a file.

usage: mempalace_mcp.py serve HOME               the server on stdin and stdout, with its palace in HOME/palace
       mempalace_mcp.py ask HOME CALLS ANSWERS   the calls of a JSON file, one after another
       mempalace_mcp.py record FACTS             the calls in FACTS again, each with the keys and types of its answer

FACTS is crates/loci-mcp/tests/fixtures/mempalace.json: the arguments and answers of the twenty tools
that Loci replaces. CALLS is a list of {"name", "tool", "arguments"}; ANSWERS gets {"name": {"result":
…} or {"error": …}}. An argument `$name.key` is replaced by that key of an earlier answer. Vectors are
derived from the words of a text; no model is used.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOOLS = (
    "status list_wings list_rooms get_taxonomy search check_duplicate get_drawer list_drawers add_drawer update_drawer "
    "delete_drawer kg_query kg_add kg_invalidate kg_timeline traverse find_tunnels diary_write diary_read reconnect"
).split()


# Texts that are too long for a list of calls.
LONG = {
    "LONG": " ".join(f"Sentence {number} of the yearly report." for number in range(60)),
    "LONG_QUERY": "You are an assistant. " * 20 + "\nWhere is the kettle?",
}


def serve(home):
    palace = pathlib.Path(home) / "palace"
    # The user's own palace must not be touched, and updates must not be checked.
    os.environ["HOME"] = str(home)
    os.environ["XDG_CONFIG_HOME"] = str(pathlib.Path(home) / "config")
    os.environ["MEMPALACE_PALACE_PATH"] = str(palace)
    word_vectors()
    sys.argv = ["mempalace-mcp", "--palace", str(palace)]
    from mempalace.mcp_server import main

    main()


def word_vectors():
    """Gives texts that share words similar vectors, in place of the model."""
    import hashlib
    import re

    import numpy as np
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    def vectors(self, documents, batch_size=32):
        made = np.full((len(documents), 384), 1e-3, dtype=np.float32)
        for row, document in enumerate(documents):
            for word in re.findall(r"\w+", document.lower()):
                made[row, int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % 384] += 1
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    ONNXMiniLM_L6_V2._forward = vectors
    ONNXMiniLM_L6_V2._download_model_if_not_exists = lambda self: None


class Server:
    """The server as a client sees it."""

    def __init__(self, home):
        command = [sys.executable, __file__, "serve", str(home)]
        self.log = open(pathlib.Path(home) / "server.log", "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"the server ended; see {self.log.name}")
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer

    def call(self, tool, arguments):
        answer = self.request("tools/call", {"name": f"mempalace_{tool}", "arguments": arguments})
        if "error" in answer:
            return {"error": answer["error"]}
        result = answer["result"]
        return {"result": json.loads(result["content"][0]["text"]), "is_error": bool(result.get("isError"))}

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


def filled(arguments, answers):
    """Arguments with the keys of earlier answers put in."""
    made = {}
    for key, value in arguments.items():
        value = LONG.get(value, value) if isinstance(value, str) else value
        if isinstance(value, str) and value.startswith("$"):
            name, _, path = value[1:].partition(".")
            value = answers[name]["result"]
            for part in path.split("."):
                value = value[int(part)] if part.isdigit() else value[part]
        made[key] = value
    return made


def asked(server, calls):
    answers = {}
    for call in calls:
        answers[call["name"]] = server.call(call["tool"], filled(call["arguments"], answers))
    return answers


def kind(value):
    """The shape of a value: its keys and types, without texts."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return [kind(value[0])] if value else []
    return {key: kind(one) for key, one in sorted(value.items())}


def parameter(schema):
    """The arguments of a tool, without their descriptions."""
    facts = {key: schema[key] for key in ("type", "enum", "minimum", "maximum", "maxLength", "default") if key in schema}
    if "anyOf" in schema:
        facts["anyOf"] = schema["anyOf"]
    return facts


def tools_of(server):
    tools = {}
    for tool in server.request("tools/list", {})["result"]["tools"]:
        name = tool["name"].removeprefix("mempalace_")
        if name in TOOLS:
            schema = tool["inputSchema"]
            tools[name] = {
                "parameters": {key: parameter(one) for key, one in sorted(schema.get("properties", {}).items())},
                "required": sorted(schema.get("required", [])),
                "read_only": tool.get("annotations", {}).get("readOnlyHint", False),
            }
    return tools


def record(target):
    known = json.loads(pathlib.Path(target).read_text())
    facts = {"tools": {}}
    for scene in known.keys() - {"tools"}:
        calls = [{key: call[key] for key in ("name", "tool", "arguments")} for call in known[scene]]
        with tempfile.TemporaryDirectory(prefix="mempalace-mcp-") as place:
            server = Server(place)
            facts["tools"] = tools_of(server)
            answers = asked(server, calls)
            server.close()
        facts[scene] = [call | shape(answers[call["name"]]) for call in calls]
    pathlib.Path(target).write_text(in_lines(dict(sorted(facts.items()))))


def shape(answer):
    return {"code": answer["error"]["code"]} if "error" in answer else {"result": kind(answer["result"])}


def in_lines(facts):
    """One line for each tool and each call."""
    parts = []
    for name, part in facts.items():
        keyed = isinstance(part, dict)
        rows = [f"{json.dumps(key)}: {json.dumps(row, sort_keys=True)}" for key, row in sorted(part.items())] if keyed else [
            json.dumps(row, sort_keys=True) for row in part
        ]
        begin, end = "{}" if keyed else "[]"
        parts.append(f"{json.dumps(name)}: {begin}\n " + ",\n ".join(rows) + f"\n{end}")
    return "{" + ",\n".join(parts) + "}\n"


def ask(home, calls, answers):
    server = Server(home)
    given = json.loads(pathlib.Path(calls).read_text())
    pathlib.Path(answers).write_text(json.dumps(asked(server, given), indent=1, sort_keys=True) + "\n")
    server.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", place]:
            serve(place)
        case ["ask", place, calls, answers]:
            ask(place, calls, answers)
        case ["record", target]:
            record(target)
        case _:
            sys.exit(__doc__)
