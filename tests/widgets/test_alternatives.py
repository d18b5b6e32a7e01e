"""Four machines in one picture: presses, moments, rows, logs, text and SVG."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from kafkalab.alternatives.presses import MODELS, MOMENTS, SHARED, run_shared_press
from kafkalab.widgets.payload.alternatives import END, PLACES, panel_of
from kafkalab.widgets.views.alternatives import LAST_ROWS, Alternatives

PRESSES = [one.name for one in SHARED]


@pytest.mark.parametrize("press", PRESSES)
@pytest.mark.parametrize("again", [False, True])
def test_panels_are_plain_data_and_their_places_go_forward(press: str, again: bool) -> None:
    for panel in Alternatives(press, again).panels:
        assert json.loads(json.dumps(panel))["model"] == panel["model"]
        steps = [panel["places"][place][0] for place in PLACES]
        assert steps[:-1] == sorted(steps[:-1])
        assert [row["step"] for row in panel["rows"]] == sorted(row["step"] for row in panel["rows"])
        assert len(panel["rows"]) <= 100


def test_a_moment_that_never_comes_is_said_so() -> None:
    view = Alternatives("coordinator", place="decided")
    assert "two-phase commit: “decided” never comes" in view.text()
    assert "Kafka\n" in view.text()
    assert "“decided” never comes" in view.svg()


@pytest.mark.parametrize("model", MODELS)
def test_every_frame_of_a_model_is_a_row_and_every_append_too(model: str) -> None:
    run = run_shared_press(model, "no fault")
    if run.cluster is None:
        rows = panel_of(model, "no fault", False)["rows"]
        frames = [row["label"].split()[0] for row in rows if row["kind"] == "frame"]
        assert frames == list(run.trace.frames)
        assert sum(row["kind"] == "append" for row in rows) == len(run.trace.of("append"))


ROWS = {
    "MVCC": """\
