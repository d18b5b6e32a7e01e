"""The facts that readers find in text, each with the line that it stands in."""

from __future__ import annotations

from typing import NamedTuple

QUOTE = 240
"""Characters of a line that a source keeps."""


class Source(NamedTuple):
    """One line of one file, counted from 1, without secrets."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Batch(NamedTuple):
    """A batch of records in a dump of a partition's log. A producer of -1 is none."""

    first: int
    last: int
    producer: int
    epoch: int
    base_sequence: int
    last_sequence: int
    transactional: bool
    timestamp: int
    source: Source


class Marker(NamedTuple):
    """A marker in a dump: it ends the transaction of its producer in this partition.

    `commit` is None if the dump shows the batch alone, as without `--print-data-log`.
    """

    offset: int
    producer: int
    epoch: int
    commit: bool | None
    coordinator_epoch: int
    timestamp: int
    source: Source

    @property
    def outcome(self) -> str:
        """Return "COMMIT" or "ABORT", or "marker" for one whose outcome the dump does not show."""
        return "marker" if self.commit is None else "COMMIT" if self.commit else "ABORT"


class StateRecord(NamedTuple):
    """A record of `__transaction_state`, decoded by the tool. A tombstone has the state "deleted"."""

    offset: int
    transactional_id: str
    producer: int
    epoch: int
    state: str
    partitions: tuple[str, ...]
    updated_ms: int
    timeout_ms: int
    source: Source


class OffsetCommit(NamedTuple):
    """A group's position as a record of `__consumer_offsets`. `committed` is -1 for a tombstone."""

    offset: int
    group: str
    partition: str
    committed: int
    producer: int
    epoch: int
    source: Source


class ListedTransaction(NamedTuple):
    """A row of `kafka-transactions.sh list`."""

    transactional_id: str
    coordinator: str
    producer: int
    state: str
    source: Source


class DescribedTransaction(NamedTuple):
    """A row of `kafka-transactions.sh describe`. `duration_ms` is -1 if no transaction is open."""

    transactional_id: str
    producer: int
    epoch: int
    state: str
    timeout_ms: int
    duration_ms: int
    partitions: tuple[str, ...]
    source: Source


class ProducerRow(NamedTuple):
    """A row of `kafka-transactions.sh describe-producers`. `start` is -1 if no transaction is open.

    `partition` is empty if the text does not show the command.
    """

    partition: str
    producer: int
    epoch: int
    start: int
    source: Source


class HangingRow(NamedTuple):
    """A row of `kafka-transactions.sh find-hanging`."""

    partition: str
    producer: int
    epoch: int
    start: int
    minutes: int
    source: Source


class LeaderRow(NamedTuple):
    """A partition in `kafka-topics.sh --describe`. `leader` is -1 if it has none."""

    partition: str
    leader: int
    source: Source


class AbortCommand(NamedTuple):
    """A pasted command `kafka-transactions.sh abort --topic --partition --start-offset`."""

    partition: str
    start: int
    source: Source


class GroupRow(NamedTuple):
    """A row of `kafka-consumer-groups.sh --describe`. -1 stands for "-"."""

    group: str
    partition: str
    current: int
    end: int
    lag: int
    source: Source


class Said(NamedTuple):
    """Hold what a line of a client's or a broker's log says; `name` is that of its pattern, `who` a transactional id.

    A field that the line does not name is empty or -1. `at` is the line's time as it is printed; `process` is what the
    line begins with before its time, as a container's name, else the file.
    """

    name: str
    who: str
    producer: int
    epoch: int
    partition: str
    detail: str
    at: str
    process: str
    source: Source
