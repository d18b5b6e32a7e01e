"""The wheel, installed into an empty environment outside of any checkout: everything a learner and a teacher need."""

from __future__ import annotations

import csv
import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from kafkalab.protocol.messages.metadata import Metadata
from tests.empty_environments import empty_environment, install, plain
from tests.jupyter_server import address_of, stop
from tests.wire.connection import Connection

pytestmark = pytest.mark.index

LAB, WHEEL_MAX = "03_a_full_commit", 3_200_000
CHEATER = """import ctypes, os
from pathlib import Path
import kafkalab
answers = Path(kafkalab.__file__).parent / "shipped" / "labs" / "solutions" / "03_a_full_commit.ipynb"
libc = ctypes.CDLL(None)
found = libc.open(str(answers).encode(), 0)
e2 = {"": found}
assert found < 0, "the answers can be read"
e1 = answers.read_text()
"""
"""Goes round Python's own hook first, so that it is the system that must refuse."""


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and what `serve` needs."""
    place = empty_environment(tmp_path_factory.mktemp("environment"))
    install(place, "--quiet", f"{wheel}[lab,wire]")
    return place


@pytest.fixture(scope="module")
def folder(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learner's folder: `kafkalab lab --solutions` was started in it once, when it was empty, and stopped."""
    place = tmp_path_factory.mktemp("learner")
    with lab(installed, place, "--solutions"):
        pass
    return place


@contextmanager
def lab(installed: Path, folder: Path, *options: str) -> Iterator[tuple[str, str, str]]:
    """`kafkalab lab` in this folder; give its address, its token and what it has printed until it answers."""
    log = folder.parent / f"{folder.name}.log"
    command = [str(installed / "bin" / "kafkalab"), "lab", *options, "--no-browser", "--ServerApp.port=0"]
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, "--IdentityProvider.token=t"],
            cwd=folder,
            env=plain(),
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            address = address_of(server, installed / "jupyter" / "data" / "runtime", log)
            yield address, "t", log.read_text()
        finally:
            stop(server)


