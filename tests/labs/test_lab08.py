"""What lab 08 says of its runs is so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab08, old_coordinator
from kafkalab.course.lab08.crash_points import crash_points
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.protocol import rules
from kafkalab.sim.cluster import Cluster, ran

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "08_failover.ipynb")


def read_printed(cell: str) -> str:
    """Return what the cell's saved run printed."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in found["outputs"])


def values(cluster: Cluster, partition: str) -> list[str]:
    return [b.control.name if b.control else b.records[0].value for b in cluster.log_of(partition).batches]


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_next_coordinator_writes_both_markers_and_without_it_half_a_transfer_stays_hidden(seed: int) -> None:
    whole = ran(lab08(seed=seed))
    assert values(whole, "accounts-0") == ["-10", "COMMIT", "COMMIT"]
    assert values(whole, "accounts-1") == ["+10", "COMMIT"]
    assert whole.unused_faults == ()
    naive = Cluster(replace(lab08(seed=seed), rules_off=(rules.REDRIVE_PREPARE.name,)))
    naive.run_for(3_600_000)
    assert naive.outcome().committed == {"accounts-0": ("-10",), "accounts-1": ()}
    assert naive.results["app"] == "committed"


def test_the_coordinator_is_the_broker_that_the_lab_names_and_has_another_epoch_after_the_failover() -> None:
    frames = ran(lab08()).trace.frames
    first, third = (frames[f"WriteTxnMarkers#{n}"] for n in (1, 3))
    assert (first.sender, first.receiver, third.sender) == ("b3", "b1", "b1")
    assert [f.body.markers[0].coordinator_epoch for f in (first, third)] == [0, 1]
    assert 9_000 < third.sent_ms < 11_000


def test_whenever_the_coordinator_dies_the_transfer_is_committed_and_only_the_waiting_differs() -> None:
    lines = list(crash_points())
    assert "accounts-0 accounts-1\n" + "\n".join(lines) + "\n" == read_printed("points")
    assert all(" committed " in line for line in lines)
    assert [line[:8].strip() for line in lines] == ["10.4 s", "9.2 s", "0.2 s", "0.2 s"]
    assert [line[8:16].strip() for line in lines] == ["10.4 s", "9.2 s", "9.2 s", "0.2 s"]


def test_a_marker_of_the_old_coordinator_commits_half_of_the_next_transfer_unless_it_is_refused() -> None:
    refused, taken = read_printed("old-end").splitlines()
    assert refused.startswith("TRANSACTION_COORDINATOR_FENCED {'accounts-0': ('-10',)")
    assert taken.startswith("NONE {'accounts-0': ('-10', '-25'), 'accounts-1': ('+10',)}")
    newer = ran(old_coordinator(profile="4.x/TV2"))
    answer = next(f for f in newer.trace.frames.values() if f.of == "WriteTxnMarkers#1")
    assert answer.body.markers[2000]["accounts-0"].name == "INVALID_PRODUCER_EPOCH"
