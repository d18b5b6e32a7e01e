"""The incident room in Python: samples, own lines, files, mistakes; and the same in a page's session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab import IncidentRoom, Sequence, lab03
from kafkalab.diagnose.nearest.known import known_runs
from kafkalab.diagnose.report import NOTHING
from kafkalab.diagnose.room import FOLDER, PASTED, SAMPLES
from kafkalab.site.book.recorder import describe_picture
from tests.diagnose.test_hanging import ABORT, DUMP, HANGING
from tests.site.test_worker import Talk

FILES_OF = {
    "hanging": ("01_late_batch/terminal.txt", "01_late_batch/shipments-1.dump.txt"),
    "stuck": ("04_stuck_reader/tracker.txt",),
    "lag": ("13_lag_of_one/group.txt", "13_lag_of_one/claims-0.dump.txt"),
}
CERTAINTY = {"hanging": ("certain", False), "stuck": ("unknown", False), "lag": ("certain", True)}


def first_of(room: IncidentRoom) -> tuple[str, bool]:
    """Return how certain the first finding is, and whether it is harmless."""
    first = room.report["findings"][0]
    return first["certainty"], first["harmless"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_an_incident_and_says_how_certain_it_is(name: str, root: Path) -> None:
    files = [(root / "tests" / "incidents" / path).read_text() for path in FILES_OF[name]]
    assert (FOLDER / f"{name}.txt").read_text() == "\n".join(files)
    room = IncidentRoom(sample=name)
    assert (room.report["sample"], room.report["lines"]) == (name, "\n".join(files))
    assert first_of(room) == CERTAINTY[name]


def test_the_room_opens_with_a_sample_and_the_nearest_run_where_it_decides() -> None:
    room = IncidentRoom()
    nearest = next(one for one in known_runs() if one.name == "KAFKA-14402")
    assert room.report["nearest"]["run"]["name"] == nearest.name
    assert (room.step, Sequence(room).step) == (nearest.step, nearest.step)
    assert room.text().startswith("CERTAIN: ")
    assert "Incident room: CERTAIN" in room.svg()
    assert [name for name, _ in room.report["logs"]] == ["shipments-1"]


def test_own_lines_take_the_place_of_the_sample() -> None:
    room = IncidentRoom()
    room.read(HANGING, DUMP)
    assert (room.report["sample"], room.report["findings"][0]["act"]) == ("", ABORT)
    assert room.report["lines"] == "\n".join([HANGING, DUMP])
    assert json.loads(json.dumps(room.report)) == room.report


def test_a_second_reading_forgets_the_first() -> None:
    room = IncidentRoom()
    room.read("hello")
    assert (room.report["findings"], room.report["nothing"]) == ([], NOTHING)
    assert room.report["nearest"]["run"] is None


def test_files_and_a_saved_scenario_are_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(HANGING)
    room = IncidentRoom()
    room.read_files(tmp_path / "a.txt")
    assert room.report["findings"][0]["act"] == ABORT
    text = (root / "data" / "lab03_answer_lost.klab").read_text()
    room._read_message([["x.klab", text], ["a.txt", HANGING], ["a.txt", HANGING]])
    assert {one["mechanism"] for one in room.report["findings"]} == {"hanging", "run_ok"}
    assert [one["file"] for one in room.report["files"]] == ["x.klab", "a.txt", "a.txt (again)"]


def test_the_same_near_run_is_made_once() -> None:
    room = IncidentRoom()
    before = len(room.journey.tree)
    room.read(HANGING)
    assert len(room.journey.tree) == before
    room.read("[Producer clientId=p, transactionalId=t] ERROR InvalidPidMappingException\n" * 2)
    assert len(room.journey.tree) == before + 1


def test_a_secret_is_in_no_report() -> None:
    room = IncidentRoom()
    room.read("sasl.jaas.config = org.X required password=hunter2\nnonsense token=abcdef12345 zzz")
    assert "hunter2" not in json.dumps(room.report)
    assert "abcdef12345" not in json.dumps(room.report)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([["a", "  \n"]], "there is nothing to read: paste what a tool or a log printed"),
        ([["a", "x" * (PASTED.most + 1)]], "more than 5,000,000 characters: read it with `kafkalab diagnose"),
        ([], "a list of names and texts"),
        ([["a"]], "a list of names and texts"),
        ([["a", 5]], "a list of names and texts"),
        ("a", "a list of names and texts"),
    ],
)
def test_what_cannot_be_read_says_why_and_changes_nothing(texts: object, why: str) -> None:
    room = IncidentRoom()
    before = room.report
    with pytest.raises(ValueError, match=re.escape(why)):
        room._read_message(texts)
    assert room.report is before


def test_an_unknown_sample_is_named() -> None:
    with pytest.raises(ValueError, match="no sample 'x'; there are hanging, stuck, lag"):
        IncidentRoom(sample="x")


def test_of_a_run_the_room_has_read_nothing() -> None:
    room = IncidentRoom(lab03())
    assert (room.report, room.text()) == ({}, "Nothing is read yet.")


@pytest.fixture(scope="module")
def talk(root: Path) -> Iterator[Talk]:
    """A page's session."""
    one = Talk(root)
    yield one
    one.process.communicate()


def test_a_page_of_the_book_reads_in_its_own_python(talk: Talk) -> None:
    room = IncidentRoom()
    kept = describe_picture(room)
    models = kept["models"]
    (journey,) = [key for key, model in models.items() if "codes" in model]
    values = models[kept["root"]]["values"]
    codes = models[journey]["codes"]
    assert talk.say(kind="journey", id=journey, codes=codes, values=models[journey]["values"]) == []
    assert talk.say(kind="view", id="r", part="incident_room", journey=journey, values=values) == []
    said = talk.ask("r", kind="read", texts=[["pasted", HANGING]])
    (report,) = [one["state"]["report"] for one in said if one["id"] == "r" and "report" in one.get("state", {})]
    assert report["findings"][0]["act"] == ABORT
    assert report["nearest"]["run"]["name"] == "KAFKA-14402"
    assert report["sample"] == ""
    assert [one["content"] for one in said if one["kind"] == "custom"] == [{"kind": "done"}]
    assert [one["content"] for one in talk.ask("r", kind="read", texts=[["pasted", HANGING]])] == [{"kind": "done"}]
    (told,) = [one for one in talk.ask("r", kind="read", texts=[["pasted", " "]]) if one["kind"] == "custom"]
    assert told["content"]["text"].startswith("There is nothing to read")
