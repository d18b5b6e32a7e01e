"""A capture is judged as `kafkalab audit` judges it: the same anomalies and sentences; or it names the audit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kafkalab.checks.from_a_log import COMPLETE
from kafkalab.cli.main import main
from kafkalab.diagnose import captured
from kafkalab.diagnose.finding import CERTAIN, UNKNOWN, Finding
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.nearest.known import known_runs, open_run
from kafkalab.diagnose.reading import read_files
from kafkalab.history.export import history_of
from kafkalab.history.schema import columns_of
from kafkalab.saved_data import CAPTURE
from kafkalab.sim.cluster import ran
from kafkalab.spark.storage.chunks import write_chunk, write_index

OF_A_CAPTURE = ("log", "transactions", "watermarks", "labels")


@pytest.fixture(scope="module", params=["KAFKA-14402", "KAFKA-16352"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder as a capture writes it, of a run in which a transaction hangs, or a decision has no marker."""
    folder = tmp_path_factory.mktemp("captured") / "night"
    known = next(one for one in known_runs() if one.name == request.param)
    history = history_of(ran(open_run(known).scenario))
    tables = {
        name: {column.name: [getattr(row, column.name) for row in history.table(name)] for column in columns_of(name)}
        for name in OF_A_CAPTURE
    }
    write_chunk(folder, 0, tables, 1)
    write_index(folder, 1)
    producers = {"out-0": [{"producer_id": 1, "producer_epoch": 0, "current_txn_start_offset": 2}]}
    (folder / CAPTURE).write_text(json.dumps({"known": COMPLETE, "partitions": {}, "producers": producers}))
    return folder


def by_anomaly(findings: list[Finding]) -> dict[str, list[str]]:
    """Return the sentences of each anomaly that was found."""
    own = [one for one in findings if one.mechanism.startswith("anomaly_")]
    return {one.mechanism.removeprefix("anomaly_"): [proof.source.text for proof in one.proofs] for one in own}


def test_a_capture_has_its_anomalies_and_is_never_called_right(capture: Path) -> None:
    found = judge(read_files([capture]))
    verdict = next(one for one in found if one.mechanism.startswith("run_"))
    assert "A capture cannot answer " in verdict.says
    assert not verdict.harmless
    assert verdict.ask == f"kafkalab audit {capture}"
    assert {one.certainty for one in found if one.mechanism.startswith("anomaly_")} <= {CERTAIN}
    assert any(one.where == "out-0" for one in found), "what brokers said of producers is read as well"
    assert len(by_anomaly(found)) == 1


@pytest.mark.spark
def test_the_audit_finds_the_same(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["audit", str(capture), "--quiet"])
    told = re.findall(r"^  run 0, ([^:]+): (.*)$", capsys.readouterr().out, re.M)
    audited: dict[str, list[str]] = {}
    for anomaly, text in told:
        audited.setdefault(anomaly, []).append(text)
    assert by_anomaly(judge(read_files([capture]))) == audited
    assert status == (1 if audited else 0)


def test_a_capture_that_is_too_large_names_the_audit(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "ROWS", 2)
    evidence = read_files([capture])
    assert (evidence.runs, evidence.captures) == ([], [str(capture)])


def test_a_damaged_capture_is_one_sentence(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in capture.rglob("*"):
        target = tmp_path / "night" / path.relative_to(capture)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            target.write_bytes(path.read_bytes() if path.suffix != ".parquet" else b"PAR1")
    assert main(["diagnose", "night"], tmp_path) == 2
    told = capsys.readouterr().err
    assert "is damaged" in told
    assert told.count("\n") == 1


def test_what_cannot_tell_is_unknown(capture: Path) -> None:
    run = captured.judge_capture(capture, "")
    assert run is not None
    assert run.verdict in ("violated", UNKNOWN)
