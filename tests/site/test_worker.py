"""Python in a page of the book, without a browser: what its session answers, as the stored futures do."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import ipywidgets
import pytest

from kafkalab import Alternatives, Cluster, Crash, Drop, Journey, Scenario, Sequence, Share, lab00, lab03
from kafkalab.reference.gallery import Exhibit, Gallery
from kafkalab.sim.codec import code_of
from kafkalab.site.book import recorder
from kafkalab.site.book.futures import Difference, Press, futures_of, press_of, presses_on, single_faults
from kafkalab.site.book.recorder import describe_picture
from kafkalab.site.worker import build
from kafkalab.site.worker.build import archive
from kafkalab.widgets.views.view import Picture

SCRIPT = """
import sys
from threading import Thread
from kafkalab.site.worker.stand_in import install
install()
from kafkalab.site.worker.session import start
receive = start(print)
def none(_):
    raise RuntimeError("can't start new thread")
Thread.start = none
for line in sys.stdin:
    receive(line)
    print("end", flush=True)
"""
Said = list[dict[str, Any]]


class Talk:
    """A session in a process of its own, where the stand-ins take the places of anywidget and ipywidgets."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-c", SCRIPT]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=root, stdin=pipe, stdout=pipe, text=True)

    def say(self, **message: Any) -> Said:
        """Send a message; return what is said in answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return [json.loads(line) for line in iter(self.process.stdout.readline, "end\n")]

    def open(self, journey: Journey) -> dict[str, Any]:
        """Let the session take the place of a recorded journey, which is called "j"; return what was recorded."""
        shown = describe_journey(Sequence(journey))
        assert self.say(kind="journey", id="j", codes=shown["codes"], values=shown["values"]) == []
        return shown

    def ask(self, model: str, **content: Any) -> Said:
        """Send what a picture of the browser sends."""
        return self.say(kind="comm", id=model, data={"method": "custom", "content": content})

    def press(self, **content: Any) -> Said:
        """Send what a press of the browser sends."""
        return self.ask("j", kind="press", **content)


@pytest.fixture(scope="module")
def talk(root: Path) -> Iterator[Talk]:
    """A session, which has taken the places of what the tests before have opened."""
    one = Talk(root)
    yield one
    one.process.communicate()


def describe_journey(picture: Picture) -> dict[str, Any]:
    """Return what is recorded of the picture's journey, with the parts of its pictures."""
    models = describe_picture(picture)["models"].values()
    return next({**model, "parts": {picture.part, "share"}} for model in models if "codes" in model)


def test_a_displayed_picture_or_gallery_describes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Picture, Gallery):
        monkeypatch.setattr(kind, "_repr_mimebundle_", kind._repr_mimebundle_)
    view = Sequence(lab00())
    exhibits = [Exhibit(group="g", key="k", title="t", show=lambda: ([], view))]
    recorder.record_pictures()
    assert view._repr_mimebundle_()[0][recorder.KEPT] == describe_picture(view)
    data, _ = Gallery("Runs", exhibits)._repr_mimebundle_()
    (shown,) = data[recorder.KEPT]["exhibits"]
    assert (shown[:2], data[recorder.KEPT]["chosen"]) == (["k", "t"], "k")
    assert shown[3][recorder.KEPT]["part"] == "sequence"


def test_node_compiles_by_a_script_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_by_node(command: list[str], what: str) -> None:
        program, script, runtime, sources, place = command
        assert (program, runtime, what) == ("node", "pyodide", "page")
        assert "python_stdlib.zip" in Path(script).read_text(encoding="utf-8")
        assert "kafkalab/__init__.py" in zipfile.ZipFile(sources).namelist()
        for name in ("python_stdlib.zip", "kafkalab.zip"):
            (Path(place) / name).write_text(name)

    monkeypatch.setattr(build, "compile_by_node", compile_by_node)
    packed = build._compile(Path("pyodide"), tmp_path, ["node"])
    assert [gzip.decompress(data) for data in packed] == [b"python_stdlib.zip", b"kafkalab.zip"]


def patch(before: str, parts: list[Any]) -> str:
    """Return the text of which `parts` is the difference from `before`."""
    after, ahead = "", 0
    for text, distance, length in zip(parts[::3], [*parts[1::3], 0], [*parts[2::3], 0], strict=True):
        ahead += len(text) + distance
        after += text + before[ahead : ahead + length]
        ahead += length
    return after


def press_twice() -> Journey:
    """Return a journey with a tree of runs, of which the second is shown."""
    journey = Journey(lab03())
    journey.press("drop", "EndTxn#1")
    journey.press("undo")
    journey.press("crash", "b1")
    journey.press("goto", "1")
    return journey


