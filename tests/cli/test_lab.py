"""`kafkalab lab` before JupyterLab starts: where it copies the labs, and what it says where it cannot."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

import pytest

from kafkalab.cli import lab
from kafkalab.cli.command_line import CommandLineError
from kafkalab.cli.main import main
from kafkalab.course.installation import RECORD

START = Path(lab.START)


def refusal(folder: Path) -> str:
    """The sentence with which the folder is refused."""
    with pytest.raises(CommandLineError) as error:
        lab.copy_labs(folder)
    return str(error.value)


def test_without_jupyterlab_one_line_names_the_extra_and_nothing_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert main(["lab"], tmp_path) == 2
    assert capsys.readouterr().err == "kafkalab lab: JupyterLab is missing: pip install 'kafkalab-course[lab]'\n"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_gets_the_labs_and_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab.copy_labs(tmp_path)
    assert (tmp_path / START).is_file()
    assert not (tmp_path / "labs" / "solutions").exists()
    said = f"Copied the labs into {tmp_path}. Run `kafkalab lab` here again to go on; what you write stays.\n"
    assert capsys.readouterr().out == said
    lab.copy_labs(tmp_path)
    assert capsys.readouterr().out == ""


def test_solutions_are_copied_when_asked_for_and_kept_up_to_date_then(tmp_path: Path) -> None:
    lab.copy_labs(tmp_path)
    lab.copy_labs(tmp_path, solutions=True)
    solution = tmp_path / "labs" / "solutions" / START.name
    solution.unlink()
    lab.copy_labs(tmp_path)
    assert solution.is_file()


def test_a_checkout_or_a_folder_of_a_class_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / START).write_text("{}")
    lab.copy_labs(tmp_path)
    assert [p.name for p in tmp_path.rglob("*")] == ["labs", START.name]
    assert capsys.readouterr().out == ""


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("")
    told = refusal(tmp_path)
    assert "no labs/00_start.ipynb here, and the folder is not empty" in told
    assert "mkdir kafka-labs && cd kafka-labs && kafkalab lab" in told
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_environment_and_hidden_files_may_be_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    lab.copy_labs(tmp_path)
    assert (tmp_path / START).is_file()


@pytest.mark.parametrize(
    ("name", "folder", "kind"),
    [("labs", False, "a file"), ("docs/bugs.md", True, "a folder"), ("data/bugs", False, "a file")],
)
def test_a_name_that_is_taken_is_named(name: str, folder: bool, kind: str, tmp_path: Path) -> None:
    lab.copy_labs(tmp_path)
    taken = tmp_path / name
    shutil.rmtree(taken) if taken.is_dir() else taken.unlink()
    taken.mkdir() if folder else taken.write_text("mine")
    assert refusal(tmp_path) == f"{taken} is {kind}, and the labs need its name; move it away and run it again"
    assert folder or taken.read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "cannot write in {}; run it in a folder of your own: mkdir ~/kafka-labs && cd ~/kafka-labs"),
        (errno.EROFS, "cannot write in {}; run it in a folder of your own: mkdir ~/kafka-labs && cd ~/kafka-labs"),
        (errno.ENOSPC, "no space left in {}: the labs need 5 MB. Make room and run it again; what was copied is whole"),
        (errno.EDQUOT, "no space left in {}: the labs need 5 MB. Make room and run it again; what was copied is whole"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    number: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(source: str, target: Path) -> None:
        raise OSError(number, os.strerror(number), source)

    monkeypatch.setattr(os, "replace", fails)
    assert refusal(tmp_path) == says.format(tmp_path)
    monkeypatch.undo()
    lab.copy_labs(tmp_path)
    assert not list(tmp_path.rglob(".copying-*"))


def test_a_full_disk_is_refused_before_anything_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1000))
    assert refusal(tmp_path).startswith(f"no space left in {tmp_path}")
    assert list(tmp_path.iterdir()) == []


def test_an_update_names_labs_and_counts_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"labs/00_start.ipynb": b"1", "labs/03_a.ipynb": b"1", "labs/05_b.ipynb": b"1", "docs/bugs.md": b"1"}
    monkeypatch.setattr(lab, "shipped_files", lambda *_: files)
    lab.copy_labs(tmp_path)
    (tmp_path / "labs" / "03_a.ipynb").write_text("mine")
    files |= dict.fromkeys(files, b"2") | {"labs/07_c.ipynb": b"1"}
    capsys.readouterr()
    lab.copy_labs(tmp_path)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  labs/07_c.ipynb: new",
        "  labs/00_start.ipynb: newer; you had not changed it",
        "  labs/05_b.ipynb: newer; you had not changed it",
        "  files of data/ and docs/ that are newer: 1",
        "  labs/03_a.ipynb: yours, it stays; the newer one is labs/new_03_a.ipynb",
    ]


def test_the_record_says_that_a_folder_was_copied_even_without_its_start_page(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text("{}")
    (tmp_path / "labs").mkdir()
    lab.copy_labs(tmp_path)
    assert (tmp_path / START).is_file()


def test_jupyters_files_are_below_the_home_where_the_environment_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lab.settings_folder() == Path(sys.prefix) / "jupyter"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert lab.settings_folder() == Path.home() / ".kafkalab" / "jupyter"
