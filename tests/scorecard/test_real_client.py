"""One cell with a released client: a late offset commit makes librdkafka's application handle two inputs twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.checks.all import check_all
from kafkalab.history.export import history_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from tests.scorecard.cells import DUPLICATES, KEEPS, Setting
from tests.scorecard.engine import fill

LATE = "Late:rdkafka:TxnOffsetCommit#1:rdkafka:EndTxn#2"


@pytest.mark.clients
@pytest.mark.smoke
def test_a_late_offset_commit_duplicates_inputs_and_its_run_shows_why(tmp_path: Path) -> None:
    row = fill(Setting("confluent-kafka"), LATE, tmp_path)
    assert (row.cell, row.note, row.runs) == (DUPLICATES, "duplicated: 3, 4", 1)
    assert "arrived after it, in the next transaction" in row.causes[0]
    cluster = Cluster(Scenario.load(tmp_path / row.file))
    cluster.run()
    assert "torn transaction" in check_all(history_of(cluster)).violated


@pytest.mark.clients
def test_without_a_fault_the_client_keeps(tmp_path: Path) -> None:
    assert fill(Setting("confluent-kafka"), "", tmp_path).cell == KEEPS
