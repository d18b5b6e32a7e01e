"""Fetch by a follower (the same API key as Fetch): incremental sessions, divergence, high watermark (KIP-227, KIP-595).

A follower keeps one request at each leader, parked there until the leader has something new. Simplified: a parked
request does not time out after 500 ms; the follower asks anew after `request_timeout_ms`.
"""

from __future__ import annotations

from dataclasses import field

from kafkalab.protocol.api import BETWEEN_SERVERS, Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass
from kafkalab.protocol.records import Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFetch:
    """`positions` maps a partition to (log end offset, epoch of the last batch); epoch 0 starts a new session.

    (-1, -1) says that the follower fetches the partition no more (forgotten topics, KIP-227).
    `log_starts` has the log starts that are not 0.
    """

    replica: str
    session_epoch: int
    metadata_version: int
    positions: dict[str, tuple[int, int]]
    log_starts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaData:
    """The order to a follower for one partition: truncate to `diverging_offset` (if not -1), or append `batches`.

    It truncates further if its own part up to `diverging_epoch` ends earlier (KIP-279). A follower that ends before
    `log_start_offset` begins anew there.
    """

    leader_epoch: int
    high_watermark: int
    diverging_offset: int = -1
    diverging_epoch: int = -1
    log_start_offset: int = 0
    batches: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFetchResponse:
    error: Error = Error.NONE
    partitions: dict[str, ReplicaData]


API = Api(
    1,
    range(4, 19),
    ReplicaFetch,
    ReplicaFetchResponse,
    "replication",
    "A follower asks its leader for new batches and tells how far it has got; so the high watermark moves.",
    offered=BETWEEN_SERVERS,
)
