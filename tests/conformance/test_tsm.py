"""TSM: the coordinator's log and its cache, appends that fail, loading, time-outs, expiry (docs/cases.md)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.init_producer_id import InitProducerId
from kafkalab.protocol.messages.write_txn_markers import WriteTxnMarkers
from kafkalab.protocol.partitions import transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import ROTATION_LOGGED
from kafkalab.protocol.transaction_metadata import Txn, TxnState
from tests.conformance.one_broker import HOLD, OneBroker

PID, EPOCH = 7, 3
PARTITION = transaction_partition("a")


def txn(state: str = "Empty", transactional_id: str = "a", **fields: Any) -> Txn:
    known = TxnState.of(state)
    partitions = ("t-0",) if known in (TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT) else ()
    start = 0 if partitions else -1
    defaults = {"producer_id": PID, "producer_epoch": EPOCH, "partitions": partitions, "start_ms": start}
    return Txn(transactional_id=transactional_id, state=known, **{**defaults, "update_ms": 0, **fields})


def load(*entries: Txn, **settings: Any) -> OneBroker:
    world = OneBroker(**settings)
    world.load(*entries)
    return world


def add(world: OneBroker, *append: Any) -> Any:
    """AddPartitionsToTxn(t-0) of a producer, whose append ends so."""
    world.appends[PARTITION] = list(append)
    request = AddPartitionsToTxn(transactional_id="a", producer_id=PID, producer_epoch=EPOCH, partitions=("t-0",))
    return world.ask(request, 3)


def error_of(asked: Any) -> Error | None:
    return asked.response.errors["t-0"] if asked.response else None


def test_tsm_02_a_durable_append_is_the_state_and_clears_what_was_pending() -> None:
    world = load(txn())
    asked = add(world, HOLD)
    assert (world.txn("a"), world.pending("a")) == (txn(), TxnState.ONGOING)
    world.held.pop()(Error.NONE)
    ongoing = txn("Ongoing", start_ms=world.now, update_ms=world.now, prev_producer_id=PID)
    assert (error_of(asked), world.txn("a"), world.pending("a")) == (Error.NONE, ongoing, None)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        pytest.param("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-unknown-topic"),
        pytest.param("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-replicas"),
        pytest.param("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-replicas-after"),
        pytest.param("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE", id="TSM-03-timed-out"),
        pytest.param("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", id="TSM-04-not-leader"),
        pytest.param("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR", id="TSM-04-storage"),
        pytest.param("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR", id="message-too-large"),
        pytest.param("RECORD_LIST_TOO_LARGE", "UNKNOWN_SERVER_ERROR", id="record-list-too-large"),
        pytest.param("INVALID_RECORD", "INVALID_RECORD", id="any-other"),
    ],
)
def test_a_failed_append_is_told_in_the_coordinators_words_and_changes_nothing(failure: str, told: str) -> None:
    world = load(txn())
    asked = add(world, Error[failure])
    assert error_of(asked) is Error[told]
    assert (world.txn("a"), world.pending("a")) == (txn(), None)
    assert error_of(add(world)) is Error.NONE


def resign(world: OneBroker) -> None:
    world.image({PARTITION: "b2"}, 2)


def moved_and_back(world: OneBroker) -> None:
    resign(world)
    world.image({PARTITION: "b1"}, 3)
    world.run_for(5)


def loading_again(world: OneBroker) -> None:
    world.image({PARTITION: "b1"}, 2)


def reload(world: OneBroker) -> None:
    loading_again(world)
    world.run_for(5)


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        pytest.param(resign, Error.NOT_COORDINATOR, id="TSM-04-cache-dropped"),
        pytest.param(moved_and_back, Error.NOT_COORDINATOR, id="TSM-04-left-and-back"),
        pytest.param(reload, Error.NOT_COORDINATOR, id="TSM-04-reloaded-at-the-next-epoch"),
        pytest.param(loading_again, Error.COORDINATOR_LOAD_IN_PROGRESS, id="loading-at-the-next-epoch"),
    ],
)
@pytest.mark.parametrize("failure", [Error.NONE, Error.REQUEST_TIMED_OUT])
def test_an_append_that_ends_after_the_partition_moved_applies_nothing(
    meanwhile: Any, told: Error, failure: Error
) -> None:
    world = load(txn())
    asked = add(world, HOLD)
    meanwhile(world)
    end = world.held.pop()
    end(failure)
    assert error_of(asked) is (told if failure is Error.NONE else Error.COORDINATOR_NOT_AVAILABLE)
    known = world.txn("a")
    assert known is None or known.state is TxnState.EMPTY
    assert world.pending("a") is None


def test_tsm_04_an_append_that_ends_after_the_id_has_gone_is_not_applied() -> None:
    world = load(txn())
    asked = add(world, HOLD)
    world.state.transactions[PARTITION].txns.clear()
    world.held.pop()(Error.NONE)
    assert (error_of(asked), world.txn("a")) == (Error.NOT_COORDINATOR, None)


def test_an_append_of_an_epoch_that_is_over_leaves_the_pending_state_of_the_next_one_alone() -> None:
    world = load(txn())
    add(world, HOLD)
    reload(world)
    world.appends[PARTITION] = [HOLD]
    init = world.ask(InitProducerId(transactional_id="a"))
    assert world.pending("a") is TxnState.EMPTY
    world.held.pop(0)(Error.NOT_LEADER_OR_FOLLOWER)
    assert (world.pending("a"), init.response) == (TxnState.EMPTY, None)


# the timeout that a producer may ask for


@pytest.mark.parametrize(
    ("timeout_ms", "good"),
    [
        pytest.param(timeout, good, id=f"TSM-01-{timeout}")
        for timeout, good in ((1, True), (-1, False), (0, False), (900_000, True), (900_001, False))
    ],
)
def test_a_timeout_is_positive_and_at_most_the_brokers_maximum(timeout_ms: int, good: bool) -> None:
    response = OneBroker().ask(InitProducerId(transactional_id="a", transaction_timeout_ms=timeout_ms)).response
    assert response.error is (Error.NONE if good else Error.INVALID_TRANSACTION_TIMEOUT)


# transactions that are open too long


def test_tsm_08_only_open_transactions_are_aborted_and_only_after_their_timeout() -> None:
    world = OneBroker(transaction_abort_cleanup_interval_ms=2_000)
    states = ("Ongoing", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Empty")
    names = [f"id{i}" for i in range(len(states))]
    for i, (name, state) in enumerate(zip(names, states, strict=True)):
        fields = {"partitions": ("u-0",)} if state in ("Ongoing", "PrepareCommit", "PrepareAbort") else {}
        world.load(txn(state, name, producer_id=i, timeout_ms=10_000 if i == 1 else 1_000, **fields))
    world.run_for(2_000)
    known = [world.txn(name) for name in names]
    assert [t.state.label for t in known if t] == ["PrepareAbort", *states[1:]]


@pytest.mark.parametrize(
    ("timeout_ms", "start_ms", "scans"), [(999, 0, 1), (1_000, 0, 2), (1_000, 1, 2), (2**31 - 1, -(2**32), None)]
)
def test_a_transaction_times_out_strictly_after_its_timeout_and_never_under_two_phase_commit(
    timeout_ms: int, start_ms: int, scans: int | None
) -> None:
    world = OneBroker(transaction_abort_cleanup_interval_ms=1_000)
    world.load(txn("Ongoing", partitions=("u-0",), timeout_ms=timeout_ms, start_ms=start_ms))
    world.run_for(995)
    for scan in range(1, 5):
        known = world.txn("a")
        assert known is not None
        assert (known.state is TxnState.PREPARE_ABORT) == (scans is not None and scan >= scans), scan
        world.run_for(1_000)


@pytest.mark.parametrize("pending", [True, False])
def test_a_transaction_on_its_way_elsewhere_is_left_alone(pending: bool) -> None:
    world = OneBroker(transaction_abort_cleanup_interval_ms=1_000)
    world.load(txn("Ongoing", partitions=("u-0",), timeout_ms=1))
    if pending:
        world.appends[PARTITION] = [HOLD]
        more = AddPartitionsToTxn(transactional_id="a", producer_id=PID, producer_epoch=EPOCH, partitions=("v-0",))
        world.ask(more, 3)
    world.run_for(1_000)
    known = world.txn("a")
    assert known is not None
    assert known.state is (TxnState.ONGOING if pending else TxnState.PREPARE_ABORT)


def test_a_partition_that_is_being_loaded_is_not_scanned() -> None:
    world = OneBroker(transaction_abort_cleanup_interval_ms=1_000, coordinator_load_ms=1_500)
    world.elect(txn("Ongoing", partitions=("u-0",), timeout_ms=1))
    world.run_for(1_000)
    assert world.entries("a") == [txn("Ongoing", partitions=("u-0",), timeout_ms=1)]
    world.run_for(1_000)
    assert world.entries("a")[-1].state is TxnState.PREPARE_ABORT


# loading and leaving


def add_answer(world: OneBroker) -> Error | None:
    return error_of(world.ask(AddPartitionsToTxn(
        transactional_id="a", producer_id=PID, producer_epoch=EPOCH, partitions=("t-0",)
    ), 3))  # fmt: skip


@pytest.mark.parametrize("decision", [True, False])
def test_tsm_09_a_decided_transaction_gets_its_markers_again_under_the_new_coordinator_epoch(decision: bool) -> None:
    world = OneBroker()
    world.elect(txn("PrepareCommit" if decision else "PrepareAbort", partitions=("u-0", "w-0")), epoch=17)
    assert world.take(WriteTxnMarkers) == []
    world.run_for(5)
    assert world.pending("a") is (TxnState.COMPLETE_COMMIT if decision else TxnState.COMPLETE_ABORT)
    sent = [(s.to, m.partitions, m.committed, m.coordinator_epoch) for s in world.take(WriteTxnMarkers)
            for m in s.body.markers]  # fmt: skip
    assert sent == [("b2", ("u-0",), decision, 17), ("b3", ("w-0",), decision, 17)]


def test_tsm_14_a_coordinator_knows_the_last_record_of_each_id_while_it_leads_the_partition() -> None:
    other = next(x for x in (f"id{i}" for i in range(1000)) if transaction_partition(x) == PARTITION)
    first = [
        txn("Ongoing", partitions=("t-0",)),
        txn("Ongoing", partitions=("t-0", "u-0", "v-0", "w-0")),
        txn("PrepareCommit", partitions=("t-0", "u-0", "v-0", "w-0")),
    ]
    states = ("Ongoing", "PrepareAbort", "CompleteAbort", "Empty")
    second = [txn(state, other, producer_id=8) for state in states]
    world = OneBroker(leaders={PARTITION: "b2"})
    assert add_answer(world) is Error.NOT_COORDINATOR
    world.elect(first[0], second[0], first[1], second[1], second[2], first[2], second[3])
    assert add_answer(world) is Error.COORDINATOR_LOAD_IN_PROGRESS
    world.run_for(5)
    assert (world.txn("a"), world.txn(other)) == (first[-1], second[-1])
    assert add_answer(world) is Error.CONCURRENT_TRANSACTIONS
    world.image({PARTITION: "b2"}, 2)
    assert add_answer(world) is Error.NOT_COORDINATOR


def test_a_load_removes_what_a_tombstone_removed_and_skips_what_it_cannot_read() -> None:
    world = OneBroker()
    unreadable = [Record("a", "a value of version 9"), Record(None, "a key of version 9")]
    world.load(txn(), Record("a", None), txn("Empty", producer_id=9), *unreadable)
    assert world.txn("a") == txn("Empty", producer_id=9)
    assert [data["offset"] for name, data in world.notes if name == "record skipped"] == [3, 4]
    world.load(Record("a", None), epoch=2)
    assert (world.txn("a"), add_answer(world)) == (None, Error.INVALID_PRODUCER_ID_MAPPING)


def test_a_load_begins_at_the_start_of_the_log() -> None:
    world = OneBroker()
    world.state.log(PARTITION).append(Batch(records=(Record("a", txn(producer_id=1)),)), 0)
    world.state.log(PARTITION).log_start_offset = 1
    world.image({PARTITION: "b1"}, 1)
    world.run_for(5)
    assert world.txn("a") is None


def test_a_newer_election_during_a_load_ends_it_and_begins_another() -> None:
    world = OneBroker()
    world.elect(txn(), epoch=1)
    world.run_for(3)
    world.image({PARTITION: "b1"}, 2)
    world.run_for(2)
    assert add_answer(world) is Error.COORDINATOR_LOAD_IN_PROGRESS
    world.run_for(3)
    assert add_answer(world) is Error.NONE
    assert [d["coordinator_epoch"] for n, d in world.notes if n == "coordinator loaded"] == [2]


def test_a_load_ends_when_the_partition_leaves() -> None:
    world = OneBroker()
    world.elect(txn("PrepareCommit", partitions=("u-0",)))
    world.image({PARTITION: "b2"}, 2)
    world.run_for(1_000)
    assert (add_answer(world), world.take(WriteTxnMarkers)) == (Error.NOT_COORDINATOR, [])


def test_a_failover_forgets_the_epoch_before_the_last_one() -> None:
    world = load(txn(last_producer_epoch=EPOCH - 1))
    again = InitProducerId(transactional_id="a", producer_id=PID, producer_epoch=EPOCH - 1)
    assert world.ask(again).response.error is Error.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("profile", "off", "after"),
    [
        ("4.x/TV2", (), (99, 0)),
        ("4.x/TV2", (ROTATION_LOGGED.name,), (PID, 32767)),
        ("1.0", (), (PID, 32767)),
    ],
)
def test_a_rotation_survives_a_failover_where_it_is_logged(
    profile: str, off: tuple[str, ...], after: tuple[int, int]
) -> None:
    rotating = txn("PrepareCommit", partitions=("gone-0",), producer_epoch=32767, next_producer_id=99)
    known = load(rotating, profile=profile, off=off).txn("a")
    assert known is not None
    assert (known.state.label, known.producer_id, known.producer_epoch) == ("CompleteCommit", *after)


def test_a_value_of_version_1_says_which_version_the_client_had() -> None:
    known = load(txn(client_transaction_version=2)).txn("a")
    assert known is not None
    assert known.client_transaction_version == 2


# ids that rest for long

EXPIRY = {"transactional_id_expiration_ms": 60_000, "transaction_remove_expired_cleanup_interval_ms": 10_000}


@pytest.mark.parametrize("state", ["CompleteCommit", "CompleteAbort", "Empty"])
def test_tsm_10_an_id_at_rest_for_long_is_removed_with_a_tombstone(state: str) -> None:
    world = load(txn(state), **EXPIRY)
    world.load(txn(state, "fresh", update_ms=1))
    world.run_for(60_000 - world.now)
    assert (world.txn("a"), world.pending("a"), world.entries("a")[-1]) == (None, None, None)
    assert world.txn("fresh") == txn(state, "fresh", update_ms=1)
    assert None not in world.entries("fresh")
    assert add_answer(world) is Error.INVALID_PRODUCER_ID_MAPPING
    end = EndTxn(transactional_id="a", producer_id=PID, producer_epoch=EPOCH, committed=True)
    assert world.ask(end).response.error is Error.INVALID_PRODUCER_ID_MAPPING
    anew = world.ask(InitProducerId(transactional_id="a")).response
    assert (anew.error, anew.producer_id, anew.producer_epoch) == (Error.NONE, 1000, 0)


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort"])
def test_tsm_12_an_id_within_a_transaction_stays(state: str) -> None:
    world = load(txn(state, partitions=("u-0",), timeout_ms=900_000), **EXPIRY)
    world.run_for(200_000)
    known = world.txn("a")
    assert known is not None
    assert None not in world.entries("a")


def test_an_id_on_its_way_elsewhere_stays() -> None:
    world = load(txn(), **EXPIRY)
    add(world, HOLD)
    world.run_for(100_000)
    assert world.txn("a") is not None
    assert None not in world.entries("a")


def test_an_id_that_was_never_given_an_epoch_expires_and_holds_no_other_up() -> None:
    world = load(txn(producer_epoch=-1), **EXPIRY)
    world.load(txn(transactional_id="old", producer_id=8))
    world.run_for(60_000)
    assert (world.txn("a"), world.txn("old")) == (None, None)


@pytest.mark.parametrize("error", ["NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT", "NOT_LEADER_OR_FOLLOWER"])
def test_an_id_whose_tombstone_could_not_be_written_stays_and_is_tried_again(error: str) -> None:
    world = load(txn(), **EXPIRY)
    world.appends[PARTITION] = [Error[error]]
    world.run_for(60_000)
    assert (world.txn("a"), world.pending("a")) == (txn(), None)
    world.run_for(10_000)
    assert world.txn("a") is None


def test_an_id_is_dead_while_its_tombstone_is_in_the_air() -> None:
    world = load(txn(), **EXPIRY)
    world.appends[PARTITION] = [HOLD]
    world.run_for(60_000)
    assert (world.txn("a"), world.pending("a")) == (txn(), TxnState.DEAD)
    assert world.ask(InitProducerId(transactional_id="a")).response.error is Error.CONCURRENT_TRANSACTIONS
    world.run_for(20_000)
    assert len(world.appended) == 1
    world.held.pop()(Error.NONE)
    assert world.txn("a") is None


def test_a_tombstone_of_an_older_coordinator_epoch_removes_nothing_from_the_newer_cache() -> None:
    world = load(txn(), **EXPIRY)
    world.appends[PARTITION] = [HOLD]
    world.run_for(60_000)
    reload(world)
    world.held.pop()(Error.NONE)
    assert (world.txn("a"), world.pending("a")) == (txn(), None)
    assert "transactional id expired" not in [name for name, _ in world.notes]


def test_tombstones_travel_in_batches_that_fit_a_message() -> None:
    same = [x for x in (f"id{i}" for i in range(1000)) if transaction_partition(x) == PARTITION][:5]
    world = load(*(txn(transactional_id=x) for x in same), transaction_state_log_max_message_bytes=50, **EXPIRY)
    world.run_for(60_000)
    batches = [b for b in world.state.log(PARTITION).batches if b.records[0].value is None]
    assert [[r.key for r in b.records] for b in batches] == [same[:2], same[2:4], same[4:]]
    assert [world.txn(x) for x in same] == [None] * 5


def test_the_default_is_a_scan_each_hour_for_ids_at_rest_for_a_week() -> None:
    world = load(txn(), transaction_abort_cleanup_interval_ms=3_600_000)
    week = 7 * 24 * 3_600_000
    world.run_for(week - 3_600_000)
    assert world.txn("a") == txn()
    world.run_for(3_600_000)
    assert world.txn("a") is None
