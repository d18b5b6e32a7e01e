"""audit(): what was planted is found and nothing else, whatever the layout; clean is ok, empty is unknown."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafkalab.checks.all import CHECKS
from kafkalab.history import History

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafkalab.spark.frames import Histories
    from kafkalab.spark.summary import Summary
    from kafkalab.spark.synthetic import Synthetic

pytestmark = pytest.mark.spark

Found = tuple[str, str, tuple[str, ...], tuple[int, ...], tuple[int, ...] | None]


@pytest.fixture(scope="module")
def planted(spark: SparkSession) -> Synthetic:
    from kafkalab.spark.planted import PLANTS
    from kafkalab.spark.synthetic import synthetic

    return synthetic(spark, records=10_000, plant=dict.fromkeys(PLANTS, 1e-3), seed=3)


@pytest.fixture(scope="module")
def summary(planted: Synthetic) -> Summary:
    from kafkalab.spark.audit import audit

    return audit(planted, progress=False)


def labels(truth: DataFrame) -> Counter[Found]:
    return Counter(
        (r.anomaly, r.policy, tuple(r["keys"]), tuple(r.offsets), None if r.steps is None else tuple(r.steps))
        for r in truth.collect()
    )


def found(findings: DataFrame, truth: Counter[Found]) -> Counter[Found]:
    """Without steps where the truth has none."""
    without = {row[:4] for row in truth if row[4] is None}
    rows = [(r.anomaly, r.policy, tuple(r["keys"]), tuple(r.offsets), tuple(r.steps)) for r in findings.collect()]
    return Counter((*row[:4], None) if row[:4] in without else row for row in rows)


def test_every_planted_anomaly_is_found_and_nothing_else(planted: Synthetic, summary: Summary) -> None:
    truth = labels(planted.truth)
    assert {row[0] for row in truth} == {check.name for check in CHECKS}
    assert found(summary.findings, truth) == truth


def test_the_allowed_is_reported_and_violates_nothing(summary: Summary) -> None:
    rows = {row.anomaly: row for row in summary.rows}
    for name in ("G0", "int-send-skip", "partial visibility", "unseen"):
        assert rows[name].verdict == "ok"
        assert dict(rows[name].findings).keys() <= {"allowed", "reported"}
        assert rows[name].found
    assert dict(rows["poll-skip"].findings)["allowed"]
    assert len(summary.violated) == len(CHECKS) - 4


def test_the_summary_can_be_read_as_a_table_as_text_and_as_a_picture(summary: Summary) -> None:
    assert list(summary.table["anomaly"]) == [check.name for check in CHECKS]
    assert summary.verdicts["duplicate"] == "violated"
    assert "duplicate" in str(summary)
    assert "21 violated" in summary.words
    picture = ET.fromstring(summary.svg())
    assert summary.words in "".join(picture.itertext())
    assert "currentColor" not in summary.svg()
    assert set(summary._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_the_order_of_rows_and_the_number_of_partitions_change_nothing(planted: Synthetic, summary: Summary) -> None:
    from pyspark.sql import functions as F

    from kafkalab.spark.audit import audit
    from kafkalab.spark.frames import Histories
    from kafkalab.spark.schemas import TABLES

    expected = Counter(map(tuple, map(plain, summary.findings.collect())))
    for partitions in (1, 8):
        tables = {name: planted.table(name).orderBy(F.rand(7)).repartition(partitions) for name in TABLES}
        again = audit(Histories(**tables), progress=False)
        assert Counter(map(plain, again.findings.collect())) == expected
        assert again.rows == summary.rows


def plain(row: object) -> tuple[object, ...]:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)  # type: ignore[attr-defined]


def test_a_clean_history_has_no_finding_and_all_verdicts_are_ok(spark: SparkSession) -> None:
    from kafkalab.spark.audit import audit
    from kafkalab.spark.synthetic import synthetic

    clean = audit(synthetic(spark, records=10_000, seed=2), progress=False)
    assert clean.findings.count() == 0
    assert set(clean.verdicts.values()) == {"ok"}


def test_of_an_empty_history_nothing_is_known(spark: SparkSession) -> None:
    from kafkalab.spark.audit import audit
    from kafkalab.spark.frames import Histories

    empty = audit(Histories.of(spark, [(0, History())]), progress=False)
    assert set(empty.verdicts.values()) == {"unknown"}
    assert "25 unknown" in empty.words


def test_only_some_audits_can_be_asked_for(planted: Histories) -> None:
    from kafkalab.spark.audit import audit

    one = audit(planted, only="LSO regression", progress=False)
    assert one.verdicts == {"LSO regression": "violated"}
    with pytest.raises(ValueError, match="no audit 'torn'; there are inconsistent-offsets, G1a"):
        audit(planted, only=["torn"])
    with pytest.raises(ValueError, match="no audit was named"):
        audit(planted, only=[])


def test_progress_is_told_and_the_scratch_goes_with_the_summary(
    planted: Histories, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    from pathlib import Path

    from kafkalab.spark.audit import audit

    assert isinstance(tmp_path, Path)
    one = audit(planted, only="LSO regression", scratch=tmp_path)
    assert "audits of logs" in capsys.readouterr().err
    assert one.findings.count() > 0
    assert list(tmp_path.iterdir())
    del one
    assert not list(tmp_path.iterdir())


def test_rows_of_a_summary_do_not_change(summary: Summary) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        summary.rows[0].verdict = "ok"  # type: ignore[misc]
