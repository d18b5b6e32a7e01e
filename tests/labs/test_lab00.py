"""What lab 00 says in words is what its runs do."""

from __future__ import annotations

from pathlib import Path
from pprint import pformat

from kafkalab import lab00
from kafkalab.course.lab00.exercise_1 import copies
from kafkalab.course.lab00.exercise_3 import ORDER
from kafkalab.course.measures import WAY
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.node import Crash
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.sim.cluster import Cluster

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "00_meet_the_machine.ipynb"
TEXTS = {c["id"]: "".join(c["source"]) for c in read(PATH)["cells"]}
TERMS = ("node", "frame", "leader", "replicas", "high watermark", "virtual clock", "seed")


def run(*faults: Fault) -> Cluster:
    cluster = Cluster(lab00().with_faults(*faults))
    cluster.run()
    return cluster


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    found = next(c for c in read(PATH)["cells"] if c["id"] == cell)
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in found["outputs"])


def test_each_term_is_bold_where_it_is_used_first_and_explained_there() -> None:
    texts = [WAY.sub("", "".join(c["source"])) for c in read(PATH)["cells"] if c["cell_type"] == "markdown"]
    for term in TERMS:
        first = next(text for text in texts if term in text)
        assert f"**{term}" in first[: first.index(term) + len(term)], term


def test_what_is_to_be_put_in_order_is_shown_shuffled() -> None:
    assert output("e3-look") == pformat(ORDER.shuffle(1))


def test_the_programs_of_the_notebook_do_what_those_of_the_scenario_do() -> None:
    assert output("naive-well") == "['soup']"
    assert copies(run()) == 1
    assert copies(run(Drop("ProduceResponse#1"))) == 2


def test_the_walk_has_the_steps_that_the_list_names() -> None:
    cluster = run()
    frames = cluster.trace.frames
    batch = frames["Produce#1"].body.batches["orders-0"]
    assert (batch.producer_id, batch.base_sequence, frames["Produce#1"].receiver) == (-1, -1, "b2")
    appended, watermark = (
        next(e.step for e in cluster.trace.events if (e.kind, e.name) == pair and "orders" in str(e.data) + e.name)
        for pair in (("append", "orders-0"), ("state", "watermark"))
    )
    assert appended < frames["ProduceResponse#1"].sent_step < watermark
    assert (frames["ProduceResponse#1"].received_ms, frames["ListOffsets#1"].sent_ms) == (20, 109)


def test_the_lost_answer_makes_a_second_attempt_after_thirty_seconds() -> None:
    frames = run(Drop("ProduceResponse#1")).trace.frames
    assert frames["Produce#2"].attempt == 2
    assert 30_000 < frames["Produce#2"].sent_ms < 30_200
    assert "[0 soup] [1 soup]" in output("break-end")
    assert "[0 soup]\n" in output("request-end")


def test_the_checks_find_the_duplicate_and_allow_it() -> None:
    assert "allowed: 'soup' lies at the offsets 0, 1 of orders-0" in output("verdict")
    assert "forbidden:" not in output("verdict")


def test_undo_brings_the_old_run_back_and_the_prefix_is_the_same() -> None:
    assert output("fork") == "(True, False)"


def test_the_late_one_is_written_last() -> None:
    late = run(Delay("Produce#1", 31_000))
    received = [late.trace.frames[name].received_ms for name in ("Produce#2", "Produce#1")]
    assert received == sorted(received)
    assert copies(late) == 2


def test_the_copy_on_the_dead_leader_was_nowhere_else_and_the_next_leader_has_the_second_one() -> None:
    base = run()
    step = next(e.step for e in base.trace.of("append", "orders-0"))
    crashed = run(Crash("b2", at_step=step))
    assert [(e.node, e.at_ms > 9_000) for e in crashed.trace.of("append", "orders-0")][:2] == [
        ("b2", False),
        ("b3", True),
    ]
    assert copies(crashed) == 1


def test_with_acks_1_an_acknowledged_record_can_be_lost() -> None:
    lost = []
    for seed in range(1, 40):
        base = Cluster(lab00(seed))
        base.run()
        step = base.trace.frames["ProduceResponse#1"].sent_step + 1
        crashed = Cluster(lab00(seed).with_faults(Crash("b2", at_step=step)))
        crashed.run()
        lost.append(crashed.results["shop"] == [0] and copies(crashed) == 0)
    assert any(lost)
    assert "written at offset 0\n" in output("crash-late")
    assert output("crash-late").endswith(": empty\n")


def test_from_where_the_shop_stands_a_lost_request_and_a_lost_answer_look_the_same() -> None:
    heard = [
        [(e.at_ms, e.name) for e in run(Drop(name)).trace.of("receive") if e.node == "shop" and e.at_ms < 30_000]
        for name in ("Produce#1", "ProduceResponse#1")
    ]
    assert heard[0] == heard[1]
    assert output("same").endswith("True")
