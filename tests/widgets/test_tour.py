"""The walk through a run: its stops, what is folded into them, chapters, and jumps."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab import Crash, Drop, Duplicate, Pause, Resume, lab00, lab01, lab02, lab03, lab05, lab06
from kafkalab.course.lab10.scenario import lab10, pending_offsets
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.widgets.model.jumps import chapter_at
from kafkalab.widgets.payload.chapters import chapters_of, slug_of
from kafkalab.widgets.payload.tour import AT_MOST, LISTS, GrowingWalk, is_change, walk
from kafkalab.widgets.views.sequence import Sequence

SHOWN = ("transaction", "verification")


def names(scenario: Scenario) -> list[str]:
    return [chapter["name"] for chapter in Sequence(scenario).payload["chapters"]]


def test_a_transactions_chapters_are_its_calls_the_decision_and_the_markers() -> None:
    view = Sequence(lab03())
    chapters = {chapter["name"]: chapter["step"] for chapter in view.payload["chapters"]}
    frames, events = view.payload["frames"], view.payload["events"]
    assert list(chapters) == [
        "init", "read", "begin", "first write", "offsets", "commit", "decision", "markers", "complete"
    ]  # fmt: skip
    assert chapters["first write"] == frames["Produce#1"]["sent"]
    assert chapters["commit"] == frames["EndTxn#1"]["sent"]
    assert chapters["markers"] == frames["WriteTxnMarkers#1"]["sent"]
    assert events[chapters["decision"]]["text"] == "b3 holds payments-0 in PrepareCommit."
    assert events[chapters["complete"]]["text"] == "b3 holds payments-0 in CompleteCommit."


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        (lab00(), ["write", "read"]),
        (
            lab00().with_faults(Drop("ProduceResponse#1")),
            ["write", "the answer is lost", "read", "time-out", "sent again"],
        ),
        (lab00().with_faults(Drop("Produce#1")), ["write", "the request is lost", "read", "time-out", "sent again"]),
        (lab00().with_faults(Duplicate("Produce#1")), ["write", "the request arrives twice", "read"]),
        (lab01(), ["init", "write"]),
        (
            lab01().with_faults(Drop("Produce#2")),
            ["init", "write", "the request is lost", "OUT_OF_ORDER_SEQUENCE_NUMBER", "time-out", "sent again"]
            + ["write 2"],
        ),
        (
            lab02(records=0).with_faults(Crash("b3", at_step=7)),
            ["init", "b3 crashes", "sent again", "election"],
        ),
        (
            lab00().with_faults(Pause("kitchen", at_ms=60), Resume("kitchen", at_ms=40_000)),
            ["write", "kitchen pauses", "kitchen resumes", "read"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, Scenario) else value[-1],
)  # fmt: skip
def test_faults_and_what_they_lead_to_begin_chapters(scenario: Scenario, expected: list[str]) -> None:
    assert names(scenario) == expected


def test_clients_with_chapters_of_the_same_name_are_told_apart_and_a_second_transaction_is_one_chapter() -> None:
    found = names(lab05())
    assert {"slow: begin", "quick: begin", "quick: begin 2", "slow: decision", "quick: decision"} <= set(found)
    assert {"abort", "decision to abort", "read"} <= set(found)
    assert "quick: first write 2" not in found
    assert names(lab06())[-3:] == ["till-1: offsets", "fenced", "till-1 ends"]
    assert len(set(names(lab06()))) == len(names(lab06()))


def test_a_program_may_name_a_chapter_itself() -> None:
    async def report(app: App) -> None:
        await app.sleep(100)
        app.chapter("the daily report")
        producer = app.producer(linger_ms=0)
        await producer.send("out", "sum")
        with pytest.raises(ValueError, match="a chapter's name has 1 to 40 characters, not ''"):
            app.chapter("")

    scenario = Scenario(topics={"out": 1}, programs=(Program("app", report),))
    assert names(scenario)[0] == "the daily report"
    view = Sequence(scenario)
    view.press("find", "chapter:the-daily-report")
    assert view.payload["events"][view.step]["text"] == "app begins: the daily report."
    assert view.payload["events"][view.step]["at"] == 100


def test_chapters_follow_from_the_payload_alone_and_their_names_fit_into_a_link() -> None:
    payload = Sequence(lab06()).payload
    assert chapters_of({key: payload[key] for key in ("nodes", "initial", "events", "frames")}) == payload["chapters"]
    assert slug_of("slow: first write") == "slow-first-write"
    slugs = [chapter["slug"] for chapter in payload["chapters"]]
    assert len(set(slugs)) == len(slugs)


@pytest.mark.parametrize("size", [1, 7, 60])
@pytest.mark.parametrize(
    "scenario", [lab05(), lab02(records=0).with_faults(Crash("b3", at_step=7))], ids=["05", "with folds"]
)
def test_a_walk_that_grows_is_that_of_the_whole_run(scenario: Scenario, size: int) -> None:
    payload = Sequence(scenario).payload
    events, growing = payload["events"], GrowingWalk()
    known: dict[str, list[Any]] = {name: [] for name in LISTS}
    ranked = 0
    for start in range(0, len(events), size):
        part = growing.add(payload, events[start : start + size])
        ranked += len(part["ranks"])
        for name in LISTS:
            known[name][part["tails"][name] :] = part[name]
    assert known == {name: payload[name] for name in LISTS}
    assert ranked < 2 * len(events) or payload["folds"]  # a stretch that goes on is ranked again


@pytest.mark.parametrize("scenario", [lab02(), lab03(), lab05(), lab06()], ids=["02", "03", "05", "06"])
def test_a_walk_has_25_stops_and_all_that_it_leaves_out_is_folded_into_them(scenario: Scenario) -> None:
    view = Sequence(scenario)
    whole, kept = view.journey.every_stop(), view.journey.stops()
    assert 15 < len(kept) <= AT_MOST < len(whole)
    assert set(kept) < set(whole)
    assert (kept[0], kept[-1]) == (whole[0], whole[-1])
    folded: list[int] = []
    for stop in kept:
        view.step = stop
        folded += view.journey.fold()
    assert sorted([*folded, *kept]) == whole
    payload = view.payload
    data = [s for s in whole if payload["events"][s]["kind"] == "append" and payload["events"][s]["name"][0] != "_"]
    firsts = [s for s in data if not payload["events"][s]["patch"][0][3]["kind"].endswith("T")]
    assert set(firsts) <= set(kept), "every record of the data topics has a stop of its own"


@pytest.mark.parametrize("scenario", [lab10(), pending_offsets()], ids=["zombie", "pending"])
def test_a_walk_of_a_group_stops_where_members_read_write_and_are_refused_not_at_each_state(scenario: Scenario) -> None:
    view = Sequence(scenario)
    told = [view.payload["events"][step]["text"] for step in view.journey.stops()]
    assert len(told) <= AT_MOST
    reads = ("anna reads orders-0 as member", "ben reads orders-0 as member")
    for wanted in (*reads, "appends tea, salt", "of orders-0 for"):
        assert any(wanted in text for text in told), wanted
    assert not any("PreparingRebalance" in text or "MEMBER_ID_REQUIRED" in text for text in told)
    assert "MEMBER_ID_REQUIRED" not in names(scenario)


def test_the_entry_of_a_group_is_its_generation_and_its_members() -> None:
    entries = [e["text"] for e in Sequence(lab10()).payload["events"] if "appends group packers" in e["text"]]
    assert entries[0].startswith("b1 appends group packers, generation 0: nobody to __consumer_offsets-9")
    assert "group packers, generation 2: ben-0-2" in "".join(entries)


def test_a_short_run_is_walked_frame_by_frame_and_a_long_one_at_an_eighth() -> None:
    assert Sequence(lab00()).journey.stops() == Sequence(lab00()).journey.every_stop()
    many = Sequence(lab05(), groups=["transaction", "verification", "replication", "metadata"])
    whole = many.journey.every_stop()
    assert len(many.journey.stops()) <= max(AT_MOST, len(whole) // 8)
    assert walk({"events": many.payload["events"], "frames": many.payload["frames"]}, SHOWN) == walk(
        many.payload, SHOWN, every=True
    )


def test_a_fold_of_one_request_of_a_node_says_once_more() -> None:
    view = Sequence(lab00())
    view.press("right")
    view.press("crash", "b2")
    texts = [fold["text"] for fold in view.payload["folds"]]
    assert any("asks once more (" in text for text in texts)
    assert not any("1 more times" in text for text in texts)


def test_repeated_requests_are_one_stop_that_says_how_many_and_can_be_opened() -> None:
    view = Sequence(lab02(records=0))
    view.press("crash", "b3")
    first, second = view.payload["folds"]
    frames = view.payload["frames"].values()
    inside = [f for f in frames if f["kind"] == "request" and first["from"] <= f["sent"] <= first["to"]]
    asked = [f for f in inside if f["from"] == "app" and f["category"] != "replication"]
    last = {f["name"]: f["attempt"] for f in asked}
    told = ", ".join(f"{name} up to attempt {last[name]}" for name in ("InitProducerId", "FindCoordinator"))
    assert first["text"] == f"app asks {len(asked)} more times ({told}): no change."
    changes = [e for e in view.payload["events"][first["from"] : first["to"] + 1] if e["stop"] and is_change(e)]
    assert changes == []
    before = view.journey.stops()
    assert first["to"] in before
    assert first["from"] not in before
    view.step = first["to"]
    assert first["text"] in view.text()
    assert "app asks" in view.svg()
    view.press("open")
    assert first["from"] in view.journey.stops()
    assert first["text"] not in view.text()
    assert "app asks" not in view.svg()
    view.press("open")
    assert view.journey.stops() == before
    assert second["from"] > first["to"]


def test_a_fault_by_hand_strikes_at_a_step_that_is_folded_and_folds_again_what_was_opened() -> None:
    view = Sequence(lab03())
    view.press("end")
    view.press("open")
    view.press("find", "ProduceResponse#1")
    assert view.step not in view.journey.stops()
    view.press("drop")
    assert view.payload["faults"] == ["Drop(frame='ProduceResponse#1')"]
    assert view.journey.opened == []
    assert view.step in view.journey.stops()


def test_every_frame_is_a_stop_if_one_wants_it() -> None:
    view = Sequence(lab03())
    view.press("every")
    assert view.journey.stops() == view.journey.every_stop()
    assert f"of {len(view.journey.every_stop())} ·" in view.text()
    view.press("every")
    assert len(view.journey.stops()) <= AT_MOST


def test_jumps_go_to_the_next_change_chapter_and_frame_and_back() -> None:
    view = Sequence(lab03())
    journey, events = view.journey, view.payload["events"]
    whole = journey.every_stop()
    changes = [s for s in whole if is_change(events[s])]
    for step in [s for s in changes if s > whole[0]]:
        view.press("next_change")
        assert view.step == step
    assert "change after" in journey.possible("next_change")
    view.press("home")
    begins = [c["step"] for c in view.payload["chapters"]]
    for step in begins[1:]:
        view.press("next_chapter")
        assert view.step == next(s for s in journey.stops() if s >= step)
    with pytest.raises(ValueError, match="there is no chapter after this step"):
        view.press("next_chapter")
    view.press("previous_chapter")
    assert chapter_at(view.payload, journey.stops(), view.step) == "markers"
    view.press("previous_frame")
    assert view.step == max(
        s for s in whole if s < next(c["step"] for c in view.payload["chapters"] if c["name"] == "markers")
    )
    view.press("next_frame")
    assert chapter_at(view.payload, journey.stops(), view.step) == "markers"


@pytest.mark.parametrize("name", ["EndTxn#9", "chapter:decisions", "decision", ""])
def test_what_a_run_does_not_have_cannot_be_found(name: str) -> None:
    view = Sequence(lab03())
    with pytest.raises(ValueError, match="this run has no"):
        view.press("find", name)
    assert view.journey.possible("find", name).startswith("this run has no")
    assert view.journey.possible("find", "EndTxn#1") == ""


def test_text_and_static_picture_name_the_chapter_and_what_is_folded() -> None:
    view = Sequence(lab03())
    view.press("find", "chapter:decision")
    lines = view.text().split("\n")
    assert lines[3].startswith("chapter: decision; by stop: init (1), read (3), ")
    assert f"folded into this stop: {len(view.journey.fold())} steps" in lines
    assert "decision · step " in view.svg()


def test_a_payload_without_ranks_is_walked_frame_by_frame() -> None:
    payload: dict[str, Any] = dict(Sequence(lab03()).payload)
    del payload["ranks"]
    assert walk(payload, SHOWN) == Sequence(lab03()).journey.every_stop()


def test_a_walk_without_stops_can_be_told_and_its_chapters_found() -> None:
    view = Sequence(lab03(), groups=())
    assert view.journey.stops() == []
    assert str(view).splitlines()[1].startswith("stop 0 of 0")
    decision = next(one["step"] for one in view.payload["chapters"] if one["name"] == "decision")
    view.press("find", "chapter:decision")
    assert view.step == decision
    view.press("next_chapter")
    assert view.step > decision
