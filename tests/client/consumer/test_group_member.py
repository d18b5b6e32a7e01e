"""A consumer as a member of a group: what it does with each answer, what it shares out, when it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkalab.client.config.config import ConsumerConfig
from kafkalab.client.consumer.assignors import range_assignment, round_robin_assignment
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.exceptions import (
    CommitFailedError,
    ConfigError,
    FencedInstanceIdError,
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
    RebalanceInProgressError,
)
from kafkalab.client.results import GroupMetadata, OffsetAndMetadata
from kafkalab.protocol.cluster_metadata import PartitionInfo
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import FetchResponse
from kafkalab.protocol.messages.heartbeat import HeartbeatResponse
from kafkalab.protocol.messages.join_group import JoinedMember, JoinGroupResponse
from kafkalab.protocol.messages.leave_group import LeaveGroupResponse
from kafkalab.protocol.messages.offset_commit import OffsetCommitResponse
from kafkalab.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkalab.protocol.messages.sync_group import SyncGroupResponse
from tests.conformance.scripted_port import HOLD, LOST, ScriptedPort, error_of, image

ME = JoinedMember("me", None, ("t",))
JOINED = JoinGroupResponse(
    generation_id=4, protocol_type="consumer", protocol_name="range", leader="me", member_id="me", members=(ME,)
)
SYNCED = SyncGroupResponse(assignment=("t-0",))
NONE_COMMITTED = OffsetFetchResponse(offsets={"t-0": 7}, errors={"t-0": Error.NONE})


DEFAULTS: dict[str, Any] = {
    "JoinGroup": JOINED,
    "SyncGroup": SYNCED,
    "Heartbeat": HeartbeatResponse(),
    "LeaveGroup": LeaveGroupResponse(),
    "OffsetFetch": NONE_COMMITTED,
    "Fetch": FetchResponse(partitions={}),
}


class Seen(RebalanceListener):
    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []

    def on_partitions_revoked(self, partitions: Sequence[str]) -> None:
        self.calls.append(("revoked", list(partitions)))

    async def on_partitions_assigned(self, partitions: Sequence[str]) -> None:
        self.calls.append(("assigned", list(partitions)))


class Lost(Seen):
    def on_partitions_lost(self, partitions: Sequence[str]) -> None:
        self.calls.append(("lost", list(partitions)))


class World(ScriptedPort):
    """Everything a member asks succeeds; `script` says what is answered otherwise."""

    def response_to(self, body: Any, error: Error) -> Any:
        name = type(body).__name__
        if name == "OffsetCommit":
            return OffsetCommitResponse(errors=dict.fromkeys(body.offsets, error))
        return DEFAULTS[name] if name in DEFAULTS else super().response_to(body, error)

    def member(self, listener: RebalanceListener | None = None, **config: Any) -> Consumer:
        given = {"group_id": "g", "enable_auto_commit": False, **config}
        consumer = Consumer(self, ConsumerConfig(**given))
        consumer.subscribe(["t"], listener)
        return consumer

    def count(self, api: str) -> int:
        return len(self.list_sent(api))


async def in_group(consumer: Consumer) -> None:
    """The consumer has its partitions."""
    for _ in range(100):
        await consumer.poll(20)
        if consumer.assignment():
            return


def joining(*answers: Any) -> World:
    """A world in which JoinGroup is answered so at first."""
    return World(JoinGroup=list(answers))


# joining


def test_a_member_joins_shares_out_and_reads_on_from_the_committed_offset() -> None:
    port, seen = World(), Seen()

    async def program() -> int:
        consumer = port.member(seen)
        await in_group(consumer)
        assert consumer.assignment() == ["t-0"]
        return await consumer.position("t-0")

    assert port.run(program()) == 7
    join, sync = port.list_sent("JoinGroup")[0], port.list_sent("SyncGroup")[0]
    assert (join.member_id, join.protocols, join.rebalance_timeout_ms) == ("", {"range": ("t",)}, 300_000)
    assert (sync.generation_id, sync.member_id, sync.assignments) == (4, "me", {"me": ("t-0", "t-1")})
    assert seen.calls == [("assigned", ["t-0"])]


def test_the_id_that_the_coordinator_gives_out_is_used_at_once() -> None:
    port = joining(JoinGroupResponse(error=Error.MEMBER_ID_REQUIRED, member_id="me"))
    port.run(in_group(port.member()))
    assert [j.member_id for j in port.list_sent("JoinGroup")] == ["", "me"]


@pytest.mark.parametrize(
    "answer",
    [
        LOST,
        *(JoinGroupResponse(error=e) for e in (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)),
        *(JoinGroupResponse(error=e) for e in (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.REBALANCE_IN_PROGRESS)),
        JoinGroupResponse(error=Error.UNKNOWN_MEMBER_ID),
    ],
    ids=str,
)
def test_a_join_that_may_succeed_later_is_sent_again(answer: Any) -> None:
    port = joining(answer)
    port.run(in_group(port.member()))
    assert (port.count("JoinGroup"), port.count("SyncGroup")) == (2, 1)
    again = answer is LOST or answer.error in (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
    assert port.count("FindCoordinator") == (2 if again else 1)


@pytest.mark.parametrize(
    "error",
    [
        Error.FENCED_INSTANCE_ID, Error.INCONSISTENT_GROUP_PROTOCOL, Error.INVALID_SESSION_TIMEOUT,
        Error.INVALID_GROUP_ID, Error.GROUP_AUTHORIZATION_FAILED, Error.GROUP_MAX_SIZE_REACHED,
    ],
)  # fmt: skip
def test_a_join_that_cannot_succeed_is_raised_by_poll(error: Error) -> None:
    port = joining(JoinGroupResponse(error=error))
    raised = port.run(error_of(port.member().poll(1_000)))
    assert isinstance(raised, KafkaError)
    assert raised.error is error


@pytest.mark.parametrize(
    ("error", "member_id"),
    [
        (Error.REBALANCE_IN_PROGRESS, "me"), (Error.ILLEGAL_GENERATION, "me"), (Error.UNKNOWN_MEMBER_ID, ""),
        (Error.NOT_COORDINATOR, "me"), (Error.COORDINATOR_NOT_AVAILABLE, "me"),
    ],
)  # fmt: skip
def test_a_sync_that_failed_joins_again(error: Error, member_id: str) -> None:
    port = World(SyncGroup=[SyncGroupResponse(error=error)])
    port.run(in_group(port.member()))
    assert [j.member_id for j in port.list_sent("JoinGroup")] == ["", member_id]


def test_a_poll_that_ends_before_the_join_returns_nothing_and_the_next_one_goes_on() -> None:
    port = joining(HOLD)

    async def program() -> None:
        consumer = port.member()
        assert await consumer.poll(50) == []
        assert await consumer.poll(50) == []
        port.release(JOINED)
        await in_group(consumer)

    port.run(program())
    assert port.count("JoinGroup") == 1


def test_a_static_leader_that_came_back_shares_nothing_out() -> None:
    response = JoinGroupResponse(
        generation_id=4, protocol_type="consumer", protocol_name="range", leader="me", member_id="me", members=(ME,),
        skip_assignment=True,
    )  # fmt: skip
    port = joining(response)
    port.run(in_group(port.member(group_instance_id="i1")))
    assert port.list_sent("SyncGroup")[0].assignments == {}
    assert {b.group_instance_id for b in port.list_sent("JoinGroup", "SyncGroup")} == {"i1"}


# heartbeats


async def beating(port: World, listener: RebalanceListener | None = None, **config: Any) -> Consumer:
    """A member, four seconds after it joined: its first heartbeat has been answered."""
    consumer = port.member(listener, **config)
    await in_group(consumer)
    await consumer.connection.sleep(4_000)
    return consumer


@pytest.mark.parametrize(
    ("error", "member_id", "call"),
    [
        (Error.REBALANCE_IN_PROGRESS, "me", "revoked"),
        (Error.ILLEGAL_GENERATION, "me", "lost"),
        (Error.UNKNOWN_MEMBER_ID, "", "lost"),
    ],
)
def test_what_a_heartbeat_is_told_makes_the_next_poll_join(error: Error, member_id: str, call: str) -> None:
    port, seen = World(Heartbeat=[HeartbeatResponse(error=error)]), Lost()

    async def program() -> None:
        consumer = await beating(port, seen)
        before = consumer.group_metadata()
        assert before == GroupMetadata("g", 4, "me")
        await consumer.connection.sleep(10)
        assert consumer.group_metadata() == before
        await consumer.poll(300)

    port.run(program())
    assert [j.member_id for j in port.list_sent("JoinGroup")] == ["", member_id]
    assert seen.calls == [("assigned", ["t-0"]), (call, ["t-0"]), ("assigned", ["t-0"])]


def test_a_fenced_static_member_hears_of_it_in_poll() -> None:
    port = World(Heartbeat=[HeartbeatResponse(error=Error.FENCED_INSTANCE_ID)])

    async def program() -> Any:
        consumer = await beating(port, group_instance_id="i1")
        return await error_of(consumer.poll(100))

    assert isinstance(port.run(program()), FencedInstanceIdError)


@pytest.mark.parametrize("answer", [LOST, HeartbeatResponse(error=Error.NOT_COORDINATOR)], ids=["lost", "not"])
def test_a_heartbeat_without_a_coordinator_looks_for_it_and_goes_on(answer: Any) -> None:
    port = World(Heartbeat=[answer])

    async def program() -> None:
        consumer = await beating(port)
        await consumer.connection.sleep(6_000)

    port.run(program())
    assert (port.count("FindCoordinator"), port.count("JoinGroup")) == (2, 1)
    assert port.count("Heartbeat") >= 3


@pytest.mark.parametrize(("instance", "leaves"), [(None, 1), ("i1", 0)])
def test_who_does_not_poll_for_too_long_leaves_and_loses_its_partitions(instance: str | None, leaves: int) -> None:
    port, seen = World(), Lost()

    async def program() -> None:
        consumer = port.member(seen, max_poll_interval_ms=10_000, group_instance_id=instance)
        await in_group(consumer)
        await consumer.connection.sleep(13_000)
        beats = port.count("Heartbeat")
        assert beats == 3
        await consumer.connection.sleep(10_000)
        assert port.count("Heartbeat") == beats
        assert isinstance(await error_of(consumer.commit_sync({"t-0": 8})), CommitFailedError)
        await consumer.poll(300)

    port.run(program())
    assert port.count("LeaveGroup") == leaves
    assert seen.calls[1:] == [("lost", ["t-0"]), ("assigned", ["t-0"])]


def test_a_member_that_has_left_sends_no_heartbeat() -> None:
    port = World()

    async def program() -> None:
        consumer = port.member()
        await in_group(consumer)
        await consumer.connection.sleep(4_000)
        await consumer.unsubscribe()
        await consumer.connection.sleep(10_000)

    port.run(program())
    assert port.count("Heartbeat") == 1


def test_a_coordinator_that_is_silent_for_a_session_is_looked_up_again() -> None:
    port = World(Heartbeat=[LOST] * 40)

    async def program() -> None:
        consumer = port.member(max_poll_interval_ms=200_000)
        await in_group(consumer)
        await consumer.connection.sleep(100_000)

    port.run(program())
    assert port.count("FindCoordinator") > 10


def test_a_topic_that_grows_is_shared_out_anew_by_the_leader() -> None:
    port = World()

    async def program() -> None:
        consumer = port.member()
        await in_group(consumer)
        info = PartitionInfo(leader="b1", leader_epoch=0, replicas=("b1",), isr=("b1",))
        consumer.connection.metadata = image("t", "u").with_partitions({"t-2": info}, ("b1",))
        await consumer.poll(200)

    port.run(program())
    assert [s.assignments for s in port.list_sent("SyncGroup")] == [
        {"me": ("t-0", "t-1")},
        {"me": ("t-0", "t-1", "t-2")},
    ]


# committing


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Error.UNKNOWN_MEMBER_ID, CommitFailedError, True),
        (Error.ILLEGAL_GENERATION, CommitFailedError, True),
        (Error.REBALANCE_IN_PROGRESS, RebalanceInProgressError, True),
        (Error.FENCED_INSTANCE_ID, FencedInstanceIdError, False),
        (Error.OFFSET_METADATA_TOO_LARGE, KafkaError, False),
        (Error.GROUP_AUTHORIZATION_FAILED, KafkaError, False),
    ],
)
def test_a_refused_commit_is_raised(error: Error, kind: type[KafkaError], again: bool) -> None:
    port = World(OffsetCommit=[OffsetCommitResponse(errors={"t-0": error})])

    async def program() -> Any:
        consumer = port.member()
        await in_group(consumer)
        raised = await error_of(consumer.commit_sync({"t-0": OffsetAndMetadata(8, 2, "text")}))
        await consumer.poll(300)
        return raised

    raised = port.run(program())
    assert isinstance(raised, kind)
    assert raised.error is error
    assert port.count("JoinGroup") == (2 if again else 1)
    commit = port.list_sent("OffsetCommit")[0]
    assert (commit.generation_id, commit.member_id) == (4, "me")
    assert (commit.offsets, commit.metadata, commit.leader_epochs) == ({"t-0": 8}, {"t-0": "text"}, {"t-0": 2})


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.REQUEST_TIMED_OUT])
def test_a_commit_that_may_succeed_later_is_sent_again(error: Error) -> None:
    port = World(OffsetCommit=[OffsetCommitResponse(errors={"t-0": error}), LOST])

    async def program() -> None:
        consumer = port.member()
        await in_group(consumer)
        await consumer.commit_sync({"t-0": 8})

    port.run(program())
    assert port.count("OffsetCommit") == 3


def test_a_commit_before_the_first_poll_belongs_to_no_member() -> None:
    port = World()
    assert isinstance(port.run(error_of(port.member().commit_sync({"t-0": 1}))), CommitFailedError)


def test_who_assigns_by_hand_commits_as_nobody() -> None:
    port = World()

    async def program() -> None:
        consumer = Consumer(port, ConsumerConfig(group_id="g"))
        consumer.assign(["t-0"])
        await consumer.commit_sync({"t-0": 3})

    port.run(program())
    (commit,) = port.list_sent("OffsetCommit")
    assert (commit.generation_id, commit.member_id, commit.group_instance_id) == (-1, "", None)


def test_a_commit_that_is_not_answered_in_time_times_out() -> None:
    port = World(OffsetCommit=[HOLD])

    async def program() -> Any:
        consumer = Consumer(port, ConsumerConfig(group_id="g", default_api_timeout_ms=500))
        consumer.assign(["t-0"])
        return await error_of(consumer.commit_sync({"t-0": 3}))

    assert isinstance(port.run(program()), KafkaTimeoutError)


def test_commit_async_tells_its_callback() -> None:
    port = World(OffsetCommit=[OffsetCommitResponse(errors={"t-0": Error.ILLEGAL_GENERATION})])
    told: list[Any] = []

    async def program() -> None:
        consumer = port.member()
        await in_group(consumer)
        consumer.commit_async({"t-0": 3}, lambda offsets, error: told.append((offsets, type(error))))
        await consumer.connection.sleep(50)
        await in_group(consumer)

    port.run(program())
    assert told == [({"t-0": 3}, CommitFailedError)]


def test_positions_are_committed_by_the_clock_before_a_rebalance_and_at_the_end() -> None:
    port = World(Heartbeat=[HeartbeatResponse(error=Error.REBALANCE_IN_PROGRESS)])

    async def program() -> None:
        consumer = await beating(port, enable_auto_commit=True)
        await consumer.poll(300)
        assert port.count("OffsetCommit") == 1  # before it joined again
        await consumer.connection.sleep(2_000)
        await consumer.poll(300)
        assert port.count("OffsetCommit") == 2  # five seconds are over
        await consumer.close()

    port.run(program())
    assert [c.offsets for c in port.list_sent("OffsetCommit")] == [{"t-0": 7}] * 3
    assert port.names()[-2:] == ["OffsetCommit", "LeaveGroup"]


# subscribing, assigning, pausing, leaving


def test_topics_and_partitions_exclude_each_other() -> None:
    port = World()
    consumer = port.member()
    with pytest.raises(IllegalStateError, match="mutually exclusive"):
        consumer.assign(["t-0"])
    other = Consumer(port, ConsumerConfig(group_id="g"))
    other.assign(["t-0"])
    with pytest.raises(IllegalStateError, match="mutually exclusive"):
        other.subscribe(["t"])
    with pytest.raises(KafkaError, match=r"provide a valid group\.id"):
        Consumer(port, ConsumerConfig()).subscribe(["t"])
    with pytest.raises(ValueError, match="topic"):
        consumer.subscribe([""])


def test_a_closed_consumer_takes_no_calls_and_has_left() -> None:
    port, seen = World(), Seen()

    async def program() -> Any:
        consumer = port.member(seen)
        await in_group(consumer)
        await consumer.close()
        await consumer.close()
        return await error_of(consumer.poll())

    assert isinstance(port.run(program()), IllegalStateError)
    assert [m.member_id for m in port.list_sent("LeaveGroup")[0].members] == ["me"]
    assert seen.calls == [("assigned", ["t-0"]), ("revoked", ["t-0"])]


def test_a_static_member_that_closes_says_nothing() -> None:
    port = World()

    async def program() -> None:
        consumer = port.member(group_instance_id="i1")
        await in_group(consumer)
        await consumer.close()

    port.run(program())
    assert port.count("LeaveGroup") == 0


def test_unsubscribing_leaves_and_subscribing_joins_again() -> None:
    port = World()

    async def program() -> None:
        consumer = port.member()
        await in_group(consumer)
        await consumer.unsubscribe()
        assert (consumer.assignment(), consumer.subscription()) == ([], ())
        consumer.subscribe(["t", "u"])
        await in_group(consumer)

    port.run(program())
    assert port.count("LeaveGroup") == 1
    assert port.list_sent("JoinGroup")[-1].protocols == {"range": ("t", "u")}


def test_what_is_paused_is_not_fetched() -> None:
    port = World()

    async def program() -> None:
        consumer = Consumer(port, ConsumerConfig(group_id="g"))
        consumer.assign(["t-0"])
        consumer.pause(["t-0"])
        assert (consumer.paused(), await consumer.poll(50)) == (["t-0"], [])
        assert port.count("Fetch") == 0
        consumer.resume(["t-0"])
        await consumer.poll(50)
        assert port.count("Fetch") > 0
        with pytest.raises(IllegalStateError, match="No current assignment"):
            consumer.pause(["t-1"])

    port.run(program())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"enable_auto_commit": True}, "default group id"),
        ({"session_timeout_ms": 3_000}, "Heartbeat must be set lower"),
        ({"group_id": "g", "partition_assignment_strategy": ("sticky",)}, "range, roundrobin"),
        ({"group_id": "g", "group_instance_id": ""}, "non-empty"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ConsumerConfig(**settings)


def test_without_a_group_nothing_is_committed_automatically() -> None:
    assert ConsumerConfig().enable_auto_commit is False
    assert ConsumerConfig(group_id="g").enable_auto_commit is True


# sharing out


def members(*wants: tuple[str, tuple[str, ...]]) -> list[JoinedMember]:
    return [JoinedMember(name, None, topics) for name, topics in wants]


PARTITIONS = {"t": ["t-0", "t-1", "t-2"], "u": ["u-0", "u-1", "u-2"]}


def test_range_gives_runs_topic_by_topic() -> None:
    both = members(("b", ("t", "u")), ("a", ("t", "u")))
    assert range_assignment(both, PARTITIONS) == {"a": ("t-0", "t-1", "u-0", "u-1"), "b": ("t-2", "u-2")}


def test_round_robin_deals_out_one_by_one() -> None:
    both = members(("b", ("t", "u")), ("a", ("t", "u")))
    assert round_robin_assignment(both, PARTITIONS) == {"a": ("t-0", "t-2", "u-1"), "b": ("t-1", "u-0", "u-2")}


def test_a_member_gets_only_what_it_wants() -> None:
    some = members(("a", ("t",)), ("b", ("t", "u")))
    assert range_assignment(some, PARTITIONS) == {"a": ("t-0", "t-1"), "b": ("t-2", "u-0", "u-1", "u-2")}
    assert round_robin_assignment(some, PARTITIONS) == {"a": ("t-0", "t-2"), "b": ("t-1", "u-0", "u-1", "u-2")}


def test_static_members_come_first_in_the_order_of_their_instances() -> None:
    found = [JoinedMember("a", None, ("t",)), JoinedMember("z", "i2", ("t",)), JoinedMember("y", "i1", ("t",))]
    assert range_assignment(found, PARTITIONS) == {"y": ("t-0",), "z": ("t-1",), "a": ("t-2",)}
