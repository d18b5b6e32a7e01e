"""What lab 03 says in words is what its runs do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab import lab03
from kafkalab.course.lab03.exercise_1 import ROWS
from kafkalab.course.measures import WAY
from kafkalab.faults.frame import Duplicate
from kafkalab.faults.node import Crash
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.protocol.records import ControlType
from kafkalab.sim.cluster import Cluster

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "03_a_full_commit.ipynb"
TEXTS = {c["id"]: WAY.sub("", "".join(c["source"])) for c in read(PATH)["cells"]}
TERMS = ("transaction coordinator", "last stable offset", "group coordinator", "markers", "point of no return")


@pytest.fixture(scope="module")
def base() -> Cluster:
    cluster = Cluster(lab03())
    cluster.run()
    return cluster


def output(cell: str) -> str:
    """Return what the cell's saved run printed."""
    found = next(c for c in read(PATH)["cells"] if c["id"] == cell)
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in found["outputs"])


def test_each_term_is_bold_where_it_is_used_first_and_explained_there() -> None:
    texts = [WAY.sub("", "".join(c["source"])) for c in read(PATH)["cells"] if c["cell_type"] == "markdown"]
    for term in TERMS:
        first = next(text for text in texts if term in text)
        assert f"**{term}" in first[: first.index(term) + len(term)], term


def test_the_comments_of_the_first_exercise_are_its_rows() -> None:
    lines = [line.strip() for line in TEXTS["e1-answer"].splitlines() if line.startswith("    ")]
    assert lines == [f'{n}: "",  # {row}' for n, row in enumerate(ROWS, 1)]


def test_the_nodes_have_the_roles_that_the_walk_gives_them(base: Cluster) -> None:
    leader = base.controller.metadata.leader
    assert (leader("accounts-0"), leader("accounts-1")) == ("b1", "b2")
    assert (leader("__transaction_state-22"), leader("__consumer_offsets-13")) == ("b3", "b2")
    body = base.trace.frames["InitProducerIdResponse#1"].body
    assert (body.producer_id, body.producer_epoch) == (2000, 0)


def test_the_decision_is_lost_while_one_replica_lacks_it_and_never_after(base: Cluster) -> None:
    lines = output("decided").splitlines()
    assert [line.split()[0] for line in lines] == ["aborted"] * 4 + ["committed"] * 3
    assert ["replicates" in line for line in lines] == [False, False, False, True, True, False, False]
    step = next(e.step for e in base.trace.of("append", "__transaction_state-22") if e.step > 195 and e.node == "b2")
    crashed = Cluster(lab03().with_faults(Crash("app", at_step=step), Crash("b3", at_step=step)))
    crashed.run()
    assert crashed.controller.metadata.leader("__transaction_state-22") == "b1"
    assert [(e.node, e.name) for e in crashed.trace.of("truncate")] == [("b2", "__transaction_state-22")]


def test_when_the_service_has_its_answer_no_marker_is_written(base: Cluster) -> None:
    answered = base.trace.frames["EndTxnResponse#1"].received_step
    written = [e.step for e in base.trace.of("append") if e.data.control is not None]
    assert answered < min(written)


def test_one_crash_after_the_request_to_commit_undoes_nothing_and_before_it_only_the_services() -> None:
    rows = [line.strip() for line in output("everywhere").splitlines() if "; whole run: " in line]
    ends = {row.partition(":")[0]: row.partition("whole run: ")[2] for row in rows}
    assert ends.pop("client crashes") == "nothing from stop 1, aborted from stop 6, committed from stop 15"
    assert len(ends) == 3
    assert {end.partition(" from")[0] for end in ends.values()} == {"committed"}
    assert not any("," in end for end in ends.values())


def test_without_the_wait_for_every_replica_half_a_transfer_is_committed() -> None:
    on, off = output("early-end").splitlines()
    assert on == "on:  {'accounts-0': (), 'accounts-1': (), 'transfers-0': ('10', '25')}"
    assert off == "off: {'accounts-0': (), 'accounts-1': ('+10', '+25'), 'transfers-0': ('10', '25')}"


def test_the_lost_answer_is_found_to_be_dealt_with(base: Cluster) -> None:
    text = output("lost-end")
    assert "t = 30237 ms" in text
    assert text.count(" committed]") == 2


def test_the_new_coordinator_finishes_before_it_answers(base: Cluster) -> None:
    step = base.trace.frames["EndTxnResponse#1"].sent_step - 1
    moved = base.fork(step, Crash("b3"))
    took = next(e for e in moved.trace.events if e.name == "coordinator loaded")
    done = next(e for e in moved.trace.of("state", "transaction") if e.data["state"] == "CompleteCommit")
    answered = next(f for f in moved.trace.frames.values() if f.name == "EndTxnResponse")
    assert took.node == done.node == answered.sender == "b1"
    assert 9_000 < took.at_ms < done.at_ms < answered.sent_ms < 11_000  # the producer asks every second


def test_the_service_that_never_asked_is_aborted_at_seventy_seconds(base: Cluster) -> None:
    gone = base.fork(base.trace.frames["EndTxn#1"].sent_step - 1, Crash("app"))
    assert "EndTxn#1" not in gone.trace.frames
    aborting = next(e for e in gone.trace.events if e.name == "timeout")
    assert aborting.at_ms == 70_000
    moved = [e for e in gone.trace.of("state", "watermark") if e.data["partition"] == "accounts-0" and e.at_ms > 200]
    assert min(e.at_ms for e in moved) > 70_000
    assert gone.outcome().offsets == {}


def test_a_doubled_frame_writes_two_markers_of_which_one_counts() -> None:
    twice = Cluster(lab03().with_faults(Duplicate("WriteTxnMarkers#1")))
    twice.run()
    markers = [(b.base_offset, b.control) for b in twice.log_of("accounts-1").batches if b.control is not None]
    assert markers == [(2, ControlType.COMMIT), (3, ControlType.COMMIT)]
    assert twice.outcome().committed["accounts-1"] == ("+10", "+25")


def test_version_1_takes_three_requests_more_of_the_service() -> None:
    old, new = output("versions").split("transaction version 2")
    assert old.count("app →") - new.count("app →") == 3
    assert (old.count("verify_only=True"), new.count("verify_only=False")) == (3, 3)
    assert "epoch -1, the markers 0" in old
    assert "epoch 1, the markers 1" in new
