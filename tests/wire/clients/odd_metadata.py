"""Metadata with topic ids and null names: 10 and 11 have fields for them and no use, 12 has rules of its own."""

from __future__ import annotations

import io
import socket
import struct
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

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
    kind: Any = load_request_schema(METADATA, version)
    (topic,) = (t for t in vars(__import__(kind.__module__, fromlist=["x"])).values() if _is_topic(t))
    topics = tuple(topic(name=name, topic_id=topic_id) for name, topic_id in rows)
    out = io.BytesIO()
    out.write(struct.pack(">hhih4sb", METADATA, version, 1, 4, b"test", 0))
    flags = {name: False for name in kind.__dataclass_fields__ if name.startswith(("allow", "include"))}
    entity_writer(kind)(out, kind(topics=topics, **flags))
    data = out.getvalue()
    with socket.create_connection((host, port), timeout=30) as connection, connection.makefile("rb") as file:
        connection.sendall(i32(len(data)).to_bytes(4, "big") + data)
        head = file.read(4)
        if not head:
            return "closed"
        read: Any = entity_reader(load_response_schema(METADATA, version))
        answer, _ = read(file.read(int.from_bytes(head, "big")), 5)
    return [(t.error_code.name, t.name, str(t.topic_id)) for t in answer.topics]


def _is_topic(one: Any) -> bool:
    return isinstance(one, type) and one.__name__ == "MetadataRequestTopic"
