"""The consumer: methods named as those of Java's `KafkaConsumer`, in snake_case, as coroutines."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import ClientPort, Connection
from kafkalab.client.consumer.fetcher import Fetcher
from kafkalab.client.consumer.group_member import GroupMember
from kafkalab.client.consumer.membership import Membership
from kafkalab.client.consumer.offset_commits import Callback, OffsetCommits, committing, timeout
from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import IllegalStateError, KafkaError, KafkaTimeoutError, exception_for
from kafkalab.client.promise import Promise
from kafkalab.client.results import GroupMetadata, Offsets, offset_fields
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST

CLOSE_TIMEOUT_MS = 30_000


class Consumer:
    """One consumer. `position` may be ahead of the last record delivered: markers and aborted records have offsets."""

    def __init__(self, port: ClientPort, config: ConsumerConfig) -> None:
        self.port, self.config = port, config
        self.connection = Connection(port)
        self.name = "consumer"
        self.subscriptions, self.membership = SubscriptionState(), Membership(config)
        self.commits = OffsetCommits(self.subscriptions, self.membership, config, self.connection)
        self.member = GroupMember(self.subscriptions, self.membership, self.commits)
        self.fetcher = Fetcher(self.subscriptions, config, self.connection, self.commits)
        self._polling: Promise[list[ConsumerRecord]] | None = None  # a poll that timed out and goes on
        self._finding: Promise[None] | None = None  # positions that a poll asked for and did not wait for
        self._before: dict[str, int] = {}  # the positions when the present poll began
        self._stale = False  # a leader has refused a Fetch, or not answered: ask for metadata before the next

    # what to read

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener | None = None) -> None:
        """Read these topics as a member of the group; the next poll joins it.

        Replaces an earlier subscription. An empty one is an `unsubscribe` that is not waited for.
        """
        self._open()
        if not topics:
            self.port.spawn(self.unsubscribe())
            return
        self._group()
        self.subscriptions.subscribe(topics, listener)

    def assign(self, partitions: Sequence[str]) -> None:
        """Read these partitions ("in-0"), each from its committed offset or as auto.offset.reset says."""
        self._open()
        self.subscriptions.assign(partitions)
        self._forget_fetched()

    async def unsubscribe(self) -> None:
        """Read nothing; a member of a group gives its partitions back and leaves."""
        self._open()
        if self.subscriptions.topics:
            await self.member.unsubscribe()
        self.subscriptions.unsubscribe()
        self._forget_fetched()

    def assignment(self) -> list[str]:
        """Return the partitions that are read."""
        return list(self.subscriptions.assigned)

    def subscription(self) -> tuple[str, ...]:
        """Return the topics that were subscribed to."""
        return self.subscriptions.topics

    def pause(self, partitions: Sequence[str]) -> None:
        """Deliver nothing of these partitions until `resume`; they stay assigned."""
        self.subscriptions.pause(partitions)
        self._forget_fetched()

    def resume(self, partitions: Sequence[str]) -> None:
        """Deliver records of these partitions again."""
        self.subscriptions.resume(partitions)

    def paused(self) -> list[str]:
        """Return the paused partitions."""
        return list(self.subscriptions.paused)

    # where to read

    def has_all_fetch_positions(self) -> bool:
        """Return whether each partition that is read has a position (Java: SubscriptionState.hasAllFetchPositions)."""
        return not self.subscriptions.missing

    def seek(self, partition: str, offset: int) -> None:
        """Read `partition` from `offset` on."""
        if offset < 0:
            raise ValueError("seek offset must not be a negative number")
        self.subscriptions.seek(partition, offset)
        self._forget_fetched()

    async def seek_to_beginning(self, partitions: Sequence[str] | None = None) -> None:
        """Read these partitions, or all assigned ones, from their first record on."""
        await self._seek_to(EARLIEST, partitions)

    async def seek_to_end(self, partitions: Sequence[str] | None = None) -> None:
        """Read these partitions, or all assigned ones, from the end that the isolation level sees.

        For read_committed that is the first undecided record. Java looks it up at the next poll, here it is done now.
        """
        await self._seek_to(LATEST, partitions)

    async def _seek_to(self, timestamp: int, partitions: Sequence[str] | None) -> None:
        chosen = self.subscriptions.assigned if partitions is None else list(partitions)
        for partition in chosen:
            self.subscriptions.check(partition)
        for partition, offset in (await self._offsets(chosen, timestamp)).items():
            self.subscriptions.seek(partition, offset)
        self._forget_fetched()

    def _forget_fetched(self) -> None:
        """Drop the poll that goes on: its records are of another position."""
        self._polling = None

    async def position(self, partition: str) -> int:
        """Return the offset of the next record to read."""
        if partition not in self.subscriptions.assigned:
            raise IllegalStateError("You can only check the position for partitions assigned to this consumer.")
        if not await self._positions_by(self.port.now + self.config.default_api_timeout_ms):
            raise timeout(self.config, f"the position for partition {partition} could be determined")
        return self.subscriptions.positions[partition]

    # reading

    async def poll(self, timeout_ms: int = 1000) -> list[ConsumerRecord]:
        """Return the next records; an empty list if there are none within `timeout_ms`.

        A member of a group takes part in its rebalances here, and commits automatically if it is so configured.
        """
        self._open()
        if self.subscriptions.empty:
            raise IllegalStateError("Consumer is not subscribed to any topics or assigned any partitions")
        if self._polling is None:
            self._polling = self.port.spawn(self._poll(self.port.now + timeout_ms))
        records: list[ConsumerRecord] = await self._done_within(
            timeout(self.config, "poll() was done"), self._polling
        )
        self.port.record("complete", "poll", self._describe_poll(records))
        return records

    def _describe_poll(self, records: list[ConsumerRecord]) -> dict[str, Any]:
        """Return what the trace keeps of a poll: its records, and the positions before and after it.

        A position that was found in a poll that then had no time left is before the next one, and moved for that.
        """
        return {
            "records": [[r.partition, r.offset, r.value] for r in records],
            "consumer": self.name,
            "group_id": self.config.group_id,
            "isolation_level": self.config.isolation_level,
            "from": self._before,
            "to": dict(self.subscriptions.positions),
            "moved": self.subscriptions.take_moved(self._before),
        }

    async def _poll(self, until: int) -> list[ConsumerRecord]:
        self._before = {}
        attempt = 0
        while True:
            if self.subscriptions.topics and not await self.member.ready(until):
                return []
            self.commits.commit_if_due()
            if not await self._positions_by(until):
                return []
            if self._stale:
                await self.connection.refresh()
            self._before = dict(self.subscriptions.positions)
            wait_ms = max(min(self.config.fetch_max_wait_ms, until - self.port.now), 0)
            records, self._stale = await self.fetcher.fetch(wait_ms)
            # Positions that have only moved over markers or aborted records end it (docs/protocol.md#aborted-filter)
            if records or self.fetcher.advanced or self.port.now >= until:
                return records
            if self._stale:
                await self.connection.back_off(attempt)
                attempt += 1

    async def _positions_by(self, until: int) -> bool:
        """Return whether every assigned partition has a position at `until`; the search for them goes on for later."""
        if self.has_all_fetch_positions():
            return True
        finding = self._finding or self.port.spawn(self.fetcher.find_positions())
        self._finding = finding
        if not await self.connection.done_within(finding, max(until - self.port.now, 0)):
            return False
        self._finding = None
        finding.result()
        return True

    # committed offsets

    async def commit_sync(self, offsets: Offsets | None = None) -> None:
        """Commit the positions, or `offsets`, for the group, outside any transaction.

        CommitFailedError if the group has moved on, RebalanceInProgressError if it is moving: poll, then again.
        """
        self._open()
        chosen = dict(self.subscriptions.positions) if offsets is None else offsets
        late = timeout(self.config, committing(offset_fields(chosen).offsets))
        await self._within(late, self.commits.commit(self._group(), chosen))

    def commit_async(self, offsets: Offsets | None = None, callback: Callback | None = None) -> None:
        """Commit without waiting; `callback(offsets, error or None)` is called at the end."""
        self._open()
        chosen = dict(self.subscriptions.positions) if offsets is None else offsets
        self.commits.commit_later(self._group(), chosen, callback)

    async def committed(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return the group's committed offsets, -1 where there are none; wait while a transaction is undecided."""
        return await self.commits.fetch_committed(self._group(), tuple(partitions))

    def group_metadata(self) -> GroupMetadata:
        """Return, for `Producer.send_offsets_to_transaction`, the identity that the last assignment was made to."""
        self._group()
        return self.membership.metadata

    # what there is

    async def end_offset(self, partition: str) -> int:
        """Return the end that the isolation level sees: the last stable offset, or the high watermark."""
        return (await self.end_offsets([partition]))[partition]

    async def end_offsets(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return the end of each partition that the isolation level sees."""
        return await self._offsets(partitions, LATEST)

    async def beginning_offsets(self, partitions: Sequence[str]) -> dict[str, int]:
        """Return the first offset of each partition."""
        return await self._offsets(partitions, EARLIEST)

    async def offsets_for_times(self, times: dict[str, int]) -> dict[str, int | None]:
        """Return the first offset at or after a time in ms; None if the isolation level sees no such record."""
        found: dict[str, int | None] = {}
        for partition, timestamp in times.items():
            if timestamp < 0:
                raise ValueError(f"The target time for partition {partition} is {timestamp}. It cannot be negative.")
            offset = (await self._offsets([partition], timestamp))[partition]
            found[partition] = offset if offset >= 0 else None
        return found

    async def _offsets(self, partitions: Sequence[str], timestamp: int) -> dict[str, int]:
        """Return each partition's offset, -1 if there is none."""
        text = f"Failed to get offsets by times in {self.config.default_api_timeout_ms}ms"
        late = KafkaTimeoutError(text, Error.REQUEST_TIMED_OUT)
        found: dict[str, int] = await self._within(late, self.fetcher.list_offsets(tuple(partitions), timestamp))
        return found

    # the end

    async def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """Commit automatically, give the partitions back and leave the group (a static member stays).

        What takes longer than `timeout_ms` is left undone. No other call is allowed afterwards.
        """
        if self.membership.closed:
            return
        leaving = self.port.spawn(self._leave())
        await self.connection.done_within(leaving, timeout_ms)
        self.membership.close()
        if leaving.done:
            leaving.result()

    async def _leave(self) -> None:
        if self.commits.automatic and self.subscriptions.positions:
            with suppress(KafkaError):  # Java logs it and goes on
                await self.commits.commit(self._group(), dict(self.subscriptions.positions))
        if self.subscriptions.topics:
            await self.member.unsubscribe()

    def _open(self) -> None:
        if self.membership.closed:
            raise IllegalStateError("This consumer has already been closed.")

    # waiting

    async def _within(self, late: KafkaTimeoutError, step: Coroutine[Any, Any, Any]) -> Any:
        """Return the step's result; raise `late` after default.api.timeout.ms."""
        return await self._done_within(late, self.port.spawn(step))

    async def _done_within(self, late: KafkaTimeoutError, promise: Promise[Any]) -> Any:
        if not await self.connection.done_within(promise, self.config.default_api_timeout_ms):
            raise late
        if promise is self._polling:
            self._polling = None
        return promise.result()

    def _group(self) -> str:
        if self.config.group_id is None:
            text = "To use the group management or offset commit APIs, you must provide a valid group.id in the "
            raise exception_for(Error.INVALID_GROUP_ID, text + "consumer configuration.")
        return self.config.group_id
