"""Whatever the browser sends a widget is noted and answered, never raised, and cannot make it unreadable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.limits import MESSAGE
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import MessageWidget, sentence
from kafkalab.widgets.views.alternatives import Alternatives
from kafkalab.widgets.views.chooser import Chooser
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.cost_meter import CostMeter
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.state_chart import StateChart
from tests.fuzz.oracles import widgets

SCRIPTS = Path(__file__).parents[2] / "pictures" / "src"
CONTENTS: list[Any] = [
    None, 5, "press", [], {}, {"kind": []}, {"kind": "unknown"}, {"kind": "press"}, {"kind": "press", "action": {}},
    {"kind": "press", "action": "delay", "target": "EndTxn#1", "delay_ms": {"a": 1}},
    {"kind": "press", "action": "crash", "target": "b1", "payload": {}},
    {"kind": "press", "action": "goto", "target": "²"}, {"kind": "press", "action": "choose", "target": "x" * 10**5},
    {"kind": "open", "text": "[" * 100_000}, {"kind": "code", "code": [1]},
]  # fmt: skip


def told_to(widget: Any, msg: Any) -> list[Any]:
    """Return what the widget answers to a message."""
    widget.sent.clear()
    widget._handle_msg(msg)
    return list(widget.sent)


def data(**more: Any) -> dict[str, Any]:
    return {"content": {"data": more}, "buffers": []}


@pytest.mark.parametrize("number", [0, 5, 6, 7, 9], ids=["journey", "faults", "verdict", "share", "predict"])
def test_a_message_of_any_shape_is_answered_with_a_sentence(number: int) -> None:
    widget = widgets()[number]
    for content in CONTENTS:
        [answer] = told_to(widget, data(method="custom", content=content))
        assert answer["kind"] == "error"
        assert answer["text"][0] == answer["text"][0].upper()
        assert len(answer["text"]) <= MESSAGE + 1
        assert answer["text"].count("x") <= 100


@pytest.mark.parametrize("msg", [None, {}, {"content": 5}, {"content": {"data": []}}, data(), data(method="explode")])
def test_a_message_that_is_none_of_a_widgets_is_answered_too(msg: Any) -> None:
    [answer] = told_to(widgets()[1], msg)
    method = msg == data(method="explode")
    assert answer["kind"] == "error"
    assert answer["text"].startswith("No method 'explode'; there are" if method else "This is no message of a widget: ")


def test_an_error_that_nobody_expected_is_logged_with_its_traceback_and_answered(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = widgets()[0]
    monkeypatch.setattr(type(journey), "press", lambda *_: dict[str, Any]()["lost"])
    monkeypatch.setattr(journey.log, "propagate", True)
    assert told_to(journey, data(method="custom", content={"kind": "press", "action": "drop"})) == [
        {"kind": "error", "text": "'lost'."}
    ]
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (Journey, {"step": "x"}),
        (Journey, {"groups": ["nothing"]}),
        (Journey, {"hidden": [["b1"]]}),
        (Journey, {"payload": {}}),
        (Journey, {"tree": [], "place": 9}),
        (Sequence, {"time": "backwards", "size": 3, "journey": "IPY_MODEL_x"}),
        (LogTape, {"offset": None, "words": 5}),
        (ClusterMap, {"node": 7}),
        (StateChart, {"machine": {}, "what_if": "yes"}),
        (ClientView, {"revealed": 2, "_esm": "alert(1)"}),
        (lambda run: Compare(run, run), {"rows": [], "left": {}, "row": "x"}),
    ],
)
def test_nonsense_in_a_trait_is_refused_and_the_kernels_value_is_sent_back(make: Any, state: dict[str, Any]) -> None:
    widget = make(lab03())
    before = {name: getattr(widget, name) for name in state}
    answers: list[Any] = []
    sent: list[Any] = []
    widget.send = lambda content, buffers=None: answers.append(content)
    widget._send = lambda message, buffers=None: sent.append(message)
    widget._handle_msg(data(method="update", state=state, buffer_paths=[]))
    assert {name: getattr(widget, name) for name in state} == before
    assert [answer["kind"] for answer in answers] == ["error"] * len(state)
    updates = [message for message in sent if message["method"] == "update"]
    assert {name for message in updates for name in message["state"]} == set(state)


def test_what_is_allowed_is_taken_over_beside_what_is_not() -> None:
    journey = Journey(lab03())
    state = {"step": 40, "payload": 5, "groups": ["transaction"]}
    journey._handle_msg(data(method="update", state=state, buffer_paths=[]))
    assert (journey.step, journey.groups) == (40, ["transaction"])
    journey._handle_msg(data(method="update", state={"step": 10**9}, buffer_paths=[]))
    assert journey.step == len(journey.payload["events"]) - 1


SET = re.compile(r"""\b(?:model|this)\.set\("(\w+)"|\bthis\.set\(\{\s*(\w+)[:,\s}]""")


def test_every_trait_that_a_script_sets_may_be_set() -> None:
    assert {Chooser, CostMeter, Alternatives} <= set(_all(MessageWidget))
    settable = {name for kind in _all(MessageWidget) for name in kind.SETTABLE}
    found = {a or b for path in SCRIPTS.glob("*.[jt]s") for a, b in SET.findall(path.read_text("utf-8"))}
    assert found - settable == set()
    assert {"row", "revealed", "time", "node", "subject"} <= found


def _all(kind: type[Any]) -> list[Any]:
    return [kind, *(deeper for sub in kind.__subclasses__() for deeper in _all(sub))]


def test_a_sentence_begins_with_a_capital_letter_unless_with_a_brokers_name() -> None:
    assert sentence(ValueError("no frame is sent")) == "No frame is sent."
    assert sentence(ValueError("b2 is not down")) == "b2 is not down."


@pytest.mark.parametrize(
    ("trait", "value", "says"),
    [
        ("step", 1.5, "step is a whole number, not 1.5"),
        ("step", None, "step is a whole number, not None"),
        ("groups", [5], "groups is a list in which each is a text, not [5]"),
        ("hidden", 5, "hidden is a list in which each is a text, not 5"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_a_sentence(trait: str, value: Any, says: str) -> None:
    view = Sequence(lab03())
    before = getattr(view, trait)
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        setattr(view, trait, value)
    assert getattr(view, trait) == before


def test_every_trait_of_a_journey_says_what_fits() -> None:
    journey = Journey(lab03())
    for trait, kind in (("every", "True or False"), ("size", "'' or 'laptop' or 'projector'")):
        with pytest.raises(ValueError, match=f"^{trait} is {kind}, not 'x'$"):
            setattr(journey, trait, "x")
    with pytest.raises(ValueError, match=r"^size is a text, not 5$"):
        Sequence(journey, size=5)  # type: ignore[arg-type]


def test_a_press_takes_texts() -> None:
    """`press(None)` ended with "object of type 'NoneType' has no len()", `press("goto", 1)` with AttributeError."""
    pressed = [widget for widget in widgets() if hasattr(widget, "press")]
    assert len(pressed) > 5
    for widget in pressed:
        for action, target in ((None, ""), (5, ""), ([], "x"), ("goto", None), ("goto", 1), ("cut", ("b1", "b2"))):
            with pytest.raises(ValueError, match=r"^the (action|target) of a press is a text, not "):
                widget.press(action, target)
        if hasattr(widget, "possible"):
            with pytest.raises(ValueError, match=r"^the action of a press is a text, not None$"):
                widget.possible(None)


def test_a_press_with_an_unknown_detail_changes_nothing() -> None:
    journey = Journey(lab03())
    with pytest.raises(ValueError, match=r"^a press has no 'force'; there are delay_ms"):
        journey.press("crash", "b1", force=1)
    assert len(journey.tree) == 1
