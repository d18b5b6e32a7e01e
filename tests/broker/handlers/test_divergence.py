"""A follower whose log is not a beginning of its leader's: both halves of truncation by epoch (KIP-101, KIP-279)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkalab.protocol.messages.replica_fetch import ReplicaData, ReplicaFetch, ReplicaFetchResponse
from kafkalab.protocol.records import Batch, Record
from kafkalab.protocol.rules import LEADER_EPOCH
from tests.conformance.one_broker import OneBroker


class Following(OneBroker):
    """Its fetches are kept with what is to be done with the answer."""

    fetches: list[tuple[ReplicaFetch, Callable[[Any, int], None]]]

    def request(self, sender: str, to: str, body: Any, then: Any, cause: int, background: bool = False) -> None:
        if not hasattr(self, "fetches"):
            self.fetches = []
        if isinstance(body, ReplicaFetch):
            self.fetches.append((body, then))
        else:
            super().request(sender, to, body, then, cause, background)


def write(one: OneBroker, partition: str, epochs: list[int]) -> None:
    for epoch in epochs:
        one.state.log(partition).append(Batch(records=(Record("k", "v"),)), epoch)


@pytest.mark.parametrize(
    ("leader", "position", "diverging"),
    [
        pytest.param([0] * 5, (3, 0), None, id="a beginning of the leader's"),
        pytest.param([0] * 5, (5, 0), None, id="all of it"),
        pytest.param([0, 0, 2, 2], (3, 0), (2, 0), id="the epoch ends earlier at the leader"),
        pytest.param([0, 0, 2, 2], (4, 2), None, id="the same last epoch"),
        pytest.param([0] * 10, (5, 1), (10, 0), id="an epoch that the leader never had, though it ends later"),
        pytest.param([0, 0, 2], (3, 1), (2, 0), id="an epoch that the leader never had"),
        pytest.param([0, 0], (4, 0), (2, 0), id="beyond the leader's end"),
        pytest.param([0, 0], (0, -1), None, id="an empty follower"),
    ],
)
def test_a_leader_tells_where_the_logs_part(
    leader: list[int], position: tuple[int, int], diverging: tuple[int, int] | None
) -> None:
    one = OneBroker()
    write(one, "t-0", leader)
    body = ReplicaFetch(
        replica="b2", session_epoch=0, metadata_version=one.metadata.version, positions={"t-0": position}
    )
    response = one.ask(body, sender="b2").response
    found = None if response is None else response.partitions["t-0"]
    if found is not None and found.diverging_offset != -1:
        assert (found.diverging_offset, found.diverging_epoch) == diverging
        assert found.batches == ()
    else:
        assert diverging is None


@pytest.mark.parametrize(
    ("own", "diverging", "left"),
    [
        ([0, 0, 0, 1], (2, 0), 2),
        ([0, 0, 1, 1, 1], (10, 0), 2),
        ([0, 0, 1, 1, 1], (4, 1), 4),
        ([1, 1], (0, 0), 0),
    ],
)
def test_a_follower_truncates_to_where_both_logs_have_the_epoch(
    own: list[int], diverging: tuple[int, int], left: int
) -> None:
    one = Following()
    write(one, "u-0", own)
    offset, epoch = diverging
    data = ReplicaData(leader_epoch=0, high_watermark=0, diverging_offset=offset, diverging_epoch=epoch)
    answer = next(then for body, then in reversed(one.fetches) if body.replica == "b1")
    answer(ReplicaFetchResponse(partitions={"u-0": data}), -1)
    assert one.state.log("u-0").log_end_offset == left
    assert one.fetches[-1][0].positions["u-0"][0] == left


@pytest.mark.parametrize(("off", "left"), [((), 3), ((LEADER_EPOCH.name,), 1)])
def test_before_kip_101_a_new_follower_dropped_what_was_above_its_high_watermark(
    off: tuple[str, ...], left: int
) -> None:
    one = OneBroker(off=off)
    write(one, "t-0", [0, 0, 0])
    one.state.log("t-0").advance(1)
    one.image({"t-0": ""}, 1)
    assert one.state.log("t-0").log_end_offset == 3
    one.image({"t-0": "b2"}, 2)
    assert one.state.log("t-0").log_end_offset == left
