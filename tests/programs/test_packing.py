"""The packers of lab 10: what they commit, what they refuse, what happens after an abort."""

from __future__ import annotations

import pytest

from kafkalab.programs.packing import ACTS, ORDERS, PARCELS
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario


def packing(*acts: str, **settings: object) -> Cluster:
    return ran(
        Scenario(
            topics={ORDERS: 1, PARCELS: 1},
            records={f"{ORDERS}-0": ("a", "b")},
            programs=(
                Program("packer", "pack_and_abort", {"acts": list(acts), "settings": settings}),
                Program("shop", "shop_all_day", {
                    "orders": [[8_000, "commit", 0, "c"], [9_000, "abort", 0, "x"], [25_000, "commit", 0, "d"]],
                }),
            ),
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("acts", "next_orders"),
    [
        (("abort",), ["d"]),
        (("send the offsets", "abort", "seek to committed"), ["c", "d"]),
        (("abort", "seek to the first"), ["c", "d"]),
        (("abort", "seek to the beginning"), ["a", "b", "c", "d"]),
        (("abort", "new consumer"), ["c", "d"]),
        (("abort", "new producer"), ["d"]),
        (("abort", "join again"), ["c", "d"]),
        (("commit_sync", "abort", "seek to committed"), ["d"]),
    ],
)
def test_the_acts_after_an_abort_decide_where_it_reads_on(acts: tuple[str, ...], next_orders: list[str]) -> None:
    cluster = packing(*acts)
    assert cluster.results["packer"] == next_orders
    assert cluster.outcome().committed[f"{PARCELS}-0"] == ("a", "b")
    assert cluster.results["shop"] == 2


def test_an_unknown_act_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no act is called 'rest'; there are send the offsets, abort"):
        packing("rest")
    assert list(ACTS)[1] == "abort"
