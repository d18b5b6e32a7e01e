"""The results of client methods: record metadata, group metadata, offsets with metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """A record's partition, such as "out-0", and its offset; -1 if the leader only reported a duplicate."""

    partition: str
    offset: int


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The value that `Consumer.group_metadata()` returns and `send_offsets_to_transaction` takes (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """An offset to commit, with a text of the application and the epoch of the leader that it was read from."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


Offsets: TypeAlias = Mapping[str, int | OffsetAndMetadata]
"""The offsets of a commit: {"in-0": 3} or {"in-0": OffsetAndMetadata(3, metadata="until here")}."""


@dataclass(frozen=True, slots=True)
class OffsetFields:
    """Offsets as requests carry them; `metadata` and `leader_epochs` have only what was given."""

    offsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    leader_epochs: dict[str, int] = field(default_factory=dict)


def offset_fields(offsets: Offsets) -> OffsetFields:
    """`offset_fields({"in-0": 3}).offsets == {"in-0": 3}`. ValueError for a negative offset."""
    found = OffsetFields()
    for partition, given in offsets.items():
        whole = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
        if whole.offset < 0:
            raise ValueError(f"Invalid negative offset {whole.offset} for {partition}")
        found.offsets[partition] = whole.offset
        if whole.metadata:
            found.metadata[partition] = whole.metadata
        if whole.leader_epoch >= 0:
            found.leader_epochs[partition] = whole.leader_epoch
    return found
