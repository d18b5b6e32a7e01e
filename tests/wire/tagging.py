"""A peer that sends tagged fields of which nobody here knows, by a codec of its own (tests/kafka/schema.py)."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.kafka.schema import Message, Reader, Values
from tests.protocol.definitions import TABLE

UNKNOWN = {9000: b"ab", 9008: b""}
"""Two tagged fields that no message has."""
TAGGED = b"\xa8\x46\x02ab\xb0\x46\x00"
FOUND = json.loads(TABLE.read_text(encoding="utf-8"))
KEYS = {name: int(key) for key, name in FOUND["apis"].items()}
BY_KEY = {key: name for name, key in KEYS.items()}


class Tagging(Message):
    """A message that has unknown tagged fields in each of its structures."""

    def _tags(self, tagged: dict[int, bytes]) -> bytes:
        return super()._tags({**tagged, **UNKNOWN})


def message(name: str, version: int, kind: type[Message] = Tagging) -> Message:
    """Return a message of the table, such as "FetchRequest"."""
    return kind(FOUND["messages"][name], version)


def rows(fields: list[Values]) -> Values:
    """Return values that have one row, or one value, in each array that may be there, and defaults elsewhere."""
    found: Values = {}
    for field in fields:
        kind = field["type"]
        if kind.startswith("[]"):
            plain = {"[]string": "x", "[]uuid": bytes(16)}.get(kind, 0)
            found[field["name"]] = [rows(field["fields"]) if "fields" in field else plain]
    return found


def request(api: str, version: int, values: Values, kind: type[Message] = Tagging) -> bytes:
    """Return a request, with its length, of which the header has unknown tagged fields too."""
    made = message(f"{api}Request", version, kind)
    tags = (b"\2" + TAGGED if kind is Tagging else b"\0") if made.flexible else b""
    data = struct.pack(">hhihc", KEYS[api], version, 1, 1, b"c") + tags + made.encode(values)
    return struct.pack(">i", len(data)) + data


def response(api: str, version: int, values: Values, kind: type[Message] = Tagging) -> bytes:
    """Return a response without its length; that of ApiVersions has no tagged fields in its header."""
    made = message(f"{api}Response", version, kind)
    tags = (b"\2" + TAGGED if kind is Tagging else b"\0") if made.flexible and api != "ApiVersions" else b""
    return struct.pack(">i", 1) + tags + made.encode(values)


@contextmanager
def broker_of_tags(behind: tuple[str, int]) -> Iterator[tuple[str, int]]:
    """Give the address of the only broker of a cluster, whose answers have unknown tagged fields."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        threading.Thread(target=_accept, args=(listener, behind, address), daemon=True).start()
        yield address


def _accept(listener: socket.socket, behind: tuple[str, int], address: tuple[str, int]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_carry, args=(client, behind, address), daemon=True).start()


def _carry(client: socket.socket, behind: tuple[str, int], address: tuple[str, int]) -> None:
    """Carry requests as they are, one after the other, and answers with unknown tagged fields."""
    with client, socket.create_connection(behind) as broker:
        asked, got = client.makefile("rb"), broker.makefile("rb")
        while len(head := asked.read(4)) == 4:
            data = asked.read(int.from_bytes(head, "big"))
            broker.sendall(head + data)
            api, version = BY_KEY[int.from_bytes(data[:2], "big")], int.from_bytes(data[2:4], "big")
            answer = got.read(int.from_bytes(got.read(4), "big"))
            reader = Reader(answer)
            reader.take(5 if message(f"{api}Response", version).flexible and api != "ApiVersions" else 4)
            values = message(f"{api}Response", version).decode(reader)
            _move(values, address)
            made = answer[:4] + response(api, version, values)[4:]
            client.sendall(struct.pack(">i", len(made)) + made)


def _move(values: Any, address: tuple[str, int]) -> None:
    """Put this broker's address in the place of that behind it."""
    if isinstance(values, list):
        for one in values:
            _move(one, address)
    elif isinstance(values, dict):
        if values.get("Port", -1) > 0:
            values["Host"], values["Port"] = address
        for one in values.values():
            _move(one, address)
