"""A follower that takes over the rest of its leader's log ends as one that replicated each batch."""

from __future__ import annotations

import pytest

from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from kafkalab.protocol.rules import FIVE_BATCHES, VERIFICATION


def batch(producer_id: int, epoch: int, sequence: int, transactional: bool = True, count: int = 1) -> Batch:
    return Batch(
        records=(Record(None, "x"),) * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence,
        transactional=transactional,
    )  # fmt: skip


BATCHES = (
    batch(-1, -1, -1, transactional=False),
    *(batch(1, 0, sequence, transactional=False) for sequence in range(4)),
    batch(1, 0, 4, transactional=False, count=3),
    batch(2, 0, 0),
    batch(3, 0, 0, count=2),
    marker(2, 0, ControlType.ABORT, coordinator_epoch=0, now_ms=9),
    batch(2, 1, 0),
    *(batch(1, 0, sequence, transactional=False) for sequence in range(7, 10)),
    batch(4, 0, 0),
    marker(3, 0, ControlType.COMMIT, coordinator_epoch=0, now_ms=9),
    batch(1, 1, 0),
    marker(2, 1, ControlType.ABORT, coordinator_epoch=1, now_ms=9),
)


@pytest.mark.parametrize("watermark", [0, 14, 1_000])
@pytest.mark.parametrize("held", range(len(BATCHES) + 1))
@pytest.mark.parametrize("off", [(), (FIVE_BATCHES.name,)])
def test_taking_over_is_replicating_each_batch(off: tuple[str, ...], held: int, watermark: int) -> None:
    rules = Rules(off=(VERIFICATION.name, *off))
    leader, by_copy, one_by_one = (PartitionLog("p-0", rules) for _ in range(3))
    for number, one in enumerate(BATCHES):
        appended = leader.append(one, number // 6)
        one_by_one.replicate(appended)
        if number < held:
            by_copy.replicate(appended)
    leader.advance(min(watermark, leader.log_end_offset))
    one_by_one.advance(leader.high_watermark)
    by_copy.take_over(leader)
    assert describe_replica(by_copy) == describe_replica(one_by_one) == describe_replica(leader)
    before = describe_replica(by_copy)
    leader.append(batch(1, 1, 1), 3)
    assert describe_replica(by_copy) == before, "the leader's entries are its own"


def test_a_replica_that_verified_as_a_leader_uses_its_verifications_up() -> None:
    leader, follower = PartitionLog("p-0"), PartitionLog("p-0")
    follower.replicate(leader.append(batch(1, 0, 0, transactional=False), 0))
    for producer_id in (2, 3):
        follower.producers.start_verification(producer_id, 0, 0, 1)
    leader.append(batch(2, 0, 0), 0)
    leader.append(batch(2, 0, 1), 0)
    leader.advance(2)
    follower.take_over(leader)
    assert describe_replica(follower) == describe_replica(leader)
    assert list(follower.producers.verifications) == [3]


def test_where_there_is_nothing_to_take_over_what_was_forgotten_stays_so() -> None:
    leader, follower = PartitionLog("p-0"), PartitionLog("p-0")
    follower.replicate(leader.append(batch(1, 0, 0, transactional=False), 0))
    follower.producers.remove_expired(10**12)
    leader.advance(1)
    follower.take_over(leader)
    assert (follower.producers.entries, follower.high_watermark) == ({}, 1)


def describe_replica(log: PartitionLog) -> dict[str, object]:
    """All that a replica knows of its batches and of their producers."""
    states = log.producers
    return {
        "batches": list(log.batches),
        "end": (log.log_end_offset, log.high_watermark, log.last_stable_offset, log.last_epoch),
        "epochs": [log.end_offset_for(epoch) for epoch in range(5)],
        "aborted": log.transaction_index.between(0, log.log_end_offset),
        "entries": repr(states.entries),
        "ongoing": list(states.ongoing.items()),
        "unreplicated": list(states.unreplicated),
        "states' end": (states.map_end_offset, states.first_unstable_offset),
    }
