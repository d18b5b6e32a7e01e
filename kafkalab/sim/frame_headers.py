"""The header of a request's frame: its name, its version, and its category."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from kafkalab.protocol.messages.registry import BY_REQUEST
from kafkalab.protocol.profiles import Rules

Headers: TypeAlias = dict[type, tuple[str, int, str]]

CLIENT_VERSIONS = {
    0: {
        "Produce": 5,
        "TxnOffsetCommit": 0,
        "EndTxn": 0,
        "AddPartitionsToTxn": 0,
        "AddOffsetsToTxn": 0,
        "InitProducerId": 0,
        "JoinGroup": 2,
        "SyncGroup": 1,
        "Heartbeat": 1,
        "LeaveGroup": 1,
        "OffsetCommit": 3,
        "OffsetFetch": 3,
    },
    1: {"Produce": 11, "TxnOffsetCommit": 4, "EndTxn": 4, "AddPartitionsToTxn": 3},
    2: {"Produce": 12, "EndTxn": 5, "AddPartitionsToTxn": 3},
}
"""By the transaction version that a client speaks, the versions that are not the newest ones."""


def both_headers(rules: Rules) -> tuple[Headers, Headers]:
    """Return the headers of servers' requests and of clients'."""
    return frame_headers(None, rules.kafka), frame_headers(rules.client_protocol, rules.kafka)


@cache
def frame_headers(client_protocol: int | None, kafka: str) -> Headers:
    """Return by type of request the frame's name, version and category.

    They are those of a client that speaks this client protocol; with None those of a broker or the controller. The
    versions are those of this release of Kafka.
    """
    headers = {}
    for request, api in BY_REQUEST.items():
        version, category = api.known_to(kafka)[-1], api.category
        if client_protocol is not None:
            version = CLIENT_VERSIONS[client_protocol].get(api.name, version)
        elif api.name == "AddPartitionsToTxn":
            category = "verification"
        headers[request] = (api.name, version, category)
    return headers
