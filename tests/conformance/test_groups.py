"""GRP: joining, rebalancing, leaving; what a classic group answers in each state (`GroupMetadataManager`)."""

from __future__ import annotations

import pytest

from kafkalab.faults.node import Pause, Resume
from kafkalab.protocol.errors import Error
from kafkalab.protocol.group_record import GroupEntry
from kafkalab.protocol.messages.heartbeat import Heartbeat
from kafkalab.protocol.messages.join_group import JoinGroup
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.sync_group import SyncGroup
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.transition_tables.group import GROUP_TABLE, GroupAsk, GroupState, Move
from tests.conformance.group_driver import RANGE, G, Groups, wait

NONE = Error.NONE


def beat(groups: Groups, member_id: str, generation: int, instance: str | None = None) -> Error:
    body = Heartbeat(group_id=G, generation_id=generation, member_id=member_id, group_instance_id=instance)
    error: Error = groups.get(body).error
    return error


def leave(groups: Groups, *members: LeavingMember) -> list[Error]:
    return list(groups.get(LeaveGroup(group_id=G, members=members)).errors.values())


def syncing(groups: Groups, member_id: str, generation: int, **fields: object) -> Error:
    body = SyncGroup(group_id=G, member_id=member_id, generation_id=generation, **fields)  # type: ignore[arg-type]
    error: Error = groups.get(body).error
    return error


# the table

REFUSALS = """
Empty               JOIN -  REJOIN U CHANGE U REPLACE U SYNC U HEARTBEAT U COMMIT - TXN_COMMIT -
PreparingRebalance  JOIN -  REJOIN - CHANGE - REPLACE - SYNC R HEARTBEAT R COMMIT - TXN_COMMIT -
CompletingRebalance JOIN -  REJOIN - CHANGE - REPLACE - SYNC - HEARTBEAT - COMMIT R TXN_COMMIT -
Stable              JOIN -  REJOIN - CHANGE - REPLACE - SYNC - HEARTBEAT - COMMIT - TXN_COMMIT -
Dead                JOIN N  REJOIN N CHANGE N REPLACE N SYNC N HEARTBEAT N COMMIT N TXN_COMMIT N
"""
LETTERS = {
    "-": None,
    "U": Error.UNKNOWN_MEMBER_ID,
    "R": Error.REBALANCE_IN_PROGRESS,
    "N": Error.COORDINATOR_NOT_AVAILABLE,
}


@pytest.mark.parametrize("row", REFUSALS.strip().splitlines(), ids=lambda r: r.split()[0])
def test_each_state_refuses_what_it_must(row: str) -> None:
    state, *cells = row.split()
    for name, letter in zip(cells[::2], cells[1::2], strict=True):
        outcome = GROUP_TABLE[GroupState(state)][GroupAsk[name]]
        assert getattr(outcome, "error", None) is LETTERS[letter], (state, name)


def test_the_arrows_are_those_of_kafka() -> None:
    moves = ((state, cell) for state, row in GROUP_TABLE.items() for cell in row.values() if isinstance(cell, Move))
    assert {(state.value, cell.state.value) for state, cell in moves} == {
        ("Empty", "PreparingRebalance"), ("Empty", "Dead"), ("PreparingRebalance", "CompletingRebalance"),
        ("PreparingRebalance", "Empty"), ("CompletingRebalance", "PreparingRebalance"),
        ("CompletingRebalance", "Stable"), ("Stable", "PreparingRebalance"),
    }  # fmt: skip


# joining


def test_a_new_dynamic_member_is_given_an_id_first() -> None:
    groups = Groups()
    response = groups.get(JoinGroup(group_id=G, protocols=RANGE), 4)
    assert (response.error, response.member_id != "") == (Error.MEMBER_ID_REQUIRED, True)
    assert groups.state() == "Empty"
    joined = wait(groups.join(member_id=response.member_id))
    assert (joined.error, joined.generation_id, joined.leader) == (NONE, 1, response.member_id)


