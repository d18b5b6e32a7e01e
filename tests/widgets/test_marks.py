"""The few words on a lane, and the steps at which frames that never arrive are shown as such."""

from __future__ import annotations

from typing import Any

from kafkalab import lab00, lab01, lab03, late_batch
from kafkalab.faults.frame import Drop
from kafkalab.faults.node import Crash
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.widgets.payload.marks import ends_of, marks_of
from kafkalab.widgets.payload.payload import payload_of
from tests.widgets.sample_payload import sample


def test_marks_say_what_was_appended_and_what_moved() -> None:
    marks = list(marks_of(sample()).values())
    for words in (
        "append out-0 @0–1",
        "out-0: HW 0→2 · LSO 0",
        "Empty → Ongoing, pending",
        "Empty → Ongoing",
        "Ongoing + out-1",
        "Ongoing → PrepareCommit",
        "COMMIT to out-0 @2",
        "out-0: HW 2→3 · LSO 0→3",
        "commit_transaction()",
    ):
        assert words in marks, words


def test_each_stop_that_is_no_frame_has_a_mark(lab_run: dict[str, Any]) -> None:
    wanted = {str(e["step"]) for e in lab_run["events"] if e["stop"] and e["kind"] not in ("send", "receive")}
    assert {step for step, words in lab_run["marks"].items() if words} == wanted


def test_a_dropped_frame_ends_with_its_fault_and_a_lost_one_when_its_receiver_is_down() -> None:
    before = Cluster(lab03(profile="4.x/TV2", seed=1))
    before.run()
    frames = payload_of(before)["frames"]
    dropped = payload_of(before.fork(frames["EndTxn#1"]["sent"], Drop("EndTxn#1")))
    assert ends_of(dropped)["EndTxn#1"] == dropped["frames"]["EndTxn#1"]["sent"] + 1
    crashed = payload_of(before.fork(frames["EndTxn#1"]["sent"], Crash("b3")))
    down = next(e["step"] for e in crashed["events"] if e["kind"] == "crash")
    ends = ends_of(crashed)
    assert crashed["frames"]["EndTxn#1"]["fate"] == "lost"
    assert ends["EndTxn#1"] == down
    later = [i for i, f in crashed["frames"].items() if f["fate"] == "lost" and f["to"] == "b3" and f["sent"] > down]
    assert later
    assert all(ends[i] == crashed["frames"][i]["sent"] + 1 for i in later)


def test_a_request_given_up_names_client_and_request_and_fits_a_narrow_lane() -> None:
    late = payload_of(ran(lab00().with_faults(Drop("ProduceResponse#1"))))
    given_up = next(event for event in late["events"] if event["kind"] == "timer")
    assert given_up["text"] == "shop gives up Produce after 30 seconds without an answer."
    assert marks_of(late)[str(given_up["step"])] == "shop gives up Produce after 30 s"


def test_a_request_given_up_says_how_long_its_client_has_waited() -> None:
    late = payload_of(ran(late_batch()))
    given_up = next(event for event in late["events"] if event["kind"] == "timer")
    assert given_up["text"] == "app gives up Produce after 950 ms without an answer."
    assert marks_of(late)[str(given_up["step"])] == "app gives up Produce after 950 ms"


def test_a_wait_of_seconds_is_rounded_to_a_tenth() -> None:
    late = payload_of(ran(lab01().with_faults(Drop("Produce#2"))))
    given_up = next(event for event in late["events"] if event["kind"] == "timer")
    assert given_up["at"] - late["frames"]["Produce#3"]["at"] == 29_998
    assert given_up["text"] == "shop gives up Produce after 30 seconds without an answer."
