"""The page with Python in it, without a browser: its stand-ins, what its address may name, what its session answers."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import ipywidgets
import pytest

import kafkalab
from kafkalab import Challenge, Cluster, Crash, Drop, Journey, Scenario, Sequence, lab00, lab03
from kafkalab.checks.all import BY_NAME
from kafkalab.course.labs import FOUND
from kafkalab.sim.codec import code_of
from kafkalab.site.page.build import archive, recorded_run
from kafkalab.site.page.opening import lab_of, opening, runs, scenario_of_lab
from kafkalab.site.page.pictures import MACHINES, PICTURES

SCRIPT = """
import json, sys
from kafkalab.site.page.stand_in import install
install()
from kafkalab.site.page.session import start
receive = start(print)
models = {}
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

    def press(self, model: str, **content: Any) -> Said:
        """Send what a press of the browser sends."""
        return self.say(kind="comm", id=model, data={"method": "custom", "content": {"kind": "press", **content}})


@pytest.fixture(scope="module")
def talk(root: Path) -> Iterator[Talk]:
    """A session that nothing was said to yet, or that a test before has used."""
    one = Talk(root)
    yield one
    one.process.communicate()


def first(said: Said, kind: str) -> dict[str, Any]:
    """The first message of a kind."""
    return next(message for message in said if message["kind"] == kind)


def digest(talk: Talk) -> str:
    """The digest of the run that is shown."""
    return str(first(talk.say(kind="digest"), "digest")["digest"])


def journey_of(said: Said) -> str:
    """The id of the journey's model."""
    return str(next(m["id"] for m in said if m["kind"] == "model" and "payload" in m["state"]))


def test_it_sends_the_models_that_ipywidgets_would_and_the_run(talk: Talk) -> None:
    said = talk.say(kind="open", address="")
    view = Sequence(Journey(lab03()))
    ours = {**view.journey.get_state(), **view.get_state()}
    models = {name: value for m in said if m["kind"] == "model" for name, value in m["state"].items()}
    own = {"_own_id", "journey", "_model_module_version", "_model_name"}
    assert set(models) - own <= set(ours)
    assert {name for name in models if name not in own and models[name] != ours[name]} == {"_model_module"}
    assert models["payload"] == ours["payload"]
    assert digest(talk) == view.cluster.trace.digest()
    assert first(said, "run")["code"] == code_of(lab03())


def test_a_press_makes_the_run_that_a_notebook_makes(talk: Talk) -> None:
    journey = journey_of(talk.say(kind="open", address="lab=lab03"))
    said = talk.press(journey, action="drop", target="EndTxnResponse#1", step=50)
    here = Journey(lab03())
    here.step = 50
    here.press("drop", "EndTxnResponse#1")
    assert [m["kind"] for m in said] == ["update", "custom", "run"]
    assert said[0]["state"]["step"] == here.step
    assert said[0]["state"]["payload"] == here.get_state("payload")["payload"]
    assert said[1]["content"] == {"kind": "done"}
    assert digest(talk) == here.cluster.trace.digest()
    talk.press(journey, action="undo", step=here.step)
    assert digest(talk) == Cluster(lab03()).run().digest()


def test_before_a_run_is_shown_there_is_nothing_to_compare(root: Path) -> None:
    new = Talk(root)
    assert "no run yet" in first(new.say(kind="digest"), "refused")["text"]
    new.process.communicate()


def test_a_value_of_the_page_is_taken_over_and_not_sent_back(talk: Talk) -> None:
    said = talk.say(kind="open", address="")
    journey, view = journey_of(said), first(said, "show")["id"]
    assert talk.say(kind="comm", id=journey, data={"method": "custom", "content": {"kind": "step", "step": 9}}) == []
    assert talk.say(kind="comm", id=view, data={"method": "update", "state": {"time": "across"}}) == []
    refused = talk.say(kind="comm", id=view, data={"method": "update", "state": {"time": "up"}})
    assert first(refused, "custom")["content"]["kind"] == "error"
    assert first(refused, "update")["state"] == {"time": "across"}
    assert talk.press(journey, action="right", step=9)[0]["state"]["step"] > 9


def test_a_press_that_would_change_nothing_is_answered_with_a_sentence(talk: Talk) -> None:
    journey = journey_of(talk.say(kind="open", address=""))
    said = talk.press(journey, action="drop", target="Nothing#1", step=5)
    assert [m["kind"] for m in said] == ["custom"]
    assert "Nothing#1" in said[0]["content"]["text"]


def test_a_new_run_comes_with_the_place_that_the_address_names(talk: Talk) -> None:
    said = talk.say(kind="open", address="lab=lab03&at=EndTxn%231")
    here = Journey(lab03())
    here.press("find", "EndTxn#1")
    assert [m["kind"] for m in said if m["kind"] != "closed"] == ["model", "model", "show", "run"]
    assert said[0]["state"]["step"] == here.step > 0


