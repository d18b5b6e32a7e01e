"""Progress survives restarts, several notebooks at once and damage; what cannot be kept never stops a check."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from kafkalab.course import outline as course
from kafkalab.course.labs import COURSE
from kafkalab.course.outline import TRACKS, CourseMap, progress
from kafkalab.grading import check as checks
from kafkalab.grading import progress as kept
from kafkalab.grading.builder import execute
from kafkalab.grading.check import check
from kafkalab.grading.exercise import EXERCISES, WrongAnswer, WrongType
from kafkalab.grading.progress import ExerciseRecord, keep, load, merge

GAP = "OUT_OF_ORDER_SEQUENCE_NUMBER"
RIGHT = {
    1: "appended", 2: "known", 3: GAP, 4: GAP, 5: "appended", 6: "appended", 7: "appended",
    8: "INVALID_PRODUCER_EPOCH", 9: GAP,
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where progress is kept in this test."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv(kept.VARIABLE, str(path))
    monkeypatch.setattr(checks, "_session", checks._Session())
    return path


def test_checks_count_tries_until_the_exercise_is_solved(file: Path) -> None:
    for answer in ({**RIGHT, 1: "known"}, {**RIGHT, 1: ""}, RIGHT, RIGHT, {**RIGHT, 1: ""}):
        try:
            check("L1.E1", answer)
        except WrongAnswer:
            continue
    found = load(file)
    assert found.message == ""
    done = found.record["L1.E1"]
    assert (done.solved, done.tries) == (True, 3)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", done.solved_at)


def test_an_answer_of_another_form_is_no_try(file: Path) -> None:
    with pytest.raises(WrongType):
        check("L1.E1", 7)
    assert not file.exists()


def test_nothing_is_kept_outside_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in ("off", None):
        monkeypatch.delenv(kept.VARIABLE, raising=False)
        if value:
            monkeypatch.setenv(kept.VARIABLE, value)
        check("L1.E1", RIGHT)
        assert str(progress()).startswith("The course: 0 of")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "left", "why"),
    [
        ("", {}, "nothing of it could be read"),
        ("{", {}, "nothing of it could be read"),
        ("[]", {}, "it is no progress of kafkalab; nothing"),
        ("\x00\x00\x00", {}, "nothing of it could be read"),
        ('{"format": "other", "exercises": {}}', {}, "it is no progress of kafkalab"),
        (
            '{"format": "kafkalab-progress", "version": 9, "exercises": {"L3.E1": {"solved": true, "tries": 2}}}',
            {"L3.E1": ExerciseRecord(solved=True, tries=2)},
            "it is of version 9, not 1; 1 exercise was taken over",
        ),
        (
            '{"format": "kafkalab-progress", "version": 1, "exercises": '
            '{"L3.E1": {"solved": true, "tries": 2}, "L3.E2": {"solved": "x"}, "<b>": {}, "L1.E1": 3}}',
            {"L3.E1": ExerciseRecord(solved=True, tries=2)},
            "entries for L3.E2, <b>, L1.E1 are damaged",
        ),
    ],
)
def test_a_damaged_file_is_set_aside_and_what_can_be_read_stays(
    file: Path, text: str, left: dict[str, ExerciseRecord], why: str
) -> None:
    file.write_text(text)
    shown = progress()
    assert (shown.record, why in shown.message) == (left, True)
    assert "was set aside as progress.damaged-1.json" in shown.message
    assert shown.message in " ".join(str(shown).split())
    assert file.with_name("progress.damaged-1.json").read_text() == text
    assert (load(file).record, load(file).message) == (left, "")
    file.write_text("{")
    check("L1.E1", RIGHT)
    assert file.with_name("progress.damaged-2.json").read_text() == "{"
    assert load(file).record["L1.E1"].solved


def test_a_file_that_cannot_be_written_stops_no_check(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kept.VARIABLE, str(file.parent / "nowhere" / "progress.json"))
    assert check("L1.E1", RIGHT) == "L1.E1 ✓ 9 of 9 rows"
    assert "cannot be used (No such file or directory), so no progress is kept" in progress().message


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(file, "L3.E1", True)
    before = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        keep(file, "L3.E2", True)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == ["progress.json"]


def test_where_there_are_no_locks_progress_is_written_all_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a browser Python has the module fcntl, without its functions."""
    monkeypatch.setitem(sys.modules, "fcntl", ModuleType("fcntl"))
    keep(file, "L0.E1", True)
    assert load(file).record["L0.E1"].solved


