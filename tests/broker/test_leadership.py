"""What a new image changes for a broker: what it leads, follows, loads, leaves; scans that repeat
(docs/protocol.md#loading)."""

from __future__ import annotations

import pytest

from kafkalab.broker.services import Context
from kafkalab.broker.state import FetchSession, TxnPartition
from kafkalab.log.group_offsets import GroupOffsets, OffsetCommit
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.alter_partition import AlterPartition
from kafkalab.protocol.messages.broker_registration import BrokerRegistration, BrokerRegistrationResponse
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from kafkalab.protocol.messages.update_metadata import UpdateMetadata, UpdateMetadataResponse
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import LEADER_EPOCH
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.broker.replica_world import BROKERS, ReplicaWorld, Sent, batch, info


def test_an_image_that_is_not_newer_changes_nothing() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b1"))
    older, same = ClusterMetadata(0, BROKERS), ClusterMetadata(1, BROKERS)
    for image in (older, same):
        w.brokers["b1"].leadership.update(image, Context(None, 0))
        assert w.brokers["b1"].state.metadata is w.image


def test_an_image_is_answered_with_its_response() -> None:
    w = ReplicaWorld(real=("b1",))
    image = w.image.with_partitions({"t-0": info("b1")}, BROKERS)
    sent = Sent("controller", "b1", UpdateMetadata(metadata=image), lambda response, cause: None, False, 0)
    assert w.deliver(sent) == UpdateMetadataResponse()
    assert w.brokers["b1"].state.metadata is image
    assert w.find_notes("leader") == [], "there is no log yet"


def test_a_new_leader_says_so_and_forgets_what_followers_said_before() -> None:
    w = ReplicaWorld(real=("b1",))
    w.log("b1").append(batch("x"), 0)
    w.tell(t_0=info("b2"), u_0=info("b1"))
    w.run_for(300)
    w.fetch("b3", 0, -1, session=0, partition="u-0")
    session = w.session("b1", "b3")
    session.positions["t-0"] = 1
    session.behind.clear()
    w.brokers["b1"].state.sessions["b2"] = FetchSession()
    w.tell(t_0=info("b1", 1))
    assert session.positions == {"u-0": 0}
    assert session.behind == {"t-0": None}
    assert session.caught_up_ms["t-0"] == 300
    (note,) = [n for n in w.find_notes("leader") if n.data["partition"] == "t-0"]
    assert (note.node, note.cause, note.data) == ("b1", 7, {"partition": "t-0", "leader_epoch": 1})
    assert w.brokers["b1"].state.epoch_start["t-0"] == 1


def test_without_a_new_epoch_nothing_is_led_anew() -> None:
    w = ReplicaWorld(real=("b1",))
    w.log("b1")
    w.tell(t_0=info("b1"))
    w.tell(t_0=info("b1", 0, ("b1",)))
    assert len(w.find_notes("leader")) == 1
    assert w.brokers["b1"].replication.led_since == {"t-0": 1}


def test_a_former_leader_fails_what_waits_and_wakes_what_is_parked() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b1"), u_0=info("b1"))
    ends, other = w.write("b1", "x"), w.write("b1", "y", partition="u-0")
    woken: list[int] = []
    w.brokers["b1"].state.parked_fetches["t-0"] = [woken.append]
    w.brokers["b1"].state.sessions["b2"] = session = FetchSession(positions={"t-0": 1, "u-0": 0})
    w.brokers["b1"].state.sessions["b3"] = FetchSession()
    w.tell(t_0=info("b2", 1))
    assert (ends, other, woken) == ([Error.NOT_LEADER_OR_FOLLOWER], [], [-1])
    assert session.positions == {"u-0": 0}


def test_a_former_coordinator_forgets_only_this_partition() -> None:
    w = ReplicaWorld(real=("b1",))
    names = {"__transaction_state_0": info("b1"), "__transaction_state_1": info("b1")}
    changed = {n.replace("_0", "-0").replace("_1", "-1"): i for n, i in names.items()}
    w.image = w.image.with_partitions({**changed, "__consumer_offsets-0": info("b1")}, BROKERS)
    w.give_image()
    state = w.brokers["b1"].state
    for partition in changed:
        state.transactions[partition] = TxnPartition(0, loading=False)
    state.offsets = {"__consumer_offsets-0": GroupOffsets(), "__consumer_offsets-1": GroupOffsets()}
    state.newest_offsets = dict(state.offsets)
    state.offsets_loading = ["__consumer_offsets-0", "__consumer_offsets-1"]
    w.image = w.image.with_partitions(
        {"__transaction_state-0": info("b2", 1), "__consumer_offsets-0": info("b2", 1)}, BROKERS
    )
    w.give_image()
    assert list(state.transactions) == ["__transaction_state-1"]
    assert list(state.offsets) == list(state.newest_offsets) == ["__consumer_offsets-1"]
    assert state.offsets_loading == ["__consumer_offsets-1"]


