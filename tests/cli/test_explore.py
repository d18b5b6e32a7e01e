"""`kafkalab explore`: the verdict in words and JSON, the scenario it saves, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalab.checks.all import check_all
from kafkalab.cli.main import main
from kafkalab.history.export import history_of
from kafkalab.protocol import rules
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario

OFF = rules.DEDUPLICATION.name


@pytest.fixture
def file(tmp_path: Path) -> str:
    program = Program("p", "operations", {"steps": [["send", "out", "x"], ["flush"]]})
    Scenario(title="one record", topics={"out": 1}, programs=(program,)).save(tmp_path / "one.klab")
    return str(tmp_path / "one.klab")


def test_what_is_found_is_explained_and_saved(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "found.klab")
    assert main(["explore", file, "--find", "duplicate", "--off", OFF, "--out", out], tmp_path) == 0
    said = capsys.readouterr().out
    assert said.startswith("found: duplicate with 1 fault: ")
    assert "(KIP-98) the same faults show no such anomaly" in said
    assert f"saved as {out}" in said
    assert "duplicate" in check_all(history_of(ran(Scenario.load(out)))).violated


def test_nothing_found_is_a_bound_and_a_status_of_its_own(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["explore", file, "--find", "duplicate", "--faults", "1", "--kind", "drop", "--json"]
    assert main(asked, tmp_path) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["size"]) == ("none", -1)


def test_two_processes_say_the_same_as_one(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for jobs in ("1", "2"):
        asked = ["explore", file, "--find", "duplicate", "--off", OFF, "--jobs", jobs]
        assert main(asked, tmp_path) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--find", "duplicates"], "did you mean 'duplicate'?"),
        (["--off", "dedup"], "no rule 'dedup'"),
        (["--kind", "dorp"], "no kind of fault is called 'dorp'"),
        (["--faults", "ten"], "a number from 0 on"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], message: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", file, *words], tmp_path) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
