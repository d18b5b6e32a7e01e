"""Stands between Playwright and Debian's Firefox: starts Firefox, passes on what they say, and mends two answers.

Playwright speaks WebDriver BiDi, as of a newer Firefox, to one of its channel "moz-firefox". Of each context it first
sets media features, which Debian's does not know: its "unknown command" becomes "done". It drops a download that has no
id, so each gets its address as one. The arguments are Firefox's own; KAFKALAB_FIREFOX names the program.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application
from tornado.websocket import WebSocketClientConnection, WebSocketHandler, websocket_connect

PROGRAM = "KAFKALAB_FIREFOX"
HOST = "127.0.0.1"
MAY_BE_UNKNOWN = "emulation."
DOWNLOAD = "browsingContext.download"
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
LARGEST = 256 * 1024 * 1024
"""Bytes of one message: a screenshot is one."""


class Relay(WebSocketHandler):
    """One connection of Playwright's, and the one to Firefox that belongs to it."""

    def initialize(self, address: str) -> None:
        """Keep where Firefox listens; nothing is pending."""
        self.address = address
        self.asked: set[int] = set()

    async def open(self, *args: str, **kwargs: str) -> None:
        """Connect to Firefox before the first message is passed on."""
        self.firefox: WebSocketClientConnection = await websocket_connect(
            self.address + self.request.path, on_message_callback=self.pass_back, max_message_size=LARGEST
        )

    async def on_message(self, message: str | bytes) -> None:
        """Pass on what Playwright says; note a command that this Firefox may not know."""
        command = json.loads(message)
        if command["method"].startswith(MAY_BE_UNKNOWN):
            self.asked.add(command["id"])
        await self.firefox.write_message(message)

    def pass_back(self, message: str | bytes | None) -> None:
        """Pass on what Firefox says, mended; None means that it has closed the connection."""
        if message is None:
            self.close()
        else:
            self.write_message(json.dumps(mend(json.loads(message), self.asked)))

    def on_close(self) -> None:
        """End Firefox's side, too."""
        self.firefox.close()


def mend(answer: dict[str, Any], asked: set[int]) -> dict[str, Any]:
    """Return what Playwright is told. `asked` has the ids of the commands that Firefox may not know."""
    if answer.get("id") in asked and answer.get("error") == "unknown command":
        return {"type": "success", "id": answer["id"], "result": {}}
    if answer.get("method", "").startswith(DOWNLOAD):
        return {**answer, "params": {"download": answer["params"]["url"], **answer["params"]}}
    return answer


def listen(address: str) -> str:
    """Open a port of this machine whose connections lead to Firefox at the address; return its own."""
    sockets = bind_sockets(0, HOST)
    relays = Application([(r"/.*", Relay, {"address": address})], websocket_max_message_size=LARGEST)
    HTTPServer(relays).add_sockets(sockets)
    return f"ws://{HOST}:{sockets[0].getsockname()[1]}"


async def watch(firefox: Process) -> None:
    """Pass on what Firefox writes until it ends; where it says that it listens, say where the relay does."""
    assert firefox.stderr is not None
    async for line in firefox.stderr:
        text = line.decode(errors="replace")
        if told := LISTENING.search(text):
            text = text.replace(told[1], listen(told[1]))
        print(text, end="", file=sys.stderr, flush=True)


async def main(arguments: list[str]) -> int:
    """Run Firefox until it ends; return its exit status."""
    firefox = await asyncio.create_subprocess_exec(os.environ[PROGRAM], *arguments, stdin=DEVNULL, stderr=PIPE)
    await watch(firefox)
    return await firefox.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