def test_a_replica_that_is_alive_again_is_in_sync_at_once_where_its_leader_has_no_records() -> None:
    """Its first fetch would report that it has all there is (`Partition.maybeExpandIsr`)."""
    w = ReplicaWorld(real=("b1",))
    two = ("b1", "b2")
    before = {
        "no_log": info("b1", 0, two),
        "no_records": info("b1", 0, two),
        "records": info("b1", 0, two),
        "no_replica_there": info("b1", 0, ("b1",), two),
        "in_sync": info("b1"),
        "of_another_leader": info("b2", 0, two),
        "newly_led": info("b2", 0, two),
    }
    w.tell(alive=two, **before)
    w.log("b1", "no-records")
    w.log("b1", "records").append(batch("x"), 0)
    changed = {"newly-led": info("b1", 1, two)}
    w.image = w.image.with_partitions(changed, BROKERS)
    update = w.brokers["b1"].leadership.update
    assert update(w.image, Context(None, 7)) == ("no-log", "no-records")
    taken = w.brokers["b1"].state.metadata.partitions
    assert [p for p in taken if taken[p].isr == BROKERS] == ["no-log", "no-records", "in-sync"]
    w.image = w.image.with_partitions({"no-log": info("b1", 0, two)}, BROKERS)
    assert update(w.image, Context(None, 7)) == (), "b3 was alive before"


@pytest.mark.parametrize(("off", "kept"), [((), ["x", "y"]), ((LEADER_EPOCH.name,), ["x"])])
def test_only_before_kip_101_a_new_follower_drops_what_lies_above_its_high_watermark(
    off: tuple[str, ...], kept: list[str]
) -> None:
    w = ReplicaWorld(real=("b1",), off=off)
    for value in ("x", "y"):
        w.log("b1").append(batch(value), 0)
    w.log("b1").advance(1)
    w.log("b1", "u-0").append(batch("z"), 0)
    w.log("b1", "u-0").advance(1)
    w.tell(t_0=info("b2"), u_0=info("b2"), v_0=info("b2"), x_0=info(""))
    assert w.values("b1") == kept
    assert w.values("b1", "u-0") == ["z"]
    cuts = [(n.node, n.name, n.cause) for n in w.notes if n.kind == "truncate"]
    assert cuts == ([("b1", "t-0", 7)] if off else [])
    assert "v-0" not in w.brokers["b1"].state.logs


def test_before_kip_101_a_partition_without_a_leader_is_not_cut() -> None:
    w = ReplicaWorld(real=("b1",), off=(LEADER_EPOCH.name,))
    w.log("b1").append(batch("x"), 0)
    w.tell(t_0=info("", isr=("b2",)))
    assert w.values("b1") == ["x"]


def test_a_broker_follows_each_leader_of_what_has_moved_and_never_itself_or_nobody() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b3"), u_0=info("b1"), v_0=info(""), w_0=info("b2"))
    assert [s.to for s in w.waiting(ReplicaFetch)] == ["b2", "b3"]
    assert {s.cause for s in w.waiting(ReplicaFetch)} == {7}
    w.tell(u_0=info("b1", 1))
    assert len(w.waiting(ReplicaFetch)) == 2
    w.tell(t_0=info("b3", 1))
    assert [s.to for s in w.waiting(ReplicaFetch)] == ["b2", "b3", "b3"]


def test_a_leader_that_leads_nothing_any_more_is_left() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b3"), w_0=info("b2"))
    w.tell(t_0=info("b2", 1))
    assert list(w.brokers["b1"].replication.fetching) == ["b2"]


