"""The run of a wrong answer is shown below the check, at the step that decides; a long check says how far it is."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.grading import progress, progress_line
from kafkalab.grading.builder import FIGURE, execute
from kafkalab.grading.check import check, counterexample
from kafkalab.grading.counterexamples import deciding_step, picture, shown_below
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.tables import Table
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario


def test_without_a_notebook_nothing_is_shown() -> None:
    assert not shown_below(lab03())


def test_the_step_that_decides_is_the_findings_else_the_last_faults_else_the_last() -> None:
    calm = ran(lab03())
    assert deciding_step(calm) == calm.trace.steps - 1
    crashed = ran(lab03().with_faults(Crash("b3", at_step=84)))
    assert crashed.trace.events[deciding_step(crashed)].kind == "crash"
    shop = Program("p", "operations", {"steps": [["send", "out", "a", None, 0], ["flush"]]})
    off = ("duplicates are recognised by producer id and sequence",)
    twice = ran(Scenario(topics={"out": 1}, rules_off=off, programs=(shop,), faults=(Drop("ProduceResponse#1"),)))
    found = twice.trace.events[deciding_step(twice)]
    assert (found.kind, found.data.base_offset) == ("append", 1)


def test_a_view_is_opened_where_it_is_asked() -> None:
    assert picture(lab03(), 40).step == 40
    assert type(picture(lab03(), 40, "LogTape")).__name__ == "LogTape"


def test_a_table_is_its_own_picture_and_says_the_same_as_text_and_as_html() -> None:
    table = Table(title="1 < 2", columns=("a", "b"), rows=((1, "x"), (2, "<b>")), at=1)
    assert picture(table) is table
    assert str(table).splitlines() == ["1 < 2", "  a │ b", "  1 │ x", "▸ 2 │ <b>"]
    assert "<p>1 &lt; 2</p>" in table._repr_html_()
    assert '<tr style="font-weight:bold"><td style="text-align:left">▸</td>' in table._repr_html_()
    assert "&lt;b&gt;" in table._repr_html_()


def test_a_wrong_answer_with_a_table_says_how_to_see_it_and_keeps_it() -> None:
    with pytest.raises(WrongAnswer, match=r"Open the rows that show it:\n    counterexample\(\)") as caught:
        check("L14.E3", lambda version, snapshot, status: 0)
    assert counterexample() is caught.value.run
    assert "Your function says 0." in str(counterexample())


@pytest.mark.smoke
@pytest.mark.notebooks
def test_in_a_notebook_the_run_comes_below_the_error_and_once() -> None:
    def code(name: str, source: str) -> dict[str, Any]:
        empty: dict[str, Any] = {"execution_count": None, "metadata": {}, "outputs": []}
        return {"cell_type": "code", "id": name, "source": source, **empty}

    wrong = 'from kafkalab import Drop, check\ncheck("L0.E1", [Drop("ProduceResponse#1")])'
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    cells = [code("a", wrong), code("b", "1")]
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    done = execute(notebook, Path.cwd(), allow_errors=True, keeps_progress=False)
    error, shown = done["cells"][0]["outputs"]
    assert "The run below shows it, at the step that decides." in error["evalue"]
    assert FIGURE in shown["data"]
    assert "soup to orders-0 at offset 1" in "".join(shown["data"]["text/plain"])
    assert len(done["cells"][1]["outputs"]) == 1


class Display:
    """The objects that a notebook would display."""

    def __init__(self) -> None:
        self.cleared = 0

    def clear_output(self, wait: bool = False) -> None:
        self.cleared += 1


def test_a_check_of_more_than_two_seconds_says_how_far_it_is_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    display = Display()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"display": display}))
    monkeypatch.setattr(progress, "in_a_kernel", lambda: True)
    monkeypatch.setattr(progress, "place", lambda: Path("progress.json"))
    now = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    assert list(progress_line.show_progress("abcdef", 6, "letters")) == list("abcdef")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Checking: 1 of 6 letters"
    assert display.cleared == len(said) + 1
    monkeypatch.setattr(progress, "place", lambda: None)
    assert list(progress_line.show_progress("abcdef", 6, "letters")) == list("abcdef")
    assert capsys.readouterr().out == ""