0 frame app → db [Begin#1, delivered] app sends Begin#1 to db.
1 frame db → app [Begun#1, delivered, dashed] db sends Begun#1 to app.
3 frame app → db [Update#1 -10, delivered] app sends Update#1 to db: -10.
5 append db [accounts-0 = 90] db logs accounts-0 = 90.
32 crash db [crashes] db crashes; its log stays.
1000 frame reader → db [Select#2, lost] reader sends Select#2 to db; it is lost.
120000 recover db [starts again] db starts again and reads its log.""",
    "two-phase commit": """\
10 frame p1 → tc [Vote#1 yes, delivered, dashed] p1 sends Vote#1 to tc: yes.
14 append tc [commit] tc logs commit.
14 frame tc → app [Done#1 commit, delivered, dashed] tc sends Done#1 to app: commit.
14 crash tc [crashes] tc crashes; its log stays.
2011 state p2 [in doubt] p2 has voted yes and knows no decision: it keeps its lock, and asks.
44011 frame p2 → p1 [Ask#8, lost] p2 sends Ask#8 to p1; it is lost.
120000 frame tc → p1 [Decide#2 commit, lost] tc sends Decide#2 to p1: commit; it is lost.""",
    "atomic broadcast": """\
1 append s1 [proposal 1.1] s1 logs proposal 1.1.
1 frame s1 → s2 [Propose#1, delivered] s1 sends Propose#1 to s2.
3 frame s2 → s1 [Ack#1, lost, dashed] s2 sends Ack#1 to s1; it is lost.
503 state s2 [looking] s2 looks for a leader; its last zxid is 1.1.
558 append s2 [epoch 2] s2 logs epoch 2.
562 state s3 [delivered] s3 delivers 1.1.
120000 frame s1 → s2 [Notify#7, delivered] s1 sends Notify#7 to s2.""",
    "Kafka": """\
8 append b3 [Empty] b3 appends payments-0: Empty, producer 2000 epoch 0 to __transaction_state-22 at offset 0.
15 state b3 [Empty is replicated] b3 holds payments-0 in Empty.
41 append b1 [-10] b1 appends -10 to accounts-0 at offset 0.
78 crash b3 [crashes] b3 crashes. Its logs stay; all else that it knew is gone.
184 frame app → b3 [EndTxn#2, lost] app sends EndTxn#2 to b3 (attempt 2).
9078 state  [the controller elects] The controller announces: b1 leads __transaction_state-22; alive are b1, b2.
10259 frame b1 → app [EndTxnResponse#1, delivered, dashed] b1 sends EndTxnResponse#1 to app: NONE.
10260 append b1 [COMMIT] b1 appends a COMMIT marker to accounts-0 at offset 1.
10273 state b1 [CompleteCommit is replicated] b1 holds payments-0 in CompleteCommit.""",
}


@pytest.mark.parametrize("model", MODELS)
def test_a_row_has_its_time_kind_nodes_label_fate_and_a_sentence(model: str) -> None:
    press = "coordinator and participant" if model == "two-phase commit" else "coordinator"
    lines = []
    for row in panel_of(model, press, True)["rows"]:
        to, marks = f" → {row['to']}" if row["to"] else "", [row["label"], row["fate"], "dashed" * row.get("dashed", 0)]
        lines.append(f"{row['at']} {row['kind']} {row['from']}{to} [{', '.join(filter(None, marks))}] {row['text']}")
    wanted = ROWS[model].splitlines()
    assert [line for line in lines if line in wanted] == wanted


def test_the_logs_are_those_of_the_run() -> None:
    view = Alternatives("coordinator and participant", place=END)
    two_phase = view.panels[MODELS.index("two-phase commit")]["logs"][END]
    assert [[name, [text for text, _ in cells]] for name, cells in two_phase] == [
        ["p1", ["100 → 90 ✓", "prepared", "commit"]], ["p2", ["100 → 110", "prepared"]], ["tc", ["begin", "commit"]],
    ]  # fmt: skip
    kafka = dict(view.panels[0]["logs"][END])
    assert kafka["accounts-0"] == [["-10 ✓", "commit"], ["COMMIT", "commit"]]


@pytest.mark.parametrize("press", PRESSES)
@pytest.mark.parametrize("again", [False, True])
def test_a_record_has_the_state_of_its_part(press: str, again: bool) -> None:
    kinds = {"commit": "committed", "abort": "aborted", "open": "in doubt"}
    for panel in Alternatives(press, again).panels:
        logs = dict(panel["logs"][END])
        for text, state in panel["parts"]:
            part = text.partition(" ")[0]
            cells = logs[part] if part in logs else [cell for cell in logs["db"] if part in cell[0]]
            records = [kind for label, kind in cells if re.match(r"[+-]10|.* [→=] |proposal", label)]
            assert records
            assert state == "down" or {kinds[kind] for kind in records} == {state}, (panel["model"], text, cells)


def test_a_record_is_open_until_its_log_has_the_decision() -> None:
    view = Alternatives()
    seen = {place: dict(view.panels[0]["logs"][place])["accounts-0"] for place in PLACES}
    assert seen["decided"] == [["-10", "open"]]
    assert seen[END] == [["-10 ✓", "commit"], ["COMMIT", "commit"]]


def test_a_client_that_tries_again_is_not_drawn_each_time() -> None:
    rows = panel_of("Kafka", "coordinator and participant", False)["rows"]
    more = sum(int(row["text"].split()[1]) for row in rows if row["kind"] == "more")
    tries = [f for f in run_shared_press("Kafka", "coordinator and participant").trace.frames if f.startswith("EndTxn")]
    drawn = [row for row in rows if row["label"].startswith("EndTxn")]
    assert len(tries) > 900
    assert len(drawn) + more == len(tries)


@pytest.mark.parametrize("press", PRESSES)
@pytest.mark.parametrize("place", PLACES)
def test_text_and_svg_show_the_same_moment(press: str, place: str) -> None:
    view = Alternatives(press, place=place)
    texts = "".join(ET.fromstring(view.svg()).itertext())
    for panel in view.panels:
        step, _ = panel["places"][place]
        rows = [row for row in panel["rows"] if row["step"] <= step]
        for row in rows[-LAST_ROWS:]:
            assert row["text"] in view.text()
        assert panel["model"] in texts
        if place == END:
            assert all(text in view.text() and text in texts for text, _ in panel["parts"])


def test_presses_and_moves() -> None:
    view = Alternatives()
    for place in PLACES[1:]:
        view.press("right")
        assert view.place == place
    with pytest.raises(ValueError, match="this is the last moment"):
        view.press("right")
    view.press("home")
    view.press("goto", "told")
    assert view.place == MOMENTS[-1]
    view.press("coordinator")
    view.press("again")
    assert (view.pressed, view.again) == ("coordinator", True)
    assert view.run("two-phase commit").parts == {"p1": "aborted", "p2": "aborted"}
    assert repr(view) == "<Alternatives 'coordinator', again, told>"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Alternatives("fire"), "no press 'fire'"),
        (lambda: Alternatives(place="noon"), "no moment 'noon'"),
        (lambda: Alternatives().press("fire"), "no action 'fire'"),
        (lambda: Alternatives().press("left"), "this is the first moment"),
        (lambda: Alternatives().press("goto", "noon"), "no moment 'noon'"),
    ],
)
def test_what_does_not_exist_is_named(make: Callable[[], object], says: str) -> None:
    with pytest.raises(Exception, match=says):
        make()
