"""audit(): equal to the pure-Python checks finding by finding, and to the labels of what was injected; nothing else.

One audit by the key pass looks at everything at once: each history is a run of its own. The other way equals it.
"""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkalab.checks.all import BY_NAME, CHECKS, Report, check_all
from kafkalab.checks.check import FORBIDDEN, OK, UNKNOWN, VIOLATED
from kafkalab.history.history import History
from kafkalab.protocol.rules import ABORTED_FILTER, DEDUPLICATION
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from tests.checks import equal_records
from tests.checks.needs_page import without
from tests.spark.audits.mutants import mutant
from tests.spark.audits.simulated import by_chance, by_hand, simulate_stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkalab.spark.audits.summary import Summary
    from kafkalab.spark.storage.frames import Histories

pytestmark = pytest.mark.spark

Finding = tuple[int, str, str, tuple[str, ...], tuple[int, ...], tuple[int, ...], str]
ALL = [check.name for check in CHECKS]
CHANCES, MUTANTS = 70, 100
ONE_IN = 6
"""One in so many of the simulator's histories is audited again in another way or order; so is what was injected."""
INJECTED, CLEAN = 90_001, 90_002


@dataclass(frozen=True)
class Everything:
    """The histories, what the checks say of those of the simulator, the labels of the synthetic one, one audit."""

    histories: Histories
    files: Path
    reports: dict[int, Report]
    truth: list[Any]
    summary: Summary
    findings: list[Finding]
    examined: dict[tuple[int, str], int]


def plain(frame: DataFrame) -> list[Finding]:
    return [tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in frame.collect()]  # type: ignore[misc]


def examined_of(summary: Summary) -> dict[tuple[int, str], int]:
    return {(row.run, row.anomaly): row.examined for row in summary.examined.collect() if row.examined}


def both(one: Histories, *others: Histories) -> Histories:
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.schemas import TABLES

    tables = {name: one.table(name) for name in TABLES}
    for other in others:
        tables = {name: tables[name].unionByName(other.table(name)) for name in TABLES}
    return Histories(**tables)


def some(whole: Histories) -> Histories:
    """One history in ONE_IN, and the synthetic one with anomalies."""
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.schemas import TABLES

    return Histories(**{name: whole.table(name).where(f"run % {ONE_IN} = 0 OR run = {INJECTED}") for name in TABLES})


def is_of_some(run: int) -> bool:
    return run == INJECTED or (run < INJECTED and run % ONE_IN == 0)


