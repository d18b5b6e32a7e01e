"""Sharing a run and opening another's: the same run comes back, and what cannot be opened changes nothing."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.run.run import Run
from kafkalab.run.source import run_of
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share


@pytest.fixture
def share() -> Share:
    share = Share(lab03())
    share.press("drop", "EndTxn#1")
    return share


def test_the_card_is_complete_in_its_first_state(monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[dict[str, Any]] = []
    monkeypatch.setattr(Share, "open", lambda widget: first.append(widget.get_state(["shared"])["shared"]))
    share = Share(lab03())
    assert [(state["code"], state["python"]) for state in first] == [(share.code, share.python)]


def test_code_python_and_file_give_the_run_that_is_shown(share: Share, tmp_path: Path) -> None:
    digest = share.cluster.trace.digest()
    share.save(tmp_path / "mine.klab")
    assert (tmp_path / "mine.klab").read_text() == share.file_text
    names: dict[str, Any] = {}
    exec(share.python, names)
    others = [Share(lab03()) for _ in range(2)] + [Share(names["scenario"])]
    others[0].open_code(share.code)
    others[1].open_file(tmp_path / "mine.klab")
    assert {other.cluster.trace.digest() for other in others} == {digest}
    assert digest in share.text()


def test_what_is_opened_stands_beside_the_runs_that_there_are(share: Share) -> None:
    place = share.journey.place
    share.open_code(Share(lab03("4.x/TV1")).code)
    assert (share.payload["profile"], share.journey.can_undo) == ("4.x/TV1", False)
    assert share.journey.tree[-1]["label"] == "opened a code"
    share.press("goto", str(place))
    assert share.payload["faults"] == ["Drop(frame='EndTxn#1')"]


BAD = [
    ("", "this is not a scenario that kafkalab saved: it is no JSON"),
    ("{", "it is no JSON"),
    ("[1, 2]", "this is not a scenario that kafkalab saved"),
    ('{"format": "kafkalab-trace", "version": 1}', "this is not a scenario that kafkalab saved"),
    ('{"format": "kafkalab-scenario", "version": 2}', "this is a scenario of version 2; this kafkalab reads version 1"),
    ('{"format": "kafkalab-scenario", "version": 1, "magic": 1}', "this has fields that no scenario has: magic"),
    ('{"format": "kafkalab-scenario", "version": 1, "brokers": 99}', "brokers is a number from 1 to 9, not 99"),
    ('{"format": "kafkalab-scenario", "version": 1, "faults": [{"fault": "Explode"}]}', "is not a fault"),
    ('{"format": "kafkalab-scenario", "version": 1, "programs": [{"node": "a", "run": "none"}]}', "no program 'none'"),
    ("[" * 100_000, "this has too many levels of nesting; the limit is 20"),
    ("x" * 2_000_001, "this is too large for a scenario"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_a_malformed_foreign_or_newer_file_is_told_and_the_run_stays(share: Share, text: str, message: str) -> None:
    before = (share.payload, share.step, share.journey.place, share.journey.tree, share.code)
    with pytest.raises(ValueError, match=message):
        share.open_text(text)
    told: list[Any] = []
    share.send = lambda content, buffers=None: told.append(content)
    share._handle_custom_msg({"kind": "open", "text": text, "name": "a.klab"}, [])
    assert told[0]["kind"] == "error"
    assert (share.payload, share.step, share.journey.place, share.journey.tree, share.code) == before


@pytest.mark.campaign
def test_every_damage_of_a_file_is_told_or_harmless(share: Share) -> None:
    text = share.file_text
    for cut in range(0, len(text) - 3, 29):
        with pytest.raises(ValueError, match="it is no JSON"):
            share.open_text(text[:cut])
    row = json.loads(text)
    for field in row:
        for wrong in (None, -1, "x", [], {"a": 1}, [[1]]):
            with suppress(ValueError, RuntimeError):
                share.open_text(json.dumps({**row, field: wrong}))
    assert share.code


def test_a_code_with_a_typo_or_of_a_newer_version_is_told_and_the_run_stays(share: Share) -> None:
    before = share.journey.place
    told: list[Any] = []
    share.send = lambda content, buffers=None: told.append(content)
    wrong = share.code[:-1] + ("A" if share.code[-1] != "A" else "B")
    newer = "K9" + share.code[2:]
    for code, message in ((wrong, "There is a typo"), (newer, "of version 9, newer than this kafkalab")):
        share._handle_custom_msg({"kind": "code", "code": code}, [])
        assert message in told[-1]["text"]
    assert share.journey.place == before
    share._handle_custom_msg({"kind": "code", "code": share.code.lower()}, [])
    assert told[-1] == {"kind": "done", "text": "Shown now: A full commit, one frame at a time."}


def test_a_run_whose_program_cannot_be_saved_says_so() -> None:
    async def mine(app: object) -> None:
        pass

    share = Share(Scenario(programs=(Program("app", mine),)))
    assert "This run cannot be shared: program 'mine' cannot be saved" in share.text()
    with pytest.raises(ValueError, match="register it with @program first"):
        assert share.code


def test_a_run_that_was_only_recorded_says_that_it_cannot_be_made_again(tmp_path: Path) -> None:
    whole = run_of(ran(lab03()))
    recorded = Run(trace=whole.trace, cast=whole.cast, why="nobody knows what its clients will do")
    share = Share(recorded)
    assert share.text().endswith("This run cannot be shared: nobody knows what its clients will do.")
    for asked in (lambda: share.code, lambda: share.save(tmp_path / "x.klab"), lambda: share.journey.scenarios):
        with pytest.raises(ValueError, match=r"^nobody knows what its clients will do$"):
            asked()
    share.page(tmp_path / "x.html")
    assert "looked at only: nobody knows what its clients will do." in (tmp_path / "x.html").read_text()
    assert set(Sequence(share).rules().values()) == {recorded.why}


def test_a_binary_file_is_told(share: Share, tmp_path: Path) -> None:
    (tmp_path / "x.klab").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="no text in UTF-8"):
        share.open_file(tmp_path / "x.klab")


def test_the_picture_shows_the_code(share: Share) -> None:
    assert share.code in share.svg()
    assert ET.fromstring(share.svg()).tag.endswith("svg")
