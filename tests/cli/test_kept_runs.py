"""A search that was interrupted goes on from the runs that its file has, and ends as if it had never stopped."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.kept_runs import KeptRuns, _content, key_of
from kafkalab.cli.main import main
from kafkalab.cli.notebook_search import explore
from kafkalab.explore.experiment import Job, attempt
from kafkalab.explore.result import Coverage
from kafkalab.explore.search import explore as search
from kafkalab.faults.frame import Drop
from kafkalab.protocol import rules
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario

PROGRAM = Program("p", "operations", {"steps": [["send", "out", "x"], ["flush"]]})
ONE = Scenario(title="one record", topics={"out": 1}, programs=(PROGRAM,))


def interrupt(covered: Coverage) -> str:
    if covered.runs >= 12:
        raise KeyboardInterrupt
    return ""


def test_an_interrupted_search_goes_on_and_ends_as_one_that_was_not(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    first = explore(ONE, most_faults=1, kinds=("drop", "duplicate"), keep=file, stop=interrupt)
    assert (first.verdict, first.stopped, first.covered.runs) == ("unknown", "it was interrupted", 12)
    made: list[int] = []

    def attempt_and_count(make: object, jobs: list[Job]) -> list[object]:
        made.append(len(jobs))
        return [attempt(job) for job in jobs]

    with closing(KeptRuns(file)) as kept:
        mapper = kept.around(attempt_and_count)  # type: ignore[arg-type]
        again = search(ONE, most_faults=1, kinds=("drop", "duplicate"), mapper=mapper)
    whole = search(ONE, most_faults=1, kinds=("drop", "duplicate"))
    assert str(again) == str(whole)
    assert (kept.taken, sum(made)) == (12, whole.covered.runs - 12)


def test_what_a_run_showed_is_read_back_as_it_was(tmp_path: Path) -> None:
    off = (rules.DEDUPLICATION.name,)
    job = Job(scenario=replace(ONE, rules_off=off), find=("duplicate",), kinds=("drop", "crash"))
    with closing(KeptRuns(tmp_path / "runs.sqlite")) as kept:
        for one in (job, replace(job, sequences=(next(m for m in attempt(job).follow if m.kind == "drop"),))):
            trial = attempt(one)
            kept.keep(key_of(one), trial)
            assert kept.find_trial(key_of(one)) == trial
        assert len(kept) == 2


def test_another_scenario_seed_or_fault_is_another_run() -> None:
    job = Job(scenario=ONE, find=("duplicate",))
    others = [ONE.with_seed(2), ONE.with_faults(Drop("Produce#1")), replace(ONE, rules_off=(rules.SEQUENCE_GAPS.name,))]
    keys = [key_of(job), *(key_of(replace(job, scenario=one)) for one in others), key_of(replace(job, read=True))]
    assert len(dict.fromkeys(keys)) == 5


KEPT: list[object] = []
NESTED = """
async def nested(app):
    def within(x):
        return x[1:2] if x in {"a", "b", "c", "d"} else 2.0
    KEPT.append(within)
"""


def run_program(source: str) -> Any:
    """The program of a source, compiled without what this file imports from the future."""
    namespace: dict[str, Any] = {"KEPT": KEPT}
    exec(compile(source, "a program", "exec", dont_inherit=True), namespace)
    return namespace["nested"]


def test_the_key_of_a_program_is_the_same_after_it_ran_and_in_another_process() -> None:
    program = run_program(NESTED)
    before = json.dumps(_content(program.__code__))
    with suppress(StopIteration):
        program(None).send(None)
    assert KEPT
    assert json.dumps(_content(program.__code__)) == before
    ask = f"""import json
from kafkalab.cli.kept_runs import _content
exec({NESTED!r})
print(json.dumps(_content(nested.__code__)))"""
    for seed in ("1", "2"):
        other = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", ask], env=other, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == before
    for old, new in (("2.0", "2"), ("[1:2]", "[1:3]"), ('"d"}', '"e"}'), ("(x)", "(x, y=1)"), ("KEPT", "MORE")):
        assert json.dumps(_content(run_program(NESTED.replace(old, new)).__code__)) != before


async def of_a_notebook(app: App) -> None:
    """Do nothing."""
    await app.sleep(1)


def test_a_program_that_is_not_registered_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be saved: register it with @program"):
        explore(of_a_notebook, most_faults=1, keep=tmp_path / "runs.sqlite")


class Counted(sqlite3.Connection):
    """A connection that counts how many of its kind are open."""

    open = 0

    def __init__(self, *words: object, **named: object) -> None:
        super().__init__(*words, **named)  # type: ignore[arg-type]
        Counted.open += 1

    def close(self) -> None:
        super().close()
        Counted.open -= 1


def test_a_file_of_something_else_is_refused_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Counted))
    ONE.save(tmp_path / "one.klab")
    with pytest.raises(ValueError, match=r"one.klab' cannot keep runs: file is not a database"):
        explore(ONE, keep=tmp_path / "one.klab")
    assert Counted.open == 0
    KeptRuns(tmp_path / "runs.sqlite").close()
    assert Counted.open == 0


def test_the_command_keeps_its_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ONE.save(tmp_path / "one.klab")
    file = str(tmp_path / "runs.sqlite")
    asked = ["explore", str(tmp_path / "one.klab"), "--kind", "drop", "--faults", "1", "--keep", file]
    assert main([*asked, "--runs", "5"], tmp_path) == 1
    assert "the budget of 5 runs was used up" in capsys.readouterr().out
    with closing(KeptRuns(file)) as kept:
        assert len(kept) >= 5
    assert main(asked, tmp_path) == 1
    assert capsys.readouterr().out.startswith("none: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"seconds": -1}, "seconds is a number from 0 on, not -1"), ({"jobs": 0}, "jobs is a number from 1 on, not 0")],
)
def test_a_wrong_budget_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explore(ONE, **change)


def test_the_time_ends_a_search() -> None:
    found = explore(ONE, most_faults=2, seconds=0.01)
    assert (found.verdict, found.stopped) == ("unknown", "0.01 s were over")


def test_a_notebook_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display
    from ipywidgets import VBox

    shown: list[VBox] = []
    texts: list[str] = []
    monkeypatch.setattr(IPython.display, "display", shown.append)

    def stop(covered: Coverage) -> str:
        texts.append(shown[0].children[1].value)
        return "enough" if covered.runs >= 3 else ""

    found = explore(ONE, most_faults=1, progress=True, stop=stop)
    assert found.stopped == "enough"
    assert texts[0].startswith("runs 1 of 2,000, distinct futures 1, now sets of 0. ■ in the toolbar stops the search")
    assert shown[0].comm is None  # closed: a saved notebook has no bar that never moves
