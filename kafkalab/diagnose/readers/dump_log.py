"""Reads the output of kafka-dump-log: batches, markers, and what its decoders print of the internal topics."""

from __future__ import annotations

import json
import re
from typing import Any

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.facts import QUOTE, Batch, Marker, OffsetCommit, Source, StateRecord
from kafkalab.diagnose.readers.reader import DIGITS, Place

N = rf"(-?\d{{1,{DIGITS}}})"
BATCH = re.compile(
    rf"baseOffset: {N} lastOffset: {N} count: \S+ baseSequence: {N} lastSequence: {N} producerId: {N} "
    rf"producerEpoch: {N} partitionLeaderEpoch: {N} isTransactional: (true|false) isControl: (true|false)\b"
    rf"(?:.*?Time: {N})?"
)
RECORD = re.compile(rf"\|\s*offset: {N} ")
MARKER = re.compile(rf"\|\s*offset: {N} .*endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: {N}")
FOLDER = re.compile(r"([\w.-]{1,249}-\d{1,9})[/\\]\d{20}\.")
STATE_TEXT = re.compile(
    rf"key: transaction_metadata::transactionalId=(.*?) payload: ?(?:producerId:{N},producerEpoch:{N},state=(\w+),"
    rf"partitions=\[([^\]]*)\],txnLastUpdateTimestamp={N},txnTimeoutMs={N}|(<DELETE>))"
)
OFFSET_TEXT = re.compile(
    rf"key: offset_commit::group=(.*?),partition=([\w.-]*-\d{{1,9}}) payload: ?(?:offset={N}|(<DELETE>))"
)
STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip
"""By their number in a record of the transaction log."""
DECODED = ("key: transaction_metadata::", "key: offset_commit::", "key: group_metadata::", "key: {")
"""The beginnings of what decoders print."""
HEADS = ("Dumping ", "Starting offset: ", "Log starting offset: ", "Snapshot end offset: ", "Found ")


class DumpLogReader:
    """Reads a dump, line by line. A record belongs to the batch before it."""

    def __init__(self) -> None:
        self._partition = ""
        self._batch: Batch | None = None
        self._control = False

    def read(self, line: str, place: Place, evidence: Evidence) -> bool:
        """Add the line's facts. Return False if no dump prints such a line."""
        if line.startswith("baseOffset: "):
            return self._read_batch(line, place, evidence)
        if line.startswith("|"):
            return self._read_record(line, place, evidence)
        if line.startswith(HEADS):
            if line.startswith("Dumping "):
                self._batch, self._control = None, False
                self._partition = _partition_in(line) or self._partition
            return not line.startswith("Found ") or "invalid bytes" in line
        return False

    def _name(self, place: Place) -> str:
        if not self._partition:
            self._partition = _partition_in(place.options.get("files", "")) or f"({place.file})"
        return self._partition

    def _read_batch(self, line: str, place: Place, evidence: Evidence) -> bool:
        found = BATCH.match(line)
        self._batch = None
        if found is None:
            return False
        first, last, base, top, producer, epoch, _, transactional, control, time = found.groups()
        numbers = (int(first), int(last), int(producer), int(epoch), int(base), int(top))
        batch = Batch(*numbers, transactional == "true", int(time or -1), place.source())
        if batch.last < batch.first:
            return False
        self._batch, self._control = batch, control == "true"
        view = evidence.view_of(self._name(place))
        if not self._control:
            view.add_batch(batch)
        else:
            view.add_marker(Marker(batch.first, batch.producer, batch.epoch, None, -1, batch.timestamp, batch.source))
        return True

    def _read_record(self, line: str, place: Place, evidence: Evidence) -> bool:
        if " endTxnMarker: " in line:
            found, batch = MARKER.match(line), self._batch
            if found is None or batch is None or not self._control or int(found[1]) != batch.first:
                return False
            who, commit = (batch.first, batch.producer, batch.epoch), found[2] == "COMMIT"
            marker = Marker(*who, commit, int(found[3]), batch.timestamp, place.source())
            evidence.view_of(self._name(place)).decide_marker(marker)
            return True
        at = line.find(" key: ", 0, 600)
        if at >= 0 and line.startswith(("{", "transaction_metadata", "offset_commit", "group_metadata"), at + 6):
            return self._read_decoded(line[at + 1 :], line, place, evidence)
        name, batch = self._name(place), self._batch
        if at >= 0 and batch is not None and batch.producer >= 0 and not batch.transactional:
            evidence.view_of(name).add_content(line[at + 1 : at + QUOTE], batch)
        if name.startswith(("__transaction_state-", "__consumer_offsets-")) and name not in evidence.undecoded:
            evidence.undecoded[name] = place.source()
        return line.startswith("| ") and ("offset: " in line or "key: " in line)

    def _read_decoded(self, text: str, line: str, place: Place, evidence: Evidence) -> bool:
        found, batch = RECORD.match(line), self._batch
        offset = int(found[1]) if found else batch.first if batch else -1
        producer, epoch = (batch.producer, batch.epoch) if batch else (-1, -1)
        source = place.source()._replace(text=text[:QUOTE])
        if text.startswith(DECODED):
            evidence.view_of(self._name(place)).decoded += 1
        state = _state_in(text, offset, source)
        if state is not None:
            evidence.add_state(state)
            return True
        commit = _commit_in(text, offset, producer, epoch, source)
        if commit is not None:
            view = evidence.view_of(self._name(place))
            if batch is None or view.end == batch.last + 1:  # else the batch was left out, as one that came again
                view.add_commit(commit)
            return True
        return text.startswith(DECODED)


