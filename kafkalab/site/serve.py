"""Show the built site on this machine alone: a plain file server on the loopback address."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

HOST, PORT = "127.0.0.1", 8000


class Handler(SimpleHTTPRequestHandler):
    """Serves files with the types that browsers insist on, whatever this machine's own table of types says."""

    extensions_map = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".ipynb": "application/json",
        ".whl": "application/zip",
        ".klab": "application/json",
    }

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for each request."""


def server(site: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the folder that listens on loopback, on any free port where `port` is 0."""
    return ThreadingHTTPServer((HOST, port), partial(Handler, directory=str(site)))


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the folder while the block runs; yield its address, which ends in a slash."""
    with server(site) as running:
        thread = Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://{HOST}:{running.server_port}/"
        running.shutdown()
        thread.join()


def serve(site: Path, port: int) -> None:
    """Serve the folder until Control-C, and print its address."""
    with server(site, port) as running:
        print(f"The site is at http://{HOST}:{running.server_port}/  Control-C stops it.", flush=True)
        running.serve_forever()


def port_number(text: str) -> int:
    """Return the port that an option names; 0 means any that is free."""
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text[:80]!r}")
    return int(text)
