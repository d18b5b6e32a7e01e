"""The report as text, JSON and a page, the command line, saved scenarios and captures."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from kafkalab.checks.all import check_all
from kafkalab.checks.check import FORBIDDEN
from kafkalab.cli.main import main
from kafkalab.diagnose.finding import PROOFS
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.log_picture import SHOWN, boxes_of
from kafkalab.diagnose.page import page_of
from kafkalab.diagnose.reading import read_files
from kafkalab.diagnose.report import as_text
from kafkalab.history.export import history_of
from kafkalab.run.again import read_again
from kafkalab.run.source import run_of
from kafkalab.saved_data import CAPTURE
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from tests.diagnose.conftest import read_texts
from tests.diagnose.test_hanging import ABORT, DUMP, HANGING


def test_the_text_has_the_finding_its_lines_and_the_command() -> None:
    evidence = read_texts(HANGING, DUMP)
    shown = as_text(evidence, judge(evidence))
    assert shown.startswith("CERTAIN: The transaction of producer 9, epoch 4 is open in out-3 since offset 12")
    assert f"\n  end it: {ABORT}\n" in shown
    assert "\n  1:2  find-hanging" in shown
    assert "\n2: 8 lines, 8 with facts, 0 of a known form, 0 unknown" in shown


def test_the_page_escapes_what_is_quoted_and_links_to_nothing() -> None:
    evidence = read_texts("<script>alert(1)</script>", HANGING, DUMP)
    shown = page_of(evidence, judge(evidence))
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert re.findall(r'(?:href|src)="', shown) == []
    assert "readers wait at 12" in shown
    assert "<code>find-hanging</code>" in shown
    assert "`" not in shown.partition('srcdoc="')[0]
    assert 'text-anchor="middle"' in shown


def test_the_picture_has_transactions_markers_and_what_is_open() -> None:
    boxes = boxes_of(read_texts(DUMP).views["out-3"])
    assert [(box.first, box.text, box.kind) for box in boxes] == [
        (10, "p9 e4", "ABORT"),
        (11, "ABORT", "ABORT"),
        (12, "p9 e4", "open"),
    ]
    assert len(boxes) <= SHOWN


def test_the_command_prints_json_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "terminal.txt").write_text(HANGING)
    (tmp_path / "out-3.txt").write_text(DUMP)
    assert main(["diagnose", ".", "--json", "--page", "out.html"], tmp_path) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["mechanism"], one["certainty"], one["act"]) for one in found["findings"]] == [
        ("hanging", "certain", ABORT)
    ]
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")


def test_what_is_pasted_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(HANGING.encode())))
    assert main(["diagnose", "-"], tmp_path) == 0
    assert f"  end it: {ABORT}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nothing.txt"], "nothing.txt'"),
        (["--page", "x.txt", "."], "a page's name ends with .html"),
        (["--json"], "PATH"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", *words], tmp_path) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1


def test_a_saved_scenario_is_run_and_judged(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(root / "data" / "lab03_answer_lost.klab")], root) == 0
    assert "HARMLESS, CERTAIN: The saved run: Exactly-once effects" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["torn_for_real", "hanging_transaction"])
def test_a_saved_scenario_has_the_findings_of_the_checks_each_anomaly_by_itself(name: str, root: Path) -> None:
    scenario = Scenario.load(root / "data" / f"{name}.klab")
    report = check_all(history_of(read_again(run_of(ran(scenario)))))
    found = judge(read_files([root / "data" / f"{name}.klab"]))
    expected = {one.name: [each.text for each in one.findings if each.policy == FORBIDDEN] for one in report.results}
    told = {one.mechanism.removeprefix("anomaly_"): one for one in found if one.mechanism.startswith("anomaly_")}
    assert set(told) == {name for name, texts in expected.items() if texts} != set()
    assert {anomaly: [proof.source.text for proof in one.proofs] for anomaly, one in told.items()} == {
        anomaly: expected[anomaly][:PROOFS] for anomaly in told
    }


def test_a_file_that_is_no_scenario_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.klab").write_text("{")
    assert main(["diagnose", "x.klab"], tmp_path) == 0
    assert "1 unknown" in capsys.readouterr().out


def test_a_capture_tells_what_brokers_said_of_producers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"producer_id": 7, "producer_epoch": 3, "current_txn_start_offset": 12}, {"producer_id": "x"}, 5]
    (tmp_path / CAPTURE).write_text(json.dumps({"producers": {"out-1": rows, "out-2": None}}))
    assert main(["diagnose", "."], tmp_path) == 0
    told = capsys.readouterr().out
    assert "UNKNOWN: A transaction of producer 7, epoch 3 is open in out-1 since offset 12" in told
    assert "kafkalab audit" in told
    (tmp_path / CAPTURE).write_text("[]")
    assert main(["diagnose", "."], tmp_path) == 2