def test_what_the_page_shows_while_python_loads_is_what_python_will_send(talk: Talk) -> None:
    recorded = json.loads(gzip.decompress(recorded_run("lab00")))
    journey, view = (m["state"] for m in talk.say(kind="open", address="lab=lab00") if m["kind"] == "model")
    later = {"verdict"}
    assert {name: journey[name] for name in recorded["journey"] if name not in later} == {
        name: value for name, value in recorded["journey"].items() if name not in later
    }
    assert recorded["view"].items() <= view.items()
    assert recorded["journey"]["verdict"]["place"] == 0
    assert recorded_run("lab00") == recorded_run("lab00")


def test_the_run_before_is_forgotten_when_another_is_opened(talk: Talk) -> None:
    old = talk.say(kind="open", address="lab=lab00")
    said = talk.say(kind="open", address="lab=lab01")
    assert {m["id"] for m in said if m["kind"] == "closed"} == {m["id"] for m in old if m["kind"] == "model"}
    assert talk.press(journey_of(old), action="right", step=1) == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("lab=lab99", "No lab has a run 'lab99'; there are lab00, lab01"),
        ("run=K1-HF391-20500-0FKQ", "typo"),
        ("run=hello", "K1"),
        ("challenge=K1-HF391-20500-0FKP", "challenge"),
        ("shop=lab03", "An address ends with #lab=…, #run=…, #challenge=…, not '#shop=lab03'"),
        ("lab=lab00&run=K1", "An address ends with"),
        ("lab=lab00&view=log", "No picture is called 'log'; there are logs, states, cluster, client, costs"),
        ("lab=lab03&view=", "No picture is called ''"),
        ("lab=lab03&step=soon", "A step is a number, such as #lab=lab03&step=54, not 'soon'"),
        ("lab=lab03&at=EndTxn%2399", "This run has no 'EndTxn#99'"),
    ],
)
def test_an_address_that_names_nothing_gets_a_sentence_and_the_run_stays(talk: Talk, address: str, told: str) -> None:
    journey = journey_of(talk.say(kind="open", address=""))
    said = talk.say(kind="open", address=address)
    assert first(said, "refused")["text"].lower().find(told.lower()) >= 0
    assert [m["kind"] for m in said if m["kind"] in ("show", "closed", "run")] == []
    assert talk.press(journey, action="right", step=1) != []


def test_a_picture_is_made_when_it_is_asked_for_and_only_once(talk: Talk) -> None:
    said = talk.say(kind="open", address="lab=lab03&view=logs")
    assert len([m for m in said if m["kind"] == "model"]) == 2
    made = talk.say(kind="picture", name="logs", ask=1)
    assert [m["kind"] for m in made if m["kind"] != "update"] == ["model", "picture"]
    assert made[0]["state"]["journey"] == f"IPY_MODEL_{journey_of(said)}"
    assert made[-1] == {
        "kind": "picture", "ask": 1, "id": made[0]["id"], "of": "", "subjects": {"": ""}, "why": "", "note": ""
    }
    again = talk.say(kind="picture", name="logs", ask=2)
    assert again == [{**made[-1], "ask": 2}]


@pytest.mark.parametrize("name", list(PICTURES))
def test_a_picture_has_the_values_that_it_has_in_a_notebook_also_after_a_press(talk: Talk, name: str) -> None:
    journey = journey_of(talk.say(kind="open", address="lab=lab03"))
    made = talk.say(kind="picture", name=name, ask=1)
    here = getattr(kafkalab, PICTURES[name].view)(Journey(lab03())).get_state()
    there = {k: v for m in made if m["kind"] in ("model", "update") for k, v in m["state"].items()}
    own = (there.keys() & here.keys()) - {"_own_id", "journey"} - {k for k in here if k.startswith("_model")}
    assert {"size"} <= own
    assert {k: there[k] for k in own} == {k: here[k] for k in own}
    said = talk.press(journey, action="drop", target="EndTxnResponse#1", step=50)
    assert {m["id"] for m in said if m["kind"] == "update"} <= {journey, made[-1]["id"]}
    assert [m["content"] for m in said if m["kind"] == "custom"] == [{"kind": "done"}]


def test_a_picture_may_be_of_one_of_several(talk: Talk) -> None:
    talk.say(kind="open", address="lab=lab10")
    some, producer = (first(talk.say(kind="picture", name="states", of=of), "picture") for of in ("", "producer"))
    assert some["subjects"] == producer["subjects"] == MACHINES
    assert (some["of"], producer["of"]) == ("coordinator", "producer")
    assert some["id"] != producer["id"]
    client = first(talk.say(kind="picture", name="client"), "picture")
    names = [n["id"] for n in Journey(scenario_of_lab("lab10")).payload["nodes"] if n["kind"] == "client"]
    assert (list(client["subjects"]), client["of"]) == (names, names[0])
    nobody = first(talk.say(kind="picture", name="client", of="nobody"), "picture")
    assert (nobody["id"], nobody["subjects"]) == ("", client["subjects"])
    assert nobody["why"] == f"This run has no 'nobody' to show here; there are {', '.join(names)}."


