"""TMC: the markers of decided transactions, on their way to the leaders and answered (docs/cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.messages.describe_transactions import DescribeTransactions
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.write_txn_markers import TxnMarkers, WriteTxnMarkers, WriteTxnMarkersResponse
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.rules import COMPLETE_REWRITTEN, LEADER_AWAITED, MARKERS_BY_EPOCH, PREPARE_FIRST, REDRIVE_PREPARE
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.conformance.one_broker import HOLD, LOST, OneBroker, Sent

EPOCH = 4
PIDS = {"a": 7, "b": 8}
DECISIONS = [("PrepareCommit", "CompleteCommit"), ("PrepareAbort", "CompleteAbort")]


def txn(transactional_id: str, state: str, *partitions: str, version: int = 2) -> Txn:
    return Txn(
        transactional_id=transactional_id,
        producer_id=PIDS[transactional_id],
        producer_epoch=EPOCH,
        state=TxnState.of(state),
        partitions=partitions,
        start_ms=0,
        update_ms=0,
        client_transaction_version=version,
    )


def load_prepared(*partitions: str, state: str = "PrepareCommit", **settings: Any) -> OneBroker:
    """b1 has just loaded id "a", decided, with these partitions, at coordinator epoch 1."""
    world = OneBroker(**settings)
    world.load(txn("a", state, *partitions))
    return world


def markers(world: OneBroker) -> list[Sent]:
    return world.take(WriteTxnMarkers)


def entries(sent: list[Sent]) -> list[tuple[str, list[tuple[int, tuple[str, ...]]]]]:
    """To whom, and of whom which partitions."""
    return [(s.to, [(m.producer_id, m.partitions) for m in s.body.markers]) for s in sent]


def answer(sent: Sent, error: Error = Error.NONE, **others: Error) -> None:
    """One error for all partitions; of some, another: `u=` is u-0's."""
    named = {f"{name}-0": e for name, e in others.items()}
    told = {m.producer_id: {p: named.get(p, error) for p in m.partitions} for m in sent.body.markers}
    sent.answer(WriteTxnMarkersResponse(markers=told))


def state(world: OneBroker, transactional_id: str = "a") -> str:
    known = world.txn(transactional_id)
    assert known is not None
    return known.state.label


def completions(world: OneBroker, transactional_id: str = "a") -> list[str]:
    written = [e.state.label for e in world.entries(transactional_id) if e is not None]
    return [s for s in written if s.startswith("Complete")]


def end(world: OneBroker, transactional_id: str, committed: bool = True, version: int = 5) -> Any:
    request = EndTxn(
        transactional_id=transactional_id,
        producer_id=PIDS[transactional_id],
        producer_epoch=EPOCH,
        committed=committed,
    )
    return world.ask(request, version)


# sending


def test_tmc_01_one_request_per_broker_carries_every_transaction_that_is_queued() -> None:
    world = OneBroker()
    world.load(txn("a", "Ongoing", "u-0", "w-0"))
    world.load(txn("b", "Ongoing", "u-0"))
    end(world, "a")
    end(world, "b")
    sent = markers(world)
    assert entries(sent) == [("b2", [(7, ("u-0",)), (8, ("u-0",))]), ("b3", [(7, ("w-0",))])]
    world.run_for(1_000)
    assert markers(world) == []
    assert (state(world, "a"), state(world, "b")) == ("PrepareCommit", "PrepareCommit")


def test_partitions_of_one_leader_travel_together() -> None:
    assert entries(markers(load_prepared("t-0", "u-0", "v-0"))) == [
        ("b1", [(7, ("t-0",))]),
        ("b2", [(7, ("u-0", "v-0"))]),
    ]


@pytest.mark.parametrize(("version", "epoch"), [(0, EPOCH), (2, EPOCH + 1)])
@pytest.mark.parametrize("committed", [True, False])
def test_an_entry_says_all_that_a_leader_must_know(version: int, epoch: int, committed: bool) -> None:
    world = OneBroker()
    world.load(txn("a", "Ongoing", "u-0", version=version), epoch=9)
    end(world, "a", committed, 5 if version else 4)
    (sent,) = markers(world)
    expected = TxnMarkers(
        producer_id=7,
        producer_epoch=epoch,
        coordinator_epoch=9,
        committed=committed,
        partitions=("u-0",),
        transaction_version=version,
    )
    assert sent.body.markers == (expected,)


