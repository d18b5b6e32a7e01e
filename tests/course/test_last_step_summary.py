"""Of a run's last step the lines are shown that a question is about."""

from __future__ import annotations

import pytest

from kafkalab import Sequence, at_the_end, lab00
from kafkalab.faults.frame import Drop
from kafkalab.sim.cluster import ran


def test_a_scenario_a_run_and_a_picture_end_alike() -> None:
    lost = lab00().with_faults(Drop("ProduceResponse#1"))
    line = "orders-0 on b2, HW 2, LSO 2: [0 soup] [1 soup]"
    assert [at_the_end(run, "orders-0") for run in (lost, ran(lost), Sequence(lost, step=3))] == [line] * 3
    assert at_the_end(lost, "b2", "orders").splitlines() == ["b2: leader of orders-0", line]


def test_a_beginning_that_no_line_has_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no line begins so; the lines are\n(?s:.*)b2: leader of orders-0"):
        at_the_end(lab00(), "accounts-0")
