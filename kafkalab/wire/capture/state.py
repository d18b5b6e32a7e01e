"""The progress of a capture, saved after each chunk, so that a stopped capture goes on from there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT, VERSION = "kafkalab-capture", 1


@dataclass(slots=True)
class PartitionState:
    """One partition: `next` is the offset to read from, `end` where reading stops, `clock` the step of its last row.

    `open` has the first offset of each producer id with an open transaction, `aborted` those that Fetch's aborted lists
    named and whose markers are still to come; `listed` counts the transactions of these lists, `unlisted` the ABORT
    markers whose transaction was in none. `skipped` counts the entries of `__consumer_offsets` that are no offset of a
    captured topic. `marked_ms` is when a capture that follows wrote its watermarks last.
    """

    start: int
    end: int
    next: int
    log_start: int = 0
    rows: int = 0
    clock: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    holes: int = 0
    open: dict[int, int] = field(default_factory=dict)
    aborted: dict[int, list[int]] = field(default_factory=dict)
    listed: int = 0
    unlisted: int = 0
    skipped: int = 0
    marked_ms: int = 0

    @property
    def done(self) -> bool:
        return self.next >= self.end


@dataclass(slots=True)
class CaptureState:
    """A whole capture. `transaction_log` says whether `__transaction_state` was read, or why not, and `offsets` the
    same of `__consumer_offsets`; `producers` and `transactions` are what brokers describe, `told` whether any did;
    `whole` counts the chunks of rounds that are complete, in which each marker has its decision;
    `known` is what the audits may rely on, a word of kafkalab/checks/from_a_log.py."""

    topics: list[str]
    start: str
    partitions: dict[str, PartitionState] = field(default_factory=dict)
    chunks: int = 0
    whole: int = 0
    buckets: int = 0
    began_ms: int = 0
    ended_ms: int = 0
    transaction_log: str = ""
    offsets: str = ""
    producers: dict[str, Any] = field(default_factory=dict)
    transactions: list[Any] | None = None
    told: bool = False
    known: str = ""

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: object) -> CaptureState:
        """Return what `as_json` gave. ValueError for anything else."""
        if not isinstance(data, dict) or (data.pop("format", ""), data.pop("version", 0)) != (FORMAT, VERSION):
            raise ValueError("it is no capture of this version")
        partitions = {}
        for name, values in data.pop("partitions").items():
            for by_producer in ("open", "aborted"):
                values[by_producer] = {int(k): v for k, v in values[by_producer].items()}
            partitions[name] = PartitionState(**values)
        return cls(partitions=partitions, **data)
