"""ListOffsets: by isolation level, by time, and of a leader that was just elected (docs/protocol.md#list-offsets)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_COMMITTED, READ_UNCOMMITTED, Fetch
from kafkalab.protocol.messages.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP, ListOffsets
from kafkalab.protocol.records import Batch, ControlType, Record, marker
from tests.conformance.one_broker import OneBroker

PARTITION = "t-0"


def data(timestamp_ms: int, count: int = 1, producer_id: int = -1) -> Batch:
    return Batch(
        records=tuple(Record("k", i) for i in range(count)),
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
    )


def leader(high_watermark: int) -> OneBroker:
    """A log with plain records 0-1 (time 100), an aborted one 2 (time 300), its marker 3 (time 310), an open
    transaction at 4 (time 200), plain ones 5-6 (time 400).
    """
    one = OneBroker()
    log = one.state.log(PARTITION)
    for batch in (
        data(100, 2),
        data(300, 1, 7),
        marker(7, 0, ControlType.ABORT, 0, 310),
        data(200, 1, 8),
        data(400, 2),
    ):
        log.append(batch, 0)
    log.advance(high_watermark)
    return one


def ask(
    one: OneBroker, timestamp: int, isolation: str = READ_UNCOMMITTED, version: int = 11, replica: str = ""
) -> tuple[int, int, Error]:
    body = ListOffsets(partitions=(PARTITION,), timestamp=timestamp, isolation_level=isolation, replica=replica)
    response = one.ask(body, version).response
    return response.offsets[PARTITION], response.timestamps.get(PARTITION, -1), response.errors[PARTITION]


@pytest.mark.parametrize(
    ("timestamp", "uncommitted", "committed"),
    [
        pytest.param(LATEST, (6, -1), (4, -1), id="the high watermark, and the last stable offset"),
        pytest.param(EARLIEST, (0, -1), (0, -1), id="the log's start"),
        pytest.param(0, (0, 100), (0, 100), id="a time before all"),
        pytest.param(100, (0, 100), (0, 100), id="exactly the first"),
        pytest.param(101, (2, 300), (2, 300), id="the first record in offset order, aborted or not"),
        pytest.param(301, (3, 310), (3, 310), id="a marker is a record"),
        pytest.param(311, (5, 400), (-1, -1), id="what is above the last stable offset is unknown to read_committed"),
        pytest.param(401, (-1, -1), (-1, -1), id="a time after all"),
        pytest.param(MAX_TIMESTAMP, (5, 400), (-1, -1), id="the largest time, if the level lets it be seen"),
    ],
)
def test_each_isolation_level_is_told_what_it_may_see(
    timestamp: int, uncommitted: tuple[int, int], committed: tuple[int, int]
) -> None:
    one = leader(6)
    assert ask(one, timestamp) == (*uncommitted, Error.NONE)
    assert ask(one, timestamp, READ_COMMITTED) == (*committed, Error.NONE)


def test_a_record_at_the_high_watermark_is_not_seen_yet() -> None:
    assert ask(leader(5), 400) == (-1, -1, Error.NONE)
    assert ask(leader(6), 400) == (5, 400, Error.NONE)


def test_a_replica_is_told_the_logs_end() -> None:
    assert ask(leader(5), LATEST, replica="b2") == (7, -1, Error.NONE)
    assert ask(leader(5), 400, replica="b2") == (5, 400, Error.NONE)


def test_below_the_log_start_there_is_nothing() -> None:
    one = leader(7)
    one.state.log(PARTITION).raise_log_start(1)
    assert ask(one, EARLIEST) == (1, -1, Error.NONE)
    assert ask(one, 0) == (1, 100, Error.NONE)
    one.state.log(PARTITION).raise_log_start(7)
    assert ask(one, 0) == (-1, -1, Error.NONE)
    assert ask(one, MAX_TIMESTAMP) == (5, 400, Error.NONE)


@pytest.mark.parametrize("isolation", [READ_COMMITTED, READ_UNCOMMITTED])
def test_a_new_leader_tells_no_end_before_its_high_watermark_has_caught_up(isolation: str) -> None:
    one = leader(3)
    one.image({PARTITION: "b2"}, 1)
    one.image({PARTITION: "b1"}, 2)
    # two replicas are in sync, and the other one has said nothing yet
    one.state.epoch_start[PARTITION] = 7
    one.state.log(PARTITION).high_watermark = 3
    assert ask(one, LATEST, isolation) == (-1, -1, Error.OFFSET_NOT_AVAILABLE)
    assert ask(one, EARLIEST, isolation) == (0, -1, Error.NONE)
    assert ask(one, 300, isolation) == (2, 300, Error.NONE)
    assert ask(one, 400, isolation) == (-1, -1, Error.OFFSET_NOT_AVAILABLE)
    assert ask(one, MAX_TIMESTAMP, isolation) == (-1, -1, Error.OFFSET_NOT_AVAILABLE)
    assert ask(one, LATEST, isolation, version=4) == (-1, -1, Error.LEADER_NOT_AVAILABLE)
    assert ask(one, LATEST, isolation, replica="b2") == (7, -1, Error.NONE)
    one.state.log(PARTITION).advance(7)
    assert ask(one, LATEST, isolation)[2] is Error.NONE


def test_who_does_not_lead_says_so() -> None:
    one = OneBroker()
    response = one.ask(ListOffsets(partitions=("u-0", "x-0"), timestamp=LATEST)).response
    assert response.errors == {"u-0": Error.NOT_LEADER_OR_FOLLOWER, "x-0": Error.UNKNOWN_TOPIC_OR_PARTITION}


def fetch(one: OneBroker, offset: int, isolation: str) -> Any:
    body = Fetch(isolation_level=isolation, positions={PARTITION: offset}, max_wait_ms=0)
    asked = one.ask(body)
    one.run_for(0)
    return asked.response.partitions[PARTITION]


def test_a_fetch_lists_aborted_transactions_only_of_what_it_returns() -> None:
    one = leader(7)
    found = fetch(one, 0, READ_COMMITTED)
    assert [b.base_offset for b in found.batches] == [0, 2, 3]
    assert [a.producer_id for a in found.aborted_transactions] == [7]
    assert (found.high_watermark, found.last_stable_offset) == (7, 4)
    assert fetch(one, 4, READ_COMMITTED).aborted_transactions == ()
    assert fetch(one, 0, READ_UNCOMMITTED).aborted_transactions is None


@pytest.mark.parametrize(
    ("offset", "error"),
    [(1, Error.OFFSET_OUT_OF_RANGE), (2, Error.NONE), (7, Error.NONE), (8, Error.OFFSET_OUT_OF_RANGE)],
)
def test_a_fetch_below_the_log_start_or_above_its_end_is_out_of_range(offset: int, error: Error) -> None:
    one = leader(5)
    one.state.log(PARTITION).raise_log_start(2)
    assert fetch(one, offset, READ_UNCOMMITTED).error is error
