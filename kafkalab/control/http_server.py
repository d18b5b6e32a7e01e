"""The HTTP server of the control interface: who may ask, what a request has to look like, and errors as sentences.

Every check is made before the body is read. A web page cannot press a fault: its requests have an Origin, or a
Content-Type that is not JSON, and a name that it has made resolve to this machine is no local Host.
"""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kafkalab.control.openapi import describe
from kafkalab.control.operations import GET, JSON, POST, Operation, RefusedError, find_operation
from kafkalab.limits import quote, truncate, whole_number

log = logging.getLogger("kafkalab.control")

MOST_BODY = 64 * 1024
MOST_CONNECTIONS = 64
IDLE_S = 30
DESCRIPTION = "/openapi.json"


class ControlServer(ThreadingHTTPServer):
    """Serves the operations of `table` on `source` in threads of its own, until `close`. OSError if the port is taken.

    `names` are host names, beside the local ones, by which it may be reached.
    """

    daemon_threads, allow_reuse_address = True, True

    def __init__(
        self, source: Any, table: Sequence[Operation], title: str, host: str, port: int, names: Sequence[str] = ()
    ) -> None:
        self.source, self.table = source, table
        self.description = describe(table, title)
        self.host, self.names = host, tuple(name.lower() for name in names)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((host, port), Handler)
        self.local_only = is_loopback(host)
        threading.Thread(target=self.serve_forever, args=(0.1,), name="kafkalab control", daemon=True).start()

    @property
    def url(self) -> str:
        """Return the address at which this machine reaches it."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "") else "[::1]" if self.host == "::" else self.host
        return f"http://{f'[{host}]' if ':' in host and host[0] != '[' else host}:{self.server_address[1]}"

    def server_bind(self) -> None:
        """Bind without asking a name server for this machine's name, as http.server would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.host, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Close a connection beyond the limit at once."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is no error."""
        log.debug("a connection has ended in the middle", exc_info=True)

    def close(self) -> None:
        """Stop listening. Requests that are being answered are given up."""
        self.shutdown()
        self.server_close()


def is_loopback(host: str) -> bool:
    """Return whether the name or address is this machine's loopback."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_address(host: str) -> bool:
    """Return whether it is an IP address: no name, that somebody else could make resolve to this machine."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: ControlServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "kafkalab", ""
    timeout = IDLE_S
    disable_nagle_algorithm = True

    def handle_request(self) -> None:
        """Answer a request, or say why not."""
        try:
            self._check_sender()
            path, _, query = self.path.partition("?")
            if path == DESCRIPTION and self.command == GET:
                self._send(200, JSON, json.dumps(self.server.description, indent=1))
                return
            operation = find_operation(self.server.table, self.command, path)
            arguments = self._body(operation) if self.command == POST else self._query(operation, query)
            found = operation.answer(self.server.source, **arguments)
            self._send(200, operation.media, json.dumps(found) if operation.media == JSON else found)
            if self.command == POST:
                log.info("%s %s", path, truncate(json.dumps(arguments)))
        except RefusedError as refused:
            self.close_connection = True  # its body has perhaps not been read
            self._refuse(refused.status, str(refused), refused.headers)
        except (TimeoutError, RuntimeError) as error:
            self._refuse(409, truncate(error), {})
        except (ValueError, TypeError) as error:
            self._refuse(400, truncate(error), {})
        except (ConnectionError, BrokenPipeError):
            self.close_connection = True
        except Exception as error:  # a mistake of ours must not end the server
            log.exception("%s %s", self.command, truncate(self.path))
            self._refuse(500, f"a mistake of kafkalab: {type(error).__name__}", {})

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = handle_request

    # who asks

    def _check_sender(self) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            said = quote(hosts[0]) if len(hosts) == 1 else f"{len(hosts)} of them"
            raise RefusedError(403, f"the Host header has to be one that is local, as localhost:9080, not {said}")
        if "Origin" in self.headers:
            raise RefusedError(403, "requests of web pages are refused: this one has an Origin header")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise RefusedError(403, "requests of other web pages are refused")

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if is_loopback(name) or name in self.server.names:
            return True
        return not self.server.local_only and is_address(name)

    # what is asked

    def _query(self, operation: Operation, query: str) -> dict[str, Any]:
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            raise RefusedError(400, "a GET has no body: its parameters are in the query")
        return operation.arguments(parse_qs(query, keep_blank_values=True, max_num_fields=50), query=True)

    def _body(self, operation: Operation) -> dict[str, Any]:
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != JSON:
            raise RefusedError(415, f"the Content-Type has to be {JSON}, not {quote(kind)}")
        if "?" in self.path:
            raise RefusedError(400, "the parameters of a POST are fields of its body, not of the query")
        lengths = self.headers.get_all("Content-Length") or []
        if "Transfer-Encoding" in self.headers or len(lengths) != 1:
            raise RefusedError(411, "the body needs a Content-Length")
        if (length := whole_number(lengths[0])) < 0:
            raise RefusedError(400, f"the Content-Length is no number: {quote(lengths[0])}")
        if length > MOST_BODY:
            raise RefusedError(413, f"the body has {length:,} bytes; the limit is {MOST_BODY:,}")
        try:
            data = self.rfile.read(length)
        except TimeoutError:
            raise RefusedError(408, f"the body has not come within {IDLE_S} s") from None
        if len(data) < length:
            raise RefusedError(400, "the body ends before its Content-Length")
        try:
            body = json.loads(data or b"{}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the body is not JSON: {truncate(error)}") from None
        if not isinstance(body, dict):
            raise ValueError(f"the body is an object of parameters, not {quote(body)}")
        return operation.arguments(body)

    # what is answered

    def _refuse(self, status: int, sentence: str, headers: dict[str, str]) -> None:
        self._send(status, JSON, json.dumps({"error": sentence}), headers)

    def _send(self, status: int, media: str, text: str, headers: dict[str, str] | None = None) -> None:
        data = text.encode(errors="backslashreplace")
        self.send_response(status)
        for name, value in {
            "Content-Type": media, "Content-Length": str(len(data)), "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
            "X-Frame-Options": "DENY", **(headers or {}),
        }.items():  # fmt: skip
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no HTTP request, or has a method that there is not: as JSON, as everything else."""
        self.close_connection = True
        self.command = getattr(self, "command", None) or "?"
        if self.request_version == "HTTP/0.9":
            self.request_version = "HTTP/1.0"
        self._refuse(405 if code == 501 else code, truncate(message or "no HTTP request"), {})

    def log_message(self, format: str, *values: Any) -> None:
        """Log at debug: what is pressed is logged by its operation."""
        log.debug(format, *values)
