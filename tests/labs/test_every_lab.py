"""Every lab: its learner's copy is fresh and fails at exactly its checks, cells are short, links lead somewhere.

That a solution runs, and says what its saved outputs say, is tested by nbval on labs/solutions; here, that all of it,
figures too, comes out again, without a warning and without the network.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.lab11 import for_real
from kafkalab.course.labs import COURSE
from kafkalab.grading.builder import FIGURE, LABS, SOLUTIONS, WIDGET, copies, execute, is_check, read
from kafkalab.grading.exercise import EXERCISES, LINE_LENGTH

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(p.name for p in (ROOT / SOLUTIONS).glob("[0-9]*.ipynb"))
GRADED = [n for n in NAMES if any(is_check(c) for c in read(ROOT / SOLUTIONS / n)["cells"])]
WITH_CODE = [n for n in NAMES if any(c["cell_type"] == "code" for c in read(ROOT / SOLUTIONS / n)["cells"])]
NEEDS_SPARK = ("12_auditing_with_spark.ipynb", "16_spark_at_work.ipynb")
WITHOUT_AN_OPENING = ("93_old_articles.ipynb", "94_what_do_you_believe.ipynb")
"""A table of claims, and questions."""
WITHOUT_A_FIGURE = ("94_what_do_you_believe.ipynb",)
BESIDE = "spark"
"""The cell of lab 11 that is no figure and that nbval does not compare: where Spark's connector is missing, it says so
on stderr. What it prints is compared here."""
CODE_LINES, TEXT_CHARACTERS, BYTES = 12, 2000, 250_000
CHECK = re.compile(r'check\("(L\d+\.E\d+)", \w+\)')
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", re.S)
ANSWER_PART = re.compile(r"[\[{](.{20,})[\]}]")
"""A part of a solution's list or dict."""

NO_NETWORK = """import sys

def refuse(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in ("127.0.0.1", "::1"):
        raise RuntimeError(f"a lab asks the network for {arguments[1]}")

sys.addaudithook(refuse)
"""