def test_tmc_02_a_partition_that_does_not_exist_drops_out() -> None:
    world = load_prepared("gone-0", "u-0")
    (sent,) = markers(world)
    assert entries([sent]) == [("b2", [(7, ("u-0",))])]
    answer(sent)
    assert state(world) == "CompleteCommit"


def test_a_transaction_of_which_every_partition_has_gone_is_complete_at_once() -> None:
    world = load_prepared("gone-0", "gone-1")
    assert (markers(world), state(world)) == ([], "CompleteCommit")


@pytest.mark.parametrize("why", ["no leader", "its leader is not alive"])
def test_markers_without_a_live_leader_wait_and_are_sent_once_there_is_one(why: str) -> None:
    world = OneBroker(leaders={"u-0": "" if why == "no leader" else "b2"})
    if why != "no leader":
        world.image({}, alive=("b1", "b3"))
    world.load(txn("a", "PrepareCommit", "u-0", "w-0"))
    assert entries(markers(world)) == [("b3", [(7, ("w-0",))])]
    world.run_for(5_000)
    assert markers(world) == []
    world.image({"u-0": "b3"}, 1, alive=("b1", "b2", "b3"))
    world.run_for(50)
    assert entries(markers(world)) == [("b3", [(7, ("u-0",))])]


def test_a_topic_that_is_deleted_while_its_markers_wait_drops_out() -> None:
    world = OneBroker(leaders={"u-0": ""})
    world.load(txn("a", "PrepareCommit", "u-0"))
    world.image({}, gone=("u-0",))
    world.run_for(50)
    assert (markers(world), state(world)) == ([], "CompleteCommit")


def test_a_topic_that_is_deleted_between_two_attempts_drops_out() -> None:
    world = load_prepared("u-0")
    answer(markers(world)[0], Error.UNKNOWN_TOPIC_OR_PARTITION)
    world.image({}, gone=("u-0",))
    world.run_for(50)
    assert (markers(world), state(world)) == ([], "CompleteCommit")


def two_queued() -> OneBroker:
    """Ids "a" and "b" are decided and nothing is sent yet: the markers of both wait for the same brokers."""
    world = OneBroker(leaders={"u-0": "", "w-0": ""})
    world.load(txn("a", "PrepareCommit", "u-0", "w-0"))
    world.load(txn("b", "PrepareAbort", "u-0"))
    return world


def test_tmc_04_markers_of_a_partition_that_has_gone_to_another_coordinator_are_dropped() -> None:
    world = two_queued()
    world.image({transaction_partition("a"): "b2"}, 2)
    world.image({"u-0": "b2", "w-0": "b3"}, 1)
    world.run_for(50)
    assert entries(markers(world)) == [("b2", [(8, ("u-0",))])]


def test_markers_that_wait_for_another_attempt_are_dropped_with_their_partition() -> None:
    world = load_prepared("u-0")
    answer(markers(world)[0], Error.NOT_ENOUGH_REPLICAS)
    world.image({transaction_partition("a"): "b2"}, 2)
    world.run_for(1_000)
    assert markers(world) == []


# answers


@pytest.mark.parametrize(("before", "after"), DECISIONS)
def test_after_the_last_marker_the_transaction_is_complete(before: str, after: str) -> None:
    world = load_prepared("u-0", "w-0", state=before)
    first, second = markers(world)
    answer(first)
    assert (state(world), world.pending("a")) == (before, TxnState.of(after))
    answer(second)
    assert (state(world), world.pending("a"), completions(world)) == (after, None, [after])
    known = world.txn("a")
    assert known is not None
    assert known.partitions == ()


def test_a_partition_that_has_its_marker_leaves_the_cache_and_not_the_log() -> None:
    world = load_prepared("gone-0", "u-0", "w-0")
    known = world.txn("a")
    assert known is not None
    assert known.partitions == ("u-0", "w-0")
    answer(markers(world)[0])
    known = world.txn("a")
    assert known is not None
    assert known.partitions == ("w-0",)
    assert [e.partitions for e in world.entries("a")] == [("gone-0", "u-0", "w-0")]


