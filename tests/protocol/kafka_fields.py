"""Print what tests/protocol/kafka_fields.txt has of an API: `python -m tests.protocol.kafka_fields NAME JAR`.

JAR is kafka-clients-VERSION.jar, in which Kafka's message definitions are; `make oracle` puts it into
build/kafka/VERSION.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from tests.kafka.schema import Protocol

USAGE = "usage: python -m tests.protocol.kafka_fields NAME JAR, such as EndTxn kafka-clients-4.3.1.jar"


def lines(definition: dict[str, Any], side: str) -> Iterator[str]:
    """Return the lines of a request or response: its name and versions, then each field with those that carry it."""
    yield f"{definition['name'].removesuffix(side)} {side} {definition['validVersions']}"
    structs = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}
    yield from _fields(definition["fields"], "    ", structs)


def _fields(fields: list[dict[str, Any]], before: str, structs: dict[str, Any]) -> Iterator[str]:
    for field in fields:
        yield f"{before}{field['name']} {field['versions']}"
        inside = field.get("fields") or structs.get(field["type"].removeprefix("[]"), ())
        yield from _fields(inside, f"{before}{field['name']}.", structs)


def main(arguments: list[str]) -> str:
    """Return what to print; SystemExit with one line for an API or a jar that is not there."""
    if len(arguments) != 2:
        raise SystemExit(USAGE)
    name, jar = arguments
    try:
        protocol = Protocol(jar)
    except OSError as error:
        raise SystemExit(f"{jar}: {error.strerror or error}") from None
    if name not in protocol.requests or name not in protocol.responses:
        raise SystemExit(f"{jar} has no API {name}; there are {', '.join(sorted(protocol.requests))}")
    sides = (("Request", protocol.requests[name]), ("Response", protocol.responses[name]))
    return "\n".join(line for side, found in sides for line in lines(found, side))


if __name__ == "__main__":
    print(main(sys.argv[1:]))