def _partition_in(text: str) -> str:
    found = FOLDER.search(text[:4_000])
    return found[1] if found else ""


def _state_in(text: str, offset: int, source: Source) -> StateRecord | None:
    """Return the record of the transaction log that the text holds, in the form before 4.0 or as JSON."""
    found = STATE_TEXT.match(text)
    if found is not None:
        name, producer, epoch, state, partitions, updated, timeout, gone = found.groups()
        if gone:
            return StateRecord(offset, name, -1, -1, "deleted", (), -1, -1, source)
        names = tuple(filter(None, partitions.split(",")))
        return StateRecord(offset, name, int(producer), int(epoch), state, names, int(updated), int(timeout), source)
    key, value = _json_in(text)
    try:
        name = key["data"]["transactionalId"]
        if not isinstance(name, str):
            return None
        if value is None:
            return StateRecord(offset, name, -1, -1, "deleted", (), -1, -1, source)
        data = value["data"]
        rows = data.get("transactionPartitions") or ()
        partitions = tuple(f"{row['topic']}-{int(n)}" for row in rows for n in row["partitionIds"])
        numbers = (data["transactionLastUpdateTimestampMs"], data["transactionTimeoutMs"])
        who, state = (int(data["producerId"]), int(data["producerEpoch"])), STATES[int(data["transactionStatus"])]
        return StateRecord(offset, name, *who, state, partitions, int(numbers[0]), int(numbers[1]), source)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None


def _commit_in(text: str, offset: int, producer: int, epoch: int, source: Source) -> OffsetCommit | None:
    """Return the group's position that the text holds, in the form of old versions or as JSON."""
    found = OFFSET_TEXT.match(text)
    if found is not None:
        return OffsetCommit(offset, found[1], found[2], int(found[3] or -1), producer, epoch, source)
    key, value = _json_in(text)
    try:
        data = key["data"]
        partition = f"{data['topic']}-{int(data['partition'])}"
        committed = -1 if value is None else int(value["data"]["offset"])
        return OffsetCommit(offset, str(data["group"]), partition, committed, producer, epoch, source)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _json_in(text: str) -> tuple[Any, Any]:
    """Return key and payload, which are JSON; {} for a key that is none, None for the payload of a tombstone."""
    try:
        key, end = json.JSONDecoder().raw_decode(text, 5)
        rest = text[end:].strip().removeprefix("payload:").strip()
        return key, None if rest in ("", "<DELETE>", "null") else json.loads(rest)
    except (ValueError, RecursionError):
        return {}, {}
