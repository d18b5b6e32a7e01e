"""Every audit equals its pure-Python check, finding by finding, on what the simulator makes; whatever the layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from kafkalab.checks.all import CHECKS, Report, check_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkalab.spark.audits.view import View
    from kafkalab.spark.frames import Histories

pytestmark = pytest.mark.spark

CHANCES = 130
Finding = tuple[int, str, str, tuple[str, ...], tuple[int, ...], tuple[int, ...], str]
NAMES = [check.name for check in CHECKS]
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Tables this small are not worth compiling for."""


@dataclass(frozen=True)
class Both:
    """The reports of the checks, and what audits derived from the same histories."""

    reports: list[Report]
    histories: Histories
    view: View

    def expected(self, name: str) -> Counter[Finding]:
        return Counter(
            (run, f.anomaly, f.policy, f.keys, f.offsets, f.steps, f.text)
            for run, report in enumerate(self.reports)
            for f in report[name].findings
        )

    def examined(self, name: str) -> dict[int, int]:
        found = {run: report[name].examined for run, report in enumerate(self.reports)}
        return {run: number for run, number in found.items() if number}


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield spark
    for name, given in before.items():
        spark.conf.set(name, given or "")


@pytest.fixture(scope="module")
def both(interpreted: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    from kafkalab.spark.audit import Store
    from kafkalab.spark.audits.view import View
    from kafkalab.spark.frames import Histories
    from tests.spark.audits.simulated import by_chance, stored

    made = stored() + by_chance(CHANCES)
    assert len(made) >= 200
    histories = Histories.of(interpreted, enumerate(made))
    store = Store(interpreted, tmp_path_factory.mktemp("scratch"))
    return Both([check_all(history) for history in made], histories, View(histories, store.keep))


def rows(found: DataFrame) -> Counter[Finding]:
    return Counter(
        (r.run, r.anomaly, r.policy, tuple(r["keys"]), tuple(r.offsets), tuple(r.steps), r.text)
        for r in found.collect()
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_audit_equals_its_check(both: Both, name: str) -> None:
    from kafkalab.spark.audits import BY_NAME

    audit = BY_NAME[name]
    assert rows(audit.offenders(both.view)) == both.expected(name)
    examined = {r.run: r.examined for r in audit.examined(both.view).collect() if r.examined}
    assert examined == both.examined(name)


def test_the_audits_are_the_checks_in_their_order() -> None:
    from kafkalab.spark.audits import AUDITS

    assert [(a.name, a.policy, a.meaning) for a in AUDITS] == [(c.name, c.policy, c.meaning) for c in CHECKS]


def test_what_is_allowed_is_there_and_never_a_violation(both: Both) -> None:
    always = {"G0", "int-send-skip", "partial visibility"}
    across = [f for f in both.expected("poll-skip") if f[2] == "allowed"]
    assert always <= {f.anomaly for report in both.reports for f in report.findings}
    assert {f.policy for report in both.reports for f in report.findings if f.anomaly in always} == {"allowed"}
    assert across
