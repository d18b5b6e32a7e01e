"""What lab 06 says of its runs is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab import lab06
from kafkalab.faults.node import Crash
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.programs.billing import VALUES
from kafkalab.sim.cluster import Cluster

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "06_fencing_and_zombies.ipynb")


def read_figure(cell: str) -> str:
    """The text of the figure that the cell's saved run shows."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join(found["outputs"][0]["data"]["text/plain"])


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(marked) == [12, 13, 14, 15, 17, 44]


@pytest.mark.parametrize("seed", range(1, 6))
def test_two_idempotent_instances_charge_twice_and_two_with_a_name_once(seed: int) -> None:
    def charges(**given: str | None) -> tuple[str, ...]:
        cluster = Cluster(lab06(seed=seed, **given))  # type: ignore[arg-type]
        cluster.run()
        return cluster.outcome().committed["charges-0"]

    assert len(charges(first=None, second=None)) > len(VALUES)
    assert len(charges(first="billing-7f3a", second="billing-c01e")) > len(VALUES)
    assert charges() == VALUES


def test_the_first_transaction_is_open_when_the_first_instance_falls_asleep() -> None:
    cluster = Cluster(lab06())
    asked = [f for f in cluster.run().frames.values() if f.name == "InitProducerId" and f.sender == "till-2"]
    answers = [f.error for f in cluster.trace.frames.values() if f.of in {a.id for a in asked}]
    assert answers == ["CONCURRENT_TRANSACTIONS", "NONE"]


@pytest.mark.parametrize("at_ms", [80, 83, 86, 89])
def test_fencing_outlives_the_coordinator(at_ms: int) -> None:
    base = Cluster(lab06())
    base.run()
    step = max(e.step for e in base.trace.events if e.at_ms <= at_ms)
    crashed = base.fork(step, Crash("b1"))
    assert crashed.outcome().committed["charges-0"] == VALUES
    assert type(crashed.results["till-1"]).__name__ == "ProducerFencedError"


def test_the_picture_of_your_turn_stands_where_the_first_charge_is_written_and_nothing_is_committed() -> None:
    cluster = Cluster(lab06())
    cluster.run()
    step = max(e.step for e in cluster.trace.events if e.at_ms <= 85)
    ends = {e.step: e.data.last_offset for e in cluster.trace.of("append", "charges-0")}
    assert {last for at, last in ends.items() if at <= step} == {0}


def test_the_checks_are_red_for_a_new_name_at_each_start() -> None:
    said = "".join(read_figure("random-verdict"))
    assert said.count("forbidden: offset") == 3
    assert "took effect in 2 transactions" in said


@pytest.mark.parametrize(("cell", "state"), [("which-final", "FATAL_ERROR"), ("which-abortable", "ABORTABLE_ERROR")])
def test_the_producer_is_in_the_state_that_the_lab_names(cell: str, state: str) -> None:
    assert f"till-1 billing-0: {state}" in read_figure(cell)


def test_a_producer_alone_is_fenced_by_its_timeout() -> None:
    printed = {c["id"]: "".join("".join(o.get("text", [])) for o in c.get("outputs", [])) for c in LAB["cells"]}
    old, new = printed["alone-run"].splitlines()
    assert old == "4.x/TV1: aborted at 20004 ms; the commit fails with ProducerFencedError"
    assert new == "4.x/TV2: aborted at 20007 ms; the commit fails with InvalidTxnStateError"


def test_two_services_with_one_name_fence_each_other_again_and_again() -> None:
    (cell,) = [c for c in LAB["cells"] if c["id"] == "shared-ran"]
    shown = "".join(cell["outputs"][0]["data"]["text/plain"])
    assert shown.count("ProducerFencedError") == shown.count(" ms: ") == 5


def test_one_producer_has_one_transaction_and_two_with_two_names_have_two() -> None:
    (cell,) = [c for c in LAB["cells"] if c["id"] == "several"]
    one, two = "".join("".join(o.get("text", [])) for o in cell["outputs"]).splitlines()
    assert "Invalid transition attempted from state IN_TRANSACTION to state IN_TRANSACTION" in one
    assert two == "['billing-0-a', 'billing-0-b'] None ('billing-0-a', 'billing-0-b')"
