"""Reading: where to begin, what leaders send, where that moves the positions (`Fetcher`, `OffsetFetcher`)."""

from __future__ import annotations

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.connection import RETRY_BACKOFF_MS, Connection
from kafkalab.client.consumer.offset_commits import OffsetCommits
from kafkalab.client.consumer.subscription_state import SubscriptionState
from kafkalab.client.exceptions import (
    IllegalStateError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicAuthorizationError,
)
from kafkalab.client.promise import Promise
from kafkalab.log.aborted_filter import ConsumerRecord, deliver
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, ListOffsets, ListOffsetsResponse
from kafkalab.protocol.partitions import topic_of

FETCHED_AGAIN = (
    Error.NOT_LEADER_OR_FOLLOWER, Error.KAFKA_STORAGE_ERROR, Error.FENCED_LEADER_EPOCH, Error.UNKNOWN_LEADER_EPOCH,
    Error.OFFSET_NOT_AVAILABLE, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_SERVER_ERROR,
)  # fmt: skip
"""The errors of Fetch that no poll raises."""
Fetched = tuple[int, str, int, PartitionFetched]
"""A leader's answer: the version of the subscriptions, the partition and the position for which it was sent."""


class Fetcher:
    """Move the positions of the subscriptions forward; a seek or a rebalance in between wins."""

    def __init__(
        self, subscriptions: SubscriptionState, config: ConsumerConfig, connection: Connection, commits: OffsetCommits
    ) -> None:
        self.subscriptions, self.config, self.connection = subscriptions, config, connection
        self.commits, self.port = commits, connection.port
        self.advanced = False  # whether the last fetch has moved a position
        self._fetched: list[Fetched] = []  # answered, and not yet collected because of an exception

    async def find_positions(self) -> None:
        """Give every assigned partition a position: its committed offset, or what auto.offset.reset says."""
        while missing := self.subscriptions.missing:
            await self._find(missing)

    async def _find(self, missing: list[str]) -> None:
        await self.connection.require_metadata()
        group, assignment = self.config.group_id, self.subscriptions.assignments
        committed = await self.commits.fetch_committed(group, tuple(missing)) if group is not None else {}
        without = [p for p in missing if committed.get(p, -1) < 0]
        if without and self.config.auto_offset_reset == "none":
            raise NoOffsetForPartitionError(
                f"Undefined offset with no reset policy for partitions: [{', '.join(without)}]",
                dict.fromkeys(without, -1),
            )
        offsets = {**committed, **await self.list_offsets(tuple(without), self._first_to_read())}
        for partition in missing:
            offset = offsets[partition]
            if partition not in self.subscriptions.assigned or self.subscriptions.assignments != assignment:
                continue  # a rebalance came in between: look again
            self.subscriptions.initialise(partition, offset)

    async def list_offsets(self, partitions: tuple[str, ...], timestamp: int) -> dict[str, int]:
        """Return each partition's offset for `timestamp`, -1 if there is none: one ListOffsets per leader.

        Only TopicAuthorizationError is raised; after any other error the leader is asked again after retry.backoff.ms,
        and later each time if there is no leader that answers.
        """
        found: dict[str, int] = {}
        attempt = 0
        while left := [p for p in partitions if p not in found]:
            metadata, by_leader = await self.connection.require_metadata(), dict[str, list[str]]()
            for partition in left:
                by_leader.setdefault(metadata.leader(partition), []).append(partition)
            calls = [self._ask_offsets(node, tuple(some), timestamp) for node, some in by_leader.items() if node]
            responses = [await call for call in calls]
            for response in responses:
                found.update(_collect_offsets(response))
            if len(found) < len(partitions):
                lost = None in responses or not all(by_leader)
                await (self.connection.back_off(attempt) if lost else self.connection.sleep(RETRY_BACKOFF_MS))
                attempt += 1
                self.connection.ask_another()
                await self.connection.refresh()
        return found

    def _ask_offsets(
        self, leader: str, partitions: tuple[str, ...], timestamp: int
    ) -> Promise[ListOffsetsResponse | None]:
        level = self.config.isolation_level
        body = ListOffsets(partitions=partitions, timestamp=timestamp, isolation_level=level)
        return self.connection.call(leader, body)

    async def fetch(self, max_wait_ms: int) -> tuple[list[ConsumerRecord], bool]:
        """Return records that are buffered, else send one Fetch per leader; also return whether any request failed."""
        if self._fetched:
            fetched, failed = self._fetched, False
        else:
            fetched, failed = await self._fetch(max_wait_ms)
        records, complete = await self._collect(fetched)
        return records, failed or not complete

    async def _fetch(self, max_wait_ms: int) -> tuple[list[Fetched], bool]:
        """Send one Fetch per leader; return the answers, and whether any request failed."""
        metadata = await self.connection.require_metadata()
        by_leader: dict[str, dict[str, int]] = {}
        failed = False
        for partition in self.subscriptions.fetchable:
            leader = metadata.leader(partition)
            if leader:
                by_leader.setdefault(leader, {})[partition] = self.subscriptions.positions[partition]
            failed = failed or not leader
        version = self.subscriptions.version
        calls = [(positions, self._ask(leader, positions, max_wait_ms)) for leader, positions in by_leader.items()]
        fetched: list[Fetched] = []
        for positions, call in calls:
            response = await call
            if response is None:
                self.connection.ask_another()
                failed = True
                continue
            fetched += [(version, p, positions[p], found) for p, found in response.partitions.items()]
        if not calls and not failed:
            await self.connection.sleep(max(max_wait_ms, 1))  # nothing is assigned, or all of it is paused
        return fetched, failed

    def _ask(self, leader: str, positions: dict[str, int], max_wait_ms: int) -> Promise[FetchResponse | None]:
        body = Fetch(
            isolation_level=self.config.isolation_level,
            positions=positions,
            max_wait_ms=max_wait_ms,
            min_bytes=self.config.fetch_min_bytes,
        )
        return self.connection.call(leader, body)

    async def _collect(self, answers: list[Fetched]) -> tuple[list[ConsumerRecord], bool]:
        """Return the records of the answers, and whether no partition has an error to retry (`FetchCollector`).

        An exception that follows records waits for the next call, and so do the answers behind an exception.
        """
        records: list[ConsumerRecord] = []
        outside: list[str] = []
        complete, self.advanced, self._fetched = True, False, []
        for number, (version, partition, position, fetched) in enumerate(answers):
            if version != self.subscriptions.version or self.subscriptions.positions.get(partition) != position:
                continue  # a seek came in between
            if fetched.error is Error.OFFSET_OUT_OF_RANGE and self.config.auto_offset_reset != "none":
                outside.append(partition)
            elif fetched.error is not Error.NONE:
                complete = False
                refusal = _refusal(partition, position, fetched.error)
                if refusal is not None:
                    self._fetched = answers[number if records else number + 1 :]
                    if not records:
                        raise refusal
                    break
            else:
                aborted = fetched.aborted_transactions if self.port.filters_aborted else None
                found, reached = deliver(partition, position, fetched.batches, aborted)
                records += found
                self.advanced = self.advanced or reached > position
                self.subscriptions.advance(partition, reached)
        await self._reset(outside)
        return records, complete

    async def _reset(self, outside: list[str]) -> None:
        """Replace positions that do not exist as auto.offset.reset says."""
        for partition, offset in (await self.list_offsets(tuple(outside), self._first_to_read())).items():
            if partition in self.subscriptions.positions:
                self.subscriptions.reset(partition, offset)

    def _first_to_read(self) -> int:
        return EARLIEST if self.config.auto_offset_reset == "earliest" else LATEST


