"""The report says what a class believes, and each counterexample can be opened beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.cli.main import main
from kafkalab.faults.node import Crash
from kafkalab.grading.class_summary import NO_BELIEF, NOT_REACHED, summarise
from kafkalab.grading.counterexamples import write_page
from kafkalab.grading.grade import Row
from kafkalab.grading.report import Pages, as_csv, as_html
from kafkalab.grading.runner import outcome
from kafkalab.grading.tables import Table
from tests.grading.test_grade import notebook, put

REWIND = "an abort moves the consumer"
OTHER = "an automatic commit belongs to the producer's transaction"
TABLE = dict.fromkeys(range(1, 11), "rewind")


def row(student: str, result: str, misconception: str = "", exercise: str = "L10.E2") -> Row:
    return Row(student=student, file=student, exercise=exercise, result=result, misconception=misconception)


def test_each_misconception_of_an_exercise_has_a_line_with_its_sentence_and_what_helps() -> None:
    rows = [
        row("learner-1", "right"),
        row("learner-2", "wrong", "automatic commits know of aborts"),
        row("learner-3", "wrong"),
        *(row(f"learner-{n}", "wrong", "the abort rewinds") for n in (4, 5)),
        row("learner-6", "not reached"),
        row("learner-1", "right", exercise="L3.E1"),
        Row(student="learner-7", file="x", notebook="it is no notebook"),
    ]
    lines = summarise(rows)
    assert [(line.exercise, line.right, line.learners, line.holders, line.belief) for line in lines] == [
        ("L3.E1", 1, 1, 0, ""),
        ("L10.E2", 1, 6, 2, REWIND),
        ("L10.E2", 1, 6, 1, OTHER),
        ("L10.E2", 1, 6, 1, NOT_REACHED),
        ("L10.E2", 1, 6, 1, NO_BELIEF),
    ]
    assert "Which of" in lines[1].helps
    assert lines[-1].helps == ""


def test_a_learner_counts_once_with_her_best_answer() -> None:
    rows = [row("learner-1", "wrong", "the abort rewinds"), row("learner-1", "right"), row("learner-1", "wrong")]
    (line,) = summarise(rows)
    assert (line.learners, line.right, line.holders) == (1, 1, 0)


def test_the_page_has_the_summary_and_links_each_run(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "my report.html")
    address = pages.keep("<!doctype html>1")
    assert address == pages.keep("<!doctype html>1")
    assert address.startswith("my%20report_runs/")
    assert [path.read_text() for path in (tmp_path / "my report_runs").iterdir()] == ["<!doctype html>1"]
    found = Row(student="learner-1", file="f", lab="l", exercise="L10.E2", result="wrong", reason="no",
                misconception="the abort rewinds", run=address)  # fmt: skip
    page = as_html([found], 1)
    assert f'<a href="{address}">Open the run that shows it</a>' in page
    assert f"<td>{REWIND}</td>" in page
    assert as_csv([found]).splitlines()[1].endswith(f",the abort rewinds,{address}")
    assert "What the class believes" not in as_html([Row(student="learner-1", file="f")], 1)


def test_an_outcome_names_the_misconception_and_has_the_page_only_if_it_is_asked_for() -> None:
    found = outcome("L10.E2", TABLE, pages=True)
    assert (found.solved, found.miss) == (False, "the abort rewinds")
    assert REWIND in found.page
    assert "A recorded run of a Kafka cluster" in found.page
    assert "counterexample()" not in found.reason
    assert outcome("L10.E2", TABLE).page == ""


def test_a_counterexample_that_is_a_table_is_a_page_too_and_nothing_in_it_is_markup() -> None:
    table = Table(title="<b>rows</b>", columns=("a",), rows=(("<script>",),))
    page = write_page(table, about="why <i>")
    assert "<script>" not in page
    assert "why &lt;i&gt;" in page
    run = write_page(lab03().with_faults(Crash("b1", at_ms=1)), about="<script>alert()</script>")
    assert "<script>alert" not in run


@pytest.mark.notebooks
@pytest.mark.parametrize("more", [[], ["--no-runs"]])
def test_the_command_writes_the_pages_beside_the_report(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = 'check("L10.E2", e2)'
    put(
        tmp_path / "labs" / "solutions",
        "10_table.ipynb",
        notebook("from kafkalab import check", "e2 = {}", check=check),
    )
    for number in (1, 2):
        put(tmp_path / "in" / f"learner-{number}", "10_table.ipynb", notebook(f"e2 = {TABLE!r}", check=check))
    monkeypatch.chdir(tmp_path)
    assert main(["grade", "in", "--out", "out/report.csv", *more], root=tmp_path) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"<td>{REWIND}</td>" in page
    runs = [*(tmp_path / "out").glob("report_runs/*.html")]
    assert len(runs) == (0 if more else 1)
    assert all(f'href="report_runs/{run.name}"' in page for run in runs)