def test_tmc_05_the_completion_is_written_once_whatever_comes_together() -> None:
    world = load_prepared("gone-0", "u-0", "w-0")
    first, second = markers(world)
    world.appends[transaction_partition("a")] = [HOLD]
    answer(first)
    answer(second)
    answer(second)
    answer(first, Error.NOT_LEADER_OR_FOLLOWER)
    world.run_for(50)
    for again in markers(world):
        answer(again)
    assert len(world.appended) == 1
    world.held.pop()(Error.NONE)
    assert completions(world) == ["CompleteCommit"]


@pytest.mark.parametrize("late", [Error.NONE, Error.INVALID_PRODUCER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER, LOST])
def test_tmc_06_an_answer_of_an_older_coordinator_epoch_does_not_end_the_newer_one(late: Any) -> None:
    world = load_prepared("u-0")
    (old,) = markers(world)
    world.image({transaction_partition("a"): "b1"}, 2)
    world.run_for(5)
    (new,) = markers(world)
    assert [m.coordinator_epoch for s in (old, new) for m in s.body.markers] == [1, 2]
    if late is LOST:
        old.answer(LOST)
    else:
        answer(old, late)
    world.run_for(100)
    assert markers(world) == []
    assert (state(world), completions(world)) == ("PrepareCommit", [])
    answer(new)
    assert (state(world), completions(world)) == ("CompleteCommit", ["CompleteCommit"])


def test_without_the_rule_an_answer_of_an_older_epoch_takes_the_newer_completion_away() -> None:
    world = load_prepared("u-0", off=(MARKERS_BY_EPOCH.name,))
    (old,) = markers(world)
    world.image({transaction_partition("a"): "b1"}, 2)
    world.run_for(5)
    (new,) = markers(world)
    answer(old)
    answer(new)
    world.run_for(10_000)
    assert (state(world), world.pending("a"), completions(world)) == ("PrepareCommit", TxnState.COMPLETE_COMMIT, [])


@pytest.mark.parametrize("meanwhile", ["loads", "left"])
@pytest.mark.parametrize("late", [Error.NONE, LOST])
def test_an_answer_after_the_partition_has_left_changes_nothing(meanwhile: str, late: Any) -> None:
    world = load_prepared("u-0")
    (old,) = markers(world)
    world.image({transaction_partition("a"): "b1" if meanwhile == "loads" else "b2"}, 2)
    if late is LOST:
        old.answer(LOST)
    else:
        answer(old)
    assert completions(world) == []


def test_tmc_07_a_completion_that_finds_too_few_replicas_is_written_again() -> None:
    world = load_prepared("u-0")
    world.appends[transaction_partition("a")] = [Error.NOT_ENOUGH_REPLICAS, Error.REQUEST_TIMED_OUT]
    answer(markers(world)[0])
    assert (state(world), world.pending("a")) == ("PrepareCommit", TxnState.COMPLETE_COMMIT)
    world.run_for(49)
    assert len(world.appended) == 1
    world.run_for(200)
    assert (state(world), world.pending("a"), len(world.appended)) == ("CompleteCommit", None, 2)
    assert markers(world) == []


@pytest.mark.parametrize("error", ["UNKNOWN_TOPIC_OR_PARTITION", "NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"])
def test_tsm_07_the_pending_state_outlives_an_append_that_is_tried_again(error: str) -> None:
    world = load_prepared("u-0")
    world.appends[transaction_partition("a")] = [Error[error], HOLD]
    answer(markers(world)[0])
    init = world.ask(InitProducerId(transactional_id="a"))
    assert init.response.error is Error.CONCURRENT_TRANSACTIONS
    assert world.pending("a") is TxnState.COMPLETE_COMMIT


def test_a_completion_that_this_broker_may_not_write_any_more_is_left_to_the_next_coordinator() -> None:
    world = load_prepared("u-0")
    world.appends[transaction_partition("a")] = [Error.NOT_LEADER_OR_FOLLOWER]
    answer(markers(world)[0])
    world.run_for(1_000)
    assert (state(world), completions(world), len(world.appended)) == ("PrepareCommit", [], 1)


