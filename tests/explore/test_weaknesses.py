"""What the campaign with all rules on finds is Kafka's own: it goes once the leader still knows the producer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.explore.anomalies import findings_of, named
from kafkalab.explore.programs import idempotent_produce
from kafkalab.explore.trial import run_to_end
from kafkalab.sim.faults import Crash, Delay, Fault
from tests.explore.campaign import Noted

OVERTAKEN = (Delay("Produce#4", 5),)
FROM_BEFORE = (Delay("Produce#2", 350_132), Crash("p", at_step=95, sent=True))


def shown(faults: tuple[Fault, ...], expires: bool) -> set[str]:
    """The anomalies of the idle producer; without `expires` its producer id is remembered for a day."""
    scenario = idempotent_produce().with_faults(*faults)
    if not expires:
        scenario = replace(scenario, config={})
    return {finding.anomaly for finding in findings_of(run_to_end(scenario)[0], named(()))}


@pytest.mark.parametrize(("faults", "anomaly"), [(OVERTAKEN, "nonmonotonic-send"), (FROM_BEFORE, "duplicate")])
def test_a_leader_that_has_forgotten_a_producer_takes_what_comes_first(faults: tuple[Fault, ...], anomaly: str) -> None:
    assert shown(faults, expires=True) == {anomaly}
    assert shown(faults, expires=False) == set()


def test_of_the_finds_only_those_with_the_fewest_mishaps_are_told() -> None:
    noted = Noted()
    noted.finds = {("duplicate", "crash"): [()], ("duplicate", "crash", "drop Produce"): [()], ("G1a", "crash"): [()]}
    assert [line.split(":")[0].strip() for line in noted.told()] == ["duplicate + crash", "G1a + crash"]