def to_run(names: list[str]) -> list[Any]:
    """The notebooks as parameters of a test that runs them."""
    return [pytest.param(n, marks=[pytest.mark.spark] if n in NEEDS_SPARK else []) for n in names]


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    return [c for c in read(path)["cells"] if c["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a cell put out, without the numbers that count executions, and without the line that says how to get
    Spark's connector, where lab 11 does not find it."""
    found = [o for o in cell.get("outputs", []) if "what a saved run has seen" not in "".join(o.get("text", ""))]
    return [{k: v for k, v in o.items() if k != "execution_count"} for o in found]


def failing(notebook: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The errors of a run, by the id of the cell in which they were raised."""
    ran = (c for c in notebook["cells"] if c["cell_type"] == "code")
    return {c["id"]: o for c in ran for o in c["outputs"] if o["output_type"] == "error"}


def test_every_lab_has_a_solution_and_every_solution_a_lab() -> None:
    assert sorted(p.name for p in (ROOT / LABS).glob("[0-9]*.ipynb")) == NAMES
    assert "03_a_full_commit.ipynb" in GRADED


@pytest.mark.parametrize("name", GRADED)
def test_a_lab_has_the_same_title_on_its_first_line_and_in_the_course(name: str) -> None:
    (title,) = [lab.title for lab in COURSE if f"{lab.name}.ipynb" == name]
    assert source(cells(ROOT / LABS / name, "markdown")[0]).splitlines()[0] == f"# {title}"
    assert f"[{title}](labs/{name})" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_learners_copy_is_what_the_builder_makes(name: str) -> None:
    made = copies(ROOT)[name]
    assert (ROOT / LABS / name).read_text(encoding="utf-8") == made, "run `kafkalab build-labs`"


@pytest.mark.parametrize("name", to_run(GRADED))
@pytest.mark.notebooks
def test_the_blank_form_fails_at_exactly_its_checks_and_says_only_why(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(for_real.FOLDER, "no folder")  # Spark beside lab 11 takes half a minute, and no form needs it
    blank = read(ROOT / LABS / name)
    checks = {c["id"] for c in blank["cells"] if is_check(c)}
    if name in NEEDS_SPARK:  # its queries and its lesson take minutes, and no form needs them
        first = next(c for c in blank["cells"] if "\nspark = " in source(c))
        first["source"] = [line for line in first["source"] if line.startswith(("from ", "spark = "))]
        forms = {c["id"] for c in cells(ROOT / SOLUTIONS / name) if "### BEGIN" in source(c)}
        blank["cells"] = [c for c in blank["cells"] if c["id"] in {first["id"], *forms, *checks}]
    errors = failing(execute(blank, ROOT / LABS, allow_errors=True))
    assert checks
    assert set(errors) == checks
    for error in errors.values():
        assert error["ename"] == "WrongAnswer"
        assert " ".join(" ".join(error["traceback"]).split()) == " ".join(error["evalue"].split())
        assert max(len(line) for line in error["traceback"]) <= LINE_LENGTH
        assert "still blank" in error["evalue"]


@pytest.mark.parametrize("name", to_run(WITH_CODE))
@pytest.mark.notebooks
def test_a_run_from_a_clean_kernel_gives_every_output_again_and_once_more_and_without_the_network(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    saved, twice = read(ROOT / SOLUTIONS / name), read(ROOT / SOLUTIONS / name)
    twice["cells"] += [{**cell, "id": f"{cell['id']}-2"} for cell in read(ROOT / SOLUTIONS / name)["cells"]]
    ran = execute(twice, ROOT / SOLUTIONS)["cells"]
    half = len(ran) // 2
    for cells_of_a_run, which in ((ran[:half], "the first run"), (ran[half:], "the second run, in the same kernel")):
        for cell, before in zip(cells_of_a_run, saved["cells"], strict=True):
            assert outputs(cell) == outputs(before), f"{before['id']} in {which}: `kafkalab build-labs --run`?"


@pytest.mark.parametrize("name", WITH_CODE)
def test_no_saved_output_is_a_warning_or_an_error(name: str) -> None:
    for cell in cells(ROOT / SOLUTIONS / name):
        kinds = {(o["output_type"], o.get("name", "")) for o in cell["outputs"]}
        assert kinds <= {("stream", "stdout"), ("execute_result", ""), ("display_data", "")}, cell["id"]


@pytest.mark.parametrize("name", GRADED)
def test_no_answer_and_no_result_is_left_in_the_learners_copy(name: str) -> None:
    answers = {c["id"]: source(c) for c in cells(ROOT / SOLUTIONS / name) if "### BEGIN" in source(c)}
    assert answers
    for cell in cells(ROOT / LABS / name):
        assert "###" not in source(cell)
        assert all(FIGURE in o["data"] for o in cell["outputs"])
        if cell["id"] in answers:
            assert source(cell) != answers[cell["id"]]
            assert cell["outputs"] == []


@pytest.mark.parametrize("name", GRADED)
def test_no_part_of_an_answer_stands_anywhere_else_in_the_lab(name: str) -> None:
    regions = [r for c in cells(ROOT / SOLUTIONS / name) for r in SOLUTION.findall(source(c))]
    parts = {part for region in regions for part in ANSWER_PART.findall(region)}
    text = "\n".join(source(c) for kind in ("code", "markdown") for c in cells(ROOT / LABS / name, kind))
    assert regions
    assert [part for part in parts if part in text] == []


@pytest.mark.parametrize("name", [name for name in WITH_CODE if name not in WITHOUT_A_FIGURE])
def test_every_figure_reads_without_a_kernel(name: str) -> None:
    for folder in (SOLUTIONS, LABS):
        tagged = [c for c in cells(ROOT / folder / name) if "nbval-ignore-output" in c["metadata"].get("tags", [])]
        figures = [c for c in tagged if c["id"] != BESIDE]
        assert figures
        for cell in figures:
            (output,) = cell["outputs"]
            assert {FIGURE, "text/plain"} <= set(output["data"])
        assert WIDGET not in (ROOT / folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_AN_OPENING])
def test_a_notebook_opens_with_a_picture_before_anything_is_run(name: str) -> None:
    """On the start page the way to the first lab comes before it."""
    first = read(ROOT / LABS / name)["cells"][: 3 if name == "00_start.ipynb" else 2]
    assert any(FIGURE in output.get("data", {}) for cell in first for output in cell.get("outputs", ()))


@pytest.mark.parametrize("name", GRADED)
def test_every_exercise_has_one_check_in_a_locked_cell_of_its_own(name: str) -> None:
    found = {c["id"]: CHECK.fullmatch(source(c)) for c in cells(ROOT / SOLUTIONS / name) if is_check(c)}
    assert [i for i, match in found.items() if match is None] == []
    lab = int(name[:2])
    exercises = [e for e in EXERCISES if e.startswith(f"L{lab}.")]
    assert [match[1] for match in found.values() if match] == exercises


@pytest.mark.parametrize("name", GRADED)
def test_a_learner_can_type_what_a_wrong_answer_tells(name: str) -> None:
    lines = [line for cell in cells(ROOT / LABS / name) for line in cell["source"]]
    imported = {word for line in lines if line.startswith("from kafkalab import") for word in re.findall(r"\w+", line)}
    assert {"check", "hint"} <= imported, "the first cell imports check and hint, and counterexample if there are runs"


@pytest.mark.parametrize("name", GRADED)
def test_nbgrader_can_read_what_is_graded(name: str) -> None:
    marked = [c for c in cells(ROOT / SOLUTIONS / name) if "nbgrader" in c["metadata"]]
    ids = [c["metadata"]["nbgrader"]["grade_id"] for c in marked]
    assert len(set(ids)) == len(ids)
    for cell in marked:
        facts = cell["metadata"]["nbgrader"]
        assert (facts["schema_version"], facts["task"]) == (3, False)
        assert facts["solution"] is ("### BEGIN SOLUTION" in source(cell)) is not facts["grade"]
        assert facts["locked"] is facts["grade"]
        assert (facts.get("points", 0) > 0) is facts["grade"]
    solved = [c["id"] for c in cells(ROOT / SOLUTIONS / name) if "### BEGIN" in source(c)]
    assert set(solved) <= {c["id"] for c in marked}


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_is_long(name: str) -> None:
    lab = ROOT / LABS / name
    assert {c["id"]: n for c in cells(lab) if (n := len(c["source"])) > CODE_LINES} == {}
    lab = ROOT / SOLUTIONS / name  # without the tooltips of its links
    assert {c["id"]: n for c in cells(lab, "markdown") if (n := len(source(c))) > TEXT_CHARACTERS} == {}


@pytest.mark.parametrize("name", NAMES)
def test_no_notebook_is_large(name: str) -> None:
    assert (ROOT / SOLUTIONS / name).stat().st_size < BYTES


@pytest.mark.parametrize("name", GRADED)
def test_a_lab_asks_keeps_the_answer_and_shows_the_card_again(name: str) -> None:
    made = [c for c in cells(ROOT / LABS / name) if "= Predict(" in source(c)]
    assert made, "a lab asks before it shows: a cell `guess = Predict(...)`, and after the walk a cell `guess`"
    for cell in made:
        variable = source(cell).partition(" = ")[0]
        again = [c["id"] for c in cells(ROOT / LABS / name) if source(c) == variable]
        assert again, f"after the walk a cell {variable!r} shows the card of cell {cell['id']!r} again"
    text = "".join(source(c) for c in cells(ROOT / LABS / name, "markdown"))
    assert "Keep your letter" not in text
    assert "<details>" not in text


@pytest.mark.parametrize("name", NAMES)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    text = "\n".join(source(c) for c in cells(ROOT / LABS / name, "markdown"))
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
    assert targets
    assert [t for t in targets if not (ROOT / LABS / t).exists()] == []
