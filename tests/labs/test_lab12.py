"""What lab 12 says in words is what its saved run printed."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.checks.all import CHECKS
from kafkalab.grading.builder import FIGURE, SOLUTIONS, read
from kafkalab.grading.check import find

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "12_auditing_with_spark.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {name: "".join(cell["source"]) for name, cell in CELLS.items()}


def table(cell: str) -> list[list[str]]:
    """The rows that the cell's saved run printed, without their heading."""
    text = "".join("".join(o.get("text", [])) for o in CELLS[cell]["outputs"])
    return [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if "|" in line][1:]


def test_counting_offsets_calls_hundreds_of_payments_lost_in_every_partition() -> None:
    assert [row[0] for row in table("naive")] == ["out-0", "out-1", "out-2", "out-3"]
    assert all(int(lost) == int(end) - int(there) > 200 for _, end, there, lost in table("naive"))


def test_no_marker_is_among_the_records() -> None:
    assert {outcome for outcome, _ in table("gaps")} == {"aborted", "committed", "plain"}


def test_the_suite_has_as_many_audits_as_the_lab_says() -> None:
    assert f"has {len(CHECKS)}; here are five" in TEXTS["audit-why"]
    (output,) = CELLS["audit"]["outputs"]
    said = "".join(output["data"]["text/plain"])
    assert {word for word in ("forbidden", "allowed", "reported") if f" {word}" in said.partition("findings")[2]} == {
        "forbidden", "allowed", "reported"
    }  # fmt: skip
    assert "<svg" in "".join(output["data"][FIGURE])


def test_the_long_night_has_a_million_rows_and_one_torn_transaction() -> None:
    counts = {control: int(count) for control, count in table("million")}
    assert set(counts) == {"", "ABORT", "COMMIT"}
    assert abs(sum(counts.values()) - 1_000_000) < 20_000
    assert len(table("e2-million")) == 1


def test_twelve_rows_become_sixteen_records_and_twelve_with_the_other_sink() -> None:
    assert sum(int(count) for _, _, count in table("sink")) == 16
    assert TEXTS["sink-what"].startswith("Sixteen records")
    (output,) = CELLS["sink-idempotent"]["outputs"]
    assert output["data"]["text/plain"] == ["12"]


def test_every_exercise_gives_the_points_that_it_is_worth() -> None:
    for cell in CELLS.values():
        facts = cell["metadata"].get("nbgrader", {})
        if facts.get("grade"):
            (named,) = re.findall(r'check\("(L12\.E\d)"', TEXTS[cell["id"]])
            assert facts["points"] == find(named).points
            assert len(find(named).hints) == 3


def test_the_questions_that_the_lab_settles_are_in_its_recap() -> None:
    settled = sorted({n for c in CELLS.values() for n in c["metadata"].get("kafkalab", {}).get("questions", [])})
    assert settled == [4, 5, 34]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in settled)


def test_nothing_was_said_to_stderr() -> None:
    outputs = [o for c in CELLS.values() for o in c.get("outputs", [])]
    assert [o for o in outputs if o.get("name") == "stderr"] == []