def test_a_coordinator_loads_after_its_delay() -> None:
    w = ReplicaWorld(real=("b1",), coordinator_load_ms=40)
    for partition in ("__transaction_state-3", "__consumer_offsets-3"):
        w.log("b1", partition)
    w.image = w.image.with_partitions(
        {"__transaction_state-3": info("b1", 4), "__consumer_offsets-3": info("b1", 4), "t-0": info("b1", 4)}, BROKERS
    )
    w.log("b1")
    w.give_image()
    state = w.brokers["b1"].state
    loading = state.transactions["__transaction_state-3"]
    assert (loading.coordinator_epoch, loading.loading, state.offsets_loading) == (4, True, ["__consumer_offsets-3"])
    assert w.timers[-2:] == [("b1", 40, False), ("b1", 40, False)]
    w.run_for(39)
    assert state.transactions["__transaction_state-3"].loading
    w.run_for(1)
    assert not state.transactions["__transaction_state-3"].loading
    assert (state.offsets_loading, list(state.offsets)) == ([], ["__consumer_offsets-3"])
    loaded = [(n.node, n.cause) for n in w.find_notes("coordinator loaded")]
    assert loaded == [("b1", 7), ("b1", 7)]
    offsets = [n.data for n in w.find_notes("coordinator loaded") if n.data["partition"].startswith("__consumer")]
    assert offsets == [{"partition": "__consumer_offsets-3", "coordinator_epoch": 4}]


def elect_with_commits(*offsets: int, mark: int) -> ReplicaWorld:
    """b1 is elected for a partition of `__consumer_offsets` with one commit a batch, of which `mark` are replicated."""
    w = ReplicaWorld(real=("b1",))
    partition = offsets_partition("g")
    log = w.log("b1", partition)
    for number, offset in enumerate(offsets):
        entry = OffsetCommit(group="g", partition=f"in-{number}", offset=offset)
        log.append(Batch(records=(Record(None, entry),)), 0)
    log.advance(mark)
    w.image = w.image.with_partitions({partition: info("b1", 1)}, BROKERS)
    w.give_image()
    return w


@pytest.mark.parametrize(("mark", "found"), [(0, []), (1, [10]), (2, [10, 20])])
def test_only_replicated_offsets_are_loaded(mark: int, found: list[int]) -> None:
    w = elect_with_commits(10, 20, mark=mark)
    w.run_for(5)
    offsets = w.brokers["b1"].state.offsets[offsets_partition("g")]
    assert [entry.offset for entry in offsets.committed.values()] == found


def test_loading_begins_with_nothing() -> None:
    w = elect_with_commits(10, mark=1)
    state, partition = w.brokers["b1"].state, offsets_partition("g")
    views = state.offsets, state.newest_offsets
    stale = Batch(records=(Record(None, OffsetCommit(group="g", partition="stale-0", offset=1)),))
    for view in views:
        state.apply_offsets(view, partition, [stale])
    w.run_for(5)
    assert [[p for _, p in view[partition].committed] for view in views] == [["in-0"], ["in-0"]]


@pytest.mark.parametrize(("leader", "epoch"), [("b2", 2), ("b1", 2)])
def test_loading_that_was_begun_under_an_older_epoch_does_nothing(leader: str, epoch: int) -> None:
    w = elect_with_commits(10, mark=1)
    w.run_for(4)
    w.image = w.image.with_partitions({offsets_partition("g"): info(leader, epoch)}, BROKERS)
    w.give_image()
    w.run_for(1)
    assert w.find_notes("coordinator loaded") == []
    w.run_for(4)
    assert len(w.find_notes("coordinator loaded")) == (leader == "b1")


def test_loading_of_a_partition_that_is_gone_does_nothing() -> None:
    w = elect_with_commits(10, mark=1)
    w.brokers["b1"].state.metadata = ClusterMetadata(9, BROKERS)
    w.run_for(5)
    assert w.find_notes("coordinator loaded") == []


# start, scans, registration


def test_a_started_broker_follows_every_leader_and_scans_in_the_background() -> None:
    w = ReplicaWorld(
        real=("b1",),
        transaction_abort_cleanup_interval_ms=11,
        transaction_remove_expired_cleanup_interval_ms=12,
        offsets_retention_check_interval_ms=13,
        producer_id_expiration_check_interval_ms=14,
        log_retention_check_interval_ms=15,
        replica_lag_time_max_ms=33,
    )
    image = w.image.with_partitions({"t-0": info("b2"), "u-0": info("b1"), "v-0": info("b3")}, BROKERS)
    w.brokers["b1"].state.metadata = image
    w.brokers["b1"].start(4)
    assert [(s.to, s.cause) for s in w.waiting(ReplicaFetch)] == [("b2", 4), ("b3", 4)]
    assert w.timers == [("b1", ms, True) for ms in (11, 12, 13, 14, 15, 16)]
    w.timers = []
    w.run_for(31)
    assert sorted(w.timers) == sorted(("b1", ms, True) for ms in (11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16))