@pytest.mark.parametrize(("version", "instance"), [(3, None), (2, None), (9, "i1"), (5, "i1")])
def test_old_versions_and_static_members_join_at_once(version: int, instance: str | None) -> None:
    groups = Groups()
    joined = wait(groups.ask(JoinGroup(group_id=G, protocols=RANGE, group_instance_id=instance), version))
    assert (joined.error, joined.generation_id, joined.leader == joined.member_id) == (NONE, 1, True)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": "nobody"}, Error.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, Error.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, Error.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, Error.INVALID_SESSION_TIMEOUT),
        ({"protocols": {}}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, Error.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_who_cannot_join_is_told_why(fields: dict[str, object], error: Error) -> None:
    body = JoinGroup(**{"group_id": G, "protocols": RANGE, **fields})  # type: ignore[arg-type]
    assert Groups().get(body, 9).error is error


@pytest.mark.parametrize("fields", [{"protocol_type": "connect"}, {"protocols": {"roundrobin": ("foo",)}}])
def test_all_members_share_a_type_and_a_protocol(fields: dict[str, object]) -> None:
    groups = Groups()
    groups.stable()
    body = JoinGroup(**{"group_id": G, "protocols": RANGE, **fields})  # type: ignore[arg-type]
    assert groups.get(body, 9).error is Error.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_takes_no_more() -> None:
    groups = Groups(group_max_size=1)
    groups.stable()
    assert groups.get(JoinGroup(group_id=G, protocols=RANGE), 9).error is Error.GROUP_MAX_SIZE_REACHED


def test_the_first_join_phase_waits_for_more_members_and_once_more_for_each_that_comes() -> None:
    groups = Groups()
    began = groups.cluster.now
    first = groups.join("m1")
    groups.sleep(2_000)
    second = groups.join("m2")
    groups.sleep(500)
    assert not first.done
    responses = wait(first), wait(second)
    assert 6_000 <= groups.cluster.now - began <= 6_100
    assert [r.generation_id for r in responses] == [1, 1]
    assert [len(r.members) for r in responses] == [2, 0]
    assert responses[1].leader == responses[0].member_id


def test_alone_it_takes_the_initial_delay() -> None:
    groups = Groups(group_initial_rebalance_delay_ms=1_000)
    began = groups.cluster.now
    wait(groups.join())
    assert 1_000 <= groups.cluster.now - began <= 1_100


def test_the_protocol_is_the_one_with_the_most_votes_of_those_that_all_know() -> None:
    groups = Groups()
    both = {"range": ("foo",), "roundrobin": ("foo",)}
    turned = {"roundrobin": ("foo",), "range": ("foo",), "own": ("foo",)}
    waiting = [groups.join(f"m{i}", protocols=p) for i, p in enumerate((both, turned, turned))]
    assert {wait(w).protocol_name for w in waiting} == {"roundrobin"}


# rebalancing


def test_a_second_member_makes_the_first_join_again() -> None:
    groups = Groups()
    (one,) = groups.stable()
    waiting = groups.join("m2")
    groups.sleep(20)
    assert groups.state() == "PreparingRebalance"
    assert beat(groups, one.member_id, 1) is Error.REBALANCE_IN_PROGRESS
    assert syncing(groups, one.member_id, 1) is Error.REBALANCE_IN_PROGRESS
    again = wait(groups.join("m1", one.member_id))
    two = wait(waiting)
    assert (again.generation_id, two.generation_id) == (2, 2)
    assert groups.state() == "CompletingRebalance"
    assert beat(groups, one.member_id, 2) is NONE
    assert beat(groups, one.member_id, 1) is Error.ILLEGAL_GENERATION
    assert syncing(groups, one.member_id, 1) is Error.ILLEGAL_GENERATION
    follower = groups.sync(two, "m2")
    leader = groups.sync(again, assignments={again.member_id: ("foo-0",), two.member_id: ("foo-1",)})
    assert (wait(leader).assignment, wait(follower).assignment) == (("foo-0",), ("foo-1",))
    assert groups.state() == "Stable"


def test_who_does_not_join_within_the_rebalance_timeout_is_out() -> None:
    groups = Groups()
    (one,) = groups.stable(rebalance_timeout_ms=10_000)
    waiting = groups.join("m2", rebalance_timeout_ms=10_000)
    joined = wait(waiting)
    assert [m.member_id for m in joined.members] == [joined.member_id]
    assert beat(groups, one.member_id, 2) is Error.UNKNOWN_MEMBER_ID


def test_a_static_member_keeps_its_place_until_its_session_ends() -> None:
    groups = Groups()
    (one,) = groups.stable(group_instance_id="i1", rebalance_timeout_ms=10_000)
    joined = wait(groups.join("m2", rebalance_timeout_ms=10_000))
    assert sorted(m.group_instance_id or "" for m in joined.members or ()) in ([], ["", "i1"])
    assert {m.group_instance_id for m in groups.describe().members} == {"i1", None}
    assert beat(groups, one.member_id, 2, "i1") is NONE


def test_who_joins_but_does_not_sync_is_out_after_the_rebalance_timeout() -> None:
    groups = Groups()
    waiting = [groups.join(c, rebalance_timeout_ms=10_000, session_timeout_ms=30_000) for c in ("m1", "m2")]
    one, two = (wait(w) for w in waiting)
    assert wait(groups.sync(one, assignments={one.member_id: ("foo-0",)})).error is NONE
    for _ in range(3):
        groups.sleep(4_000)
        beat(groups, two.member_id, 1)
    assert beat(groups, one.member_id, 1) is Error.REBALANCE_IN_PROGRESS
    assert beat(groups, two.member_id, 1) is Error.UNKNOWN_MEMBER_ID


def test_the_leader_that_joins_again_rebalances_and_a_follower_does_not() -> None:
    groups = Groups()
    one, two = groups.stable("m1", "m2")
    same = wait(groups.join("m2", two.member_id))
    assert (same.generation_id, groups.state()) == (1, "Stable")
    groups.join("m1", one.member_id)
    groups.sleep(20)
    assert groups.state() == "PreparingRebalance"


def test_a_follower_that_wants_something_else_rebalances() -> None:
    groups = Groups()
    _, two = groups.stable("m1", "m2")
    groups.join("m2", two.member_id, protocols={"range": ("bar",)})
    groups.sleep(20)
    assert groups.state() == "PreparingRebalance"


def test_a_lost_join_answer_is_given_again() -> None:
    groups = Groups()
    one = wait(groups.join())
    again = wait(groups.join("m1", one.member_id))
    assert (again.generation_id, again.members, groups.state()) == (1, one.members, "CompletingRebalance")


def test_a_member_that_comes_between_join_and_sync_sends_all_back_to_join() -> None:
    groups = Groups()
    waiting = [groups.join(c) for c in ("m1", "m2")]
    one, two = (wait(w) for w in waiting)
    follower = groups.sync(two, "m2")
    groups.sleep(20)
    groups.join("m3")
    assert wait(follower).error is Error.REBALANCE_IN_PROGRESS
    assert syncing(groups, one.member_id, 1) is Error.REBALANCE_IN_PROGRESS


def test_sync_names_the_protocol_of_the_group() -> None:
    groups = Groups()
    (one,) = groups.stable()
    given = {"protocol_type": "consumer", "protocol_name": "range"}
    assert syncing(groups, one.member_id, 1, **given) is NONE
    for wrong in ({"protocol_type": "connect"}, {"protocol_name": "other"}):
        assert syncing(groups, one.member_id, 1, **{**given, **wrong}) is Error.INCONSISTENT_GROUP_PROTOCOL


# sessions and leaving


def test_a_member_that_is_not_heard_of_is_out_after_its_session_timeout() -> None:
    groups = Groups()
    (one,) = groups.stable(session_timeout_ms=6_000)
    groups.sleep(5_000)
    assert beat(groups, one.member_id, 1) is NONE
    groups.sleep(5_900)
    assert groups.state() == "Stable"
    groups.sleep(200)
    assert groups.state() == "Empty"
    assert beat(groups, one.member_id, 1) is Error.UNKNOWN_MEMBER_ID
    assert beat(groups, one.member_id, 2) is Error.UNKNOWN_MEMBER_ID


def test_a_commit_is_a_sign_of_life_in_plain_but_not_in_a_transaction() -> None:
    groups = Groups()
    (one,) = groups.stable(session_timeout_ms=6_000)
    given = {"generation_id": 1, "member_id": one.member_id}
    groups.sleep(5_000)
    assert groups.error(**given) is NONE
    groups.sleep(5_000)
    assert groups.txn_error(5, **given) is NONE
    groups.sleep(2_000)
    assert groups.state() == "Empty"


def test_an_id_that_nobody_comes_back_with_is_forgotten() -> None:
    groups = Groups()
    response = groups.get(JoinGroup(group_id=G, protocols=RANGE, session_timeout_ms=6_000), 9)
    groups.sleep(7_000)
    assert wait(groups.join("m1", response.member_id)).error is Error.UNKNOWN_MEMBER_ID


def test_leaving_takes_each_member_by_its_own() -> None:
    groups = Groups()
    one, two = groups.stable("m1", "m2")
    assert leave(groups, LeavingMember(one.member_id), LeavingMember("nobody")) == [NONE, Error.UNKNOWN_MEMBER_ID]
    assert groups.state() == "PreparingRebalance"
    assert leave(groups, LeavingMember(two.member_id)) == [NONE]
    assert groups.state() == "Empty"
    assert groups.get(LeaveGroup(group_id="", members=())).error is Error.INVALID_GROUP_ID


def test_leaving_a_group_that_is_none() -> None:
    assert leave(Groups(), LeavingMember("m")) == [Error.UNKNOWN_MEMBER_ID]


def test_an_administrator_removes_a_static_member_by_its_instance() -> None:
    groups = Groups()
    (one,) = groups.stable(group_instance_id="i1")
    assert leave(groups, LeavingMember("other", "i1")) == [Error.FENCED_INSTANCE_ID]
    assert leave(groups, LeavingMember("", "i9")) == [Error.UNKNOWN_MEMBER_ID]
    assert leave(groups, LeavingMember("", "i1")) == [NONE]
    assert beat(groups, one.member_id, 1, "i1") is Error.UNKNOWN_MEMBER_ID


# static members (KIP-345)


def test_a_static_member_comes_back_without_a_rebalance_and_the_old_one_is_fenced() -> None:
    groups = Groups()
    (one,) = groups.stable(group_instance_id="i1")
    back = wait(groups.join("m9", group_instance_id="i1"))
    assert (back.error, back.generation_id, back.skip_assignment) == (NONE, 1, True)
    assert back.member_id != one.member_id
    assert back.leader == back.member_id
    assert wait(groups.sync(back, "m9", group_instance_id="i1")).assignment == ("foo-0",)
    assert beat(groups, one.member_id, 1, "i1") is Error.FENCED_INSTANCE_ID
    assert beat(groups, one.member_id, 1) is Error.UNKNOWN_MEMBER_ID
    assert wait(groups.join("m1", one.member_id, group_instance_id="i1")).error is Error.FENCED_INSTANCE_ID
    assert wait(groups.join("m1", "any", group_instance_id="i7")).error is Error.UNKNOWN_MEMBER_ID


def test_before_version_9_the_returning_leader_is_told_that_another_leads() -> None:
    groups = Groups()
    (one,) = groups.stable(group_instance_id="i1")
    back = wait(groups.join("m9", group_instance_id="i1", version=8))
    assert (back.leader, back.members, back.skip_assignment) == (one.member_id, (), False)


def test_a_static_member_that_comes_back_while_it_waits_to_join_fences_its_first_request() -> None:
    groups = Groups()
    first = groups.join("m1", group_instance_id="i1")
    groups.sleep(20)
    second = groups.join("m9", group_instance_id="i1")
    assert wait(first).error is Error.FENCED_INSTANCE_ID
    assert wait(second).generation_id == 1


# the log, and another coordinator


def test_a_generation_is_written_once_it_has_its_assignment() -> None:
    groups = Groups()
    (one,) = groups.stable(group_instance_id="i1")
    entries = [r.value for r in groups.records() if isinstance(r.value, GroupEntry)]
    assert [len(e.members) for e in entries] == [0, 1]
    (member,) = entries[-1].members
    assert (entries[-1].generation, entries[-1].leader, member.assignment) == (1, one.member_id, ("foo-0",))


def test_the_next_coordinator_knows_members_generation_and_assignment() -> None:
    groups = Groups()
    one, two = groups.stable("m1", "m2")
    groups.crash_coordinator()
    assert groups.state() == "Stable"
    assert [beat(groups, m.member_id, 1) for m in (one, two)] == [NONE, NONE]
    assert wait(groups.sync(two, "m2")).assignment == ("foo-1",)
    assert groups.txn_error(5, generation_id=1, member_id=one.member_id) is NONE
    assert groups.txn_error(5, generation_id=2, member_id=one.member_id) is Error.ILLEGAL_GENERATION


def test_members_have_their_whole_session_at_the_next_coordinator() -> None:
    groups = Groups()
    groups.stable(session_timeout_ms=20_000)
    groups.crash_coordinator()  # 12 s
    groups.sleep(14_000)
    assert groups.state() == "Stable"
    groups.sleep(10_000)
    assert groups.state() == "Empty"


def test_a_join_phase_does_not_survive_its_coordinator() -> None:
    groups = Groups()
    (one,) = groups.stable()
    groups.join("m2")
    groups.sleep(50)
    groups.crash_coordinator()
    assert groups.state() == "Stable"
    assert beat(groups, one.member_id, 1) is NONE


@pytest.mark.parametrize("api", ["join", "sync", "heartbeat", "leave"])
def test_any_other_broker_is_not_the_coordinator(api: str) -> None:
    groups = Groups()
    other = next(b for b in ("b1", "b2", "b3") if b != groups.leader(offsets_partition(G)))
    body = {
        "join": JoinGroup(group_id=G, protocols=RANGE),
        "sync": SyncGroup(group_id=G, generation_id=1, member_id="m"),
        "heartbeat": Heartbeat(group_id=G, generation_id=1, member_id="m"),
        "leave": LeaveGroup(group_id=G, members=(LeavingMember("m"),)),
    }.get(api)
    if body is not None:
        assert groups.get(body, to=other).error is Error.NOT_COORDINATOR


def test_an_assignment_that_is_not_replicated_is_none() -> None:
    groups = Groups(min_insync_replicas=3)
    one = wait(groups.join(session_timeout_ms=60_000))
    groups.crash_follower()
    synced = groups.sync(one, assignments={one.member_id: ("foo-0",)})
    groups.sleep(4_900)
    assert not synced.done
    assert wait(synced).error is Error.COORDINATOR_NOT_AVAILABLE
    assert groups.state() == "PreparingRebalance"


def test_an_assignment_whose_replication_ends_after_another_has_joined_changes_nothing() -> None:
    groups = Groups(min_insync_replicas=3)
    one = wait(groups.join(session_timeout_ms=60_000))
    groups.crash_follower()
    synced = groups.sync(one, assignments={one.member_id: ("foo-0",)})
    groups.sleep(100)
    other = groups.join("", session_timeout_ms=60_000)
    groups.sleep(6_000)
    assert wait(synced).error is Error.REBALANCE_IN_PROGRESS
    assert (groups.state(), other.done) == ("PreparingRebalance", False)


def test_a_static_member_whose_new_id_is_not_replicated_keeps_the_old_one() -> None:
    groups = Groups(min_insync_replicas=3)
    one = wait(groups.join(group_instance_id="i", session_timeout_ms=60_000))
    wait(groups.sync(one, assignments={one.member_id: ("foo-0",)}, group_instance_id="i"))
    groups.crash_follower()
    again = wait(groups.join(group_instance_id="i", session_timeout_ms=9_000))
    assert (again.error, again.member_id) == (Error.COORDINATOR_NOT_AVAILABLE, "")
    beat = Heartbeat(group_id=G, generation_id=1, member_id=one.member_id, group_instance_id="i")
    assert groups.get(beat).error is Error.NONE
    groups.sleep(20_000)
    assert groups.get(beat).error is Error.NONE, "its session timeout is the old one again"


def test_a_member_that_waits_for_the_others_is_not_missed() -> None:
    groups = Groups()
    (one,) = groups.stable(session_timeout_ms=40_000, rebalance_timeout_ms=60_000)
    slow = groups.join("m2", session_timeout_ms=6_000, rebalance_timeout_ms=60_000)
    groups.sleep(20_000)  # more than its session timeout: it waits to join
    assert not slow.done
    again = groups.join("m1", one.member_id, session_timeout_ms=40_000, rebalance_timeout_ms=60_000)
    two = wait(slow)
    follower = groups.sync(two, "m2")
    groups.sleep(7_000)  # and now for its assignment
    assert not follower.done
    wait(groups.sync(wait(again), assignments={two.member_id: ("foo-1",)}))
    assert wait(follower).assignment == ("foo-1",)


def test_a_coordinator_that_resigns_sends_those_who_wait_to_the_next() -> None:
    groups = Groups(group_initial_rebalance_delay_ms=60_000)
    joining = groups.join()
    groups.sleep(20)
    name = groups.leader(offsets_partition(G))
    groups.cluster.plan(Pause(name, at_ms=groups.cluster.now))
    groups.sleep(12_000)
    groups.cluster.plan(Resume(name, at_ms=groups.cluster.now))
    groups.sleep(1)
    response = wait(joining)
    assert response.error is Error.NOT_COORDINATOR
