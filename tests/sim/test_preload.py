"""What a scenario says of the time before its run: broker settings, and transactional ids that have been in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.node import Crash
from kafkalab.programs.steps import init, sleep
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

ASK = init("pay", show=["producer_id", "producer_epoch"])


def answers(*steps: dict[str, Any], **more: Any) -> list[list[str]]:
    cluster = Cluster(Scenario(programs=(Program("p", "raw_requests", {"steps": list(steps)}),), **more))
    cluster.run()
    result: list[list[str]] = cluster.results["p"]
    return result


def test_an_id_that_has_been_in_use_goes_on_from_its_epoch() -> None:
    first, second = answers(ASK, ASK, producer_epochs={"pay": 32764})
    assert (first[-1], second[-1]) == ("producer_epoch=32765", "producer_epoch=32766")
    assert first[2] == second[2]


def test_the_epoch_is_in_the_log_for_the_next_coordinator_too() -> None:
    owner = Crash("b3", at_ms=0)
    assert answers(sleep(15_000), ASK, producer_epochs={"pay": 41}, faults=(owner,))[0][-1] == "producer_epoch=42"


def test_its_producer_id_is_nobody_elses() -> None:
    known, new = answers(ASK, {**ASK, "with": {"transactional_id": "car"}}, producer_epochs={"pay": 1})
    assert known[2] != new[2]  # one coordinator has both ids


def test_a_broker_setting_is_in_force() -> None:
    asked = {**ASK, "until": "INVALID_TRANSACTION_TIMEOUT"}
    assert answers(asked, config={"transaction_max_timeout_ms": 59_999})[0][1] == "INVALID_TRANSACTION_TIMEOUT"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"config": {"speed": 3}}, r"config has .*transaction_max_timeout_ms \(int\).*; not 'speed': 3"),
        ({"config": {"coordinator_load_ms": "long"}}, "not 'coordinator_load_ms': 'long'"),
        ({"config": {"coordinator_load_ms": -1}}, "not 'coordinator_load_ms': -1"),
        ({"producer_epochs": {"pay": 32767}}, "from 0 to 32766; 'pay': 32767"),
        ({"producer_epochs": {"pay": "old"}}, r"producer_epochs\['pay'\] is a whole number, not 'old'"),
        ({"producer_epochs": {"pay": 1}, "fresh": True}, "which a fresh cluster does not have"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Scenario(**given)


def test_both_come_back_from_a_file(tmp_path: Path) -> None:
    scenario = Scenario(config={"coordinator_load_ms": 7}, producer_epochs={"pay": 3})
    scenario.save(tmp_path / "run.klab")
    assert Scenario.load(tmp_path / "run.klab") == scenario != lab03()