@pytest.fixture(scope="module")
def everything(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Everything:
    from kafkalab.spark.audits.audit import SIMPLE_PLANS, audit, use_settings
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.history_files import read_histories, write_histories
    from kafkalab.spark.synthetic.generator import synthetic
    from kafkalab.spark.synthetic.injected_anomalies import SCENES

    real = by_hand() + simulate_stored() + equal_records.histories() + by_chance(CHANCES)
    made = [*real, *(mutant(history, seed) for seed, history in enumerate(real[-MUTANTS:]))]
    assert len(real) >= 200
    injected = synthetic(spark, records=10_000, inject=dict.fromkeys(SCENES, 1e-3), seed=INJECTED)
    clean = synthetic(spark, records=10_000, seed=CLEAN)
    files = tmp_path_factory.mktemp("everything") / "histories"
    with use_settings(spark, SIMPLE_PLANS):  # once: each test would make them again
        write_histories(both(Histories.of(spark, list(enumerate(made))), injected, clean), files, buckets=3)
    histories, scratch = read_histories(spark, files), tmp_path_factory.mktemp("scratch")
    summary = audit(histories, progress=False, files=files, way="key pass", scratch=scratch)
    assert list(scratch.iterdir())
    assert not list(scratch.glob("*/histories")), "histories that are files are written again"
    return Everything(
        histories,
        files,
        {run: check_all(history) for run, history in enumerate(made)},
        injected.truth.collect(),
        summary,
        plain(summary.findings),
        examined_of(summary),
    )


@pytest.mark.smoke
@pytest.mark.parametrize("name", ALL)
def test_an_audit_equals_its_check_on_every_history(everything: Everything, name: str) -> None:
    wanted = Counter(
        (run, f.anomaly, f.policy, f.keys, f.offsets, f.steps, f.text)
        for run, report in everything.reports.items()
        for f in report[name].findings
    )
    found = Counter(row for row in everything.findings if row[1] == name and row[0] < INJECTED)
    assert found == wanted
    examined = {run: n for (run, anomaly), n in everything.examined.items() if anomaly == name and run < INJECTED}
    assert examined == {run: r[name].examined for run, r in everything.reports.items() if r[name].examined}


@pytest.mark.smoke
def test_every_injected_anomaly_is_found_and_nothing_else(everything: Everything) -> None:
    truth = Counter(
        (r.anomaly, r.policy, tuple(r["keys"]), tuple(r.offsets), tuple(r.steps)) for r in everything.truth
    )
    found = Counter(row[1:6] for row in everything.findings if row[0] == INJECTED)
    assert {row[0] for row in truth} == set(ALL)
    assert found == truth


@pytest.mark.smoke
def test_a_clean_history_has_no_finding_and_everything_was_looked_at(everything: Everything) -> None:
    assert [row for row in everything.findings if row[0] == CLEAN] == []
    assert {name for run, name in everything.examined if run == CLEAN} == set(ALL)


@pytest.mark.smoke
def test_what_is_allowed_is_reported_and_violates_nothing(everything: Everything) -> None:
    rows = {row.anomaly: row for row in everything.summary.rows}
    for name in ("G0", "int-send-skip", "partial visibility", "unseen"):
        assert rows[name].verdict == OK
        assert rows[name].found
        assert FORBIDDEN not in dict(rows[name].findings)
    assert dict(rows["poll-skip"].findings)["allowed"]
    assert len(everything.summary.violated) == len(CHECKS) - 4


def test_the_summary_can_be_read_as_a_table_as_text_and_as_a_picture(everything: Everything) -> None:
    summary = everything.summary
    assert list(summary.table["anomaly"]) == ALL
    assert summary.verdicts["duplicate"] == VIOLATED
    assert "duplicate" in str(summary)
    assert f"{len(CHECKS) - 4} violated" in summary.words
    picture = ET.fromstring(summary.svg())
    assert summary.words in "".join(picture.itertext())
    assert "currentColor" not in summary.svg()
    assert set(summary._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


@pytest.fixture(scope="module")
def again(everything: Everything) -> Summary:
    """Some of it audited in another order, by three tasks a stage, from files with as many buckets as are usual.

    `everything` was audited in the order in which it was made, by one task a stage, from files with three buckets.
    """
    from pyspark.sql import functions as F

    from kafkalab.spark.audits import audit
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.schemas import TABLES

    histories = some(everything.histories)
    shuffled = {name: histories.table(name).orderBy(F.rand(7)).repartition(3) for name in TABLES}
    with pytest.MonkeyPatch.context() as patch:
        for number in ("spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"):
            assert audit.SIMPLE_PLANS[number] == "1"
            patch.setitem(audit.SIMPLE_PLANS, number, "3")
        return audit.audit(Histories(**shuffled), progress=False, way="key pass")


def test_the_order_of_rows_the_number_of_partitions_and_of_buckets_change_nothing(
    everything: Everything, again: Summary
) -> None:
    assert Counter(plain(again.findings)) == Counter(row for row in everything.findings if is_of_some(row[0]))
    assert examined_of(again) == {at: n for at, n in everything.examined.items() if is_of_some(at[0])}


def test_the_checks_in_tasks_find_the_same(everything: Everything, again: Summary) -> None:
    from kafkalab.spark.audits.audit import audit

    checked = audit(some(everything.histories), progress=False)
    assert checked.way == "checks"
    assert "Python checks" in str(checked)
    assert Counter(plain(checked.findings)) == Counter(row for row in everything.findings if is_of_some(row[0]))
    assert examined_of(checked) == {at: n for at, n in everything.examined.items() if is_of_some(at[0])}
    assert checked.rows == again.rows


def test_the_checks_read_the_files_of_histories_and_find_the_same(everything: Everything) -> None:
    from kafkalab.spark.audits.audit import audit

    checked = audit(everything.histories, progress=False, files=everything.files, way="checks")
    assert Counter(plain(checked.findings)) == Counter(everything.findings)
    assert examined_of(checked) == everything.examined


def test_simulations_are_audited_as_other_histories_are(spark: SparkSession) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.simulation.frames import simulate_histories

    runs = Runs.of("1-3", rules_off=f"{DEDUPLICATION.name}; {ABORTED_FILTER.name}")
    summary = audit(simulate_histories(spark, "1-3", rules_off="; ".join(runs.rules_off)), progress=False)
    reports = {seed: check_all(history_of_seed(runs, seed)) for seed in (1, 2, 3)}
    assert summary.way == "checks"
    assert Counter(plain(summary.findings)) == Counter(
        (run, f.anomaly, f.policy, f.keys, f.offsets, f.steps, f.text)
        for run, report in reports.items()
        for f in report.findings
    )
    wanted = {(run, r.name): r.examined for run, report in reports.items() for r in report.results if r.examined}
    assert examined_of(summary) == wanted


def test_of_an_empty_history_nothing_is_known(spark: SparkSession) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.storage.frames import Histories

    names = ("G1a", "duplicate", "poll-skip", "LSO regression", "decision without marker")
    for way in ("checks", "key pass"):
        empty = audit(Histories.of(spark, [(0, History())]), only=names, progress=False, way=way)
        assert empty.verdicts == dict.fromkeys(names, UNKNOWN)
        assert "5 unknown" in empty.words


def test_an_audit_for_which_the_machine_has_too_little_memory_is_refused(
    everything: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkalab.spark.audits import memory
    from kafkalab.spark.audits.audit import audit

    monkeypatch.setattr(memory, "free_mb", lambda: 200)
    for of in ("partitions", "producers"):
        with pytest.raises(ValueError, match=f"for the largest {of}, and this machine has 200 MB free"):
            audit(everything.histories, progress=False, files=everything.files, way="key pass")
        monkeypatch.setattr("kafkalab.spark.audits.audit.bucket_mb", lambda rows: rows // 10**9)


def test_an_unknown_audit_is_refused_with_the_names_that_there_are(everything: Everything) -> None:
    from kafkalab.spark.audits.audit import audit

    with pytest.raises(ValueError, match="no audit 'torn'; there are inconsistent-offsets, G1a"):
        audit(everything.histories, only=["torn"])
    with pytest.raises(ValueError, match="no audit was named"):
        audit(everything.histories, only=[])
    with pytest.raises(ValueError, match="no way 'magic'; there are checks, key pass"):
        audit(everything.histories, way="magic")


def test_an_audit_of_a_history_without_a_table_that_it_needs_is_unknown_and_names_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.audits.summary import WAYS
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.history_files import write_histories

    made = [equal_records.histories()[0], without(simulate_stored()[0], "operations")]
    histories = Histories.of(spark, list(enumerate(made)))
    write_histories(histories, tmp_path / "h")
    for way, files in itertools.product(WAYS, (None, tmp_path / "h")):
        summary = audit(histories, progress=False, way=way, files=files)
        reports = [check_all(history) for history in made]
        for row in summary.rows:
            lacks = "operations" in BY_NAME[row.anomaly].needs
            assert row.missing == (("operations",) if lacks else ())
            assert row.examined == sum(report[row.anomaly].examined for report in reports)
            assert not lacks or row.verdict in (UNKNOWN, VIOLATED)
        assert "duplicate: a history lacks operations" in str(summary).splitlines()


def test_progress_is_told_and_the_scratch_goes_with_the_summary(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.storage.frames import Histories

    one = audit(Histories.of(spark, [(0, History())]), only="LSO regression", scratch=tmp_path)
    assert "1 audit in" in capsys.readouterr().err
    assert one.findings.count() == 0
    assert list(tmp_path.iterdir())
    del one
    assert list(tmp_path.iterdir()) == []


def test_the_settings_of_the_session_are_put_back(spark: SparkSession, everything: Everything) -> None:
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "true"


def test_every_anomaly_is_found_in_one_place_and_one_can_be_asked_alone(everything: Everything) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.client_pass.client_pass import NAMES
    from kafkalab.spark.per_key_audits.bucket import ONE_KEY

    found = [*ONE_KEY, *(name for name in NAMES if name != "G1a")]
    assert sorted(found) == sorted(ALL)
    alone = audit(
        everything.histories, only="LSO regression", progress=False, way="key pass", files=everything.files
    )
    assert Counter(plain(alone.findings)) == Counter(row for row in everything.findings if row[1] == "LSO regression")


def test_histories_in_memory_are_written_to_the_scratch_and_go_with_the_summary(
    spark: SparkSession, tmp_path: Path
) -> None:
    from kafkalab.spark.audits.audit import audit
    from kafkalab.spark.storage.frames import Histories

    histories = Histories.of(spark, [(0, History())])
    one = audit(histories, only="duplicate", progress=False, scratch=tmp_path, way="key pass")
    assert list(tmp_path.glob("*/histories/history.json"))
    del one
    assert list(tmp_path.iterdir()) == []
