"""TC: what the transaction coordinator answers, request by request (docs/cases.md;
docs/protocol.md#transaction-coordinator)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkalab.protocol.errors import Error, InvariantError
from kafkalab.protocol.messages.add_offsets_to_txn import AddOffsetsToTxn
from kafkalab.protocol.messages.add_partitions_to_txn import AddPartitionsToTxn
from kafkalab.protocol.messages.api_versions import ApiVersions
from kafkalab.protocol.messages.end_txn import EndTxn
from kafkalab.protocol.messages.write_txn_markers import WriteTxnMarkers
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.transaction_metadata import TxnState
from tests.conformance.coordinator_world import EPOCH, HOLD, ID, PARTITION, PID, CoordinatorWorld, make_txn

E = Error
NONE = Error.NONE
LAST = 32766


def summarize(response: Any) -> tuple[Any, ...]:
    return response.error, response.producer_id, response.producer_epoch


def holding(state: str, pending: str = "", cluster: int = 2, **fields: Any) -> CoordinatorWorld:
    world = CoordinatorWorld(cluster)
    world.holds(make_txn(state, **fields), pending)
    return world


def identity(world: CoordinatorWorld) -> tuple[int, int, int]:
    txn = world.now_known
    return txn.producer_id, txn.producer_epoch, txn.last_producer_epoch


# requests that are refused before anybody looks at the transaction


def requests(transactional_id: str) -> dict[str, tuple[Any, int]]:
    """Each question but InitProducerId, as the newest client and as a broker puts it."""
    who: dict[str, Any] = {"transactional_id": transactional_id, "producer_id": PID, "producer_epoch": EPOCH}
    add = AddPartitionsToTxn(**who, partitions=("u-0", "v-0"))
    return {
        "add": (add, 3),
        "add by a broker": (add, 5),
        "verify": (replace(add, verify_only=True), 5),
        "add offsets": (AddOffsetsToTxn(**who, group_id="g"), 4),
        "commit, version 4": (EndTxn(**who, committed=True), 4),
        "commit, version 5": (EndTxn(**who, committed=True), 5),
        "abort, version 4": (EndTxn(**who, committed=False), 4),
        "abort, version 5": (EndTxn(**who, committed=False), 5),
    }


QUESTIONS = list(requests(ID))


def errors(response: Any) -> list[Error]:
    return list(response.errors.values()) if hasattr(response, "errors") else [response.error]


def error_for(world: CoordinatorWorld, question: str, transactional_id: str = ID) -> Error:
    body, version = requests(transactional_id)[question]
    (error,) = dict.fromkeys(errors(world.ask(body, version).response))
    return error


@pytest.mark.parametrize("fields", [{}, {"enable_2pc": True}, {"keep_prepared_txn": True}])
def test_tc_01_an_empty_transactional_id_is_no_request_whatever_else_it_says(fields: dict[str, bool]) -> None:
    assert summarize(CoordinatorWorld().init(transactional_id="", **fields)) == (E.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_empty_transactional_id_is_refused_by_every_question(question: str) -> None:
    assert error_for(CoordinatorWorld(), question, "") is E.INVALID_REQUEST


@pytest.mark.parametrize("fields", [{"producer_id": 5}, {"producer_epoch": 0}])
@pytest.mark.parametrize("transactional_id", [None, "", ID])
def test_an_expectation_is_a_producer_id_and_an_epoch(transactional_id: str | None, fields: dict[str, Any]) -> None:
    assert summarize(CoordinatorWorld().init(transactional_id=transactional_id, **fields)) == (
        E.INVALID_REQUEST,
        -1,
        -1,
    )


def test_tc_03_two_phase_commit_is_not_allowed_and_keeping_a_prepared_transaction_is_not_supported() -> None:
    world = CoordinatorWorld()
    assert summarize(world.init(6, enable_2pc=True)) == (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1, -1)
    assert summarize(world.init(6, keep_prepared_txn=True)) == (E.UNSUPPORTED_VERSION, -1, -1)
    both = world.init(6, enable_2pc=True, keep_prepared_txn=True, transaction_timeout_ms=-1)
    assert both.error is E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert world.init(6, keep_prepared_txn=True, transaction_timeout_ms=-1).error is E.UNSUPPORTED_VERSION
    assert world.txn(ID) is None


@pytest.mark.parametrize("timeout_ms", [-1, 0, 60_000, 900_001])
def test_a_transaction_under_two_phase_commit_has_no_timeout(timeout_ms: int) -> None:
    world = CoordinatorWorld(transaction_two_phase_commit_enable=True, transaction_abort_cleanup_interval_ms=1_000_000)
    response = world.init(6, enable_2pc=True, transaction_timeout_ms=timeout_ms)
    assert summarize(response) == (NONE, 1000, 0)
    assert world.now_known.timeout_ms == 2**31 - 1
    assert world.init(6, enable_2pc=True, keep_prepared_txn=True).error is E.UNSUPPORTED_VERSION
    assert world.add(producer_id=1000, epoch=0) is NONE
    world.run_for(10_000_000)
    assert world.now_known.state is TxnState.ONGOING


@pytest.mark.parametrize("fields", [{}, {"producer_id": 10, "producer_epoch": 3}, {"transaction_timeout_ms": -1}])
def test_tc_04_without_a_transactional_id_each_caller_gets_the_next_producer_id(fields: dict[str, Any]) -> None:
    world = CoordinatorWorld()
    world.state.producer_ids = [0, 1000]
    responses = [summarize(world.init(transactional_id=None, **fields)) for _ in range(2)]
    assert responses == [(NONE, 0, 0), (NONE, 1, 0)]
    assert not world.appended
    assert all(not owned.txns for owned in world.state.transactions.values())


def test_tc_05_a_new_transactional_id_begins_at_epoch_0() -> None:
    world = CoordinatorWorld()
    world.run_for(50)
    assert summarize(world.init(transaction_timeout_ms=1234)) == (NONE, 1000, 0)
    (entry,) = world.entries(ID)
    assert entry == world.now_known
    assert (entry.state, entry.timeout_ms, entry.update_ms, entry.start_ms) == (TxnState.EMPTY, 1234, 50, -1)
    assert identity(world) == (1000, 0, -1)


@pytest.mark.parametrize("expected", [(10, 1), (10, 0), (10, 32767)])
def test_tc_06_a_new_transactional_id_takes_any_expectation(expected: tuple[int, int]) -> None:
    world = CoordinatorWorld()
    assert summarize(world.init_expecting(*expected)) == (NONE, 1000, 0)
    assert identity(world) == (1000, 0, -1)


def test_an_id_whose_first_append_fails_is_known_and_begins_at_epoch_0_the_next_time() -> None:
    world = CoordinatorWorld()
    world.fail(E.NOT_ENOUGH_REPLICAS, HOLD)
    assert summarize(world.init()) == (E.COORDINATOR_NOT_AVAILABLE, -1, -1)
    assert (identity(world), world.now_known.update_ms) == ((1000, -1, -1), 0)
    assert world.init() is None
    assert world.init_expecting(5, 5).error is E.CONCURRENT_TRANSACTIONS
    world.held.pop()(NONE)
    assert identity(world) == (1000, 0, -1)


def test_without_a_producer_id_at_hand_nothing_is_remembered() -> None:
    world = CoordinatorWorld()
    world.state.producer_ids = []
    assert summarize(world.init()) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert world.txn(ID) is None


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_the_timeout_is_looked_at_before_anybody_asks_who_coordinates(timeout_ms: int) -> None:
    world = CoordinatorWorld()
    world.image({PARTITION: "b2"}, 1)
    assert world.init(transaction_timeout_ms=timeout_ms).error is E.INVALID_TRANSACTION_TIMEOUT


def test_tc_09_a_broker_that_does_not_own_the_id_says_so() -> None:
    world = CoordinatorWorld()
    world.image({PARTITION: "b2"}, 1)
    assert summarize(world.init()) == (E.NOT_COORDINATOR, -1, -1)
    assert {q: error_for(world, q) for q in QUESTIONS} == dict.fromkeys(QUESTIONS, E.NOT_COORDINATOR)


def test_tc_10_a_broker_that_still_loads_says_so() -> None:
    world = CoordinatorWorld()
    world.elect(make_txn("Empty"))
    assert summarize(world.init()) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert {q: error_for(world, q) for q in QUESTIONS} == dict.fromkeys(QUESTIONS, E.COORDINATOR_LOAD_IN_PROGRESS)


def test_tc_11_an_unknown_transactional_id_has_no_producer_id() -> None:
    world = CoordinatorWorld()
    assert {q: error_for(world, q) for q in QUESTIONS} == dict.fromkeys(QUESTIONS, E.INVALID_PRODUCER_ID_MAPPING)
    assert world.txn(ID) is None


# AddPartitionsToTxn, AddOffsetsToTxn


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_tc_13_a_transaction_that_is_being_ended_takes_no_partition(state: str, version: int) -> None:
    world = holding(state)
    assert world.add(version=version) is E.CONCURRENT_TRANSACTIONS
    assert world.add_offsets() is E.CONCURRENT_TRANSACTIONS
    assert world.list_written() == []


@pytest.mark.parametrize("epoch", [0, EPOCH - 1, EPOCH + 1])
@pytest.mark.parametrize("state", ["Empty", "Ongoing", "PrepareCommit", "CompleteAbort"])
def test_tc_14_another_epoch_is_fenced(state: str, epoch: int) -> None:
    world = holding(state)
    for version in (2, 3, 4, 5):
        assert world.add(version=version, epoch=epoch) is E.PRODUCER_FENCED
    assert world.add_offsets(epoch=epoch) is E.PRODUCER_FENCED
    assert world.list_written() == []


@pytest.mark.parametrize(("version", "stored"), [(0, 0), (3, 0), (4, 2), (5, 2)])
@pytest.mark.parametrize("state", ["CompleteCommit", "CompleteAbort", "Empty"])
def test_tc_15_the_first_partition_opens_the_transaction(state: str, version: int, stored: int) -> None:
    world = holding(state, last_producer_epoch=4)
    world.run_for(70)
    assert world.add("v-0", "u-0", version=version) is NONE
    (entry,) = world.list_written()
    assert (entry.state, entry.partitions, entry.client_transaction_version) == (
        TxnState.ONGOING,
        ("u-0", "v-0"),
        stored,
    )
    assert entry.start_ms == entry.update_ms == world.now
    assert identity(world) == (PID, EPOCH, 4)


def test_a_further_partition_joins_and_the_clock_goes_on() -> None:
    world = holding("Ongoing", start_ms=1)
    assert world.add("v-0", "u-0") is NONE
    (entry,) = world.list_written()
    assert (entry.partitions, entry.start_ms, entry.update_ms) == (("u-0", "v-0"), 1, world.now)


@pytest.mark.parametrize("partitions", [("u-0",), ()])
def test_partitions_that_are_there_already_are_not_written_again(partitions: tuple[str, ...]) -> None:
    world = holding("Ongoing")
    who: dict[str, Any] = {"transactional_id": ID, "producer_id": PID, "producer_epoch": EPOCH}
    response = world.ask(AddPartitionsToTxn(**who, partitions=partitions), 3).response
    assert response.errors == dict.fromkeys(partitions, NONE)
    assert world.list_written() == []


def test_pending_is_answered_before_producer_id_and_epoch() -> None:
    world = holding("Ongoing", "PrepareCommit")
    given: tuple[dict[str, Any], ...] = ({}, {"producer_id": 8}, {"epoch": 0})
    for who in given:
        assert world.add(**who) is E.CONCURRENT_TRANSACTIONS
        assert world.add_offsets(**who) is E.CONCURRENT_TRANSACTIONS
    assert world.add("u-0") is E.CONCURRENT_TRANSACTIONS


def test_the_producer_id_is_compared_before_the_epoch_and_the_state() -> None:
    world = holding("PrepareCommit")
    assert world.add(producer_id=8, epoch=0) is E.INVALID_PRODUCER_ID_MAPPING
    assert world.add_offsets(producer_id=8, epoch=0) is E.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("verify_only", [False, True])
@pytest.mark.parametrize("version", [0, 3, 5])
def test_one_unknown_partition_and_no_partition_is_added(version: int, verify_only: bool) -> None:
    world = holding("Ongoing")
    who: dict[str, Any] = {"transactional_id": ID, "producer_id": PID, "producer_epoch": EPOCH}
    body = AddPartitionsToTxn(**who, verify_only=verify_only, partitions=("u-0", "x-7", "v-0"))
    response = world.ask(body, version).response
    refused = E.OPERATION_NOT_ATTEMPTED
    assert response.errors == {"u-0": refused, "x-7": E.UNKNOWN_TOPIC_OR_PARTITION, "v-0": refused}
    assert world.list_written() == []


def test_the_groups_partition_joins_under_version_0_whatever_the_request() -> None:
    for version in range(5):
        world = holding("CompleteCommit", client_transaction_version=2)
        assert world.add_offsets(version, group="g") is NONE
        (entry,) = world.list_written()
        assert (entry.partitions, entry.client_transaction_version) == ((offsets_partition("g"),), 0)
    assert holding("Empty").add_offsets(group="") is NONE


def batch(*transactions: AddPartitionsToTxn) -> AddPartitionsToTxn:
    return replace(transactions[0], further=transactions[1:])


@pytest.mark.parametrize("version", [4, 5])
def test_a_broker_asks_for_many_transactions_at_once_and_each_has_its_own_answer(version: int) -> None:
    world = holding("Ongoing")
    world.load(make_txn("PrepareCommit", transactional_id="waits", partitions=("w-0",)), epoch=2)
    who: dict[str, Any] = {"producer_id": PID, "producer_epoch": EPOCH, "partitions": ("v-0", "w-0")}
    add = AddPartitionsToTxn(transactional_id=ID, **who)
    verify = replace(add, partitions=("u-0", "v-0"), verify_only=True)
    unknown = replace(add, transactional_id="unknown")
    world.fail(HOLD)
    asked = world.ask(batch(verify, add, unknown, replace(add, partitions=("v-0", "x-1"))), version)
    assert not asked.answered
    world.held.pop()(NONE)
    assert asked.response.error is NONE
    assert asked.response.errors == {"u-0": NONE, "v-0": E.TRANSACTION_ABORTABLE}
    assert list(asked.response.further) == [
        {"v-0": NONE, "w-0": NONE},
        dict.fromkeys(("v-0", "w-0"), E.INVALID_PRODUCER_ID_MAPPING),
        {"v-0": E.OPERATION_NOT_ATTEMPTED, "x-1": E.UNKNOWN_TOPIC_OR_PARTITION},
    ]
    assert world.now_known.partitions == ("u-0", "v-0", "w-0")


def test_the_answer_to_a_batch_waits_for_the_slowest_append_and_tells_each_ones_own_error() -> None:
    world = holding("Ongoing")
    other = next(x for x in "bcdefgh" if x != ID)
    world.load(make_txn("Ongoing", transactional_id=other), epoch=2)
    who: dict[str, Any] = {"producer_id": PID, "producer_epoch": EPOCH, "partitions": ("v-0",)}
    world.fail(HOLD)
    asked = world.ask(batch(*(AddPartitionsToTxn(transactional_id=x, **who) for x in (ID, other))), 5)
    assert not asked.answered
    world.held.pop()(E.NOT_ENOUGH_REPLICAS)
    assert (asked.response.errors, list(asked.response.further)) == (
        {"v-0": E.COORDINATOR_NOT_AVAILABLE},
        [{"v-0": NONE}],
    )


@pytest.mark.parametrize(
    ("state", "pending", "who", "error"),
    [
        pytest.param("Ongoing", "", {"producer_id": 8}, E.INVALID_PRODUCER_ID_MAPPING, id="TC-17-producer-id"),
        pytest.param("Ongoing", "", {"epoch": EPOCH - 1}, E.PRODUCER_FENCED, id="TC-17-lower-epoch"),
        pytest.param("Ongoing", "", {"epoch": EPOCH + 1}, E.PRODUCER_FENCED, id="TC-17-higher-epoch"),
        pytest.param("PrepareCommit", "", {}, E.CONCURRENT_TRANSACTIONS, id="TC-17-PrepareCommit"),
        pytest.param("PrepareAbort", "CompleteAbort", {}, E.CONCURRENT_TRANSACTIONS, id="PrepareAbort-pending"),
        pytest.param("Ongoing", "CompleteCommit", {}, E.TRANSACTION_ABORTABLE, id="TC-17-pending-is-ignored"),
        pytest.param("Ongoing", "Ongoing", {}, E.TRANSACTION_ABORTABLE, id="an-add-under-way-does-not-count"),
        *(pytest.param(s, "", {}, E.TRANSACTION_ABORTABLE, id=s) for s in ("Empty", "CompleteCommit", "CompleteAbort")),
    ],
)
@pytest.mark.parametrize("version", [4, 5])
def test_a_partition_is_verified(state: str, pending: str, who: dict[str, int], error: Error, version: int) -> None:
    world = holding(state, pending)
    assert world.verify(version=version, **who) is error
    known_one = NONE if error is E.TRANSACTION_ABORTABLE and state == "Ongoing" else error
    assert world.verify("u-0", version=version, **who) is known_one
    assert world.list_written() == []


# EndTxn


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", [0, 4, 5])
@pytest.mark.parametrize("state", ["Empty", "Ongoing", "PrepareCommit", "CompleteAbort"])
def test_tc_19_another_producer_id_ends_nothing(state: str, version: int, committed: bool) -> None:
    world = holding(state)
    assert summarize(world.end(committed, version, producer_id=0)) == (E.INVALID_PRODUCER_ID_MAPPING, -1, -1)


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", [2, 4, 5])
@pytest.mark.parametrize("epoch", [0, EPOCH - 2, EPOCH - 1, EPOCH + 1])
def test_tc_20_another_epoch_ends_nothing(epoch: int, version: int, committed: bool) -> None:
    world = holding("Ongoing")
    assert summarize(world.end(committed, version, epoch)) == (E.PRODUCER_FENCED, -1, -1)
    assert (world.list_written(), world.pending(ID)) == ([], None)


def test_tc_21_under_version_1_a_commit_that_is_done_is_answered_again() -> None:
    world = holding("CompleteCommit")
    assert summarize(world.end(True, 4)) == (NONE, -1, -1)
    assert summarize(world.end(True, 4, EPOCH - 1)) == (E.PRODUCER_FENCED, -1, -1)
    assert world.list_written() == []


def test_tc_22_under_version_2_a_commit_that_is_done_is_answered_again_to_the_epoch_before() -> None:
    world = holding("CompleteCommit")
    assert summarize(world.end(True, 5, EPOCH - 1)) == (NONE, PID, EPOCH)
    assert summarize(world.end(True, 5)) == (E.INVALID_TXN_STATE, -1, -1)
    assert summarize(world.end(True, 5, EPOCH - 2)) == (E.PRODUCER_FENCED, -1, -1)
    assert world.list_written() == []


@pytest.mark.parametrize(("version", "epoch"), [(0, EPOCH), (4, EPOCH), (5, EPOCH - 1), (5, EPOCH)])
def test_tc_25_what_was_aborted_is_not_committed(version: int, epoch: int) -> None:
    assert summarize(holding("CompleteAbort").end(True, version, epoch)) == (E.INVALID_TXN_STATE, -1, -1)


def test_tc_26_under_version_2_an_abort_after_a_commit_aborts_the_next_transaction() -> None:
    world = holding("CompleteCommit")
    assert summarize(world.end(False, 5, EPOCH - 1)) == (E.INVALID_TXN_STATE, -1, -1)
    world.run_for(30)
    assert summarize(world.end(False, 5)) == (NONE, PID, EPOCH + 1)
    prepared, completed = world.list_written()
    assert (prepared.state, prepared.producer_epoch, prepared.start_ms) == (
        TxnState.PREPARE_ABORT,
        EPOCH + 1,
        world.now,
    )
    assert (completed.state, completed.producer_epoch) == (TxnState.COMPLETE_ABORT, EPOCH + 1)


@pytest.mark.parametrize(("state", "committed"), [("PrepareCommit", True), ("PrepareAbort", False)])
@pytest.mark.parametrize(("version", "epoch"), [(0, EPOCH), (4, EPOCH), (5, EPOCH - 1)])
def test_tc_28_an_end_that_is_under_way_is_waited_for(state: str, committed: bool, version: int, epoch: int) -> None:
    world = holding(state)
    assert summarize(world.end(committed, version, epoch)) == (E.CONCURRENT_TRANSACTIONS, -1, -1)
    assert summarize(world.end(not committed, version, epoch)) == (E.INVALID_TXN_STATE, -1, -1)


@pytest.mark.parametrize("version", range(5))
def test_tc_30_under_version_1_nothing_is_not_aborted(version: int) -> None:
    assert summarize(holding("Empty").end(False, version)) == (E.INVALID_TXN_STATE, -1, -1)


def test_tc_31_under_version_2_nothing_is_aborted_and_the_epoch_rises() -> None:
    world = holding("Empty")
    world.run_for(30)
    assert summarize(world.end(False, 5, EPOCH - 1)) == (E.PRODUCER_FENCED, -1, -1)
    world.fail(HOLD)
    assert world.end(False, 5) is None
    world.held.pop()(NONE)
    assert summarize(world.asked[-1].response) == (NONE, PID, EPOCH + 1)
    prepared = world.list_written()[0]
    assert (prepared.state, prepared.producer_epoch, prepared.last_producer_epoch) == (
        TxnState.PREPARE_ABORT,
        EPOCH + 1,
        EPOCH,
    )
    assert (prepared.start_ms, prepared.partitions) == (world.now, ())


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(("version", "after"), [(0, EPOCH), (4, EPOCH), (5, EPOCH + 1)])
def test_the_decision_is_answered_once_it_is_durable_and_before_any_marker(
    version: int, after: int, committed: bool
) -> None:
    world = holding("Ongoing")
    world.fail(HOLD)
    assert world.end(committed, version) is None
    assert (world.now_known, world.take(WriteTxnMarkers)) == (make_txn("Ongoing"), [])
    world.held.pop()(NONE)
    response = world.asked[-1].response
    assert summarize(response) == ((NONE, PID, after) if version == 5 else (NONE, -1, -1))
    state, pending = ("PrepareCommit", "CompleteCommit") if committed else ("PrepareAbort", "CompleteAbort")
    assert (world.now_known.state.label, world.pending(ID)) == (state, TxnState.of(pending))
    assert world.end(committed, version).error is E.CONCURRENT_TRANSACTIONS
    assert [m.producer_epoch for m in world.answer_markers()] == [after]
    assert (world.now_known.state.label, world.pending(ID)) == (pending, None)
    assert summarize(world.end(committed, version)) == summarize(response)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("failure", ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "MESSAGE_TOO_LARGE"])
def test_a_decision_that_could_not_be_written_may_be_asked_for_again(version: int, failure: str) -> None:
    world = holding("Ongoing")
    world.fail(Error[failure])
    assert world.end(True, version).error not in (NONE, E.CONCURRENT_TRANSACTIONS)
    assert (world.now_known, world.pending(ID), world.take(WriteTxnMarkers)) == (make_txn("Ongoing"), None, [])
    assert world.end(False, version).error is NONE


@pytest.mark.parametrize("who", [{}, {"producer_id": 8}, {"epoch": 0}, {"epoch": EPOCH - 1}])
def test_pending_comes_first_under_version_2_and_last_under_version_1(who: dict[str, int]) -> None:
    world = holding("Ongoing", "Ongoing")
    assert world.end(True, 5, **who).error is E.CONCURRENT_TRANSACTIONS
    first = {"producer_id": E.INVALID_PRODUCER_ID_MAPPING, "epoch": E.PRODUCER_FENCED}
    assert world.end(True, 4, **who).error is (first[next(iter(who))] if who else E.CONCURRENT_TRANSACTIONS)


@pytest.mark.parametrize(("version", "epoch"), [(4, EPOCH), (5, EPOCH + 1)])
def test_a_fence_that_is_pending_gives_way_to_an_abort_and_never_to_a_commit(version: int, epoch: int) -> None:
    world = holding("Ongoing", "PrepareEpochFence")
    with pytest.raises(InvariantError):
        world.end(True, version)
    assert world.end(False, version).error is NONE
    assert [(t.state, t.producer_epoch) for t in world.list_written()] == [(TxnState.PREPARE_ABORT, epoch)]


def test_a_record_that_no_longer_fits_once_it_is_durable_is_a_mistake_of_the_program() -> None:
    world = holding("Ongoing")
    world.fail(HOLD)
    world.end(True, 5)
    world.owned.txns[ID] = make_txn("Ongoing", producer_epoch=EPOCH + 3)
    with pytest.raises(InvariantError):
        world.held.pop()(NONE)


@pytest.mark.parametrize("cluster", [0, 1, 2])
def test_a_client_learns_the_clusters_transaction_version(cluster: int) -> None:
    assert CoordinatorWorld(cluster).ask(ApiVersions()).response.transaction_version == cluster


# the end of the epochs


@pytest.mark.parametrize("committed", [True, False])
def test_tc_34_a_retry_at_the_last_epoch_gets_the_next_producer_id(committed: bool) -> None:
    state, done = ("PrepareCommit", "CompleteCommit") if committed else ("PrepareAbort", "CompleteAbort")
    fields = {"producer_epoch": 32767, "last_producer_epoch": LAST, "next_producer_id": 2}
    world = holding(state, done, **fields, client_transaction_version=2)
    assert summarize(world.end(committed, 5, LAST)) == (E.CONCURRENT_TRANSACTIONS, -1, -1)
    world.holds(make_txn(state, **fields))
    assert summarize(world.end(committed, 5, LAST)) == (E.CONCURRENT_TRANSACTIONS, -1, -1)
    world.holds(make_txn(done, producer_id=2, producer_epoch=0, last_producer_epoch=LAST, prev_producer_id=PID))
    assert summarize(world.end(committed, 5, LAST)) == (NONE, 2, 0)
    assert summarize(world.end(not committed, 5, LAST)) == (E.INVALID_TXN_STATE, -1, -1)
    assert summarize(world.end(committed, 5, LAST - 1)) == (E.INVALID_PRODUCER_ID_MAPPING, -1, -1)
    assert summarize(world.end(committed, 4, LAST)) == (E.INVALID_PRODUCER_ID_MAPPING, -1, -1)


@pytest.mark.parametrize("state", ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort"])
@pytest.mark.parametrize("committed", [True, False])
def test_a_retry_of_a_rotation_is_fenced_once_the_next_transaction_has_begun(state: str, committed: bool) -> None:
    world = holding(state, producer_id=2, producer_epoch=0, prev_producer_id=PID)
    assert summarize(world.end(committed, 5, LAST)) == (E.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize("version", [3, 5])
def test_tc_35_the_next_producer_id_waits_for_the_completion(version: int) -> None:
    world = holding("Ongoing", producer_epoch=LAST)
    assert summarize(world.end(True, 5, LAST)) == (NONE, 1000, 0)
    assert world.add(version=version, producer_id=1000, epoch=0) is E.CONCURRENT_TRANSACTIONS
    assert [(m.producer_id, m.producer_epoch) for m in world.answer_markers()] == [(PID, 32767)]
    assert identity(world) == (1000, 0, LAST)
    assert world.add(version=version, producer_id=1000, epoch=0) is NONE


def test_at_epoch_32767_a_commit_fails_and_an_abort_takes_the_next_producer_id() -> None:
    world = holding("Ongoing", producer_epoch=32767)
    assert summarize(world.end(True, 5, 32767)) == (E.UNKNOWN_SERVER_ERROR, -1, -1)
    assert (world.now_known.state.label, world.pending(ID)) == ("Ongoing", None)
    assert summarize(world.end(False, 5, 32767)) == (NONE, 1001, 0)
    assert [(m.producer_id, m.producer_epoch) for m in world.answer_markers()] == [(PID, 32767)]
    assert identity(world) == (1001, 0, 32767)


def test_without_a_next_producer_id_the_last_epoch_cannot_end_yet() -> None:
    world = holding("Ongoing", producer_epoch=LAST)
    world.state.producer_ids = []
    assert summarize(world.end(True, 5, LAST)) == (E.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert (world.list_written(), world.pending(ID)) == ([], None)
    world.state.producer_ids = [50, 60]
    assert summarize(world.end(True, 5, LAST)) == (NONE, 50, 0)


def test_under_version_1_the_last_epoch_ends_as_any_other() -> None:
    world = holding("Ongoing", cluster=0, producer_epoch=LAST)
    assert summarize(world.end(True, 4, LAST)) == (NONE, -1, -1)
    world.answer_markers()
    assert identity(world) == (PID, LAST, -1)
    assert summarize(world.init()) == (NONE, 1000, 0)


# the code for a fenced producer


@pytest.mark.parametrize("state", ["Empty", "Ongoing", "CompleteCommit"])
def test_tc_58_old_versions_hear_invalid_producer_epoch(state: str) -> None:
    world = holding(state)
    old, new = E.INVALID_PRODUCER_EPOCH, E.PRODUCER_FENCED
    expecting = [world.init_expecting(8, 0, v).error for v in range(3, 6)]
    assert expecting == [old, new, new]
    assert [world.add(version=v, epoch=1) for v in range(6)] == [old, old, new, new, new, new]
    assert [world.verify(version=v, epoch=1) for v in (4, 5)] == [new, new]
    assert [world.end(True, v, 1).error for v in range(6)] == [old, old, new, new, new, new]
    assert [world.add_offsets(v, 1) for v in range(5)] == [old, old, new, new, new]


def test_a_broker_that_adds_for_an_old_client_says_fenced_too() -> None:
    world = holding("Empty")
    who: dict[str, Any] = {"transactional_id": ID, "producer_id": PID, "producer_epoch": 1, "partitions": ("v-0",)}
    response = world.ask(batch(AddPartitionsToTxn(**who), AddPartitionsToTxn(**who)), 4).response
    assert (response.errors, list(response.further)) == ({"v-0": E.PRODUCER_FENCED}, [{"v-0": E.PRODUCER_FENCED}])


# leaving


def test_tc_57_an_id_that_moves_away_is_forgotten_with_its_markers() -> None:
    world = holding("Ongoing")
    assert world.end(True, 5).error is NONE
    assert world.state.marker_queues.brokers["b2"]
    world.image({PARTITION: "b2"}, 5)
    assert (world.txn(ID), world.take(WriteTxnMarkers)) == (None, [])
    assert world.end(True, 5).error is E.NOT_COORDINATOR
