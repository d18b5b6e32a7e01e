"""The cluster that is captured: who leads what, from where to where its logs go, batches, producers, transactions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kafkalab.limits import truncate
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_producers import DescribeProducers, PartitionProducers
from kafkalab.protocol.messages.describe_transactions import DescribedTransaction, DescribeTransactions
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED, Fetch, PartitionFetched
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, ListOffsets
from kafkalab.protocol.messages.list_transactions import ListTransactions
from kafkalab.protocol.messages.metadata import Metadata
from kafkalab.wire.blocking_client import BlockingClient
from kafkalab.wire.learned_names import LearnedNames
from kafkalab.wire.structs import UNREADABLE

VERSIONS = {
    "Metadata": 7, "ListOffsets": 4, "Fetch": 11, "DescribeProducers": 0, "ListTransactions": 0,
    "DescribeTransactions": 0,
}  # fmt: skip
"""The versions that Kafka 2.4 and every later one speaks; the last three came with 2.8 and 3.0."""
CLIENT_ID = "kafkalab capture"
TRIES = 5
IDS_AT_ONCE = 500


class CaptureError(Exception):
    """The cluster does not give what is asked for; the message is one line."""


class Source:
    """Ask the cluster behind `bootstrap`. CaptureError if it does not answer, or refuses a topic."""

    def __init__(self, bootstrap: tuple[str, int]) -> None:
        self.names = LearnedNames()
        self.bootstrap = bootstrap
        self.metadata = ClusterMetadata()
        self._askers: dict[str, BlockingClient] = {}

    def close(self) -> None:
        """Close all connections."""
        for asker in self._askers.values():
            asker.close()
        self._askers.clear()

    def ask(self, node: str, body: Any) -> Any:
        """Ask a broker, "" for the bootstrap server; a connection that breaks is made again."""
        version = VERSIONS[type(body).__name__]
        place = self.names.addresses.get(node, self.bootstrap)
        for attempt in range(1, TRIES + 1):
            try:
                if node not in self._askers:
                    self._askers[node] = BlockingClient(place, self.names, CLIENT_ID)
                return self._askers[node].ask(body, version)
            except UNREADABLE as error:
                raise CaptureError(f"{place[0]}:{place[1]}: its answer to {type(body).__name__}: {error}") from None
            except (OSError, EOFError) as error:
                broken = self._askers.pop(node, None)
                if broken is not None:
                    broken.close()
                if attempt == TRIES or isinstance(error, EOFError):
                    what = f"{type(body).__name__}: {truncate(error) or type(error).__name__}"
                    raise CaptureError(f"{place[0]}:{place[1]} does not answer {what}") from None
        raise AssertionError("not reached")

    def look_up(self, topics: tuple[str, ...]) -> dict[str, str]:
        """Return the leader of each partition of the topics that there are, after their addresses were learned."""
        self.metadata = self.ask("", Metadata(topics=topics)).metadata
        return {name: info.leader for name, info in self.metadata.partitions.items() if info.leader}

    def offset(self, partition: str, leader: str, timestamp: int = EARLIEST, level: str = READ_UNCOMMITTED) -> int:
        """Return the first offset at or after a time, or the earliest or latest; -1 for none."""
        found = self.ask(leader, ListOffsets(partitions=(partition,), timestamp=timestamp, isolation_level=level))
        error = found.errors.get(partition, Error.UNKNOWN_TOPIC_OR_PARTITION)
        if error is not Error.NONE:
            raise CaptureError(f"{partition}: {error.name}")
        return int(found.offsets[partition])

    def end(self, partition: str, leader: str, level: str = READ_UNCOMMITTED) -> int:
        """Return the high watermark; with READ_COMMITTED the last stable offset."""
        return self.offset(partition, leader, LATEST, level)

    def ends(self, leaders: dict[str, str], level: str = READ_UNCOMMITTED) -> dict[str, int]:
        """Return the ends of many partitions, given with their leaders; one request for each leader."""
        found: dict[str, int] = {}
        for leader in sorted(set(leaders.values())):
            names = tuple(name for name in sorted(leaders) if leaders[name] == leader)
            answer = self.ask(leader, ListOffsets(partitions=names, timestamp=LATEST, isolation_level=level))
            for name in names:
                error = answer.errors.get(name, Error.UNKNOWN_TOPIC_OR_PARTITION)
                if error is not Error.NONE:
                    raise CaptureError(f"{name}: {error.name}")
                found[name] = int(answer.offsets[name])
        return found

    def fetch(self, partition: str, leader: str, offset: int, committed: bool) -> PartitionFetched:
        """Return what there is from an offset on; with `committed` up to the last stable offset, and the aborted list.
        """
        level = READ_COMMITTED if committed else READ_UNCOMMITTED
        body = Fetch(isolation_level=level, positions={partition: offset}, max_wait_ms=100)
        fetched: PartitionFetched = self.ask(leader, body).partitions[partition]
        if fetched.error is not Error.NONE:
            raise CaptureError(f"{partition} at offset {offset}: {fetched.error.name}")
        return fetched

    def producers(self, partition: str, leader: str) -> PartitionProducers | None:
        """Return what the leader remembers of producers; None if it does not say."""
        try:
            found = self.ask(leader, DescribeProducers(partitions=(partition,))).partitions.get(partition)
        except CaptureError:
            return None
        return found if found is not None and found.error is Error.NONE else None

    def transactions(self) -> list[DescribedTransaction] | None:
        """Return all transactions as their coordinators know them; None if no broker says."""
        found: list[DescribedTransaction] = []
        is_answered = False
        for node in self.metadata.alive:
            try:
                listed = self.ask(node, ListTransactions())
                is_answered = is_answered or listed.error is Error.NONE
                ids = [row.transactional_id for row in listed.transactions]
                for first in range(0, len(ids), IDS_AT_ONCE):
                    asked = DescribeTransactions(transactional_ids=tuple(ids[first : first + IDS_AT_ONCE]))
                    rows = self.ask(node, asked).transactions
                    found += [replace(r, partitions=tuple(sorted(r.partitions))) for r in rows if r.error is Error.NONE]
            except CaptureError:
                continue
        return found if is_answered else None