def test_it_makes_the_runs_of_a_recorded_tree_and_says_nothing(talk: Talk) -> None:
    here = press_twice()
    talk.open(here)
    said = talk.press(action="undo", step=here.step)
    here.press("undo")
    state = next(m["state"] for m in said if m["kind"] == "update")
    assert state["payload"] == here.get_state("payload")["payload"]
    assert (state["place"], state["step"]) == (0, here.step)
    assert said[-1] == {"kind": "custom", "id": "j", "content": {"kind": "done"}}


def test_a_press_makes_the_run_that_a_notebook_makes_and_its_code(talk: Talk) -> None:
    here = press_twice()
    talk.open(here)
    said = talk.press(action="drop", target="EndTxn#2", step=here.step)
    here.press("drop", "EndTxn#2")
    assert [m["kind"] for m in said] == ["update", "custom", "codes"]
    assert said[0]["state"]["payload"] == here.get_state("payload")["payload"]
    assert said[0]["state"]["tree"] == here.tree
    assert said[2]["codes"] == [code_of(scenario) for scenario in here.scenarios]


def test_the_cursor_and_what_is_hidden_are_those_of_the_page(talk: Talk) -> None:
    shown = describe_journey(Sequence(lab03()))
    values = {**shown["values"], "step": 100, "hidden": ["b2", "gone"], "groups": ["transaction", "replication"]}
    talk.say(kind="journey", id="j", codes=shown["codes"], values=values)
    here = Journey(lab03(), groups=values["groups"], step=100)
    here.hidden = ["b2"]
    here.press("right")
    assert talk.press(action="right", step=100)[0]["state"] == {"step": here.step}


def test_a_press_that_would_change_nothing_is_answered_with_a_sentence(talk: Talk) -> None:
    talk.open(Journey(lab00()))
    said = talk.press(action="drop", target="Nothing#1", step=5)
    assert [m["kind"] for m in said] == ["custom"]
    assert "Nothing#1" in said[0]["content"]["text"]


def test_a_picture_answers_what_it_is_asked_of_the_run_that_is_shown(talk: Talk) -> None:
    journey = Journey(lab00())
    shown = talk.open(journey)
    values = {"journey": "IPY_MODEL_j", "size": "laptop", "what_if": True, "reasons": {}, "strips": {}}
    assert talk.say(kind="view", id="s", part="sequence", journey="j", values=values) == []
    rules = talk.ask("s", kind="rules")
    assert rules[0]["state"]["reasons"]["why"] == Sequence(lab00()).rules()
    strips = next(m["state"]["strips"] for m in reversed(talk.ask("s", kind="what_if")) if m["kind"] == "update")
    assert strips["rows"] == Sequence(lab00()).futures()
    talk.press(action="drop", target="Produce#1", step=shown["values"]["step"])
    values = {"journey": "IPY_MODEL_j", "size": "laptop", "shared": Share(journey).shared}
    said = talk.say(kind="view", id="h", part="share", journey="j", values=values, behind=True)
    journey.press("drop", "Produce#1")
    assert said == [{"kind": "update", "id": "h", "state": {"shared": Share(journey).shared}}]


def test_the_four_machines_are_pressed_without_a_run(talk: Talk) -> None:
    values = {"pressed": "no fault", "again": True, "place": "decided", "size": "laptop", "panels": [], "presses": []}
    talk.say(kind="view", id="n", part="alternatives", journey="", values=values)
    said = talk.ask("n", kind="press", action="coordinator")
    here = Alternatives(again=True)
    here.press("coordinator")
    assert said[0]["state"] == json.loads(json.dumps(here.get_state(["panels", "pressed"])))


@pytest.mark.parametrize("make", [lab00, lab03, press_twice])
def test_a_stored_future_is_what_python_answers_to_the_same_press(
    talk: Talk, make: Callable[[], Scenario | Journey]
) -> None:
    journey = Journey.of(make())
    shown = talk.open(journey)
    futures = futures_of(shown, ["EndTxn#1", "Nothing#7"], [])
    assert futures
    for key in random.Random(34).sample(sorted(futures), min(5, len(futures))):
        talk.open(journey)
        action, target, *rest = key.split(" ")
        if action == "run":
            said = talk.press(action="goto", target=target, step=journey.step)
        else:
            step = int(rest[0][1:]) if rest else 0
            said = talk.press(action=action, target=target, step=step)
        state, future = said[0]["state"], futures[key]
        assert patch(shown["values"]["payload"], future["payload"]) == state["payload"]
        talk.say(kind="view", id="h", part="share", journey="j", values={})
        verdict = talk.ask("j", kind="check")[0]["state"]["verdict"]
        assert {**future["verdict"], "place": state["place"]} == verdict
        if action != "run":
            assert future["step"] == state["step"]
            assert {**state["tree"][-1], **future["row"]} == state["tree"][-1]
            codes = next(m["codes"] for m in said if m["kind"] == "codes")
            assert future["shared"]["code"] == codes[-1]


