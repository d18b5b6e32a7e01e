"""The learner's notebook is the solution without its answers: blank where they are to write, whole everywhere else."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.cli.main import main
from kafkalab.grading.builder import FIGURE, STOPS_NOTHING, WIDGET, as_text, blank, execute, is_check, student


def code(name: str, source: str, outputs: tuple[dict[str, Any], ...] = (), **metadata: Any) -> dict[str, Any]:
    return {
        "cell_type": "code", "execution_count": 7, "id": name, "metadata": metadata, "outputs": list(outputs),
        "source": source.splitlines(keepends=True),
    }  # fmt: skip


def make_output(**data: str) -> dict[str, Any]:
    named = {k.replace("__", "/"): v for k, v in data.items()}
    return {"data": named, "execution_count": 7, "metadata": {}, "output_type": "execute_result"}


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": list(cells), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


GRADED: dict[str, Any] = {
    "nbgrader": {"grade": True, "grade_id": "c", "locked": True, "points": 1, "schema_version": 3}
}


@pytest.fixture
def labs(tmp_path: Path) -> Path:
    """A folder with one solution and no learner's copy yet."""
    (tmp_path / "labs" / "solutions").mkdir(parents=True)
    cells = (code("a", "x = 0\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION"), code("b", "assert x == 1", **GRADED))
    (tmp_path / "labs" / "solutions" / "01_x.ipynb").write_text(as_text(notebook(*cells)))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("x = 1", "x = 1"),
        ('x = ""\n### BEGIN SOLUTION\nx = "a"\n### END SOLUTION\n', 'x = ""'),
        ('### BEGIN SOLUTION\nx = "a"\n### END SOLUTION\ny = 2', "y = 2"),
        ("def f(a):\n    ### BEGIN SOLUTION\n    b = a\n    return b\n    ### END SOLUTION", "def f(a):\n    ..."),
        ("a = 1\n### BEGIN HIDDEN TESTS\nassert a\n### END HIDDEN TESTS\nb = 2", "a = 1\nb = 2"),
        ("### BEGIN SOLUTION\na\n### END SOLUTION\nm\n### BEGIN SOLUTION\nb\n### END SOLUTION", "m"),
        ("%time 1", "%time 1"),
    ],
)
def test_what_is_between_the_marks_goes_and_the_rest_stays(source: str, left: str) -> None:
    assert blank(source, "a") == left


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\nx = 1",
        "x = 1\n### END SOLUTION",
        "### BEGIN SOLUTION\n### BEGIN SOLUTION\nx\n### END SOLUTION\n### END SOLUTION",
        "### BEGIN SOLUTION\nx = 1\n### END HIDDEN TESTS",
    ],
)
def test_a_mark_without_its_other_half_is_refused_with_the_cell(source: str) -> None:
    with pytest.raises(ValueError, match="cell here: every ### BEGIN needs its ### END"):
        blank(source, "here")


def test_a_cell_that_is_no_python_without_its_solution_is_refused() -> None:
    with pytest.raises(ValueError, match="cell here: without its solution it is no Python"):
        blank("if x:\n### BEGIN SOLUTION\n    y = 1\n### END SOLUTION", "here")


def test_outputs_go_but_for_figures_and_the_solution_itself_is_not_touched() -> None:
    figure, text = make_output(image__svg_xml="<svg/>", text__plain="t"), make_output(text__plain="2")
    figure["data"][FIGURE] = figure["data"].pop("image/svg_xml")
    solution = notebook(code("a", "f", (figure, text)), code("b", "check(1)", (text,), **GRADED))
    before = copy.deepcopy(solution)
    first, second = student(solution)["cells"]
    assert solution == before
    assert [o["data"] for o in first["outputs"]] == [{FIGURE: "<svg/>", "text/plain": "t"}]
    assert (first["execution_count"], first["outputs"][0]["execution_count"]) == (None, None)
    assert (second["outputs"], second["execution_count"]) == ([], None)


def test_only_checks_may_fail_without_keeping_the_rest_from_running() -> None:
    cells = student(notebook(code("a", "x"), code("b", "check(1)", tags=["z"], **GRADED)))["cells"]
    assert [is_check(c) for c in cells] == [False, True]
    assert [c["metadata"].get("tags") for c in cells] == [None, [STOPS_NOTHING, "z"]]


@pytest.mark.notebooks
def test_a_run_leaves_no_state_and_no_view_of_a_widget() -> None:
    source = "import ipywidgets\nprint(1)\nipywidgets.IntSlider()"
    done = execute(notebook(code("a", source)), Path.cwd())
    assert "widgets" not in done["metadata"]
    cell = done["cells"][0]
    assert cell["metadata"] == {}
    printed, slider = cell["outputs"]
    assert printed["text"] == ["1\n"]
    assert WIDGET not in slider["data"]
    assert "text/plain" in slider["data"]


@pytest.mark.notebooks
def test_what_is_printed_in_pieces_is_saved_in_one() -> None:
    source = "import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.3)"
    (output,) = execute(notebook(code("a", source)), Path.cwd())["cells"][0]["outputs"]
    assert output["text"] == ["0\n", "1\n", "2\n"]


def test_build_labs_writes_what_is_missing_or_old_and_nothing_else(
    labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = labs / "labs" / "01_x.ipynb"
    assert main(["build-labs"], labs) == 0
    assert capsys.readouterr().out == "labs/01_x.ipynb\nlabs/README.md\n"
    assert "".join(json.loads(made.read_text())["cells"][0]["source"]) == "x = 0"
    assert main(["build-labs"], labs) == 0
    assert capsys.readouterr().out == ""
    made.write_text("{}")
    assert main(["build-labs"], labs) == 0
    assert capsys.readouterr().out == "labs/01_x.ipynb\n"


@pytest.mark.notebooks
def test_build_labs_runs_the_solutions_first_when_asked(labs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-labs", "--run"], labs) == 0
    assert capsys.readouterr().out == "labs/solutions/01_x.ipynb\nlabs/01_x.ipynb\nlabs/README.md\n"
    assert [c["execution_count"] for c in json.loads((labs / "labs/solutions/01_x.ipynb").read_text())["cells"]] == [
        1,
        2,
    ]
    assert main(["build-labs", "--run"], labs) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.notebooks
def test_a_solution_that_does_not_run_is_named_and_nothing_is_written(
    labs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solution = labs / "labs" / "solutions" / "01_x.ipynb"
    text = solution.read_text().replace('"x = 1\\n"', '"x = 2\\n"')
    solution.write_text(text)
    assert main(["build-labs", "--run"], labs) == 2
    told = capsys.readouterr().err
    assert re.search(r"01_x\.ipynb does not run: cell '[\w-]+', \w+Error", told), told
    assert solution.read_text() == text
    assert not (labs / "labs" / "01_x.ipynb").exists()


def test_build_labs_says_what_is_wrong(labs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-labs", "--all"], labs) == 2
    assert "kafkalab build-labs: unrecognized arguments: --all" in capsys.readouterr().err
    assert main(["build-labs"], tmp_path / "labs") == 2
    assert "no labs/solutions/NN.ipynb here" in capsys.readouterr().err
    for wrong, says in (("{", "is damaged: it is no JSON"), ("[]", "is no notebook"), ("{}", "is no notebook")):
        (labs / "labs" / "solutions" / "01_x.ipynb").write_text(wrong)
        assert main(["build-labs"], labs) == 2
        assert f"01_x.ipynb {says}" in capsys.readouterr().err
