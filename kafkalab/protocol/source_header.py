"""The header in which a program declares which input an output was made from; checks match effects to inputs by it.

Kafka has no such header: its name and form are kafkalab's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kafkalab.protocol.records import Headers

SOURCE = "kafkalab-source"


class Consumed(Protocol):
    """A record that a consumer was given."""

    @property
    def partition(self) -> str: ...

    @property
    def offset(self) -> int: ...


def made_from(*inputs: Consumed) -> Headers:
    """Return the headers that declare an output of these input records: `send(topic, value, headers=made_from(r))`."""
    return tuple((SOURCE, place_of(record.partition, record.offset).encode()) for record in inputs)


def place_of(partition: str, offset: int) -> str:
    """`place_of("in-0", 5) == "in-0@5"`."""
    return f"{partition}@{offset}"


def sources_of(headers: Iterable[str]) -> list[str]:
    """Return the inputs that these headers declare, each once; `headers` are texts as `header_texts` gives them."""
    begins = f"{SOURCE}="
    return list(dict.fromkeys(text.removeprefix(begins) for text in headers if text.startswith(begins)))


def header_texts(headers: Headers) -> tuple[str, ...]:
    """Return each header as "key=value"; bytes that are no UTF-8 are written as \\x and two digits."""
    return tuple(f"{key}={'' if value is None else value.decode(errors='backslashreplace')}" for key, value in headers)
