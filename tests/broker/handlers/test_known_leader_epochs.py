"""A reader that says which leader epoch it knows is refused by a replica of another one (KIP-320); recorded in
tests/kafka as `reading.leader_epochs` and `three_nodes.leader_epochs`."""

from __future__ import annotations

import pytest

from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.fetch import READ_UNCOMMITTED, Fetch
from kafkalab.protocol.messages.list_offsets import LATEST, ListOffsets
from kafkalab.protocol.records import Batch, Record
from tests.conformance.one_broker import OneBroker

LED, FOLLOWED, ELSEWHERE = "led-0", "followed-0", "elsewhere-0"


def make_broker() -> OneBroker:
    """b1 at leader epoch 3: it leads, follows, or has no replica."""
    one = OneBroker()
    one.image({LED: "b1", FOLLOWED: "b2"}, epoch=3)
    one.image({ELSEWHERE: "b2"}, epoch=3, replicas=("b2", "b3"))
    return one


def errors(partition: str, epoch: int, fetch: int = 12, listing: int = 7) -> tuple[Error, Error]:
    one, known = make_broker(), {partition: epoch}
    body = Fetch(isolation_level=READ_UNCOMMITTED, positions={partition: 0}, max_wait_ms=0, current_leader_epochs=known)
    fetched = one.ask(body, fetch)
    one.run_for(1)
    listed = one.ask(ListOffsets(partitions=(partition,), timestamp=LATEST, current_leader_epochs=known), listing)
    return fetched.response.partitions[partition].error, listed.response.errors[partition]


@pytest.mark.parametrize(
    ("partition", "epoch", "error"),
    [
        (LED, 2, Error.FENCED_LEADER_EPOCH),
        (LED, 3, Error.NONE),
        (LED, 4, Error.UNKNOWN_LEADER_EPOCH),
        (LED, -1, Error.NONE),
        (FOLLOWED, 2, Error.FENCED_LEADER_EPOCH),
        (FOLLOWED, 3, Error.NOT_LEADER_OR_FOLLOWER),
        (FOLLOWED, 4, Error.UNKNOWN_LEADER_EPOCH),
        (ELSEWHERE, 4, Error.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_the_epoch_is_compared_first_by_whoever_has_a_replica(partition: str, epoch: int, error: Error) -> None:
    assert errors(partition, epoch) == (error, error)


def test_a_negative_epoch_is_none_to_fetch_and_an_old_one_to_list_offsets() -> None:
    assert errors(LED, -2) == (Error.NONE, Error.FENCED_LEADER_EPOCH)


def test_versions_before_kip_320_carry_no_epoch() -> None:
    assert errors(LED, 4, fetch=8, listing=3) == (Error.NONE, Error.NONE)
    assert errors(LED, 4, fetch=9, listing=4) == (Error.UNKNOWN_LEADER_EPOCH,) * 2


@pytest.mark.parametrize(
    ("fetched_epoch", "offset", "expected"),
    [
        (0, 1, None),
        (0, 2, (0, 1)),
        (1, 1, (0, 1)),
        (2, 3, None),
        (2, 4, (2, 3)),
        (3, 3, None),
        (3, 4, (3, 3)),
        (-1, 3, None),
    ],
)
def test_a_fetch_is_told_at_once_where_its_log_and_the_leaders_part(
    fetched_epoch: int, offset: int, expected: tuple[int, int] | None
) -> None:
    """Offset 0 is of epoch 0, offsets 1 and 2 are of epoch 2; the leader of epoch 3 has appended nothing yet."""
    one = make_broker()
    log = one.state.log(LED)
    for epoch in (0, 2, 2):
        log.append(Batch(records=(Record(None, "a"),)), epoch)
    log.advance(3)
    body = Fetch(
        isolation_level=READ_UNCOMMITTED, positions={LED: offset}, min_bytes=500, max_wait_ms=500,
        last_fetched_epochs={LED: fetched_epoch},
    )  # fmt: skip
    request = one.ask(body, 12)
    if expected is None:
        one.run_for(500)
    found = request.response.partitions[LED]
    assert (found.error, found.diverging) == (Error.NONE, expected)
    assert expected is None or found.batches == ()
