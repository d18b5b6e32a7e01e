"""Reading: where to begin, what leaders send, where that moves the positions (`Fetcher`, `OffsetFetcher`)."""

from __future__ import annotations

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import Connection
from kafkalab.client.consumer.aborted_filter import ConsumerRecord, deliver
from kafkalab.client.consumer.offset_commits import OffsetCommits
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import NoOffsetForPartitionError, OffsetOutOfRangeError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, ListOffsets, ListOffsetsResponse


class Fetcher:
    """Move the positions of the subscriptions forward; a seek or a rebalance in between wins."""

    def __init__(
        self, subscriptions: SubscriptionState, config: ConsumerConfig, connection: Connection, commits: OffsetCommits
    ) -> None:
        self.subscriptions, self.config, self.connection = subscriptions, config, connection
        self.commits, self.port = commits, connection.port

    async def find_positions(self) -> None:
        """Give every assigned partition a position: its committed offset, or what auto.offset.reset says."""
        while missing := self.subscriptions.missing:
            await self._find(missing)

    async def _find(self, missing: list[str]) -> None:
        await self.connection.known()
        group, assignment = self.config.group_id, self.subscriptions.assignments
        committed = await self.commits.committed(group, tuple(missing)) if group is not None else {}
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
            self.subscriptions.initialise(partition, offset)

    async def list_offset(self, partition: str, timestamp: int) -> int:
        """Return the offset for `timestamp` by ListOffsets, -1 if there is none; retry until it is answered."""
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
                raise exception_for(response.errors[partition])
            await self.connection.back_off(attempt)
            self.connection.ask_another()
            await self.connection.refresh()
            attempt += 1

    async def fetch(self, max_wait_ms: int) -> tuple[list[ConsumerRecord], bool]:
        """Send one Fetch per leader; return the records, and whether any request failed."""
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
        """Return the records of one response, and whether no partition has an error to retry."""
        records: list[ConsumerRecord] = []
        complete = True
        for partition, fetched in response.partitions.items():
            if fetched.error is Error.OFFSET_OUT_OF_RANGE:
                await self._reset(partition, positions[partition])
            elif fetched.error is not Error.NONE:
                if not fetched.error.retriable:
                    raise exception_for(fetched.error)
                complete = False
            if fetched.error is not Error.NONE:
                continue
            here = self.subscriptions.positions.get(partition)
            if self.subscriptions.version != version or here != positions[partition]:
                continue  # a seek came in between
            aborted = fetched.aborted_transactions if self.port.filters_aborted else None
            found, position = deliver(partition, positions[partition], fetched.batches, aborted)
            records += found
            self.subscriptions.advance(partition, position)
        return records, complete

    async def _reset(self, partition: str, position: int) -> None:
        """Replace a position that does not exist as auto.offset.reset says; "none" raises OffsetOutOfRangeError."""
        if self.subscriptions.positions.get(partition) != position:
            return  # a seek came in between
        if self.config.auto_offset_reset == "none":
            raise OffsetOutOfRangeError(
                "Fetch position out of range, and no reset policy is configured", {partition: position}
            )
        offset = await self.list_offset(partition, self._first_to_read())
        if partition in self.subscriptions.positions:
            self.subscriptions.reset(partition, offset)

    def _first_to_read(self) -> int:
        return EARLIEST if self.config.auto_offset_reset == "earliest" else LATEST
