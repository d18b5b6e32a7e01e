"""What the clients' methods return, and hand to each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """Where a record lies: "out-0" and its offset (-1 where the leader only said that it has it already)."""

    partition: str
    offset: int


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """What `Consumer.group_metadata()` returns and `send_offsets_to_transaction` takes (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
