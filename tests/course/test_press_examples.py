"""The example in the messages of an exercise that asks for presses fits that exercise."""

from __future__ import annotations

from importlib import import_module

import pytest

from kafkalab.course.lab00.scenario import lab00
from kafkalab.course.lab05.scenario import two_accounts
from kafkalab.course.lab06.exercise_2 import scenario
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from tests.grading.told import catch_wrong_answer

BASES = {"lab00.exercise_1": lab00(), "lab05.exercise_3": two_accounts(), "lab06.exercise_2": scenario()}


@pytest.mark.parametrize(("where", "base"), BASES.items())
def test_a_blank_list_is_answered_with_presses_that_work_there_and_do_not_solve_it(where: str, base: Scenario) -> None:
    module = import_module(f"kafkalab.course.{where}")
    goal = module.GOAL
    assert {type(fault).__name__ for fault in goal.example} <= set(module.ALLOWED)
    cluster = Cluster(base.with_faults(*goal.example))
    cluster.run()
    assert cluster.unused_faults == ()
    assert not goal.reached(cluster)
    said = str(catch_wrong_answer(module.EXERCISE.id, []))
    assert all(repr(fault) in said for fault in goal.example)