def answer(address: str, token: str, path: str) -> Any:
    """Return what the server answers to GET."""
    request = urllib.request.Request(f"{address}{path}", headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def kafkalab(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """One command line of the installed `kafkalab`."""
    command = [str(installed / "bin" / "kafkalab"), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env=plain())


def test_the_wheel_is_pure_and_small_and_has_the_widgets_and_the_course(wheel: Path) -> None:
    names = set(ZipFile(wheel).namelist())
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < WHEEL_MAX
    wanted = ("widgets/built/sequence.js", "widgets/built/common.css", "py.typed", "__init__.pyi")
    assert {f"kafkalab/{name}" for name in wanted} <= names
    assert {f"kafkalab/shipped/labs/{kind}{LAB}.ipynb" for kind in ("", "solutions/")} <= names
    assert not [n for n in names if n.startswith(("tests/", "labs/", "data/")) or "recorded/" in n]


def test_an_empty_folder_gets_the_labs_and_jupyterlab_opens_them(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "labs of mine"
    folder.mkdir()
    with lab(installed, folder) as (address, token, printed):
        assert f"Copied the labs into {folder}" in printed
        names = {row["name"] for row in answer(address, token, "api/contents/labs?content=1")["content"]}
        page = answer(address, token, "api/contents/labs/00_start.ipynb?content=1")
        settings = answer(address, token, "lab/api/settings/@jupyterlab/notebook-extension:tracker")
    assert {f"{LAB}.ipynb", "00_start.ipynb", "README.md"} <= names
    assert "solutions" not in names
    assert {c["metadata"]["trusted"] for c in page["content"]["cells"] if c["cell_type"] == "code"} == {True}
    assert settings["schema"]["properties"]["windowingMode"]["default"] == "defer"


def test_the_checks_of_lab_3_pass_where_it_was_copied(installed: Path, folder: Path, tmp_path: Path) -> None:
    command = [
        str(installed / "bin" / "python"),
        "-m",
        "nbconvert",
        "--to",
        "notebook",
        "--execute",
        "--output-dir",
        str(tmp_path),
    ]
    solution = folder / "labs" / "solutions" / f"{LAB}.ipynb"
    run = subprocess.run([*command, solution], cwd=folder, capture_output=True, text=True, timeout=300, env=plain())
    assert run.returncode == 0, run.stderr
    printed = (tmp_path / f"{LAB}.ipynb").read_text()
    assert [name for name in ("L3.E1 ✓", "L3.E2 ✓", "L3.E3 ✓") if name not in printed] == []


@pytest.mark.parametrize("where", ["folder", "elsewhere"])
def test_notebooks_are_graded_and_cannot_read_the_answers(
    where: str, installed: Path, folder: Path, tmp_path: Path
) -> None:
    solution = json.loads((folder / "labs" / "solutions" / f"{LAB}.ipynb").read_text())
    for student in ("ann", "bob"):
        (tmp_path / "in" / student).mkdir(parents=True)
        if student == "bob":
            cells = (c for c in solution["cells"] if c["metadata"].get("nbgrader", {}).get("solution"))
            next(cells)["source"] = [CHEATER]
        (tmp_path / "in" / student / f"{LAB}.ipynb").write_text(json.dumps(solution))
    here = folder if where == "folder" else tmp_path
    run = kafkalab(installed, here, "grade", str(tmp_path / "in"), "--out", str(tmp_path / "r.csv"))
    assert run.returncode == 0, run.stderr
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    points = {s: sum(float(r["points"]) for r in rows if r["student"] == s) for s in ("ann", "bob")}
    whole = sum(c["metadata"].get("nbgrader", {}).get("points", 0) for c in solution["cells"])
    assert points["ann"] == whole > points["bob"], run.stdout
    (why,) = {r["notebook"] for r in rows if r["student"] == "bob"}
    assert "PermissionError" in why or "FileNotFoundError" in why


def test_a_page_and_a_run_are_made_of_a_copied_scenario(installed: Path, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    made = kafkalab(installed, folder, "page", "data/torn_for_real.klab", "--out", str(page))
    assert (made.returncode, made.stderr) == (0, "")
    assert "<script" in page.read_text()
    assert kafkalab(installed, folder, "run", "data/torn_for_real.klab").returncode == 0


def test_brokers_are_served(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "bin" / "kafkalab"), "serve", "--port", "0", "--topics", "orders:3"]
    server = subprocess.Popen(command, cwd=tmp_path, env=plain(), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        with Connection(server.stdout.readline().removeprefix("ready: ").strip()) as client:
            topics = client.ask(Metadata(topics=("orders",)), 9).metadata
    finally:
        server.terminate()
        assert server.wait(30) == 0
        server.stdout.close()
    assert "orders" in str(topics)


def test_solutions_that_were_copied_make_the_folder_of_a_class(installed: Path, folder: Path, tmp_path: Path) -> None:
    made = kafkalab(installed, folder, "build-labs", "--without-solutions", str(tmp_path / "class"))
    assert (made.returncode, made.stderr) == (0, "")
    assert (tmp_path / "class" / "labs" / f"{LAB}.ipynb").is_file()


def test_an_update_says_what_is_new_and_keeps_work(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    shipped = next((installed / "lib").glob("python*/site-packages/kafkalab/shipped/labs"))
    before = {name: (shipped / name).read_text() for name in (f"{LAB}.ipynb", "05_read_committed.ipynb")}
    with lab(installed, folder):
        mine = folder / "labs" / f"{LAB}.ipynb"
        mine.write_text(mine.read_text().replace('"source": [', '"source": [\n    "# mine\\n",', 1))
        work = mine.read_text()
    try:
        for name, text in before.items():
            (shipped / name).write_text(text.replace('"source": [', '"source": [\n    "Second edition.\\n",', 1))
        (shipped / "15_a_new_lab.ipynb").write_text(before["05_read_committed.ipynb"])
        with lab(installed, folder) as (_, _, printed):
            pass
    finally:
        for name, text in before.items():
            (shipped / name).write_text(text)
        (shipped / "15_a_new_lab.ipynb").unlink(missing_ok=True)
    assert printed.splitlines()[1:4] == [
        "  labs/15_a_new_lab.ipynb: new",
        "  labs/05_read_committed.ipynb: newer; you had not changed it",
        f"  labs/{LAB}.ipynb: yours, it stays; the newer one is labs/new_{LAB}.ipynb",
    ]
    assert (folder / "labs" / f"{LAB}.ipynb").read_text() == work
    assert "Second edition." in (folder / "labs" / f"new_{LAB}.ipynb").read_text()
