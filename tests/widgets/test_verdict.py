"""The verdict on a run that is shown: what the checks find, with steps of that run, and the way there."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab00, lab03, lab06
from kafkalab.checks.all import CHECKS, check_all
from kafkalab.history.export import history_of
from kafkalab.programs.transfers import kafka_17754, read_to_the_end
from kafkalab.protocol.rules import DEDUPLICATION, REDRIVE_PREPARE
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.verdict import Verdict

DATA = Path(__file__).parents[2] / "data"


def load_duplicate() -> Scenario:
    return replace(Scenario.load(DATA / "rules" / "deduplication.klab"), rules_off=(DEDUPLICATION.name,))


def test_a_clean_run_has_exactly_once_effects_and_is_not_changed_by_looking() -> None:
    verdict = Verdict(lab03())
    before = verdict.cluster.trace.digest()
    assert verdict.text().splitlines()[:2] == [
        "Verdict on run 0: ok; exactly-once: ok",
        "Exactly-once effects: each of 2 inputs whose fate is certain has one.",
    ]
    assert verdict.cluster.trace.digest() == before
    assert verdict.findings() == []
    assert len(verdict.report["results"]) == len(CHECKS)


@pytest.mark.parametrize("scenario", [load_duplicate(), kafka_17754()], ids=["duplicated", "torn"])
def test_the_findings_are_those_of_all_checks_on_a_run_read_to_its_end(scenario: Scenario) -> None:
    verdict = Verdict(scenario)
    cluster = Cluster(scenario)
    cluster.run()
    last = cluster.trace.steps - 1
    read_to_the_end(cluster)
    report = check_all(history_of(cluster))
    assert {r["name"]: r["verdict"] for r in verdict.report["results"]} == {r.name: r.verdict for r in report.results}
    assert sorted(f["text"] for f in verdict.findings()) == sorted(f.text for f in report.findings)
    assert all(0 <= f["step"] <= last for f in verdict.findings())
    assert verdict.report["verdict"] == ("violated" if report.violated else "ok")


def test_a_press_on_a_finding_goes_to_the_step_that_proves_it() -> None:
    verdict = Verdict(load_duplicate())
    finding = verdict.findings()[0]
    assert (finding["name"], finding["policy"]) == ("duplicate", "forbidden")
    verdict.press("finding", "0")
    event = verdict.payload["events"][verdict.step]
    assert (verdict.step, event["kind"], event["name"]) == (finding["step"], "append", "out-0")
    for wrong in ("7", "first", ""):
        with pytest.raises(ValueError, match=f"no finding {wrong!r}; there are 0 to 1"):
            verdict.press("finding", wrong)
    with pytest.raises(ValueError, match="nothing was found in this run"):
        Verdict(lab03()).press("finding", "0")


def test_the_verdict_follows_the_run_that_is_shown() -> None:
    journey = Journey(lab03())
    verdict = Verdict(journey)
    assert verdict.report["verdict"] == "ok"
    journey.step = journey.payload["frames"]["EndTxn#1"]["received"]
    journey.press("rule_off", REDRIVE_PREPARE.name) if not journey.possible("rule_off", REDRIVE_PREPARE.name) else None
    journey.press("drop", "EndTxnResponse#1")
    assert verdict.report["place"] == journey.place
    journey.press("undo")
    assert verdict.report["place"] == journey.place


def test_a_run_without_an_end_is_judged_by_what_was_read_in_it() -> None:
    journey = Journey(lab03(), step=60)
    journey.press("pause", "app")
    verdict = Verdict(journey)
    assert verdict.report["verdict"] == "unknown"
    assert "Exactly-once was not checked: no record says what it was made from" in verdict.text()


def test_inputs_with_two_effects_are_counted_though_kafka_allows_them() -> None:
    verdict = Verdict(lab06(first=None, second=None))
    head, sentence, *lines = verdict.text().splitlines()
    assert head == "Verdict on run 0: ok; exactly-once: not promised"
    assert sentence == (
        "No promise is broken. Found, and allowed: duplicate. Effects of 3 inputs whose fate is certain: 3 with more "
        "than one. Kafka promises exactly one only if all offsets are committed in transactions."
    )
    assert any(line.startswith("– exactly-once (allowed)") for line in lines)


def test_the_first_line_says_first_whether_a_promise_is_broken() -> None:
    assert Verdict(lab00()).report["sentence"].startswith("No promise is broken. Exactly-once was not checked")
    assert Verdict(load_duplicate()).report["sentence"].startswith("A promise is broken: duplicate")


def test_the_picture_has_the_sign_and_the_sentence() -> None:
    svg = Verdict(load_duplicate()).svg()
    assert ET.fromstring(svg).tag.endswith("svg")
    assert "✕ violated" in svg
    assert "var(" not in svg