def test_every_press_of_the_bar_is_foretold_and_every_frame_that_the_text_names() -> None:
    journey = Journey(lab03())
    keys = {press.key for press in presses_on(journey, ["EndTxnResponse#1", "Nothing#7"], [])}
    assert {"drop EndTxnResponse#1", "duplicate EndTxnResponse#1"} <= keys
    assert {press.key for press in single_faults(journey)} <= keys
    sent = {e["frame"] for e in journey.payload["events"] if e["step"] in journey.stops() and e["kind"] == "send"}
    assert {press.target for press in single_faults(journey)} == sent != set()
    assert not [key for key in keys if "Nothing" in key]


def test_a_run_that_the_article_shows_beside_is_one_press_away() -> None:
    other = lab03().with_faults(Crash("b3", at_step=80, sent=True))
    keys = [press.key for press in presses_on(Journey(lab03()), [], [other, lab00(), lab03()])]
    assert keys[0] == 'crash b3 @80 {"sent":true}'
    assert press_of(Crash("b3", at_ms=80)) is None
    assert press_of(Drop("EndTxn#1")) == Press(action="drop", target="EndTxn#1", step=0)


def test_a_journey_whose_codes_make_another_run_has_no_futures() -> None:
    shown = describe_journey(Sequence(lab03()))
    assert futures_of({**shown, "codes": [code_of(lab00())]}, [], []) is None
    assert futures_of({**shown, "parts": {"log_tape"}}, [], []) == {}


def test_a_run_that_no_code_makes_is_recorded_without_codes() -> None:
    cluster = Cluster(lab00())
    cluster.run()
    cluster.record("shop", "invoke", "again", -1, {})
    assert describe_journey(Sequence(cluster))["codes"] == []


@pytest.mark.parametrize("seed", range(5))
def test_a_difference_gives_the_text_back_and_is_short_for_texts_alike(seed: int) -> None:
    draw = random.Random(seed)
    words = [str(draw.randrange(10 ** draw.randrange(1, 9))) for _ in range(2000)]
    before, difference = ",".join(words), Difference(",".join(words))
    for _ in range(3):
        words[draw.randrange(2000) :] = words[draw.randrange(1500) :]
        words[draw.randrange(len(words))] = "ü" * draw.randrange(9)
        parts = difference.of(",".join(words))
        assert patch(before, parts) == ",".join(words)
    assert len(json.dumps(parts)) < len(before) / 20
    assert patch(before, difference.of("")) == ""
    assert patch("", Difference("").of("ab,c")) == "ab,c"


def test_the_stand_in_and_the_pictures_have_no_name_in_common_by_accident(root: Path) -> None:
    text = (root / "kafkalab/site/worker/stand_in.py").read_text(encoding="utf-8")
    own = {*re.findall(r"self\.(\w+)", text), *re.findall(r"^    (\w+) =", text, re.M)}
    of_ipywidgets = {name for kind in ipywidgets.Widget.__mro__ for name in vars(kind)}
    assert len(own - of_ipywidgets) > 2
    files = (root / "kafkalab" / "widgets").rglob("*.py")
    used = {name for file in files for name in re.findall(r"(?:self\.|def )(\w+)", file.read_text(encoding="utf-8"))}
    assert (own - of_ipywidgets) & used == set()


def test_what_if_is_computed_at_once_where_python_has_no_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", none)
    view = Sequence(lab00())
    view.handlers()["what_if"]({"kind": "what_if"})
    assert view.strips["rows"] != []


def test_the_archive_has_what_the_page_imports_and_is_the_same_twice() -> None:
    data = archive()
    names = set(zipfile.ZipFile(BytesIO(data)).namelist())
    assert {"kafkalab/site/worker/session.py", "kafkalab/widgets/views/sequence.py", "traitlets/traitlets.py"} <= names
    parts = {name.split("/")[1] for name in names if name.startswith("kafkalab/")}
    assert parts & {"spark", "wire", "cli", "live"} == set()
    of_reference = {name.split("/")[2] for name in names if name.startswith("kafkalab/reference/")}
    modules = "__init__", "bug", "bug_list", "found_scenarios", "protocol_page", "rule_matrix", "window_bugs"
    assert of_reference == {f"{module}.py" for module in modules}
    assert {"kafkalab/course/symptoms.toml", "kafkalab/diagnose/samples/lag.txt"} <= names
    assert [name for name in names if "exercise_1" in name or name.endswith((".js", "DECISIONS.md"))] == []
    assert data == archive()
