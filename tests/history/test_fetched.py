"""Reads and polls that are derived from Fetch responses, and the processes that clients belong to."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.history.export import history_of
from kafkalab.history.fetched import with_fetches
from kafkalab.history.history import History
from kafkalab.history.schema import Operation, Poll, Read
from kafkalab.protocol.aborted_transaction import AbortedTxn
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import Fetch, FetchResponse, PartitionFetched
from kafkalab.protocol.messages.heartbeat import Heartbeat, HeartbeatResponse
from kafkalab.protocol.messages.join_group import JoinGroup, JoinGroupResponse
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.sim.cluster import Cluster
from tests.history.traces import Traced


class Heard(Traced):
    """A trace in which requests and their responses arrive."""

    def fetch(self, client: str, start: int, *batches: Batch, key: str = "in-0", **given: Any) -> None:
        """A fetch from `start`, and what it is answered with."""
        level = given.pop("level", "read_committed")
        part = PartitionFetched(batches=batches, **given)
        self.ask(client, Fetch(isolation_level=level, positions={key: start}), FetchResponse(partitions={key: part}))

    def join(self, client: str, member: str, group: str = "g", error: Error = Error.NONE) -> None:
        self.ask(client, JoinGroup(group_id=group, protocols={}), JoinGroupResponse(error=error, member_id=member))

    def commit(self, client: str, member: str, **given: Any) -> None:
        body = TxnOffsetCommit(
            transactional_id="t", group_id="g", producer_id=1, producer_epoch=0, offsets={}, member_id=member
        )
        self.ask(client, body, **given)

    def history(self, **tables: Any) -> History:
        return with_fetches(History(**tables), self.trace)


def batch(offset: int, *values: str | None, producer_id: int = -1, transactional: bool = False) -> Batch:
    records = tuple(Record(None, value) for value in values)
    return Batch(records=records, producer_id=producer_id, transactional=transactional).place(offset, 0)


def moves(history: History) -> list[tuple[str, int, int, str]]:
    return [(p.consumer, p.start, p.end, p.moved) for p in history.polls]


def test_a_poll_and_its_reads_are_what_one_response_delivers() -> None:
    heard = Heard()
    heard.fetch("c", 4, batch(3, "before", "x", "y"), batch(6, "z"))
    found = heard.history()
    same: dict[str, Any] = {"consumer": "c", "process": "c", "isolation_level": "read_committed", "poll": 1}
    assert found.polls == (Poll(**same, group=None, key="in-0", start=4, end=7, moved="assign", step=3),)
    assert found.reads == tuple(
        Read(**same, index=index, key="in-0", offset=offset, value=value, step=3, at_ms=30)
        for index, (offset, value) in enumerate([(4, "x"), (5, "y"), (6, "z")])
    )


def test_reads_of_all_partitions_of_a_response_are_one_poll() -> None:
    heard = Heard()
    parts = {key: PartitionFetched(batches=(batch(0, key),)) for key in ("in-0", "in-1", "unasked-0", "in-2")}
    body = Fetch(isolation_level="read_uncommitted", positions={"in-0": 0, "in-1": 0, "in-2": 0})
    parts["in-1"] = PartitionFetched(error=Error.NOT_LEADER_OR_FOLLOWER, batches=(batch(0, "no"),))
    heard.ask("c", body, FetchResponse(partitions=parts))
    heard.fetch("d", 0, batch(0, "x"))
    heard.fetch("c", 1, batch(1, "y"))
    found = heard.history()
    assert [(p.consumer, p.poll, p.key) for p in found.polls] == [
        ("c", 1, "in-0"), ("c", 1, "in-2"), ("d", 1, "in-0"), ("c", 2, "in-0")
    ]  # fmt: skip
    reads = [(r.consumer, r.poll, r.index, r.key, r.value, r.isolation_level) for r in found.reads]
    assert reads == [
        ("c", 1, 0, "in-0", "in-0", "read_uncommitted"),
        ("c", 1, 1, "in-2", "in-2", "read_uncommitted"),
        ("d", 1, 0, "in-0", "x", "read_committed"),
        ("c", 2, 0, "in-0", "y", "read_committed"),
    ]


def test_a_position_that_is_no_continuation_was_moved() -> None:
    heard = Heard()
    heard.fetch("c", 0, batch(0, "a"))
    heard.fetch("c", 1, batch(1, "b"))
    heard.fetch("c", 0, batch(0, "a"))
    heard.fetch("c", 1)
    heard.fetch("c", 5)
    heard.join("other", "m2")
    heard.fetch("c", 5, batch(5, "f"))
    heard.join("c", "m1", error=Error.UNKNOWN_MEMBER_ID)
    heard.fetch("c", 6, batch(6, "g"))
    heard.join("c", "m1")
    heard.fetch("c", 7)
    heard.fetch("c", 7, batch(7, "h"))
    assert moves(heard.history()) == [
        ("c", 0, 1, "assign"),
        ("c", 1, 2, ""),
        ("c", 0, 1, "seek"),
        ("c", 5, 5, "seek"),
        ("c", 5, 6, ""),
        ("c", 6, 7, ""),
        ("c", 7, 7, "rebalance"),
        ("c", 7, 8, ""),
    ]


def test_a_position_that_was_moved_away_from_0_was_sought() -> None:
    heard = Heard()
    heard.fetch("c", 0)
    heard.fetch("c", 5)
    assert moves(heard.history()) == [("c", 0, 0, "assign"), ("c", 5, 5, "seek")]


def test_a_partition_without_anything_new_does_not_end_a_poll() -> None:
    heard = Heard()
    body = Fetch(isolation_level="read_committed", positions={"in-0": 1, "in-1": 0})
    heard.fetch("c", 0, batch(0, "a"))
    parts = {"in-0": PartitionFetched(), "in-1": PartitionFetched(batches=(batch(0, "b"),))}
    heard.ask("c", body, FetchResponse(partitions=parts))
    assert [(r.key, r.value) for r in heard.history().reads] == [("in-0", "a"), ("in-1", "b")]


def test_a_poll_over_a_marker_has_no_reads_and_aborted_records_are_none() -> None:
    aborted = (AbortedTxn(producer_id=1, first_offset=0, last_offset=1, last_stable_offset=2),)
    batches = (batch(0, "x", producer_id=1, transactional=True), marker(1, 0, ControlType.ABORT, 0, 0).place(1, 0))
    heard = Heard()
    heard.fetch("c", 0, *batches, aborted_transactions=aborted)
    heard.fetch("u", 0, *batches, level="read_uncommitted")
    heard.fetch("c", 2, batch(2, None))
    found = heard.history()
    assert moves(found) == [("c", 0, 2, "assign"), ("u", 0, 2, "assign"), ("c", 2, 3, "")]
    assert [(r.consumer, r.value) for r in found.reads] == [("u", "x"), ("c", None)]


def test_the_group_of_a_poll_is_the_one_that_its_client_has_joined() -> None:
    heard = Heard()
    heard.fetch("c", 0, batch(0, "a"))
    heard.join("c", "m1", "refused", Error.NOT_COORDINATOR)
    heard.join("c", "m1", "payments")
    heard.fetch("c", 1, batch(1, "b"))
    heard.fetch("d", 0, batch(0, "a"))
    assert [(p.consumer, p.group) for p in heard.history().polls] == [("c", None), ("c", "payments"), ("d", None)]


def test_what_brokers_fetch_what_is_sent_twice_and_what_has_not_arrived_does_not_count() -> None:
    heard = Heard()
    heard.fetch("b2", 0, batch(0, "a"))
    heard.fetch("controller", 0, batch(0, "a"))
    heard.ask("c", Heartbeat(group_id="g", generation_id=1, member_id="m"), HeartbeatResponse())
    body = Fetch(isolation_level="read_committed", positions={"in-0": 0})
    response = FetchResponse(partitions={"in-0": PartitionFetched(batches=(batch(0, "a"),))})
    heard.ask("c", body, response, copy_of="Fetch#9")
    heard.note("send", "b1", "FetchResponse", next(iter(heard.trace.frames.values())))
    heard.note("receive", "c", "something else", {"no": "frame"})
    assert heard.history() == History()


# processes

ROWS = {"operations": (Operation(process="p"), Operation(process="q")), "reads": (Read(process="own"),)}


def processes(heard: Heard) -> tuple[list[str], list[str]]:
    """The processes of the operations of p and q, and of the reads of c and d after the row that was there."""
    heard.fetch("c", 0, batch(0, "a"))
    heard.fetch("d", 0, batch(0, "a"))
    found = heard.history(**ROWS)
    assert found.reads[0] == Read(process="own")
    assert [p.process for p in found.polls] == [r.process for r in found.reads[1:]]
    return [o.process for o in found.operations], [r.process for r in found.reads[1:]]


APART = (["p", "q"], ["c, consumer", "d, consumer"])


def test_a_producer_and_the_consumer_whose_offsets_it_commits_are_one_process() -> None:
    heard = Heard()
    heard.join("c", "m1")
    heard.join("d", "m2")
    heard.commit("p", "m1")
    heard.commit("p", "m1")
    heard.commit("q", "m2")
    heard.commit("b3", "")
    assert processes(heard) == (["c", "d"], ["c", "d"])


def test_without_a_producer_that_commits_offsets_every_client_is_its_own_process() -> None:
    assert processes(Heard()) == (["p", "q"], ["c", "d"])


@pytest.mark.parametrize("member", ["", "unknown"])
def test_a_producer_whose_member_is_not_known_keeps_all_clients_apart(member: str) -> None:
    heard = Heard()
    heard.join("c", "m1")
    heard.commit("p", "m1")
    heard.commit("q", member)
    assert processes(heard) == APART


def test_a_producer_that_commits_the_offsets_of_two_consumers_keeps_all_clients_apart() -> None:
    heard = Heard()
    heard.join("c", "m1")
    heard.join("d", "m2")
    heard.commit("p", "m1")
    heard.commit("p", "m2")
    assert processes(heard) == APART


@pytest.mark.parametrize(("producer", "consumer"), [("rdkafka", "c"), ("p", "rdkafka")])
def test_a_client_id_that_a_library_gives_to_every_client_names_no_process(producer: str, consumer: str) -> None:
    heard = Heard()
    heard.join(consumer, "m1")
    heard.commit(producer, "m1")
    assert processes(heard) == APART


def test_a_commit_that_arrives_twice_or_only_leaves_says_nothing() -> None:
    heard = Heard()
    heard.join("c", "m1")
    heard.commit("p", "m1")
    heard.commit("p", "unknown", copy_of="TxnOffsetCommit#9")
    assert processes(heard) == (["c", "q"], ["c", "d"])


# a simulated run, whose polls are known


def test_of_a_simulated_run_the_same_records_are_read() -> None:
    cluster = Cluster(lab03())
    cluster.run()
    known = history_of(cluster)
    derived = with_fetches(known, cluster.trace)
    assert derived.reads[: len(known.reads)] == known.reads
    assert derived.polls[: len(known.polls)] == known.polls
    new = derived.reads[len(known.reads) :]
    assert [(r.key, r.offset, r.value) for r in new] == [(r.key, r.offset, r.value) for r in known.reads]
    assert {r.process for r in new} == {"app, consumer"}, "it is in no group"
