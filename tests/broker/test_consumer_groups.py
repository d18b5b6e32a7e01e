"""Groups of the consumer protocol at one coordinator: epochs, targets, revocations, sessions, commits (KIP-848)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn, AddPartitionsToTxnResponse
from kafkalab.protocol.messages.consumer_group_describe import ConsumerGroupDescribe
from kafkalab.protocol.messages.consumer_group_heartbeat import (
    LEAVE,
    LEAVE_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kafkalab.protocol.messages.delete_groups import DeleteGroups
from kafkalab.protocol.messages.describe_groups import DescribeGroups
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.list_groups import ListGroups
from kafkalab.protocol.messages.offset_commit import OffsetCommit
from kafkalab.protocol.messages.offset_delete import OffsetDelete
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import offsets_partition
from tests.conformance.one_broker import OneBroker

TOPIC = tuple(f"in-{index}" for index in range(4))
AT_ONCE = {"group_consumer_assignment_interval_ms": 0}


def coordinator(**config: Any) -> OneBroker:
    """Return a broker that coordinates group g; a new target is computed at once, unless `config` says otherwise."""
    leaders = dict.fromkeys((offsets_partition("g"), *TOPIC), "b1")
    return OneBroker(leaders=leaders, **{**AT_ONCE, **config})


def beat(
    world: OneBroker, member_id: str, epoch: int, version: int = 1, **fields: Any
) -> ConsumerGroupHeartbeatResponse:
    """Send a heartbeat and return the answer."""
    request = ConsumerGroupHeartbeat(group_id="g", member_id=member_id, member_epoch=epoch, **fields)
    asked = world.ask(request, version, "app")
    world.run_for(0)
    assert isinstance(asked.response, ConsumerGroupHeartbeatResponse)
    return asked.response


def join(world: OneBroker, member_id: str, topics: tuple[str, ...] | None = ("in",), **fields: Any) -> Any:
    """Join as a new member that wants these topics."""
    said = {"rebalance_timeout_ms": 5_000, "topic_partitions": (), "subscribed_topic_names": topics, **fields}
    return beat(world, member_id, 0, **said)


def test_the_first_member_gets_every_partition_in_the_second_epoch() -> None:
    joined = join(coordinator(), "m1")
    assert (joined.error, joined.member_epoch, joined.assignment) == (Error.NONE, 2, TOPIC)
    assert (joined.member_id, joined.heartbeat_interval_ms) == ("m1", 5_000)


def test_a_second_member_waits_until_the_first_has_given_up_its_share() -> None:
    world = coordinator()
    join(world, "m1")
    assert join(world, "m2").assignment == ()
    asked_to_revoke = beat(world, "m1", 2, topic_partitions=TOPIC)
    assert (asked_to_revoke.member_epoch, len(asked_to_revoke.assignment or ())) == (2, 2)
    assert beat(world, "m2", 3).assignment is None, "the first member has not said that it has given them up"
    kept = asked_to_revoke.assignment
    assert kept is not None
    assert beat(world, "m1", 2, topic_partitions=kept).member_epoch == 3
    taken = beat(world, "m2", 3).assignment
    assert taken is not None
    assert sorted((*kept, *taken)) == sorted(TOPIC)


def test_a_new_target_is_computed_once_in_an_interval() -> None:
    world = coordinator(group_consumer_assignment_interval_ms=1_000)
    world.run_for(1)
    join(world, "m1")
    early = join(world, "m2")
    assert (early.member_epoch, early.assignment) == (2, ())
    world.run_for(1_000)
    assert beat(world, "m2", 2, topic_partitions=()).member_epoch == 3


@pytest.mark.parametrize(("epoch", "owned", "error"), [
    (3, None, Error.FENCED_MEMBER_EPOCH),
    (1, (), Error.FENCED_MEMBER_EPOCH),
    (2, None, Error.NONE),
])  # fmt: skip
def test_an_epoch_that_the_member_is_not_in_is_fenced(epoch: int, owned: Any, error: Error) -> None:
    world = coordinator()
    join(world, "m1")
    assert beat(world, "m1", epoch, topic_partitions=owned).error is error


def test_a_member_whose_answer_was_lost_may_repeat_its_previous_epoch() -> None:
    world = coordinator()
    join(world, "m1")
    join(world, "m2", ("out",))  # the group's epoch rises, and m1's with its next heartbeat
    assert beat(world, "m1", 2, topic_partitions=TOPIC).member_epoch == 3
    assert beat(world, "m1", 2, topic_partitions=TOPIC).member_epoch == 3
    assert beat(world, "m1", 2).error is Error.FENCED_MEMBER_EPOCH


def test_members_that_do_not_exist_are_told_apart() -> None:
    world = coordinator()
    assert beat(world, "m1", 1).error is Error.GROUP_ID_NOT_FOUND
    assert beat(world, "m1", LEAVE).error is Error.GROUP_ID_NOT_FOUND
    join(world, "m1")
    assert beat(world, "m2", 1).error is Error.UNKNOWN_MEMBER_ID
    assert beat(world, "m2", LEAVE).error is Error.UNKNOWN_MEMBER_ID
    assert beat(world, "m2", 1, instance_id="i").error is Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("fields", "error"), [
    ({"topic_partitions": None}, Error.INVALID_REQUEST),
    ({"topic_partitions": ("in-0",)}, Error.INVALID_REQUEST),
    ({"rebalance_timeout_ms": -1}, Error.INVALID_REQUEST),
    ({"topics": None}, Error.INVALID_REQUEST),
    ({"instance_id": " "}, Error.INVALID_REQUEST),
    ({"rack_id": ""}, Error.INVALID_REQUEST),
    ({"server_assignor": "sticky"}, Error.UNSUPPORTED_ASSIGNOR),
    ({"subscribed_topic_regex": "["}, Error.INVALID_REGULAR_EXPRESSION),
])  # fmt: skip
def test_a_member_that_joins_says_everything(fields: dict[str, Any], error: Error) -> None:
    assert join(coordinator(), "m1", **fields).error is error


@pytest.mark.parametrize(("member_id", "epoch", "version", "error"), [
    ("", 0, 1, Error.INVALID_REQUEST),
    ("", 0, 0, Error.NONE),
    ("m1", -3, 1, Error.INVALID_REQUEST),
    ("m1", LEAVE_FOR_A_WHILE, 1, Error.INVALID_REQUEST),
])  # fmt: skip
def test_a_member_names_itself_from_version_1_on(member_id: str, epoch: int, version: int, error: Error) -> None:
    said = {"rebalance_timeout_ms": 5_000, "topic_partitions": (), "subscribed_topic_names": ("in",)}
    answer = beat(coordinator(), member_id, epoch, version, **said)
    assert answer.error is error
    assert bool(answer.member_id) is (error is Error.NONE)


def test_a_regular_expression_finds_topics_by_their_whole_names() -> None:
    pytest.importorskip("re2")
    found = join(coordinator(), "m1", topics=None, subscribed_topic_regex="i.*")
    assert found.assignment == TOPIC
    assert join(coordinator(), "m1", topics=None, subscribed_topic_regex="i").assignment == ()


def test_a_member_that_leaves_gives_everything_to_the_others_at_once() -> None:
    world = coordinator()
    join(world, "m1")
    join(world, "m2")
    assert beat(world, "m1", LEAVE).member_epoch == LEAVE
    assert beat(world, "m2", 3).assignment == TOPIC


def test_a_member_whose_session_ends_is_fenced() -> None:
    world = coordinator()
    join(world, "m1")
    world.run_for(44_000)
    assert beat(world, "m1", 2).error is Error.NONE
    world.run_for(44_000)
    assert beat(world, "m1", 2).error is Error.NONE
    world.run_for(45_000)
    assert beat(world, "m1", 2).error is Error.UNKNOWN_MEMBER_ID


def test_a_member_that_does_not_revoke_within_its_rebalance_timeout_is_fenced() -> None:
    world = coordinator()
    join(world, "m1")
    join(world, "m2")
    beat(world, "m1", 2, topic_partitions=TOPIC)
    world.run_for(4_999)
    assert beat(world, "m1", 2, topic_partitions=TOPIC).error is Error.NONE
    world.run_for(1)
    assert beat(world, "m1", 2, topic_partitions=TOPIC).error is Error.UNKNOWN_MEMBER_ID
    assert beat(world, "m2", 3).assignment == TOPIC


def test_a_static_member_keeps_its_partitions_while_it_is_away() -> None:
    world = coordinator()
    join(world, "m1", instance_id="i")
    assert join(world, "m2", instance_id="i").error is Error.UNRELEASED_INSTANCE_ID
    assert beat(world, "m1", LEAVE_FOR_A_WHILE, instance_id="i").member_epoch == LEAVE_FOR_A_WHILE
    back = join(world, "m2", instance_id="i")
    assert (back.member_epoch, back.assignment) == (2, TOPIC), "nobody had to move"
    assert beat(world, "m1", 2, instance_id="i").error is Error.FENCED_INSTANCE_ID
    assert beat(world, "m1", LEAVE, instance_id="i").error is Error.FENCED_INSTANCE_ID


def test_the_group_has_room_for_so_many_members() -> None:
    world = coordinator(group_consumer_max_size=1)
    join(world, "m1")
    assert join(world, "m2").error is Error.GROUP_MAX_SIZE_REACHED
    assert beat(world, "m1", 2).error is Error.NONE


def test_the_assignor_that_most_members_name_is_used() -> None:
    world = coordinator()
    join(world, "m1", server_assignor="range")
    join(world, "m2", server_assignor="range")
    [group] = describe(world)
    assert group.assignor_name == "range"
    assert [m.target_assignment for m in group.members] == [TOPIC[:2], TOPIC[2:]]


def test_where_two_assignors_are_named_equally_often_one_members_heartbeats_raise_the_epoch() -> None:
    """As Kafka 4.4 does: consumer_groups.8 of tests/kafka is a recording of it."""
    world = coordinator()
    join(world, "m1", server_assignor="uniform")
    join(world, "m2", server_assignor="range")
    epochs = []
    for member in ("m1", "m1", "m2", "m2"):
        beat(world, member, 3 if member == "m2" else 2, topic_partitions=())
        epochs.append(describe(world)[0].group_epoch)
    assert epochs[:2] == [3, 3]
    assert epochs[2:] == [4, 5]


def describe(world: OneBroker) -> tuple[Any, ...]:
    groups: tuple[Any, ...] = world.ask(ConsumerGroupDescribe(group_ids=("g",))).response.groups
    return groups


def test_the_group_is_described_with_current_and_target_partitions() -> None:
    world = coordinator()
    assert [g.error for g in describe(world)] == [Error.GROUP_ID_NOT_FOUND]
    join(world, "m1", rack_id="r")
    [group] = describe(world)
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 2, 2)
    join(world, "m2")
    [group] = describe(world)
    assert (group.group_state, group.group_epoch) == ("Reconciling", 3)
    first, second = group.members
    assert (first.assignment, len(first.target_assignment), first.rack_id) == (TOPIC, 2, "r")
    assert (second.assignment, len(second.target_assignment)) == ((), 2)
    beat(world, "m1", LEAVE)
    beat(world, "m2", LEAVE)
    assert [g.group_state for g in describe(world)] == ["Empty"]


def test_other_tools_see_the_group_too() -> None:
    world = coordinator()
    join(world, "m1")
    [listed] = world.ask(ListGroups()).response.groups
    assert (listed.protocol_type, listed.group_state, listed.group_type) == ("consumer", "Stable", "consumer")
    assert world.ask(ListGroups(types_filter=("classic",))).response.groups == ()
    assert world.ask(DescribeGroups(groups=("g",))).response.groups["g"].error is Error.GROUP_ID_NOT_FOUND
    deleted = world.ask(DeleteGroups(groups=("g",)))
    world.run_for(0)
    assert deleted.response.errors == {"g": Error.NON_EMPTY_GROUP}
    world.ask(OffsetCommit(group_id="g", member_id="m1", generation_id=2, offsets={"in-0": 5}))
    refused = world.ask(OffsetDelete(group_id="g", partitions=("in-0",)))
    world.run_for(0)
    assert refused.response.errors == {"in-0": Error.GROUP_SUBSCRIBED_TO_TOPIC}
    beat(world, "m1", LEAVE)
    deleted = world.ask(DeleteGroups(groups=("g",)))
    world.run_for(0)
    assert deleted.response.errors == {"g": Error.NONE}
    assert world.ask(ListGroups()).response.groups == ()


def commit(world: OneBroker, member_id: str, epoch: int, partition: str = "in-0", version: int = 10) -> Error:
    request = OffsetCommit(group_id="g", member_id=member_id, generation_id=epoch, offsets={partition: 5})
    asked = world.ask(request, version)
    world.run_for(0)
    found: Error = asked.response.errors[partition]
    return found


def test_commits_are_checked_by_member_and_epoch() -> None:
    world = coordinator()
    assert commit(world, "m1", 2) is Error.GROUP_ID_NOT_FOUND
    join(world, "m1")
    assert commit(world, "m1", 2) is Error.NONE
    assert commit(world, "m1", 2, version=8) is Error.UNSUPPORTED_VERSION
    assert commit(world, "m1", 3) is Error.STALE_MEMBER_EPOCH
    assert commit(world, "m1", 1) is Error.STALE_MEMBER_EPOCH
    assert commit(world, "m2", 2) is Error.UNKNOWN_MEMBER_ID
    assert commit(world, "", -1) is Error.UNKNOWN_MEMBER_ID


def test_a_member_may_commit_in_an_older_epoch_what_it_has_had_since() -> None:
    world = coordinator()
    join(world, "m1")
    join(world, "m2")
    kept = beat(world, "m1", 2, topic_partitions=TOPIC).assignment
    assert kept is not None
    lost = next(p for p in TOPIC if p not in kept)
    assert commit(world, "m1", 2, lost) is Error.NONE, "it must still give the partition up"
    beat(world, "m1", 2, topic_partitions=kept)
    assert commit(world, "m1", 2, kept[0]) is Error.NONE, "KIP-1251: it has had the partition since epoch 2"
    assert commit(world, "m1", 2, lost) is Error.STALE_MEMBER_EPOCH


@pytest.mark.parametrize(("version", "error"), [(6, Error.STALE_MEMBER_EPOCH), (5, Error.ILLEGAL_GENERATION)])
def test_a_zombie_commits_nothing_in_a_transaction(version: int, error: Error) -> None:
    world = coordinator()
    join(world, "m1")
    request = TxnOffsetCommit(
        transactional_id="t", group_id="g", producer_id=7, producer_epoch=0, offsets={"in-0": 5},
        member_id="m1", generation_id=1,
    )  # fmt: skip
    asked = world.ask(request, version)
    world.run_for(0)
    for sent in world.take(AddPartitionsToTxn):
        sent.answer(AddPartitionsToTxnResponse(errors=dict.fromkeys(sent.body.partitions, Error.NONE)))
    assert asked.response.errors == {"in-0": error}


def test_offsets_are_fetched_by_member_and_epoch() -> None:
    world = coordinator()
    join(world, "m1")
    commit(world, "m1", 2)

    def fetch(member_id: str | None, epoch: int | None) -> tuple[Error, int]:
        request = OffsetFetch(group_id="g", partitions=("in-0",), member_id=member_id, member_epoch=epoch)
        found = world.ask(request).response
        return found.error, found.offsets.get("in-0", -1)

    assert fetch(None, None) == (Error.NONE, 5)
    assert fetch("m1", 2) == (Error.NONE, 5)
    assert fetch("m1", 1) == (Error.STALE_MEMBER_EPOCH, -1)
    assert fetch("m2", 2) == (Error.UNKNOWN_MEMBER_ID, -1)


def test_an_empty_group_changes_its_protocol_and_keeps_its_offsets() -> None:
    world = coordinator(group_initial_rebalance_delay_ms=0)
    assert commit(world, "", -1) is Error.NONE
    assert join(world, "m1").error is Error.NONE
    classic = JoinGroup(group_id="g", protocols={"range": ("in",)})
    refused = world.ask(classic)
    world.run_for(0)
    assert refused.response.error is Error.INCONSISTENT_GROUP_PROTOCOL
    beat(world, "m1", LEAVE)
    joining = world.ask(classic, 3)
    world.run_for(0)
    assert joining.response.error is Error.NONE
    assert [g.group_type for g in world.ask(ListGroups()).response.groups] == ["classic"]
    assert join(world, "m1").error is Error.GROUP_ID_NOT_FOUND, "it has a member of the classic protocol"
    assert world.ask(OffsetFetch(group_id="g", partitions=("in-0",))).response.offsets == {"in-0": 5}


def test_a_successor_of_the_coordinator_knows_the_members_and_begins_their_sessions_anew() -> None:
    world = coordinator()
    join(world, "m1")
    join(world, "m2")
    beat(world, "m1", 2, topic_partitions=TOPIC)
    before = describe(world)
    world.image({offsets_partition("g"): "b2"}, 1)
    assert beat(world, "m1", 2).error is Error.NOT_COORDINATOR
    world.image({offsets_partition("g"): "b1"}, 2)
    assert beat(world, "m1", 2).error is Error.COORDINATOR_LOAD_IN_PROGRESS
    world.run_for(world.state.config.coordinator_load_ms)
    assert describe(world) == before
    world.run_for(5_000)
    assert beat(world, "m1", 2).error is Error.UNKNOWN_MEMBER_ID, "it has not given up its partitions"
    world.run_for(40_000)
    assert beat(world, "m2", 3).error is Error.UNKNOWN_MEMBER_ID, "its session has ended"


def test_a_kafka_before_the_new_coordinator_has_no_consumer_protocol() -> None:
    world = OneBroker("1.0", leaders={offsets_partition("g"): "b1"})
    assert join(world, "m1").error is Error.UNSUPPORTED_VERSION