@pytest.mark.parametrize("leader", ["b1", "b2"])
def test_a_completion_that_was_to_be_written_again_is_dropped_with_its_partition(leader: str) -> None:
    world = load_prepared("u-0")
    world.appends[transaction_partition("a")] = [Error.NOT_ENOUGH_REPLICAS]
    answer(markers(world)[0])
    world.image({transaction_partition("a"): leader}, 2)
    world.run_for(1_000)
    assert completions(world) == []


@pytest.mark.parametrize("error", ["MESSAGE_TOO_LARGE", "INVALID_RECORD"])
def test_a_completion_that_fails_in_a_way_that_cannot_be_is_an_illegal_state(error: str) -> None:
    world = load_prepared("u-0")
    world.appends[transaction_partition("a")] = [Error[error]]
    (sent,) = markers(world)
    with pytest.raises(InvariantError):
        answer(sent)


def test_without_the_rule_a_completion_that_was_lost_is_never_written() -> None:
    world = load_prepared("u-0", off=(COMPLETE_REWRITTEN.name,))
    world.appends[transaction_partition("a")] = [Error.NOT_ENOUGH_REPLICAS]
    answer(markers(world)[0])
    world.run_for(10_000)
    assert (state(world), world.pending("a"), completions(world)) == ("PrepareCommit", None, [])


def test_tmc_09_after_a_disconnect_the_same_markers_are_sent_again() -> None:
    world = OneBroker()
    world.load(txn("a", "Ongoing", "u-0", "v-0"))
    world.load(txn("b", "Ongoing", "u-0"))
    end(world, "a")
    end(world, "b", committed=False)
    (sent,) = markers(world)
    sent.answer(LOST)
    world.run_for(50)
    (again,) = markers(world)
    assert (again.to, again.body) == ("b2", sent.body)
    answer(again)
    assert (state(world, "a"), state(world, "b")) == ("CompleteCommit", "CompleteAbort")


@pytest.mark.parametrize(
    "error",
    [
        pytest.param("UNKNOWN_TOPIC_OR_PARTITION", id="TMC-10-unknown"),
        pytest.param("NOT_LEADER_OR_FOLLOWER", id="TMC-10-not-leader"),
        pytest.param("NOT_ENOUGH_REPLICAS", id="TMC-10-replicas"),
        pytest.param("NOT_ENOUGH_REPLICAS_AFTER_APPEND", id="TMC-10-replicas-after"),
        pytest.param("KAFKA_STORAGE_ERROR", id="TMC-10-storage"),
        pytest.param("REQUEST_TIMED_OUT", id="TMC-10-timed-out"),
    ],
)
def test_a_partition_that_may_succeed_later_is_sent_again_without_the_others(error: str) -> None:
    world = load_prepared("u-0", "v-0")
    (sent,) = markers(world)
    answer(sent, v=Error[error])
    for attempt in range(3):
        world.run_for(50)
        (again,) = markers(world)
        assert entries([again]) == [("b2", [(7, ("v-0",))])]
        answer(again, Error[error] if attempt < 2 else Error.NONE)
    assert state(world) == "CompleteCommit"


def test_a_partition_is_sent_again_to_its_new_leader() -> None:
    world = load_prepared("u-0")
    answer(markers(world)[0], Error.NOT_LEADER_OR_FOLLOWER)
    world.image({"u-0": "b3"}, 1)
    world.run_for(50)
    assert entries(markers(world)) == [("b3", [(7, ("u-0",))])]


@pytest.mark.parametrize("error", ["INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED"])
def test_a_transaction_whose_markers_are_refused_is_given_up_until_the_partition_is_loaded_again(error: str) -> None:
    world = load_prepared("u-0", "w-0")
    first, second = markers(world)
    answer(first, Error[error])
    answer(second)
    world.run_for(10_000)
    assert (markers(world), state(world), completions(world)) == ([], "PrepareCommit", [])
    assert world.pending("a") is TxnState.COMPLETE_COMMIT
    world.image({transaction_partition("a"): "b1"}, 2)
    world.run_for(5)
    assert entries(markers(world)) == [("b2", [(7, ("u-0",))]), ("b3", [(7, ("w-0",))])]


