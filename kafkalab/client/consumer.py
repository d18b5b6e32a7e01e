"""The consumer: methods named as those of Java's `KafkaConsumer`, in snake_case, as coroutines.

Partitions are assigned by hand; membership in a group is not modelled yet, committed offsets are.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from kafkalab.api.fetch import READ_COMMITTED, Fetch, FetchReply
from kafkalab.api.find_coordinator import GROUP
from kafkalab.api.list_offsets import EARLIEST, LATEST, ListOffsets, ListOffsetsReply
from kafkalab.api.offsets import OffsetCommit, OffsetFetch
from kafkalab.client.aborted_filter import ConsumerRecord, deliver
from kafkalab.client.config import ConsumerConfig
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.exceptions import (
    IllegalStateError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    exception_for,
)
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata
from kafkalab.core.errors import Error


class Consumer:
    """One consumer. `position` may be ahead of the last record delivered: markers and aborted records take offsets."""

    def __init__(self, port: ClientPort, config: ConsumerConfig) -> None:
        self.port = port
        self.config = config
        self.connection = Connection(port)
        self.name = "consumer"
        self._assigned: list[str] = []
        self._positions: dict[str, int] = {}
        self._polling: Promise[list[ConsumerRecord]] | None = None  # a poll that timed out and goes on
        self._seeks = 0
        self._before: dict[str, int] = {}  # the positions when the present poll began
        self._moved: dict[str, str] = {}  # partitions whose position did not come from reading, since the last poll

    def assign(self, partitions: list[str]) -> None:
        """Read these partitions ("in-0"), each from its committed offset or as auto.offset.reset says."""
        self._assigned = list(partitions)
        self._positions = {p: o for p, o in self._positions.items() if p in self._assigned}
        self._forget_fetched()

    def seek(self, partition: str, offset: int) -> None:
        """The next poll reads `partition` from `offset` on."""
        self._check(partition)
        self._positions[partition], self._moved[partition] = offset, "seek"
        self._forget_fetched()

    async def seek_to_beginning(self, partitions: list[str] | None = None) -> None:
        """The next poll reads these partitions, or all assigned ones, from their first record on."""
        await self._seek_to(EARLIEST, partitions)

    async def seek_to_end(self, partitions: list[str] | None = None) -> None:
        """The next poll reads on from the end as the isolation level sees it: under read_committed before the first
        undecided record. (Java looks the end up lazily, at the next poll or position; here it is looked up at once.)
        """
        await self._seek_to(LATEST, partitions)

    async def _seek_to(self, timestamp: int, partitions: list[str] | None) -> None:
        chosen = self._assigned if partitions is None else partitions
        for partition in chosen:
            self._check(partition)
        for partition, offset in (await self._offsets(chosen, timestamp)).items():
            self._positions[partition], self._moved[partition] = offset, "seek"
        self._forget_fetched()

    def _forget_fetched(self) -> None:
        """What is still under way was read from another position: nobody gets it."""
        self._polling, self._seeks = None, self._seeks + 1

    async def position(self, partition: str) -> int:
        """The offset of the next record to read."""
        self._check(partition)
        await self._within("position", self._find_positions())
        return self._positions[partition]

    async def poll(self, timeout_ms: int = 1000) -> list[ConsumerRecord]:
        """The next records, at the latest after `timeout_ms`; an empty list if there were none."""
        if not self._assigned:
            raise IllegalStateError("Consumer is not subscribed to any topics or assigned any partitions")
        if self._polling is None:
            self._polling = self.port.spawn(self._poll(self.port.now + timeout_ms))
        records: list[ConsumerRecord] = await self._done_within("poll", self._polling)
        self.port.record("complete", "poll", self._noted(records))
        self._moved = {}
        return records

    def _noted(self, records: list[ConsumerRecord]) -> dict[str, Any]:
        """What a trace keeps of a poll: its records, and which offsets it went over, from where to where."""
        return {
            "records": [[r.partition, r.offset, r.value] for r in records],
            "consumer": self.name,
            "group_id": self.config.group_id,
            "isolation_level": self.config.isolation_level,
            "from": self._before,
            "to": dict(self._positions),
            "moved": self._moved,
        }

    async def _poll(self, until: int) -> list[ConsumerRecord]:
        await self._find_positions()
        self._before = dict(self._positions)
        attempt = 0
        while True:
            records, failed = await self._fetch(max(min(self.config.fetch_max_wait_ms, until - self.port.now), 0))
            if records or self.port.now >= until:
                return records
            if failed:
                await self.connection.back_off(attempt)
                attempt += 1
                await self.connection.refresh()

    async def commit_sync(self, offsets: dict[str, int] | None = None) -> None:
        """The positions (or `offsets`) are the group's committed offsets, outside any transaction."""
        group = self._group()
        body = OffsetCommit(group_id=group, offsets=offsets if offsets is not None else dict(self._positions))
        answer = await self.connection.ask_coordinator(GROUP, group, body, _first_error)
        if answer.error is not Error.NONE:
            raise exception_for(answer.error, "commit_sync")

    async def committed(self, partitions: list[str]) -> dict[str, int]:
        """The group's committed offsets, -1 where there are none; waits while a transaction is undecided."""
        group = self._group()
        stable = self.config.isolation_level == READ_COMMITTED
        body = OffsetFetch(group_id=group, partitions=tuple(partitions), require_stable=stable)
        answer = await self.connection.ask_coordinator(GROUP, group, body, _first_error)
        if answer.error is not Error.NONE:
            raise exception_for(answer.error, "committed")
        found: dict[str, int] = answer.reply.offsets
        return found

    def group_metadata(self) -> GroupMetadata:
        """What `Producer.send_offsets_to_transaction` needs."""
        return GroupMetadata(self._group())

    async def end_offset(self, partition: str) -> int:
        """The end as the isolation level sees it: the last stable offset, or the high watermark."""
        return (await self.end_offsets([partition]))[partition]

    async def end_offsets(self, partitions: list[str]) -> dict[str, int]:
        """The ends as the isolation level sees them: last stable offsets, or high watermarks."""
        return await self._offsets(partitions, LATEST)

    async def beginning_offsets(self, partitions: list[str]) -> dict[str, int]:
        """The first offset of each partition."""
        return await self._offsets(partitions, EARLIEST)

    async def offsets_for_times(self, times: dict[str, int]) -> dict[str, int | None]:
        """The first offset at or after a time in ms; None where the isolation level sees no such record."""
        found: dict[str, int | None] = {}
        for partition, timestamp in times.items():
            if timestamp < 0:
                raise ValueError(f"The target time for partition {partition} is {timestamp}. It cannot be negative.")
            offset = (await self._offsets([partition], timestamp))[partition]
            found[partition] = offset if offset >= 0 else None
        return found

    async def _offsets(self, partitions: list[str], timestamp: int) -> dict[str, int]:
        """One ListOffsets after the other; each partition's offset, -1 where there is none."""
        return {p: await self._within("list_offsets", self._list_offset(p, timestamp)) for p in partitions}

    async def _within(self, name: str, step: Coroutine[Any, Any, Any]) -> Any:
        """The step's result; KafkaTimeoutError if it takes longer than default.api.timeout.ms."""
        return await self._done_within(name, self.port.spawn(step))

    async def _done_within(self, name: str, promise: Promise[Any]) -> Any:
        limit = self.config.default_api_timeout_ms
        if not await self.connection.done_within(promise, limit):
            raise KafkaTimeoutError(f"Timeout of {limit}ms expired before {name}() was done", Error.REQUEST_TIMED_OUT)
        if promise is self._polling:
            self._polling = None
        return promise.result()

    def _group(self) -> str:
        if self.config.group_id is None:
            raise IllegalStateError("To use the group management or offset commit APIs, you must set group.id")
        return self.config.group_id

    def _check(self, partition: str) -> None:
        if partition not in self._assigned:
            raise IllegalStateError(f"No current assignment for partition {partition}")

    async def _find_positions(self) -> None:
        missing = [p for p in self._assigned if p not in self._positions]
        if not missing:
            return
        await self.connection.known()
        committed = await self.committed(missing) if self.config.group_id is not None else {}
        for partition in missing:
            offset = committed.get(partition, -1)
            if offset < 0 and self.config.auto_offset_reset == "none":
                raise NoOffsetForPartitionError(
                    f"Undefined offset with no reset policy for partitions: [{partition}]", {partition: -1}
                )
            if offset < 0:
                offset = await self._list_offset(partition, self._first_to_read())
            if self._positions.setdefault(partition, offset) == offset:
                self._moved.setdefault(partition, "assign")

    async def _reset(self, partition: str, position: int) -> None:
        """A position that does not exist is replaced as auto.offset.reset says; none: OffsetOutOfRangeError."""
        if self._positions.get(partition) != position:
            return  # a seek came in between
        if self.config.auto_offset_reset == "none":
            raise OffsetOutOfRangeError(
                "Fetch position out of range, and no reset policy is configured", {partition: position}
            )
        self._positions[partition] = await self._list_offset(partition, self._first_to_read())
        self._moved[partition] = "seek"

    def _first_to_read(self) -> int:
        return EARLIEST if self.config.auto_offset_reset == "earliest" else LATEST

    async def _list_offset(self, partition: str, timestamp: int) -> int:
        attempt = 0
        while True:
            leader = (await self.connection.known()).leader(partition)
            body = ListOffsets(
                partitions=(partition,), timestamp=timestamp, isolation_level=self.config.isolation_level
            )
            reply: ListOffsetsReply | None = await self.connection.call(leader, body) if leader else None
            if reply is not None and reply.errors[partition] is Error.NONE:
                return reply.offsets[partition]
            if reply is not None and not reply.errors[partition].retriable:
                raise exception_for(reply.errors[partition], "ListOffsets")
            await self.connection.back_off(attempt)
            self.connection.ask_another()
            await self.connection.refresh()
            attempt += 1

    async def _fetch(self, max_wait_ms: int) -> tuple[list[ConsumerRecord], bool]:
        """One round of Fetch requests, one per leader; whether any of them failed."""
        metadata = await self.connection.known()
        by_leader: dict[str, dict[str, int]] = {}
        failed = False
        for partition in self._assigned:
            leader = metadata.leader(partition)
            if leader:
                by_leader.setdefault(leader, {})[partition] = self._positions[partition]
            failed = failed or not leader
        calls, seeks = [], self._seeks
        for leader, positions in by_leader.items():
            body = Fetch(
                isolation_level=self.config.isolation_level,
                positions=positions,
                max_wait_ms=max_wait_ms,
                min_bytes=self.config.fetch_min_bytes,
            )
            calls.append((positions, self.connection.call(leader, body)))
        records: list[ConsumerRecord] = []
        for positions, call in calls:
            reply: FetchReply | None = await call
            if reply is None:
                self.connection.ask_another()
                failed = True
                continue
            for partition, fetched in reply.partitions.items():
                if fetched.error is Error.OFFSET_OUT_OF_RANGE:
                    await self._reset(partition, positions[partition])
                elif fetched.error is not Error.NONE:
                    if not fetched.error.retriable:
                        raise exception_for(fetched.error, f"Fetch of {partition}")
                    failed = True
                if fetched.error is not Error.NONE:
                    continue
                if self._seeks != seeks or self._positions.get(partition) != positions[partition]:
                    continue  # a seek came in between
                aborted = fetched.aborted_transactions if self.port.filters_aborted else None
                found, position = deliver(partition, positions[partition], fetched.batches, aborted)
                records += found
                self._positions[partition] = position
        return records, failed


def _first_error(reply: Any) -> Error:
    if getattr(reply, "error", Error.NONE) is not Error.NONE:
        error: Error = reply.error
        return error
    return next((e for e in reply.errors.values() if e is not Error.NONE), Error.NONE)
