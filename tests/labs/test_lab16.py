"""What lab 16 says in words is what its saved run printed."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.course.lab16 import exercise_2, feed, killed
from kafkalab.course.lab16.balances import RECORDS
from kafkalab.grading.builder import FIGURE, SOLUTIONS, read
from kafkalab.grading.check import find

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "16_spark_at_work.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {name: "".join(cell["source"]) for name, cell in CELLS.items()}
WORDS_MOST = 1_300


def read_output(cell: str) -> str:
    """Return what the cell's saved run said in text."""
    outputs = CELLS[cell]["outputs"]
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", ""))) for o in outputs)


def numbers(cell: str) -> list[int]:
    """The values of the bars of a cell."""
    return [int(value.replace(",", "")) for value in re.findall(r"^  .*: ([\d,]+)$", read_output(cell), re.M)]


def test_the_first_window_reports_far_more_gaps_than_there_are() -> None:
    found, records = re.search(r"(\d+) gaps among (\d+) records", read_output("half")).groups()  # type: ignore[union-attr]
    assert int(found) > int(records) / 10


def test_one_task_of_four_reads_nine_tenths_and_counting_is_even() -> None:
    tasks = numbers("skew")
    assert len(tasks) == 4
    assert max(tasks) > 0.9 * RECORDS
    assert "[10000, 10000, 10000, 10000]" in read_output("two-steps")
    assert read_output("two-steps").count("HashAggregate") == 2
    assert f"more than {exercise_2.MOST * 100:.0f} % of the rows" in TEXTS["e2"]


def test_the_batch_that_was_killed_is_there_twice() -> None:
    assert numbers("killed") == [1000, 1000, 2000, 1000]
    assert killed.ROWS == 1000
    assert {moment for _, moment in feed.STOPS} == {"before", "half", "after"}


def test_the_query_by_epoch_finds_nothing_under_version_1() -> None:
    first, second = numbers("sql-half")
    assert first == 0 < second


def test_every_exercise_gives_the_points_that_it_is_worth() -> None:
    for cell in CELLS.values():
        facts = cell["metadata"].get("nbgrader", {})
        if facts.get("grade"):
            (named,) = re.findall(r'check\("(L16\.E\d)"', TEXTS[cell["id"]])
            assert facts["points"] == find(named).points
            assert len(find(named).hints) == 3


def test_each_exercise_has_a_plot_and_a_worked_example_before_it() -> None:
    order = list(CELLS)
    before = 0
    for number in range(1, 5):
        here = order.index(f"e{number}-answer")
        plots = [n for n in order[before:here] if any(FIGURE in o.get("data", {}) for o in CELLS[n].get("outputs", []))]
        assert plots
        assert any("first half" in TEXTS[name] for name in order[before:here])
        before = here


def test_the_text_is_short() -> None:
    texts = (TEXTS[n] for n, c in CELLS.items() if c["cell_type"] == "markdown")
    words = re.sub(r"\]\([^)]*\)", "]", " ".join(texts)).split()
    assert len(words) < WORDS_MOST