def test_a_picture_that_makes_no_sense_of_a_run_says_so(talk: Talk) -> None:
    empty = Scenario(title="nobody does anything")
    talk.say(kind="open", address=f"run={code_of(empty)}")
    whys = {name: first(talk.say(kind="picture", name=name), "picture")["why"] for name in PICTURES}
    assert whys == {
        "logs": "This run has no partition, so it has no logs.",
        "states": "This run has no transaction, no producer with an id and no consumer group, so it has no states.",
        "cluster": "",
        "client": "No client takes part in this run.",
        "costs": "",
    }
    assert "no picture is called 'tree'" in first(talk.say(kind="picture", name="tree"), "refused")["text"].lower()


def test_before_a_run_is_shown_there_is_no_picture(root: Path) -> None:
    new = Talk(root)
    assert "no run yet" in first(new.say(kind="picture", name="logs"), "refused")["text"]
    new.process.communicate()


def test_the_stand_in_and_the_pictures_have_no_name_in_common_by_accident(root: Path) -> None:
    own = set(re.findall(r"self\.(_\w+)", (root / "kafkalab/site/page/stand_in.py").read_text(encoding="utf-8")))
    of_ipywidgets = {name for kind in ipywidgets.Widget.__mro__ for name in vars(kind)}
    assert len(own - of_ipywidgets) > 2
    text = "".join(file.read_text(encoding="utf-8") for file in (root / "kafkalab" / "widgets").rglob("*.py"))
    used = set(re.findall(r"(?:self\.|def )(_\w+)", text))
    assert (own - of_ipywidgets) & used == set()


def test_the_pictures_of_the_run_before_are_closed(talk: Talk) -> None:
    talk.say(kind="open", address="lab=lab03")
    old = first(talk.say(kind="picture", name="cluster"), "picture")["id"]
    assert old in {m["id"] for m in talk.say(kind="open", address="lab=lab00") if m["kind"] == "closed"}
    assert first(talk.say(kind="picture", name="cluster"), "picture")["id"] != old


@pytest.mark.parametrize("name", list(PICTURES))
def test_every_picture_can_be_made_of_every_run_of_the_labs_that_has_what_it_shows(name: str) -> None:
    for run in ("lab00", "lab01", "lab06", "lab10"):
        journey = Journey(scenario_of_lab(run))
        for of in PICTURES[name].subjects(journey.payload):
            assert PICTURES[name].made(journey, of).journey is journey


def test_an_address_names_a_run_and_a_place_in_it() -> None:
    broken = replace(lab03(), faults=(Drop("EndTxnResponse#1"), Crash("b3", at_step=80)))
    assert opening(f"#run={code_of(broken)}").scenario == broken
    assert opening("").scenario == opening("lab=lab03").scenario == lab03()
    found = opening("lab=lab00&at=Produce%231&step=4")
    assert (found.at, found.step, found.scenario) == ("Produce#1", 4, lab00())


def test_every_lab_with_a_scenario_has_a_run() -> None:
    assert {lab_of(name).number for name in runs()} == {lab.number for lab in FOUND} - {12, 16}
    assert [name for name in runs() if not opening(f"lab={name}").scenario.title] == []


def test_a_challenge_is_told_its_presses_are_counted_and_its_line_is_given(talk: Talk) -> None:
    challenge = Challenge(scenario=lab00(), find=("duplicate",), most=2)
    said = talk.say(kind="open", address=f"challenge={challenge.code}")
    assert first(said, "show")["challenge"] == str(challenge)
    assert BY_NAME["duplicate"].meaning in first(said, "show")["challenge"]
    journey = journey_of(said)
    assert first(talk.say(kind="answer", name="Ada"), "answered") == {
        "kind": "answered",
        "right": False,
        "text": "There is no press in it.",
    }
    talk.press(journey, action="drop", target="ProduceResponse#1", step=5)
    assert "give your name" in first(talk.say(kind="answer", name=" "), "refused")["text"].lower()
    answer = first(talk.say(kind="answer", name="Ada"), "answered")
    assert answer["right"]
    assert "You found duplicate in 1 press. Hand in this line:" in answer["text"]
    talk.say(kind="open", address="")
    assert "shows no challenge" in first(talk.say(kind="answer", name="Ada"), "refused")["text"]


def test_what_if_is_computed_at_once_where_python_has_no_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", none)
    view = Sequence(lab00())
    handlers: dict[str, Callable[[dict[str, Any]], Any]] = view.handlers()
    handlers["what_if"]({"kind": "what_if"})
    assert view.strips["rows"] != []


def test_the_archive_has_what_the_page_imports_and_is_the_same_twice() -> None:
    data = archive()
    names = set(zipfile.ZipFile(BytesIO(data)).namelist())
    assert {"kafkalab/site/page/session.py", "kafkalab/widgets/views/sequence.py", "traitlets/traitlets.py"} <= names
    parts = {name.split("/")[1] for name in names if name.startswith("kafkalab/")}
    assert parts & {"spark", "wire", "cli", "live", "DESIGN.md"} == set()
    assert [name for name in names if "exercise_1" in name or name.endswith(".js")] == []
    assert data == archive()
