"""Show the built site on this machine alone: a plain file server on the loopback address."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

HOST, PORT, MISSING = "127.0.0.1", 8000, "404.html"


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

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the site's own page where it has no such file, as hosts of static files do."""
        page = Path(self.directory, MISSING)
        if code != HTTPStatus.NOT_FOUND or not page.is_file():
            return super().send_error(code, message, explain)
        content = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for each request."""


def server(site: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the folder that listens on loopback, on any free port where `port` is 0."""
    return ThreadingHTTPServer((HOST, port), partial(Handler, directory=str(site)))


@contextmanager
def serve_folder(site: Path) -> Iterator[str]:
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


def public_address(text: str) -> str:
    """Return the address that an option names, with a slash at its end."""
    if not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", text):
        raise argparse.ArgumentTypeError(f"an address looks like https://example.org/course/, not {text[:80]!r}")
    return text.rstrip("/") + "/"
