"""Every command has its help, its mistakes are one line, and what follows `lab` is JupyterLab's."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tomllib
import warnings
from contextlib import closing
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nbformat.sign import NotebookNotary

from kafkalab.cli import STOPPED
from kafkalab.cli.lab import PLACES, SLOW_IMPORT, START, sign_labs
from kafkalab.cli.main import COMMANDS, main
from kafkalab.grading.builder import FIGURE, WIDGET


def is_trusted(notebook: Any) -> bool:
    """Return True if a notebook's signature is known; close the file of signatures again, as Python 3.13 asks."""
    notary = NotebookNotary()
    with closing(notary.store):
        return bool(notary.check_signature(notebook))


def test_help_lists_every_command_with_what_it_does(typed: Any) -> None:
    status, out, err = typed("--help")
    assert (status, err) == (0, "")
    flat = " ".join(out.split())
    assert [name for name, (_, about) in COMMANDS.items() if f" {name} {about}" not in flat] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, typed: Any) -> None:
    status, out, err = typed(name, "--help")
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: kafkalab {name}")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "kafkalab: which command? `kafkalab --help` lists them"),
        (["buildlabs"], "kafkalab: argument COMMAND: invalid choice: buildlabs (choose from lab, run,"),
        (["--verbose", "run"], "kafkalab: unrecognized arguments: --verbose"),
        (["bugs", "now"], "kafkalab bugs: unrecognized arguments: now"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(words: list[str], line: str, typed: Any) -> None:
    status, out, err = typed(*words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.replace("'", "").startswith(line)  # argparse quotes other words in Python 3.14


def test_python_runs_the_package_as_the_command(root: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "kafkalab"], cwd=root, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "kafkalab: which command? `kafkalab --help` lists them\n"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"kafkalab": "kafkalab.__main__:main"}


def test_control_c_while_modules_are_loaded_is_one_line(root: Path) -> None:
    code = (
        "import builtins, sys; import kafkalab.__main__ as command; load = builtins.__import__\n"
        "def stopped(name, *more):\n"
        "    if name == 'argparse': raise KeyboardInterrupt\n"
        "    return load(name, *more)\n"
        "builtins.__import__ = stopped; sys.modules.pop('argparse', None); sys.exit(command.main())"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (STOPPED, "", "kafkalab: stopped\n")


def test_lab_shows_no_warning_about_jupyters_own_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Voila, one of JupyterLab's extensions, shows them to everybody once it is imported."""
    def start(_: list[str]) -> None:
        with contextlib.suppress(ImportError):
            import_module("voila")
        warnings.warn_explicit("ServerApp.token", DeprecationWarning, "traitlets.py", 1, module="traitlets.traitlets")

    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(main=start))
    monkeypatch.delitem(sys.modules, "voila", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labs").mkdir()
    (tmp_path / START).touch()
    with warnings.catch_warnings(record=True) as shown:
        assert main(["lab"], tmp_path) == 0
    assert [str(one.message) for one in shown] == []


def test_lab_in_a_folder_with_other_things_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(main=started.append))
    (tmp_path / "thesis.txt").touch()
    assert main(["lab"], tmp_path) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"kafkalab lab: no {START} here, and the folder is not empty")
    assert (told.count("\n"), started) == (1, [])


def test_what_follows_lab_goes_to_jupyterlab_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(main=started.append))
    monkeypatch.delitem(sys.modules, SLOW_IMPORT, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labs").mkdir()
    (tmp_path / START).touch()
    more = ["--no-browser", "--port", "9000", "labs/x.ipynb", "--ServerApp.ip=127.0.0.1", "-y"]
    main(["lab", *more], tmp_path)
    assert started[0][0] == f"--LabApp.default_url=/lab/tree/{START}"
    assert started[0][-len(more) :] == more
    with pytest.raises(ModuleNotFoundError):
        import_module(SLOW_IMPORT)


def test_lab_trusts_the_notebooks_so_that_their_pictures_show_at_once(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    for name, place in PLACES.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    (tmp_path / "labs").mkdir()
    lab = "03_a_full_commit.ipynb"
    (tmp_path / "labs" / lab).write_bytes((root / "labs" / lab).read_bytes())
    (tmp_path / "labs" / "99_broken.ipynb").write_text("no notebook")
    notebook = nbformat.read(tmp_path / "labs" / lab, as_version=nbformat.NO_CONVERT)
    assert not is_trusted(notebook)
    sign_labs(tmp_path)
    assert is_trusted(notebook)


def test_lab_shows_the_pictures_of_a_saved_notebook_whose_kernel_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    for name, place in PLACES.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    (tmp_path / "labs").mkdir()
    widget, figure = {WIDGET: {"model_id": "gone"}}, {FIGURE: "<svg/>", "text/plain": "a picture"}
    outputs = [nbformat.v4.new_output("display_data", data) for data in ({**widget, **figure}, widget)]
    cells = [nbformat.v4.new_code_cell("1", outputs=outputs), nbformat.v4.new_markdown_cell("text")]
    path = tmp_path / "labs" / "00_saved.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    sign_labs(tmp_path)
    saved = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    assert [dict(output.data) for output in saved.cells[0].outputs] == [figure, widget]
    assert is_trusted(saved)
    before = path.stat().st_mtime_ns
    sign_labs(tmp_path)
    assert path.stat().st_mtime_ns == before
