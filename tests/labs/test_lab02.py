"""What lab 02 says in words is what its runs do."""

from __future__ import annotations

from pathlib import Path

from kafkalab import lab02
from kafkalab.course.lab02.exercise_1 import WORDS, show_files
from kafkalab.course.lab02.exercise_3 import LIMIT, SCHEDULES
from kafkalab.course.measures import WAY
from kafkalab.faults.node import Crash
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.sim.cluster import Cluster

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "02_coordinator.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {i: "".join(c["source"]) for i, c in CELLS.items()}
TERMS = ("transactional.id", "transaction coordinator", "controller")


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in CELLS[cell]["outputs"])


def test_each_term_is_bold_where_it_is_used_first_and_explained_there() -> None:
    texts = [WAY.sub("", "".join(c["source"])) for c in read(PATH)["cells"] if c["cell_type"] == "markdown"]
    for term in TERMS:
        first = next(text for text in texts if term in text)
        assert f"**{term}" in first[: first.index(term) + len(term)], term


def test_question_18_has_the_cells_that_answer_it_and_a_row_in_the_recap() -> None:
    answered = {i: c["metadata"]["kafkalab"]["questions"] for i, c in CELLS.items() if "kafkalab" in c["metadata"]}
    assert answered == {"alone-what": [18], "alone-one-what": [18]}
    assert "| Q18 |" in TEXTS["recap"]


def test_the_files_of_the_first_exercise_are_shown_and_each_word_is_explained() -> None:
    assert output("e1-look").strip() == str(show_files(1))
    assert all(f"* `{word}`: " in TEXTS["e1"] for word in WORDS)


def test_the_third_exercise_names_its_limit_and_its_schedules() -> None:
    assert f"refuses transfers over {LIMIT}" in TEXTS["e3"]
    assert f"if amount > {LIMIT}:" in TEXTS["e3-look"]
    assert f"It is run {SCHEDULES} times" in TEXTS["e3"]


def test_the_nodes_have_the_roles_that_the_walk_gives_them() -> None:
    cluster = Cluster(lab02())
    frames = cluster.run().frames
    leader = cluster.controller.metadata.leader
    assert (leader("accounts-0"), leader("__transaction_state-22")) == ("b1", "b3")
    assert frames["FindCoordinatorResponse#1"].body.node_id == "b3"
    entry = next(e for e in cluster.trace.of("append", "__transaction_state-22") if e.node == "b3")
    replicas = [e.step for e in cluster.trace.of("append", "__transaction_state-22") if e.node != "b3"][:2]
    assert entry.step < max(replicas) < frames["InitProducerIdResponse#1"].sent_step
    assert frames["AddPartitionsToTxn#1"].sender == "b1"


def test_only_b3_answers_for_the_name() -> None:
    assert output("naive").count("NOT_COORDINATOR") == 2
    assert output("naive").endswith("['InitProducerId', 'NONE']]")


def test_for_nine_seconds_the_living_name_the_dead_one() -> None:
    base = Cluster(lab02(records=0))
    base.run()
    dead = base.fork(7, Crash("b3"))
    found = [f for f in dead.trace.frames.values() if f.name == "FindCoordinatorResponse"]
    assert {f.body.node_id for f in found if f.sent_ms < 9_000} == {"b3"}
    assert {f.sender for f in found} == {"b1", "b2"}
    assert [f.body.node_id for f in found if f.sent_ms >= 9_000] == ["b1"]
    assert dead.results["app"] == "initialised"
    assert [line.split()[4] for line in output("dead-end").splitlines()[:-1]] == ["b3,", "b1,"]


def test_the_next_coordinator_finishes_what_was_open() -> None:
    ok = next(line for line in output("middle").splitlines() if line.startswith("✓ ok:"))
    assert {"torn transaction", "hanging transaction", "decision without marker"} <= {*ok[6:].split(", ")}


def test_who_asks_too_early_is_told_so_and_the_epoch_goes_on_at_the_next_coordinator() -> None:
    assert "COORDINATOR_LOAD_IN_PROGRESS" in output("load")
    assert output("load-epoch") == "[('b3', 2000, 0), ('b1', 2000, 1)]"


def test_a_single_broker_needs_one_setting_and_an_old_one_both() -> None:
    assert output("alone").startswith("Timeout expired after 60000ms while awaiting InitProducerId")
    assert "INVALID_REPLICATION_FACTOR" in output("alone")
    first, second = output("alone-one").split("Timeout expired")
    assert first.startswith("initialised")
    assert "InitProducerId" not in first
    assert "('InitProducerIdResponse', 'COORDINATOR_NOT_AVAILABLE')" in second