def _refusal(partition: str, position: int, error: Error) -> KafkaError | None:
    """Return the exception for an error of Fetch, None if the next one may succeed (`FetchCollector`)."""
    if error in FETCHED_AGAIN:
        return None
    if error is Error.OFFSET_OUT_OF_RANGE:
        text = f"Fetch position FetchPosition{{offset={position}}} is out of range for partition {partition}"
        return OffsetOutOfRangeError(text, {partition: position})
    if error is Error.TOPIC_AUTHORIZATION_FAILED:
        return TopicAuthorizationError((topic_of(partition),))
    if error is Error.CORRUPT_MESSAGE:
        text = f"Encountered corrupt message when fetching offset {position} for topic-partition {partition}"
        return KafkaError(text, error)
    where = f"at offset {position} from topic-partition {partition}"
    return IllegalStateError(f"Unexpected error code {error.code} while fetching {where}", error)


def _collect_offsets(response: ListOffsetsResponse | None) -> dict[str, int]:
    """Return the offsets that a leader answered; TopicAuthorizationError for topics that may not be read."""
    if response is None:
        return {}
    denied = [topic_of(p) for p, e in response.errors.items() if e is Error.TOPIC_AUTHORIZATION_FAILED]
    if denied:
        raise TopicAuthorizationError(tuple(dict.fromkeys(denied)))
    return {p: response.offsets[p] for p, e in response.errors.items() if e is Error.NONE}