@pytest.mark.parametrize("error", ["INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED"])
def test_partitions_that_have_their_marker_are_done_although_another_is_refused(error: str) -> None:
    world = load_prepared("u-0", "v-0", "x-0", leaders={"x-0": "b2"})
    (sent,) = markers(world)
    assert sent.body.markers[0].partitions == ("u-0", "v-0", "x-0")
    answer(sent, u=Error[error], x=Error.NOT_LEADER_OR_FOLLOWER)
    world.run_for(1_000)
    described = world.ask(DescribeTransactions(transactional_ids=("a",))).response.transactions[0]
    assert (described.state, described.partitions) == ("PrepareCommit", ("u-0", "x-0"))
    assert (markers(world), world.pending("a")) == ([], TxnState.COMPLETE_COMMIT)


@pytest.mark.parametrize("error", ["UNSUPPORTED_FOR_MESSAGE_FORMAT", "UNSUPPORTED_VERSION"])
def test_a_partition_that_knows_no_markers_counts_as_done(error: str) -> None:
    world = load_prepared("u-0")
    answer(markers(world)[0], Error[error])
    assert state(world) == "CompleteCommit"


IMPOSSIBLE = ("CORRUPT_MESSAGE", "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_REQUIRED_ACKS")


@pytest.mark.parametrize(
    "error",
    [
        *(pytest.param(name, id=f"TMC-12-{name}") for name in (*IMPOSSIBLE, "UNKNOWN_SERVER_ERROR")),
        "INVALID_TXN_STATE",
        "NOT_COORDINATOR",
        "CLUSTER_AUTHORIZATION_FAILED",
        "CONCURRENT_TRANSACTIONS",
    ],
)
def test_any_other_error_of_a_marker_is_an_illegal_state(error: str) -> None:
    (sent,) = markers(load_prepared("u-0"))
    with pytest.raises(InvariantError):
        answer(sent, Error[error])


def test_an_answer_that_does_not_name_the_producer_is_an_illegal_state() -> None:
    (sent,) = markers(load_prepared("u-0"))
    with pytest.raises(InvariantError):
        sent.answer(WriteTxnMarkersResponse(markers={}))


# rules


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_kafka_20734_without_the_rule_a_partition_that_has_no_leader_gets_no_marker(state: str) -> None:
    done = dict(DECISIONS)[state]
    for off, expected in (((), []), ((LEADER_AWAITED.name,), [done])):
        world = load_prepared("t-0", "u-0", state=state, leaders={"u-0": ""}, off=off)
        (sent,) = markers(world)
        assert sent.body.markers[0].partitions == ("t-0",)
        answer(sent)
        world.run_for(1_000)
        assert completions(world) == expected
        world.image({"u-0": "b2"}, 1)
        world.run_for(1_000)
        assert entries(markers(world)) == ([] if off else [("b2", [(7, ("u-0",))])])


def test_without_the_rule_a_decided_transaction_stays_where_it_was_after_a_failover() -> None:
    world = load_prepared("u-0", off=(REDRIVE_PREPARE.name,))
    world.run_for(10_000)
    assert (markers(world), state(world)) == ([], "PrepareCommit")


@pytest.mark.parametrize("first", [True, False])
def test_markers_wait_for_the_decision_to_be_durable(first: bool) -> None:
    world = OneBroker(off=() if first else (PREPARE_FIRST.name,))
    world.load(txn("a", "Ongoing", "u-0"))
    world.appends[transaction_partition("a")] = [HOLD]
    asked = end(world, "a")
    sent = markers(world)
    assert (len(sent), asked.response) == (0 if first else 1, None)
    for one in sent:
        answer(one)
    assert (state(world), completions(world)) == ("Ongoing", [])
    world.held.pop()(Error.NONE)
    for one in markers(world):
        answer(one)
    assert (asked.response.error, state(world), completions(world)) == (
        Error.NONE,
        "CompleteCommit",
        ["CompleteCommit"],
    )


def test_without_the_rule_markers_outlive_a_decision_that_was_lost() -> None:
    world = OneBroker(off=(PREPARE_FIRST.name,))
    world.load(txn("a", "Ongoing", "u-0"))
    world.appends[transaction_partition("a")] = [Error.REQUEST_TIMED_OUT]
    asked = end(world, "a")
    answer(markers(world)[0])
    assert asked.response.error is Error.COORDINATOR_NOT_AVAILABLE
    assert (state(world), world.pending("a"), completions(world)) == ("Ongoing", None, [])
