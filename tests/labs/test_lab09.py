"""What lab 09 says of its runs is so."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import Sequence, commit_in_doubt, lab09
from kafkalab.checks.all import check_all
from kafkalab.course.lab09 import for_real
from kafkalab.course.lab09.scenario import java_session, librdkafka_session
from kafkalab.faults.frame import Delay, Drop, Hold, Release
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.history.export import history_of
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "09_torn_transaction.ipynb")
LATE = (Hold("EndTxn#1"), Release("EndTxn#1", at_ms=33_000))
WHOLE = {"deliveries-0": ("tea",), "payments-0": ("tea",)}
TORN = {"deliveries-0": ("tea",), "payments-0": ("tea", "jam")}
LOST_FOR_REAL = {"out-0": ("tea",), "out-1": ("tea", "pot")}
TORN_FOR_REAL = {"out-0": ("first-a", "second-a"), "out-1": ("first-b",)}


def read_output(cell: str) -> str:
    """Return what the cell's saved run printed or showed."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    texts = [o.get("text") or o["data"]["text/plain"] for o in found["outputs"]]
    return "".join("".join(text) for text in texts)


def answer_to(run: Cluster, frame: str) -> str:
    return next(f.error for f in run.trace.frames.values() if f.of == frame)


def is_torn(run: Cluster) -> bool:
    return "torn transaction" in check_all(history_of(run)).violated


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(marked) == [24, 25, 26, 43]


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_timed_out_commit_may_be_called_again_or_ended_by_a_new_producer(seed: int) -> None:
    def payments(then: str, lost: str) -> tuple[str, tuple[str, ...]]:
        run = ran(commit_in_doubt(then, seed=seed).with_faults(Drop(lost)))
        return str(run.results["shop"]), run.outcome().committed["payments-0"]

    for lost in ("EndTxn#1", "EndTxnResponse#1"):
        assert {payments(then, lost)[0] for then in ("begin", "abort")} == {"IllegalStateError"}
        assert payments("again", lost) == ("returned", ("tea",))
    assert payments("new producer", "EndTxn#1") == ("returned", ())
    assert payments("new producer", "EndTxnResponse#1") == ("returned", ("tea",))


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_late_end_of_tea_commits_what_jam_has_written_and_nobody_gets_an_error(seed: int) -> None:
    run = ran(lab09(seed=seed, faults=LATE))
    assert run.outcome().committed == TORN
    assert run.results == {"shop": "booked"}
    assert answer_to(run, "EndTxn#1") == "NONE"
    assert is_torn(run)
    same = ran(lab09("4.x/TV2", seed=seed, faults=LATE))
    assert same.outcome().committed == WHOLE
    assert answer_to(same, "EndTxn#1") == "PRODUCER_FENCED"
    assert not is_torn(same)


def test_the_presses_that_the_walk_asks_for_tear_jam() -> None:
    base = Cluster(lab09())
    walk = Sequence(base, step=base.run().frames["EndTxn#1"].sent_step)
    walk.press("hold", "EndTxn#1")
    jam = [e for e in walk.cluster.trace.of("append", "payments-0") if e.node == "b3"][2]
    assert [r.value for r in jam.data.records] == ["jam"]
    assert jam.step in walk.journey.stops()
    walk.step = jam.step
    walk.press("release", "EndTxn#1")
    assert walk.cluster.outcome().committed == TORN


def test_the_steps_that_the_text_names_are_those_of_jam() -> None:
    frames = ran(lab09(faults=LATE)).trace.frames
    wrote = {n: [r.value for b in frames[f"Produce#{n}"].body.batches.values() for r in b.records] for n in (3, 4)}
    assert wrote == {3: ["jam"], 4: ["jam"]}
    assert [list(frames[f"Produce#{n}"].body.batches) for n in (3, 4)] == [["payments-0"], ["deliveries-0"]]
    assert (frames["EndTxn#2"].body, frames["EndTxn#2"].attempt) == (frames["EndTxn#1"].body, 2)
    assert not frames["EndTxn#3"].body.committed


def test_the_brokers_have_version_2_and_verify_in_all_runs() -> None:
    rules = Rules("4.x/TV1")
    assert (rules.cluster_level, rules.client_protocol, rules.on(VERIFICATION)) == (2, 1, True)


def test_the_epochs_are_those_of_the_text() -> None:
    old, new = read_output("v2").split("transaction version 2")
    assert old.count("batches 0, marker 0, answer -1") == 3
    assert [f"batches {n}, marker {n + 1}, answer {n + 1}" in new for n in range(3)] == [True] * 3


def test_what_the_search_finds_is_a_late_marker_and_version_2_refuses_it() -> None:
    assert read_output("search").startswith("found (Delay(frame='WriteTxnMarkers#1', delay_ms=32112),)")
    late = (Delay("WriteTxnMarkers#1", 32_112),)
    run = ran(lab09(faults=late))
    assert is_torn(run)
    ends = [f for f in run.trace.frames.values() if f.name == "EndTxn"]
    assert [f.attempt for f in ends] == [1, 1]
    assert not is_torn(ran(lab09("4.x/TV2", faults=late)))


def test_the_search_finds_nothing_under_version_2_and_says_up_to_where() -> None:
    said = read_output("none")
    assert said.startswith("none: torn transaction never shows with at most 1 fault of the kinds drop, late,")
    assert "not tried" not in said


@pytest.mark.parametrize(("max_block_ms", "noticed"), [(60_000, False), (29_000, True)])
def test_a_late_commit_is_noticed_only_if_max_block_ms_is_below_the_request_timeout(
    max_block_ms: int, noticed: bool
) -> None:
    shop = Program("shop", "in_doubt", {"then": "begin", "patience_ms": max_block_ms})
    run = ran(replace(commit_in_doubt(), programs=(shop,), faults=(Delay("EndTxn#1", 30_886),)))
    assert (run.results["shop"] != "returned") is noticed


def test_a_late_marker_is_noticed_by_no_call_and_makes_a_cancelled_order_readable() -> None:
    run = ran(lab09("4.x/TV1", faults=(Delay("WriteTxnMarkers#2", 31_000),)))
    assert run.results["shop"] == "booked"
    assert "jam" in [value for values in run.outcome().committed.values() for value in values]


def test_the_saved_sessions_show_what_the_text_says() -> None:
    real, java = ran(librdkafka_session()), ran(java_session())
    assert real.outcome().committed == TORN_FOR_REAL
    assert answer_to(java, "EndTxn#1") == "PRODUCER_FENCED"
    assert java.outcome().committed == {"out-0": ("first-a",), "out-1": ("first-b",)}
    versions = {f.version for f in real.trace.frames.values() if f.name == "EndTxn"}
    assert versions == {1}


def test_a_real_producer_is_torn_at_the_gate(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("confluent_kafka")
    assert for_real.librdkafka() == TORN_FOR_REAL
    assert for_real.lose_half() == LOST_FOR_REAL
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("why", ["no client", "no sockets"])
def test_where_no_real_producer_can_run_the_saved_session_stands_in(
    why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("sockets are forbidden here")

    if why == "no client":
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    else:
        monkeypatch.setattr("kafkalab.live.cluster.LiveCluster.__init__", refuse)
    assert for_real.librdkafka() == TORN_FOR_REAL
    assert for_real.lose_half() == LOST_FOR_REAL
    assert "this is the saved session of librdkafka 2.16" in capsys.readouterr().err