def test_notebooks_that_write_at_once_lose_nothing(file: Path, root: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kafkalab.grading.progress import keep\n"
        "for n in range(8): keep(Path(sys.argv[1]), f'L{sys.argv[2]}.E{n}', True)"
    )
    environment = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-c", code, str(file)]
    running = [subprocess.Popen([*command, str(lab)], env=environment) for lab in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert len(load(file).record) == 32
    assert [p.name for p in file.parent.iterdir()] == ["progress.json"]


def test_progress_from_another_machine_is_taken_over(file: Path, tmp_path: Path) -> None:
    keep(file, "L3.E1", True)
    other = tmp_path / "downloads" / "progress (1).json"
    other.parent.mkdir()
    keep(other, "L3.E2", True)
    keep(other, "L3.E1", False)
    shown = progress(also=str(other))
    assert {name for name, done in shown.record.items() if done.solved} == {"L3.E1", "L3.E2"}
    assert shown.message == "progress (1).json was taken over."
    assert load(file).record == shown.record
    other.write_text("{")
    assert "it is no progress of kafkalab" in progress(also=other).message
    assert load(file).record == shown.record
    with pytest.raises(ValueError, match=r"there is no file nowhere.json; upload it"):
        progress(also="nowhere.json")
    assert progress(also=file).record == shown.record
    assert merge(file, other).record == shown.record


def test_the_picture_and_its_twin_say_the_same() -> None:
    record = {"L3.E1": ExerciseRecord(solved=True, tries=1), "L3.E2": ExerciseRecord(tries=2)}
    shown = CourseMap(record, {"L3.E1": "", "L3.E2": ""}, "a < b")
    assert (shown.solved, shown.total) == (1, 2)
    lines = str(shown).splitlines()
    assert lines[0].startswith("The course: 1 of 2 exercises solved")
    assert "  L3  A full commit, one frame at a time  ●◐" in lines
    assert lines[-1] == "a < b"
    assert lines[-2].startswith("17 more are planned: L0, L1, L2, L4, ")
    words = " ".join(element.text or "" for element in ET.fromstring(shown.svg()).iter())
    assert "1 of 2 exercises solved" in words
    assert "a < b" in words
    assert all(word in words for lab in COURSE if lab.number == 3 for word in lab.title.split())
    assert "Meet the machine" not in words


def test_a_lab_is_done_when_all_of_it_is_solved() -> None:
    record = {name: ExerciseRecord(solved=True, tries=1) for name in EXERCISES if name.startswith("L3.")}
    text = str(CourseMap(record, EXERCISES))
    assert [line.split()[0] for line in text.splitlines() if line.endswith("done")] == ["L3"]


def test_on_binder_there_is_a_download_button_and_elsewhere_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(file, "L3.E1", True)
    monkeypatch.delenv(course.BINDER, raising=False)
    page = progress()._repr_mimebundle_()["text/html"]
    assert "download" not in page
    links = re.findall(r'<a href="([^"]+)" title="Lab \d+: [^"]+"', page)
    assert links == [f"{lab.name}.ipynb" for lab in COURSE if any(e.startswith(f"L{lab.number}.") for e in EXERCISES)]
    monkeypatch.setenv(course.BINDER, "10.0.0.1")
    page = progress()._repr_mimebundle_()["text/html"]
    data = re.search(r'download="progress.json" href="data:application/json;base64,([^"]+)"', page)
    assert data is not None
    import base64

    assert json.loads(base64.b64decode(data[1])) == json.loads(file.read_text())
    monkeypatch.setenv(kept.VARIABLE, "off")
    assert set(progress()._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}


def test_every_track_is_made_of_labs_of_the_course() -> None:
    assert sorted(lab.number for lab in COURSE) == [*range(18)]
    assert {n for track in TRACKS.values() for n in track} <= {lab.number for lab in COURSE}


@pytest.mark.smoke
@pytest.mark.notebooks
def test_a_notebook_keeps_its_progress_beside_itself_over_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(kept.VARIABLE)

    def cell(name: str, source: str) -> dict[str, object]:
        return {
            "cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [], "source": source
        }  # fmt: skip

    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    frame = {"metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    first = f"from kafkalab import check, progress\ncheck('L1.E1', {RIGHT!r})"
    execute({"cells": [cell("a", first)], **frame}, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["progress.json"]
    again = execute({"cells": [cell("a", "from kafkalab import progress\nprint(progress())")], **frame}, tmp_path)
    assert "1 of" in "".join(again["cells"][0]["outputs"][0]["text"])
