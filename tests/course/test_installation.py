"""The labs are copied into a learner's folder and brought up to date there, and nothing that was written is lost."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab.course.installation import RECORD, Installed, install, is_installed, shipped_files

LINKS = re.compile(r"\]\((?!https?:|#)([^)\s#]+)")
LAB, PAGE = "labs/03_a_full_commit.ipynb", "docs/bugs.md"


def notebook(source: str, output: str = "", python: str = "3.11") -> bytes:
    """A notebook with one code cell, as a kernel of this Python saves it."""
    shown = [{"output_type": "stream", "name": "stdout", "text": [output]}] if output else []
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": shown,
        "source": [source],
    }
    return json.dumps({"cells": [cell], "metadata": {"language_info": {"version": python}}}).encode()


OLD, NEW, NEWEST = (notebook(f"version = {n}") for n in (1, 2, 3))
MINE = notebook("e1 = my_answer")


def course(lab: bytes = OLD, **others: bytes) -> dict[str, bytes]:
    """A course of one lab and one page."""
    return {LAB: lab, PAGE: b"# Bugs\n", **others}


def read_files(folder: Path) -> dict[str, bytes]:
    """The folder's files, without the record."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != RECORD
    }


def test_an_empty_folder_gets_everything(tmp_path: Path) -> None:
    installed = install(course(), tmp_path)
    assert (installed.added, installed.replaced, installed.beside) == ([LAB, PAGE], [], {})
    assert read_files(tmp_path) == course()
    assert is_installed(tmp_path)


def test_a_second_time_nothing_happens(tmp_path: Path) -> None:
    install(course(), tmp_path)
    assert install(course(), tmp_path) == Installed()


def test_work_stays_while_the_course_is_the_same(tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).write_bytes(MINE)
    assert install(course(), tmp_path) == Installed()
    assert (tmp_path / LAB).read_bytes() == MINE


def test_a_newer_lab_replaces_one_that_was_not_changed(tmp_path: Path) -> None:
    install(course(), tmp_path)
    assert install(course(NEW), tmp_path) == Installed(replaced=[LAB])
    assert read_files(tmp_path) == course(NEW)


def test_opening_a_notebook_is_no_change_and_running_it_is(tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).write_bytes(notebook("version = 1", python="3.13"))
    assert install(course(NEW), tmp_path).replaced == [LAB]
    (tmp_path / LAB).write_bytes(notebook("version = 2", output="mine"))
    assert install(course(NEWEST), tmp_path).beside == {LAB: "labs/new_03_a_full_commit.ipynb"}


def test_a_newer_lab_is_put_beside_work_once(tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).write_bytes(MINE)
    beside = "labs/new_03_a_full_commit.ipynb"
    assert install(course(NEW), tmp_path) == Installed(beside={LAB: beside})
    assert read_files(tmp_path) == course(MINE) | {beside: NEW}
    assert install(course(NEW), tmp_path) == Installed()


def test_the_one_beside_is_replaced_by_the_next_unless_somebody_worked_in_it(tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).write_bytes(MINE)
    first, second = "labs/new_03_a_full_commit.ipynb", "labs/new2_03_a_full_commit.ipynb"
    install(course(NEW), tmp_path)
    assert install(course(NEWEST), tmp_path).beside == {LAB: first}
    (tmp_path / first).write_bytes(notebook("more work"))
    assert install(course(OLD), tmp_path).beside == {LAB: second}
    assert read_files(tmp_path) == course(MINE) | {first: notebook("more work"), second: OLD}


def test_a_new_lab_is_added_and_one_that_is_gone_from_the_course_stays(tmp_path: Path) -> None:
    install(course(), tmp_path)
    later = {"labs/07_timeouts.ipynb": NEW, PAGE: b"# Bugs\n"}
    assert install(later, tmp_path) == Installed(added=["labs/07_timeouts.ipynb"])
    assert (tmp_path / LAB).read_bytes() == OLD


def test_a_deleted_lab_is_copied_again(tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).unlink()
    assert install(course(), tmp_path) == Installed(added=[LAB])


def test_a_file_of_the_same_name_that_nobody_copied_stays(tmp_path: Path) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / LAB).write_bytes(MINE)
    assert install(course(), tmp_path).beside == {LAB: "labs/new_03_a_full_commit.ipynb"}
    assert (tmp_path / LAB).read_bytes() == MINE


@pytest.mark.parametrize("record", [b"", b"{}", b'{"files": 3}', b"\xff", b"[" * 100_000])
def test_without_a_readable_record_whatever_differs_is_work(record: bytes, tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / RECORD).write_bytes(record)
    assert install(course(NEW), tmp_path).beside == {LAB: "labs/new_03_a_full_commit.ipynb"}
    assert (tmp_path / LAB).read_bytes() == OLD


@pytest.mark.parametrize(
    "text", [b"", b"not JSON", b"[]", b'{"cells": 3}', b'{"cells": [{"cell_type": "code"}]}', b"\xff"]
)
def test_a_damaged_notebook_is_work_too(text: bytes, tmp_path: Path) -> None:
    install(course(), tmp_path)
    (tmp_path / LAB).write_bytes(text)
    assert install(course(NEW), tmp_path).beside == {LAB: "labs/new_03_a_full_commit.ipynb"}
    assert (tmp_path / LAB).read_bytes() == text


def test_what_was_stopped_goes_on_and_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, replace, calls = course(more=b"more"), os.replace, iter(range(9))

    def full(source: str, target: Path) -> None:
        if next(calls) == 2:
            raise OSError(errno.ENOSPC, "no space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        install(files, tmp_path)
    assert read_files(tmp_path) == {LAB: OLD}
    assert install(files, tmp_path).added == [PAGE, "more"]
    assert read_files(tmp_path) == files


def test_what_is_shipped_has_every_lab_and_no_solution_unless_asked_for(root: Path) -> None:
    labs = {p.relative_to(root).as_posix() for p in (root / "labs").glob("[0-9]*.ipynb")}
    files = shipped_files(root)
    assert {name for name in files if name.endswith(".ipynb")} == labs
    assert {name for name in shipped_files(root, solutions=True) if "solutions" in name} == {
        name.replace("labs/", "labs/solutions/") for name in labs
    }


def test_a_checkpoint_of_jupyterlab_is_not_shipped(tmp_path: Path) -> None:
    for name in ("labs/00_start.ipynb", "labs/.ipynb_checkpoints/00_start-checkpoint.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(MINE)
    assert list(shipped_files(tmp_path, True)) == ["labs/00_start.ipynb"]


def test_every_link_of_what_is_shipped_leads_to_a_file_that_is_shipped(root: Path) -> None:
    files = shipped_files(root)
    there = {*files, *(parent.as_posix() for name in files for parent in Path(name).parents)}
    dead = []
    for name, data in files.items():
        if name.endswith(".md"):
            texts = [data.decode()]
        elif name.endswith(".ipynb"):
            texts = ["".join(c["source"]) for c in json.loads(data)["cells"] if c["cell_type"] == "markdown"]
        else:
            continue
        for target in (t for text in texts for t in LINKS.findall(text)):
            if os.path.normpath(os.path.join(os.path.dirname(name), target)) not in there:
                dead.append((name, target))
    assert dead == []
