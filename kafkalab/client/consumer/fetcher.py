"""Reading: where to begin, what the leaders send, how far that brings a consumer (`Fetcher`, `OffsetFetcher`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalab.client.consumer.aborted_filter import ConsumerRecord, deliver
from kafkalab.client.exceptions import NoOffsetForPartitionError, OffsetOutOfRangeError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, ListOffsets, ListOffsetsResponse

if TYPE_CHECKING:
    from kafkalab.client.consumer.consumer import Consumer


class Fetcher:
    """Moves the positions of a consumer's subscriptions forward; a seek or a rebalance in between wins."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.subscriptions, self.config = consumer.subscriptions, consumer.config
        self.port, self.connection = consumer.port, consumer.connection

    async def find_positions(self) -> None:
        """Every assigned partition has a position: the group's committed offset, or as auto.offset.reset says."""
        while missing := self.subscriptions.missing:
            await self._find(missing)

    async def _find(self, missing: list[str]) -> None:
        await self.connection.known()
        group, assignment = self.config.group_id, self.subscriptions.assignments
        committed = await self.consumer.commits.committed(group, tuple(missing)) if group is not None else {}
        for partition in missing:
            offset = committed.get(partition, -1)
            if offset < 0 and self.config.auto_offset_reset == "none":
                raise NoOffsetForPartitionError(
                    f"Undefined offset with no reset policy for partitions: [{partition}]", {partition: -1}
                )
            if offset < 0:
                offset = await self.list_offset(partition, self._first_to_read())
            if partition not in self.subscriptions.assigned or self.subscriptions.assignments != assignment:
                continue  # a rebalance came in between: look again
            if self.subscriptions.positions.setdefault(partition, offset) == offset:
                self.subscriptions.moved.setdefault(partition, "assign")

    async def list_offset(self, partition: str, timestamp: int) -> int:
        """The offset that ListOffsets has for a time, -1 where there is none; asks until it is answered."""
        attempt = 0
        while True:
            leader = (await self.connection.known()).leader(partition)
            body = ListOffsets(
                partitions=(partition,), timestamp=timestamp, isolation_level=self.config.isolation_level
            )
            response: ListOffsetsResponse | None = await self.connection.call(leader, body) if leader else None
            if response is not None and response.errors[partition] is Error.NONE:
                return response.offsets[partition]
            if response is not None and not response.errors[partition].retriable:
                raise exception_for(response.errors[partition], "ListOffsets")
            await self.connection.back_off(attempt)
            self.connection.ask_another()
            await self.connection.refresh()
            attempt += 1

    async def fetch(self, max_wait_ms: int) -> tuple[list[ConsumerRecord], bool]:
        """One round of Fetch requests, one per leader; whether any of them failed."""
        metadata = await self.connection.known()
        by_leader: dict[str, dict[str, int]] = {}
        failed = False
        for partition in self.subscriptions.fetchable:
            leader = metadata.leader(partition)
            if leader:
                by_leader.setdefault(leader, {})[partition] = self.subscriptions.positions[partition]
            failed = failed or not leader
        version = self.subscriptions.version
        calls = [(positions, self._ask(leader, positions, max_wait_ms)) for leader, positions in by_leader.items()]
        records: list[ConsumerRecord] = []
        for positions, call in calls:
            response = await call
            if response is None:
                self.connection.ask_another()
                failed = True
                continue
            found, complete = await self._take(response, positions, version)
            records += found
            failed = failed or not complete
        if not calls and not failed:
            await self.connection.sleep(max(max_wait_ms, 1))  # nothing is assigned, or all of it is paused
        return records, failed

    def _ask(self, leader: str, positions: dict[str, int], max_wait_ms: int) -> Promise[FetchResponse | None]:
        body = Fetch(
            isolation_level=self.config.isolation_level,
            positions=positions,
            max_wait_ms=max_wait_ms,
            min_bytes=self.config.fetch_min_bytes,
        )
        return self.connection.call(leader, body)

    async def _take(
        self, response: FetchResponse, positions: dict[str, int], version: int
    ) -> tuple[list[ConsumerRecord], bool]:
        """The records of one answer, and whether every partition had some answer that is no error."""
        records: list[ConsumerRecord] = []
        complete = True
        for partition, fetched in response.partitions.items():
            if fetched.error is Error.OFFSET_OUT_OF_RANGE:
                await self._reset(partition, positions[partition])
            elif fetched.error is not Error.NONE:
                if not fetched.error.retriable:
                    raise exception_for(fetched.error, f"Fetch of {partition}")
                complete = False
            if fetched.error is not Error.NONE:
                continue
            here = self.subscriptions.positions.get(partition)
            if self.subscriptions.version != version or here != positions[partition]:
                continue  # a seek came in between
            aborted = fetched.aborted_transactions if self.port.filters_aborted else None
            found, position = deliver(partition, positions[partition], fetched.batches, aborted)
            records += found
            self.subscriptions.positions[partition] = position
        return records, complete

    async def _reset(self, partition: str, position: int) -> None:
        """A position that does not exist is replaced as auto.offset.reset says; none: OffsetOutOfRangeError."""
        if self.subscriptions.positions.get(partition) != position:
            return  # a seek came in between
        if self.config.auto_offset_reset == "none":
            raise OffsetOutOfRangeError(
                "Fetch position out of range, and no reset policy is configured", {partition: position}
            )
        offset = await self.list_offset(partition, self._first_to_read())
        if partition in self.subscriptions.positions:
            self.subscriptions.positions[partition], self.subscriptions.moved[partition] = offset, "seek"

    def _first_to_read(self) -> int:
        return EARLIEST if self.config.auto_offset_reset == "earliest" else LATEST
