"""The transaction manager by itself: identity, sequences and partitions, without a producer or a broker."""

from __future__ import annotations

import pytest

from kafkalab.client.config.config import ProducerConfig
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer_batch import ProducerBatch
from kafkalab.client.promise import Promise
from kafkalab.client.transaction_manager.transaction_manager import EPOCH_MAX, TransactionManager
from kafkalab.protocol.records import Record
from kafkalab.protocol.transition_tables.producer import Call, ProducerState, SenderEvent
from tests.conformance.scripted_port import ScriptedPort


def manager_of(
    version: int = 2, transactional_id: str | None = "a", woken: list[str] | None = None
) -> TransactionManager:
    """A manager with identity (7, 0); `woken` gets an entry whenever the sender is woken."""
    calls = [] if woken is None else woken
    config = ProducerConfig(transactional_id=transactional_id)
    manager = TransactionManager(ScriptedPort(version), config, lambda: calls.append("woken"))
    manager.adopt(7, 0)
    return manager


def in_transaction(version: int = 2, woken: list[str] | None = None) -> TransactionManager:
    manager = manager_of(version, woken=woken)
    manager.apply_call(Call.INIT)
    manager.apply_event(SenderEvent.INITIALIZED)
    manager.finish_init()
    manager.apply_call(Call.BEGIN)
    return manager


def send_two(manager: TransactionManager) -> ProducerBatch:
    """A batch that was numbered, acknowledged at offset 5, and one after it that was left open."""
    batch = ProducerBatch("t-0", 0)
    batch.add(Record(None, "v"), Promise(lambda p: False))
    manager.sequences.number(batch, manager.identity)
    manager.sequences.note_ack(batch, 5)
    manager.sequences.leave_open(batch)
    return batch


@pytest.mark.parametrize("drop", [False, True], ids=["a new identity", "no identity any more"])
def test_with_the_identity_every_sequence_is_forgotten(drop: bool) -> None:
    manager = manager_of()
    send_two(manager)
    sequences = manager.sequences
    assert (sequences.next, sequences.unresolved, sequences.last_acked_offset) == ({"t-0": 1}, {"t-0": 1}, {"t-0": 5})
    manager.reset_producer_id() if drop else manager.adopt(7, 1)
    assert manager.identity == ((-1, -1) if drop else (7, 1))
    assert (sequences.next, sequences.last_acked, sequences.last_acked_offset) == ({}, {}, {})
    assert (sequences.identity, sequences.unresolved) == ({}, {})


@pytest.mark.parametrize(
    ("epoch", "gap", "bumped", "then"),
    [(0, True, True, (7, 1)), (0, False, False, (7, 0)), (EPOCH_MAX, True, False, (-1, -1))],
)
def test_an_idempotent_producer_bumps_its_epoch_at_a_gap_and_never_beyond_the_last(
    epoch: int, gap: bool, bumped: bool, then: tuple[int, int]
) -> None:
    manager = manager_of(transactional_id=None)
    manager.adopt(7, epoch)
    if gap:
        manager.sequences.restart_later("t-0")
    assert (manager.bump_idempotent_epoch(), manager.identity) == (bumped, then)


def test_under_version_2_the_broker_adds_partitions_and_the_transaction_has_started_with_the_first_record() -> None:
    manager = in_transaction()
    manager.add_partition("t-0")
    assert (manager.started, manager.may_send_to("t-0"), manager.new_partitions) == (True, True, [])


def test_before_version_2_a_partition_may_be_sent_to_once_the_coordinator_has_added_it() -> None:
    manager = in_transaction(1)
    for partition in ("t-0", "t-1", "t-0"):
        manager.add_partition(partition)
    assert (manager.started, manager.may_send_to("t-0")) == (False, False)
    taken = manager.take_new_partitions()
    assert (taken, manager.new_partitions) == (("t-0", "t-1"), [])
    manager.begin_at_coordinator(taken)
    manager.add_partition("t-1")
    assert (manager.started, manager.may_send_to("t-1"), manager.new_partitions) == (True, True, [])


@pytest.mark.parametrize(("bump", "state"), [(False, "READY"), (True, "INITIALIZING")])
def test_a_transaction_that_has_ended_leaves_nothing_behind(bump: bool, state: str) -> None:
    manager = in_transaction(1)
    manager.begin_at_coordinator(("t-0",))
    manager.add_partition("t-1")
    manager.bump_needed = bump
    manager.apply_call(Call.COMMIT)
    assert manager.complete() is bump
    assert (manager.state.name, manager.started, manager.bump_needed) == (state, False, False)
    assert (manager.partitions, manager.new_partitions) == ({}, [])


def test_an_error_state_wakes_the_sender_which_drops_what_cannot_be_sent() -> None:
    woken: list[str] = []
    manager = in_transaction(woken=woken)
    assert woken == []
    manager.apply_event(SenderEvent.ABORTABLE, KafkaError("the batch has expired"))
    assert (manager.state, woken) == (ProducerState.ABORTABLE_ERROR, ["woken"])
