"""OFF: who may commit offsets, in a transaction and outside, and when they count (docs/cases.md;
docs/protocol.md#transactional-offsets)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.faults.node import Restart
from kafkalab.log.group_offsets import OffsetCommit
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_groups import DeleteGroups
from kafkalab.protocol.messages.heartbeat import Heartbeat
from kafkalab.protocol.messages.leave_group import LeaveGroup, LeavingMember
from kafkalab.protocol.messages.offset_commit import OffsetCommit as PlainCommit
from kafkalab.protocol.messages.offset_delete import OffsetDelete
from kafkalab.protocol.messages.offset_fetch import OffsetFetch
from kafkalab.protocol.messages.txn_offset_commit import TxnOffsetCommit
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.rules import GENERATION_CHECK, GROUP_LOG_WAITS, NEWEST_OFFSET, STABLE_OFFSETS, TIMEOUT_ABORT
from tests.conformance.group_driver import G, Groups, wait

VERSIONS = (3, 4, 5, 6)
NONE = Error.NONE


# OFF-01 to OFF-08: the group is asked


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, Error.ILLEGAL_GENERATION), (4, Error.ILLEGAL_GENERATION), (5, Error.ILLEGAL_GENERATION),
     (6, Error.GROUP_ID_NOT_FOUND)],
)  # fmt: skip
def test_OFF_01_an_unknown_group_has_no_generation(version: int, error: Error) -> None:
    groups = Groups()
    assert groups.txn_error(version, generation_id=10, member_id="m") is error
    assert groups.txn_error(version, generation_id=10) is error


@pytest.mark.parametrize(("version", "error"), [(8, Error.ILLEGAL_GENERATION), (9, Error.GROUP_ID_NOT_FOUND)])
def test_OFF_01_a_plain_commit_to_an_unknown_group_likewise(version: int, error: Error) -> None:
    assert Groups().error(version, generation_id=10, member_id="m") is error


@pytest.mark.parametrize("version", [0, 1, 2, *VERSIONS])
def test_OFF_01_without_a_generation_the_commit_makes_a_simple_group(version: int) -> None:
    groups = Groups()
    assert groups.txn_error(version) is NONE
    assert groups.error() is NONE
    assert groups.txn_error(version, generation_id=-1, member_id="m") is NONE  # the group is empty


@pytest.mark.parametrize("version", VERSIONS)
def test_OFF_02_a_member_of_the_generation_commits_one_record(version: int) -> None:
    groups = Groups()
    (m,) = groups.stable()
    before = len(groups.records())
    assert groups.txn_error(version, generation_id=m.generation_id, member_id=m.member_id) is NONE
    (record,) = groups.records()[before:]
    assert isinstance(record.value, OffsetCommit)
    assert (record.key, record.value.partition, record.value.offset) == ("g/foo-0", "foo-0", 7)


@pytest.mark.parametrize("version", VERSIONS)
def test_OFF_03_an_empty_group_has_no_such_member(version: int) -> None:
    groups = Groups()
    assert groups.error() is NONE  # a simple group: empty
    assert groups.txn_error(version, generation_id=10, member_id="member") is Error.UNKNOWN_MEMBER_ID
    assert groups.error(generation_id=10, member_id="member") is Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", VERSIONS)
def test_OFF_04_another_generation_is_illegal(version: int) -> None:
    groups = Groups()
    (m,) = groups.stable()
    for generation in (m.generation_id + 99, m.generation_id - 1, -1):
        given = {"generation_id": generation, "member_id": m.member_id}
        assert groups.txn_error(version, **given) is Error.ILLEGAL_GENERATION
        assert groups.error(**given) is Error.ILLEGAL_GENERATION


def test_who_names_no_member_is_not_fenced_in_a_transaction_but_outside() -> None:
    groups = Groups()
    groups.stable()
    assert groups.txn_error() is NONE
    assert groups.error() is Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("transactional", [True, False])
def test_OFF_06_a_static_member_is_known_by_its_instance(version: int, transactional: bool) -> None:
    groups = Groups()
    (m,) = groups.stable(group_instance_id="i1")
    generation = m.generation_id

    def error(instance: str | None, member: str, number: int = generation) -> Error:
        given: dict[str, Any] = {"group_instance_id": instance, "member_id": member, "generation_id": number}
        return groups.txn_error(version, **given) if transactional else groups.error(**given)

    assert error("i1", "m2") is Error.FENCED_INSTANCE_ID
    assert error("i1", "m2", generation + 1) is Error.FENCED_INSTANCE_ID  # instance, member, generation
    assert error("i9", m.member_id) is Error.UNKNOWN_MEMBER_ID
    assert error("i1", m.member_id, generation + 1) is Error.ILLEGAL_GENERATION
    assert error(None, "m2", generation + 1) is Error.UNKNOWN_MEMBER_ID
    assert error("i1", m.member_id) is NONE
    assert error(None, m.member_id) is NONE


@pytest.mark.parametrize("version", [0, 1, 2])
def test_versions_without_member_fields_are_never_fenced(version: int) -> None:
    groups = Groups()
    groups.stable()
    assert groups.txn_error(version, generation_id=99, member_id="nobody") is NONE


@pytest.mark.parametrize("version", VERSIONS)
def test_OFF_08_between_join_and_sync_only_plain_commits_are_refused(version: int) -> None:
    groups = Groups()
    joined = wait(groups.join())
    given = {"generation_id": joined.generation_id, "member_id": joined.member_id}
    assert groups.txn_error(version, **given) is NONE
    assert groups.error(**given) is Error.REBALANCE_IN_PROGRESS
    assert groups.error() is Error.UNKNOWN_MEMBER_ID


def test_OFF_08_while_the_group_prepares_the_old_generation_may_commit() -> None:
    groups = Groups()
    (m,) = groups.stable()
    groups.join("m2")
    groups.sleep(50)
    given = {"generation_id": m.generation_id, "member_id": m.member_id}
    assert (groups.txn_error(5, **given), groups.error(**given)) == (NONE, NONE)


def test_without_the_generation_check_any_member_may_commit_in_a_transaction() -> None:
    groups = Groups(GENERATION_CHECK.name)
    (m,) = groups.stable()
    assert groups.txn_error(5, generation_id=99, member_id="nobody") is NONE
    assert groups.error(generation_id=99, member_id=m.member_id) is Error.ILLEGAL_GENERATION


# OFF-09 to OFF-13: what counts


def with_pending(*rules_off: str) -> Groups:
    groups = Groups(*rules_off)
    groups.commit(offsets={"foo-0": 100, "foo-1": 110, "bar-0": 200})
    assert set(groups.txn_commit("p10", {"foo-1": 111, "bar-0": 201, "bar-1": 202}).values()) == {NONE}
    return groups


ALL = ("foo-0", "foo-1", "bar-0", "bar-1")
UNSTABLE = "UNSTABLE_OFFSET_COMMIT"


def test_OFF_09_who_wants_stable_offsets_is_told_where_they_are_not() -> None:
    groups = with_pending()
    assert groups.fetch(*ALL, stable=True) == {"foo-0": 100, "foo-1": UNSTABLE, "bar-0": UNSTABLE, "bar-1": UNSTABLE}
    assert groups.end("p10", committed=True) is NONE
    assert groups.fetch(*ALL, stable=True) == {"foo-0": 100, "foo-1": 111, "bar-0": 201, "bar-1": 202}


def test_OFF_10_others_get_what_is_committed() -> None:
    groups = with_pending()
    committed = {"foo-0": 100, "foo-1": 110, "bar-0": 200, "bar-1": -1}
    assert groups.fetch(*ALL) == committed
    assert groups.fetch(*ALL, stable=True, version=6) == committed  # version 7 brought the wish
    assert groups.end("p10", committed=False) is NONE
    assert groups.fetch(*ALL, stable=True) == committed


def test_without_the_rule_nobody_waits_for_stable_offsets() -> None:
    assert with_pending(STABLE_OFFSETS.name).fetch("foo-1", "bar-1", stable=True) == {"foo-1": 110, "bar-1": -1}


def test_OFF_12_each_transaction_ends_for_its_own_offsets() -> None:
    groups = Groups()
    groups.commit(offsets={"bar-0": 99})
    groups.txn_commit("p5", {"bar-0": 100})
    groups.txn_commit("p6", {"bar-1": 200})
    groups.txn_commit("p7", {"foo-0": 1})
    groups.end("p7", committed=True)
    assert groups.fetch(*ALL) == {"foo-0": 1, "foo-1": -1, "bar-0": 99, "bar-1": -1}
    groups.end("p5", committed=True)
    groups.end("p6", committed=False)
    assert groups.fetch(*ALL, stable=True) == {"foo-0": 1, "foo-1": -1, "bar-0": 100, "bar-1": -1}


@pytest.mark.parametrize(("rules_off", "offset"), [((), 101), ((NEWEST_OFFSET.name,), 100)])
@pytest.mark.parametrize("failover", [False, True])
def test_OFF_13_the_record_that_came_last_wins(rules_off: tuple[str, ...], offset: int, failover: bool) -> None:
    groups = Groups(*rules_off)
    groups.txn_commit("p5", {"bar-0": 100})
    groups.commit(offsets={"bar-0": 101})
    assert groups.fetch("bar-0") == {"bar-0": 101}
    if failover:
        groups.crash_coordinator()
    assert groups.end("p5", committed=True) is NONE
    assert groups.fetch("bar-0") == {"bar-0": offset}


def test_OFF_13_a_later_commit_of_the_transaction_replaces_its_own() -> None:
    groups = Groups()
    groups.commit(offsets={"bar-0": 101})
    groups.txn_commit("p5", {"bar-0": 100})
    groups.txn_commit("p5", {"bar-0": 90})
    groups.end("p5", committed=True)
    assert groups.fetch("bar-0") == {"bar-0": 90}


def test_after_a_failover_pending_offsets_are_pending() -> None:
    groups = with_pending()
    groups.crash_coordinator()
    assert groups.fetch(*ALL, stable=True) == {"foo-0": 100, "foo-1": UNSTABLE, "bar-0": UNSTABLE, "bar-1": UNSTABLE}
    groups.end("p10", committed=True)
    assert groups.fetch(*ALL, stable=True) == {"foo-0": 100, "foo-1": 111, "bar-0": 201, "bar-1": 202}


# what is refused per partition, and what comes with an offset


@pytest.mark.parametrize("transactional", [True, False])
def test_metadata_that_is_too_large_is_refused_for_its_partition_only(transactional: bool) -> None:
    groups = Groups()
    metadata = {"foo-0": "x" * 4097, "foo-1": "y" * 4096}
    offsets = {"foo-0": 1, "foo-1": 2, "bar-0": 3}
    errors = (
        groups.txn_commit("t", offsets, metadata=metadata)
        if transactional
        else groups.commit(offsets=offsets, metadata=metadata)
    )
    assert errors == {"foo-0": Error.OFFSET_METADATA_TOO_LARGE, "foo-1": NONE, "bar-0": NONE}
    if transactional:
        groups.end("t", committed=True)
    assert groups.fetch(*ALL) == {"foo-0": -1, "foo-1": 2, "bar-0": 3, "bar-1": -1}


@pytest.mark.parametrize("transactional", [True, False])
def test_an_unknown_partition_is_refused_and_the_others_are_taken(transactional: bool) -> None:
    groups = Groups()
    offsets = {"foo-9": 1, "none-0": 1, "foo-1": 2}
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    errors = groups.txn_commit("t", offsets) if transactional else groups.commit(offsets=offsets)
    assert errors == {"foo-9": unknown, "none-0": unknown, "foo-1": NONE}
    errors = groups.txn_commit("t", {"none-0": 1}) if transactional else groups.commit(offsets={"none-0": 1})
    assert errors == {"none-0": unknown}


@pytest.mark.parametrize("transactional", [True, False])
def test_metadata_and_leader_epoch_come_back_with_the_offset(transactional: bool) -> None:
    groups = Groups()
    given: dict[str, Any] = {"metadata": {"foo-0": "until here"}, "leader_epochs": {"foo-0": 3}}
    if transactional:
        groups.txn_commit("t", {"foo-0": 5, "foo-1": 6}, **given)
        groups.end("t", committed=True)
    else:
        groups.commit(offsets={"foo-0": 5, "foo-1": 6}, **given)
    response = groups.get(OffsetFetch(group_id=G, partitions=None))
    assert response.offsets == {"foo-0": 5, "foo-1": 6}
    assert response.metadata == {"foo-0": "until here", "foo-1": ""}
    assert response.leader_epochs == {"foo-0": 3, "foo-1": -1}


def test_the_group_without_a_name_commits_plainly_but_not_in_a_transaction() -> None:
    groups = Groups()
    assert wait(groups.offer("t", {"foo-0": 1}, group="")).errors == {"foo-0": Error.INVALID_GROUP_ID}
    assert groups.get(PlainCommit(group_id="", offsets={"foo-0": 4})).errors == {"foo-0": NONE}
    assert groups.get(OffsetFetch(group_id="", partitions=("foo-0",))).offsets == {"foo-0": 4}


def test_any_other_broker_is_not_the_coordinator() -> None:
    groups = Groups()
    other = next(b for b in ("b1", "b2", "b3") if b != groups.leader(offsets_partition(G)))
    commit = PlainCommit(group_id=G, offsets={"foo-0": 4})
    assert groups.get(commit, to=other).errors == {"foo-0": Error.NOT_COORDINATOR}
    assert groups.get(OffsetFetch(group_id=G, partitions=("foo-0",)), to=other).error is Error.NOT_COORDINATOR
    own: dict[str, Any] = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0, "group_id": G}
    for version in range(7):
        txn = groups.get(TxnOffsetCommit(**own, offsets={"foo-0": 1}), version, to=other)
        assert txn.errors == {"foo-0": Error.NOT_COORDINATOR}


@pytest.mark.parametrize("version", range(7))
def test_a_loading_coordinator_says_so_to_those_who_know_the_error(version: int) -> None:
    groups = Groups(coordinator_load_ms=60_000)
    groups.commit(offsets={"foo-0": 4})
    groups.begin("t")
    groups.crash_coordinator()
    groups.sleep(100)
    loading = Error.COORDINATOR_NOT_AVAILABLE if version < 2 else Error.COORDINATOR_LOAD_IN_PROGRESS
    if groups.coordinator("t") != groups.leader(offsets_partition(G)):
        assert groups.txn_error(version) is loading
    assert groups.error() is Error.COORDINATOR_LOAD_IN_PROGRESS
    body = OffsetFetch(group_id=G, partitions=("foo-0",))
    assert groups.get(body).error is Error.COORDINATOR_LOAD_IN_PROGRESS
    assert groups.get(Heartbeat(group_id=G, generation_id=1, member_id="m")).error is NONE
    groups.sleep(60_000)
    assert groups.fetch("foo-0") == {"foo-0": 4}


@pytest.mark.parametrize("api", ["OffsetCommit", "TxnOffsetCommit"])
def test_a_commit_that_too_few_replicas_have_is_refused_after_its_time_and_counts_later(api: str) -> None:
    groups = Groups(min_insync_replicas=3)
    groups.begin("t")
    follower = groups.crash_follower()
    began_ms = groups.cluster.now
    error = groups.error() if api == "OffsetCommit" else groups.txn_error()
    assert error is Error.COORDINATOR_NOT_AVAILABLE
    assert 5_000 <= groups.cluster.now - began_ms < 5_100
    assert groups.fetch("foo-0") == {"foo-0": -1}
    groups.cluster.plan(Restart(follower, at_ms=groups.cluster.now))
    groups.sleep(12_000)
    if api == "TxnOffsetCommit":
        assert groups.end("t", committed=True) is NONE
    assert groups.fetch("foo-0") == {"foo-0": 5 if api == "OffsetCommit" else 7}


def test_a_group_that_is_deleted_is_gone_though_its_tombstones_come_too_late() -> None:
    groups = Groups(min_insync_replicas=3)
    assert groups.error() is NONE
    groups.crash_follower()
    to = groups.leader(offsets_partition(G))
    assert groups.get(DeleteGroups(groups=(G,)), to=to).errors == {G: Error.COORDINATOR_NOT_AVAILABLE}
    assert groups.get(DeleteGroups(groups=(G,)), to=to).errors == {G: Error.GROUP_ID_NOT_FOUND}


def test_before_4_0_a_commit_is_refused_at_once_while_too_few_replicas_are_in_sync() -> None:
    groups = Groups(GROUP_LOG_WAITS.name, min_insync_replicas=3)
    groups.crash_follower()
    began_ms = groups.cluster.now
    assert groups.error() is Error.COORDINATOR_NOT_AVAILABLE
    assert groups.cluster.now - began_ms < 100


def test_the_group_is_asked_after_the_transaction_coordinator_has_answered() -> None:
    """KAFKA-15784: the member leaves while its commit is being verified."""
    groups = Groups()
    (m,) = groups.stable()
    groups.begin("t")
    given = {"generation_id": m.generation_id, "member_id": m.member_id}
    promise = groups.offer("t", {"foo-0": 7}, **given)
    groups.ask(LeaveGroup(group_id=G, members=(LeavingMember(m.member_id),)))
    assert wait(promise).errors == {"foo-0": Error.UNKNOWN_MEMBER_ID}


def test_a_marker_is_answered_once_the_offsets_count() -> None:
    """KAFKA-17507: the next transaction of the producer has offsets of its own."""
    groups = Groups()
    for offset in (10, 20, 30):
        assert groups.txn_commit("t", {"foo-0": offset}) == {"foo-0": NONE}
        assert groups.end("t", committed=offset != 20) is NONE
    assert groups.fetch("foo-0", stable=True) == {"foo-0": 30}


# OFF-16: offsets expire

MINUTE = 60_000


def expiring(minutes: int = 30) -> Groups:
    return Groups(TIMEOUT_ABORT.name, offsets_retention_minutes=minutes)


def tombstones(groups: Groups) -> list[str | None]:
    return [r.key for r in groups.records() if r.value is None]


def test_OFF_16_an_offset_expires_and_a_pending_one_keeps_its_group() -> None:
    groups = expiring()
    groups.commit(offsets={"foo-0": 1})
    groups.sleep(25 * MINUTE)
    hang(groups, {"foo-1": 2})
    groups.sleep(20 * MINUTE)
    assert tombstones(groups) == ["g/foo-0"]
    assert groups.fetch("foo-0", "foo-1", stable=True) == {"foo-0": -1, "foo-1": UNSTABLE}
    assert groups.state() == "Empty"


def test_OFF_16_an_offset_with_a_pending_one_for_its_partition_stays() -> None:
    groups = expiring()
    groups.commit(offsets={"foo-0": 1, "foo-1": 2})
    hang(groups, {"foo-0": 3})
    groups.sleep(45 * MINUTE)
    assert tombstones(groups) == ["g/foo-1"]
    assert groups.fetch("foo-0", "foo-1") == {"foo-0": 1, "foo-1": -1}


def hang(groups: Groups, offsets: dict[str, int]) -> None:
    """Offsets of a transaction that nobody ends."""
    assert set(groups.txn_commit("hanging", offsets).values()) == {NONE}


def test_OFF_16_with_its_last_offset_a_simple_group_goes() -> None:
    groups = expiring()
    groups.commit(offsets={"foo-0": 1, "foo-1": 2})
    groups.sleep(20 * MINUTE)
    groups.commit(offsets={"foo-1": 3})
    groups.sleep(11 * MINUTE + 20_000)
    assert tombstones(groups) == []
    groups.sleep(9 * MINUTE)
    assert tombstones(groups) == ["g/foo-0"]
    groups.sleep(20 * MINUTE)
    assert tombstones(groups) == ["g/foo-0", "g/foo-1", "g/"]
    assert groups.state() == "Dead"
    assert groups.txn_error(6, generation_id=0, member_id="m") is Error.GROUP_ID_NOT_FOUND


def test_OFF_16_offsets_that_members_read_do_not_expire_and_others_do() -> None:
    groups = expiring()
    (m,) = groups.stable(session_timeout_ms=1_800_000)
    given = {"generation_id": m.generation_id, "member_id": m.member_id}
    groups.commit(offsets={"foo-0": 1, "bar-0": 2}, **given)
    for _ in range(4):
        groups.sleep(10 * MINUTE)
        groups.get(Heartbeat(group_id=G, **given))
    assert tombstones(groups) == ["g/bar-0"]
    groups.get(LeaveGroup(group_id=G, members=(LeavingMember(m.member_id),)))
    groups.sleep(29 * MINUTE)
    assert tombstones(groups) == ["g/bar-0"]  # the clock begins when the group becomes empty
    groups.sleep(12 * MINUTE)
    assert tombstones(groups) == ["g/bar-0", "g/foo-0", "g/"]


def test_an_expired_offset_is_gone_after_a_failover_too() -> None:
    groups = expiring()
    groups.commit(offsets={"foo-0": 1})
    groups.sleep(41 * MINUTE)
    groups.crash_coordinator()
    assert groups.fetch("foo-0") == {"foo-0": -1}
    assert groups.state() == "Dead"


def test_an_offset_expires_exactly_when_its_time_is_over() -> None:
    groups = expiring(10)
    groups.cluster.run_for(1)
    groups.commit(offsets={"foo-0": 1})
    committed_ms = groups.records()[-1].value.commit_timestamp_ms
    exact = Groups(  # the scan comes when the offset is ten minutes old, to the millisecond
        TIMEOUT_ABORT.name, offsets_retention_minutes=10, offsets_retention_check_interval_ms=committed_ms + 10 * MINUTE
    )
    exact.cluster.run_for(1)
    exact.commit(offsets={"foo-0": 1})
    exact.sleep(10 * MINUTE + 100)
    assert tombstones(exact) == ["g/foo-0", "g/"]


def test_a_commit_of_old_may_name_its_own_retention_time() -> None:
    groups = expiring()
    for version, partition in ((4, "foo-0"), (5, "foo-1")):
        groups.commit(version, offsets={partition: 1}, retention_time_ms=60_000)
    groups.sleep(11 * MINUTE)
    assert tombstones(groups) == ["g/foo-0"]


# what administrators take away


def delete(groups: Groups, *names: str) -> list[Error]:
    to = groups.leader(offsets_partition(G))
    return list(groups.get(DeleteGroups(groups=names), to=to).errors.values())


def forget(groups: Groups, *partitions: str) -> Any:
    return groups.get(OffsetDelete(group_id=G, partitions=partitions))


def test_a_deleted_offset_is_gone_and_a_pending_one_with_it() -> None:
    groups = with_pending()
    assert forget(groups, "foo-0", "foo-1", "bar-1", "none-0").errors == {
        "foo-0": NONE, "foo-1": NONE, "bar-1": NONE, "none-0": Error.UNKNOWN_TOPIC_OR_PARTITION
    }  # fmt: skip
    assert tombstones(groups) == ["g/foo-0", "g/foo-1", "g/bar-1"]
    assert groups.fetch(*ALL, stable=True) == {"foo-0": -1, "foo-1": -1, "bar-0": UNSTABLE, "bar-1": -1}
    groups.end("p10", committed=True)
    assert groups.fetch(*ALL, stable=True) == {"foo-0": -1, "foo-1": -1, "bar-0": 201, "bar-1": -1}


def test_offsets_of_topics_that_members_read_stay() -> None:
    groups = Groups()
    assert forget(groups, "foo-0").error is Error.GROUP_ID_NOT_FOUND
    (m,) = groups.stable()
    groups.commit(offsets={"foo-0": 1, "bar-0": 2}, generation_id=1, member_id=m.member_id)
    assert forget(groups, "foo-0", "bar-0").errors == {"foo-0": Error.GROUP_SUBSCRIBED_TO_TOPIC, "bar-0": NONE}
    assert groups.fetch("foo-0", "bar-0") == {"foo-0": 1, "bar-0": -1}


def test_all_offsets_stay_before_a_group_has_its_first_generation() -> None:
    """`ClassicGroup.isSubscribedToTopic`: until then a consumer group has not said which topics it reads."""
    groups = Groups()
    groups.commit(offsets={"foo-0": 1, "bar-0": 2})
    joining = groups.join()
    assert set(forget(groups, "foo-0", "bar-0").errors.values()) == {Error.GROUP_SUBSCRIBED_TO_TOPIC}
    assert wait(joining).generation_id == 1
    assert forget(groups, "foo-0", "bar-0").errors == {"foo-0": Error.GROUP_SUBSCRIBED_TO_TOPIC, "bar-0": NONE}


def test_an_empty_group_is_deleted_with_pending_offsets_and_one_with_members_is_not() -> None:
    groups = with_pending()
    assert delete(groups, G, G) == [NONE]
    assert tombstones(groups) == ["g/foo-0", "g/foo-1", "g/bar-0", "g/bar-1", "g/"]
    assert delete(groups, G) == [Error.GROUP_ID_NOT_FOUND]
    groups.end("p10", committed=True)
    assert groups.fetch(*ALL, stable=True) == dict.fromkeys(ALL, -1)
    groups.stable()
    assert delete(groups, G) == [Error.NON_EMPTY_GROUP]
