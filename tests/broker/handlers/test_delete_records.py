"""DeleteRecords at one leader: the log start moves, and the answer waits for the followers
(docs/protocol.md#retention)."""

from __future__ import annotations

import pytest

from kafkalab.broker.handlers.delete_records import UP_TO_HIGH_WATERMARK
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.delete_records import DeleteRecords
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from tests.broker.handlers.test_list_offsets import PARTITION, leader
from tests.conformance.one_broker import Asked, OneBroker


def delete(one: OneBroker, offset: int, partition: str = PARTITION) -> Asked:
    return one.ask(DeleteRecords(offsets={partition: offset}, timeout_ms=1_000))


def follow(one: OneBroker, log_start: int, epoch: int = 0) -> None:
    end = one.state.log(PARTITION).log_end_offset
    starts = {PARTITION: log_start} if log_start else {}
    body = ReplicaFetch(
        replica="b2",
        session_epoch=epoch,
        metadata_version=one.metadata.version,
        positions={PARTITION: (end, 0)},
        log_starts=starts,
    )
    one.ask(body, sender="b2")


@pytest.mark.parametrize(
    ("partition", "offset", "error"),
    [
        (PARTITION, 6, Error.OFFSET_OUT_OF_RANGE),
        (PARTITION, -2, Error.OFFSET_OUT_OF_RANGE),
        ("u-0", 0, Error.NOT_LEADER_OR_FOLLOWER),
        ("x-0", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("__transaction_state-0", 0, Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_what_cannot_be_deleted_has_an_error_at_once(partition: str, offset: int, error: Error) -> None:
    one = leader(5)
    response = delete(one, offset, partition).response
    assert (response.errors, response.low_watermarks) == ({partition: error}, {partition: -1})
    assert one.state.log(PARTITION).log_start_offset == 0


def test_the_answer_comes_when_every_live_replica_begins_there() -> None:
    one = leader(7)
    follow(one, 0)
    asked = delete(one, 3)
    assert one.state.log(PARTITION).log_start_offset == 3
    assert not asked.answered
    told = one.asked[0].response.partitions[PARTITION]
    assert (told.log_start_offset, told.batches) == (3, ())
    follow(one, 3, epoch=1)
    assert (asked.response.low_watermarks, asked.response.errors) == ({PARTITION: 3}, {PARTITION: Error.NONE})


def test_a_replica_that_never_answers_makes_it_time_out_though_the_records_are_gone() -> None:
    one = leader(7)
    asked = delete(one, 3)
    one.run_for(1_000)
    assert (asked.response.low_watermarks, asked.response.errors) == (
        {PARTITION: 0},
        {PARTITION: Error.REQUEST_TIMED_OUT},
    )
    assert one.state.log(PARTITION).log_start_offset == 3


def test_a_dead_replica_is_not_waited_for() -> None:
    one = leader(7)
    one.image({}, alive=("b1", "b3"))
    assert delete(one, UP_TO_HIGH_WATERMARK).response.low_watermarks == {PARTITION: 7}
    assert delete(one, 2).response.low_watermarks == {PARTITION: 7}


def test_a_leader_that_is_deposed_meanwhile_says_so() -> None:
    one = leader(7)
    asked = delete(one, 3)
    one.image({PARTITION: "b2"}, 1)
    assert asked.response.errors == {PARTITION: Error.NOT_LEADER_OR_FOLLOWER}


def test_an_open_transaction_below_the_new_start_is_unstable_from_there_on() -> None:
    one = leader(7)
    assert one.state.log(PARTITION).last_stable_offset == 4
    delete(one, 5)
    assert one.state.log(PARTITION).last_stable_offset == 5
    assert 8 in one.state.log(PARTITION).producers.entries


def test_a_follower_that_ends_before_the_start_is_sent_there_without_records() -> None:
    one = leader(7)
    delete(one, 3)
    body = ReplicaFetch(
        replica="b2", session_epoch=0, metadata_version=one.metadata.version, positions={PARTITION: (1, 0)}
    )
    data = one.ask(body, sender="b2").response.partitions[PARTITION]
    assert (data.log_start_offset, data.diverging_offset, data.batches) == (3, -1, ())