def test_the_lag_check_repeats() -> None:
    w = ReplicaWorld(real=("b1",))
    w.brokers["b1"].start()
    w.tell(t_0=info("b1"))
    w.write("b1", "x")
    w.run_for(1_000)
    assert w.waiting(AlterPartition) == []
    w.run_for(501)
    w.answer(w.take(AlterPartition), None)
    w.run_for(500)
    assert len(w.waiting(AlterPartition)) == 1


def test_what_a_scan_does_comes_from_the_start_of_the_broker() -> None:
    w = ReplicaWorld(
        real=("b1",),
        log_retention_ms=100,
        log_retention_check_interval_ms=600,
        transactional_id_expiration_ms=100,
        transaction_remove_expired_cleanup_interval_ms=600,
        offsets_retention_minutes=0,
        offsets_retention_check_interval_ms=600,
        transaction_state_log_min_isr=1,
    )
    offsets = offsets_partition("g")
    entry = OffsetCommit(group="g", partition="in-0", offset=1)
    w.log("b1", offsets).append(Batch(records=(Record(None, entry),)), 0)
    w.log("b1", offsets).advance(1)
    w.log("b1").append(batch("x"), 0)
    w.log("b1").advance(1)
    w.log("b1", "__transaction_state-0")
    changed = {p: info("b1", 1, ("b1",)) for p in ("t-0", offsets, "__transaction_state-0")}
    w.image = w.image.with_partitions(changed, BROKERS)
    w.brokers["b1"].start(4)
    w.give_image()
    w.run_for(6)
    state = w.brokers["b1"].state
    old = Txn(transactional_id="a", producer_id=1, state=TxnState.COMPLETE_COMMIT)
    state.transactions["__transaction_state-0"].txns["a"] = old
    w.notes.clear()
    w.run_for(595)
    appended = [(n.name, n.cause) for n in w.notes if n.kind == "append"]
    assert sorted(appended) == sorted([("__transaction_state-0", 4), (offsets, 4)])
    assert [(n.data["partition"], n.cause) for n in w.find_notes("log start")] == [("t-0", 4)]


def test_the_producers_that_wrote_nothing_for_long_are_forgotten() -> None:
    w = ReplicaWorld(real=("b1",), producer_id_expiration_ms=1_000, producer_id_expiration_check_interval_ms=600)
    w.brokers["b1"].start(4)
    for partition in ("t-0", "u-0"):
        sequence = Batch(records=(Record(None, "x"),), producer_id=9, producer_epoch=0, base_sequence=0)
        if partition == "t-0":
            w.log("b1", partition).append(sequence, 0)
        w.log("b1", partition)
    w.run_for(600)
    assert w.find_notes("producer ids expired") == []
    w.run_for(600)
    (note,) = w.find_notes("producer ids expired")
    assert note.data["partition"] == "t-0"
    assert (list(note.data["producer_ids"]), note.node, note.cause) == ([9], "b1", 4)


def test_scans_of_an_earlier_incarnation_end_with_it() -> None:
    w = ReplicaWorld(real=("b1",), replica_lag_time_max_ms=100, transaction_abort_cleanup_interval_ms=50)
    w.brokers["b1"].start()
    w.brokers["b1"].crash()
    w.timers = []
    w.run_for(200)
    assert w.timers == []


def test_a_restarted_broker_believes_nothing_and_registers_until_it_is_answered() -> None:
    w = ReplicaWorld(real=("b1",))
    w.tell(t_0=info("b1"), u_0=info("b2"))
    w.write("b1", "x")
    w.sent = []
    b1 = w.brokers["b1"]
    b1.crash()
    b1.restart(4)
    assert b1.state.metadata == ClusterMetadata()
    assert (w.waiting(ReplicaFetch), w.values("b1")) == ([], ["x"])
    sent = w.take(BrokerRegistration)
    assert (sent.body, sent.to, sent.cause) == (BrokerRegistration(broker="b1"), "controller", 4)
    w.answer(sent, None)
    sent = w.take(BrokerRegistration)
    assert sent.cause == 6
    w.answer(sent, BrokerRegistrationResponse())
    assert w.waiting(BrokerRegistration) == []


def test_of_two_registrations_only_the_later_one_is_repeated() -> None:
    w = ReplicaWorld(real=("b1",))
    b1 = w.brokers["b1"]
    b1.crash()
    b1.restart(4)
    first = w.take(BrokerRegistration)
    b1.register(5)
    w.answer(first, None)
    (second,) = [s for s in w.waiting(BrokerRegistration) if s is not first]
    w.answer(second, None)
    assert len(w.waiting(BrokerRegistration)) == 1
