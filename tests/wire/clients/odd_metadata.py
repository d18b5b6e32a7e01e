"""Metadata with topic ids and null names: 10 and 11 have fields for them and no use, 12 has rules of its own."""

from __future__ import annotations

import socket
import struct
from typing import Any
from uuid import UUID

from kafkalab.wire.primitives import Sink, Source
from kafkalab.wire.structs import raw

METADATA, VERSIONS = 3, (10, 11, 12)
ID = UUID(int=7)
ASKED: dict[str, tuple[tuple[str | None, UUID | None], ...]] = {
    "an id": ((None, ID),),
    "an id and a name": (("nosuch", ID),),
    "no name and no id": ((None, None),),
    "a name, and an id": (("nosuch", None), (None, ID)),
}


def answers(servers: str) -> dict[str, Any]:
    """Return by version and question the error, name and id of each topic in the answer."""
    host, _, port = servers.split(",")[0].rpartition(":")
    return {
        f"Metadata {version}, {name}": _answer(host, int(port), version, rows)
        for version in VERSIONS
        for name, rows in ASKED.items()
    }


def _answer(host: str, port: int, version: int, rows: tuple[tuple[str | None, UUID | None], ...]) -> Any:
    topics = [{"name": name, "topic_id": topic_id} for name, topic_id in rows]
    sink = Sink(struct.pack(">hhih4sb", METADATA, version, 1, 4, b"test", 0))
    raw("MetadataRequest", version).write(sink, {"topics": topics, "allow_auto_topic_creation": False})
    with socket.create_connection((host, port), timeout=30) as connection, connection.makefile("rb") as file:
        connection.sendall(struct.pack(">i", len(sink)) + sink)
        head = file.read(4)
        if not head:
            return "closed"
        answer = raw("MetadataResponse", version).read(Source(file.read(int.from_bytes(head, "big")), 5))
    return [(t["error_code"], t["name"], str(t["topic_id"])) for t in answer["topics"]]
