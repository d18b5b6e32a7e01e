"""The clients' defaults of Kafka 0.11, 1.0 and 4.4, side by side (docs/protocol.md#defaults)."""

from __future__ import annotations

from typing import Any

RETRIES_MAX = 2**31 - 1
TODAY = "4.4"
VERSIONS = ("0.11", "1.0", TODAY)

DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    #                                         0.11, 1.0, 4.4
    "enable_idempotence":                    (False, False, True),
    "acks":                                  (1, 1, -1),
    "retries":                               (0, 0, RETRIES_MAX),
    "max_in_flight_requests_per_connection": (5, 5, 5),
    "transactional_id":                      (None, None, None),
    "transaction_timeout_ms":                (60_000, 60_000, 60_000),
    "delivery_timeout_ms":                   (None, None, 120_000),
    "request_timeout_ms":                    (30_000, 30_000, 30_000),
    "max_block_ms":                          (60_000, 60_000, 60_000),
    "linger_ms":                             (0, 0, 5),
    "batch_size":                            (16_384, 16_384, 16_384),
    "buffer_memory":                         (33_554_432, 33_554_432, 33_554_432),
    "max_request_size":                      (1_048_576, 1_048_576, 1_048_576),
    "transaction_two_phase_commit_enable":   (None, None, False),
    "isolation_level":                       ("read_uncommitted", "read_uncommitted", "read_uncommitted"),
}  # fmt: skip
"""By setting, dots of Kafka's names as underscores; None where a version has no such setting; acks "all" is -1."""

IF_IDEMPOTENT: dict[str, dict[str, Any]] = {
    "0.11": {"acks": -1, "retries": RETRIES_MAX, "max_in_flight_requests_per_connection": 1},
    "1.0": {"acks": -1, "retries": RETRIES_MAX},
    TODAY: {},
}
"""The defaults of an idempotent producer that differ."""


def default(name: str, version: str = TODAY, idempotent: bool = False) -> Any:
    """`default("linger_ms") == 5`, `default("acks", "1.0", idempotent=True) == -1`."""
    if idempotent and name in IF_IDEMPOTENT[version]:
        return IF_IDEMPOTENT[version][name]
    return DEFAULTS[name][VERSIONS.index(version)]
