"""The official Python client of MCP, controlled by a test. Runs with mcp 1.30 and with mcp 2.

Reads one JSON object per line and answers each with one line.

The first line connects: {"command": [...], "environment": {...}} over stdio, or {"url": ..., "token":
...} over HTTP. "mode" is "legacy" (the handshake), "auto" or a revision without a handshake, which mcp
1.30 does not support. The answer contains what the server reported about itself. Each later line is one of

    {"list": "tools" | "prompts" | "resources" | "templates"}      all pages
    {"call": NAME, "arguments": {...}}                              with "cancel_after" or "die_after": seconds, to give up
                                                                    or be killed while the call runs
    {"read": URI}
    {"prompt": NAME, "arguments": {...}}
    {"ping": true}

and is answered by {"result": ...}, or {"error": {...}} if the client raised. A result that does not
match the schema of its tool is an error of the client; a second validator checks it too. "complaints"
lists everything that the client logged as a warning or worse, such as lines on stdout that are not
messages. The end of the input ends the session.
"""

import contextlib
import json
import logging
import os
import signal
import sys

import anyio
import jsonschema
import mcp
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

try:
    from mcp import Client
except ImportError:
    Client = None


class Complaints(logging.Handler):
    """Collects the warnings of the client."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())

    def take(self):
        taken, self.lines = self.lines, []
        return taken


COMPLAINTS = Complaints()
logging.getLogger().addHandler(COMPLAINTS)


async def heard(message):
    """Receives messages that the session could not read."""
    if isinstance(message, Exception):
        COMPLAINTS.lines.append(repr(message))


def wire(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextlib.asynccontextmanager
async def transport(plan):
    """A pair of streams to the server."""
    if "command" in plan:
        command, *arguments = plan["command"]
        parameters = StdioServerParameters(command=command, args=arguments, env=plan.get("environment"))
        async with stdio_client(parameters) as streams:
            yield streams
        return
    headers = {"Authorization": f"Bearer {plan['token']}"} if plan.get("token") else {}
    if Client is None:
        import httpx
    else:
        import httpx2 as httpx
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        async with streamable_http_client(plan["url"], http_client=http) as streams:
            yield streams


@contextlib.asynccontextmanager
async def connected(plan):
    """A client after the handshake, and the answer of the server to it."""
    if Client is None:
        async with transport(plan) as (read, write, *_):
            async with ClientSession(read, write, message_handler=heard) as session:
                greeting = await session.initialize()
                yield session, wire(greeting)
        return
    mode = plan.get("mode", "auto")
    async with Client(transport(plan), mode=mode, message_handler=heard, cache=None) as client:
        information = client.server_info
        yield client, {
            "protocolVersion": client.protocol_version,
            "serverInfo": wire(information) if information else None,
            "capabilities": wire(client.server_capabilities),
            "instructions": client.instructions,
        }


LISTS = {
    "tools": ("list_tools", "tools"),
    "prompts": ("list_prompts", "prompts"),
    "resources": ("list_resources", "resources"),
    "templates": ("list_resource_templates", "resourceTemplates"),
}


class Driver:
    def __init__(self, client):
        self.client = client
        self.tools = {}

    async def answer(self, command):
        match command:
            case {"list": what}:
                return await self.list(what)
            case {"call": name}:
                return await self.call(name, command)
            case {"read": uri}:
                return wire(await self.client.read_resource(uri))
            case {"prompt": name}:
                return wire(await self.client.get_prompt(name, command.get("arguments") or {}))
            case {"ping": _}:
                return wire(await self.client.send_ping())
        raise ValueError(f"no such command: {command}")

    async def list(self, what):
        method, key = LISTS[what]
        items, cursor = [], None
        while True:
            keywords = {"cursor": cursor} if Client else page(cursor)
            listed = wire(await getattr(self.client, method)(**keywords))
            items += listed[key]
            cursor = listed.get("nextCursor")
            if cursor is None:
                break
        if what == "tools":
            for tool in items:
                for schema in ("inputSchema", "outputSchema"):
                    if schema in tool:
                        jsonschema.Draft202012Validator.check_schema(tool[schema])
            self.tools = {tool["name"]: tool for tool in items}
        return items

    async def call(self, name, command):
        arguments = command.get("arguments") or {}
        progress = []

        async def advanced(done, total, message):
            progress.append({"progress": done, "total": total, "message": message})

        if "die_after" in command:
            await self.die_during(name, arguments, command["die_after"])
        with anyio.move_on_after(command.get("cancel_after")) as patience:
            result = wire(await self.client.call_tool(name, arguments, progress_callback=advanced))
        if patience.cancelled_caught:
            return {"cancelled": True, "progress": progress}
        schema = self.tools.get(name, {}).get("outputSchema")
        if schema and not result.get("isError"):
            jsonschema.validate(result.get("structuredContent"), schema)
            jsonschema.validate(arguments, self.tools[name]["inputSchema"])
        return result | {"progress": progress}

    async def die_during(self, name, arguments, seconds):
        """Ends at once, during the call, like a client whose terminal was closed."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.client.call_tool, name, arguments)
            await anyio.sleep(seconds)
            os.kill(os.getpid(), signal.SIGKILL)


def page(cursor):
    from mcp.types import PaginatedRequestParams

    return {"params": PaginatedRequestParams(cursor=cursor)}


def described(error):
    """Describes an exception. A group of one is replaced by its member."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        (error,) = error.exceptions
    code = getattr(error, "code", None) or getattr(getattr(error, "error", None), "code", None)
    return {"type": type(error).__name__, "message": str(error), "code": code}


def say(answer):
    print(json.dumps(answer | {"complaints": COMPLAINTS.take()}), flush=True)


async def commands():
    while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
        yield json.loads(line)


async def main():
    said = commands()
    plan = await anext(said)
    async with connected(plan) as (client, greeting):
        say({"result": greeting, "client": getattr(mcp, "__version__", "")})
        driver = Driver(client)
        async for command in said:
            try:
                say({"result": await driver.answer(command)})
            except Exception as error:
                say({"error": described(error)})


try:
    anyio.run(main)
except Exception as error:
    say({"error": described(error)})
    sys.exit(1)
# Warnings that the client logs while it ends the session.
say({"result": "closed"})
