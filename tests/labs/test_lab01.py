"""What lab 01 says in words is what its runs do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab01
from kafkalab.course.lab01.exercise_1 import arrivals
from kafkalab.course.lab01.exercise_2 import LENGTH, STREAMS
from kafkalab.course.measures import WAY
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Drop
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.sim.cluster import Cluster

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "01_idempotent_producer.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {i: "".join(c["source"]) for i, c in CELLS.items()}
TERMS = ("producer id", "epoch", "batch", "sequence", "in flight")


def run(*faults: Fault, idempotence: bool = True) -> Cluster:
    cluster = Cluster(lab01(idempotence).with_faults(*faults))
    cluster.run()
    return cluster


def list_values(cluster: Cluster) -> list[str]:
    return [r.value for b in cluster.log_of("orders-0").batches for r in b.records]


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in CELLS[cell]["outputs"])


def test_each_term_is_bold_where_it_is_used_first_and_explained_there() -> None:
    texts = [WAY.sub("", "".join(c["source"])) for c in read(PATH)["cells"] if c["cell_type"] == "markdown"]
    for term in TERMS:
        first = next(text for text in texts if term in text)
        assert f"**{term}" in first[: first.index(term) + len(term)], term


def test_each_question_has_the_cell_that_answers_it_and_a_row_in_the_recap() -> None:
    answered = [q for c in CELLS.values() for q in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted({*answered}) == [19, 20, 21, 22]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in answered)


def test_the_comments_of_the_first_exercise_are_its_rows() -> None:
    lines = [line.strip() for line in TEXTS["e1-answer"].splitlines() if line.startswith("    ")]
    assert lines == [f'{n}: "",  # {row}' for n, row in arrivals(1).items()]
    assert f"On {STREAMS * LENGTH} batches" in TEXTS["e2"]


def test_without_idempotence_an_order_is_there_twice_or_never_or_in_the_wrong_place() -> None:
    lost = run(Drop("ProduceResponse#2"), idempotence=False)
    assert list_values(lost) == ["soup", "bread", "rice", "tea", "rice"]
    assert "ProduceResponse#2 is lost on its way" in output("opening")
    assert output("naive-no-retry") == "['soup', 'bread', 'tea']"
    assert output("naive-order") == "['soup', 'bread', 'tea', 'rice']"


def test_the_walk_has_the_numbers_that_the_list_names() -> None:
    frames = run().trace.frames
    batches = [frames[f"Produce#{n}"].body.batches["orders-0"] for n in (1, 2, 3)]
    assert [(b.base_sequence, len(b.records)) for b in batches] == [(0, 2), (2, 1), (3, 1)]
    assert frames["Produce#3"].sent_ms < frames["ProduceResponse#2"].received_ms
    response = frames["InitProducerIdResponse#1"].body
    assert (response.producer_id, response.producer_epoch) == (0, 0)


def test_the_retry_is_answered_with_the_first_offset_and_nothing_is_appended() -> None:
    cluster = run(Drop("ProduceResponse#2"))
    retry, response = cluster.trace.frames["Produce#4"], cluster.trace.frames["ProduceResponse#4"]
    assert retry.body.batches["orders-0"].base_sequence == 2
    assert (response.error, response.body.partitions["orders-0"].base_offset) == ("NONE", 2)
    assert list_values(cluster) == ["soup", "bread", "rice", "tea"]


def test_without_the_rule_the_duplicate_is_forbidden() -> None:
    assert "'rice' lies at the offsets 2, 4 of orders-0, though it was sent once" in output("without-verdict")
    assert "appends rice to orders-0 at offset 4" in output("without")


def test_the_gap_is_refused_and_both_batches_come_in_order() -> None:
    cluster = run(Drop("Produce#2"))
    assert cluster.trace.frames["ProduceResponse#2"].error == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert cluster.results["shop"] == [0, 1, 2, 3]
    assert list_values(cluster) == ["soup", "bread", "rice", "tea"]


def test_only_a_leader_that_remembers_five_knows_the_retry() -> None:
    five, one = output("five").splitlines()
    assert five.endswith("[0, 1, 2, 3, 4, 5]")
    assert "120000 ms has passed since batch creation. The request has not been sent" in one
    scenario = lab01(orders=("soup", "bread", "rice", "tea", "cake", "figs"))
    forgetful = replace(scenario, rules_off=("five batches of a producer are remembered",))
    cluster = Cluster(forgetful.with_faults(Drop("ProduceResponse#2")))
    cluster.run()
    frames = cluster.trace.frames.values()
    retry = next(f for f in frames if f.name == "Produce" and f.attempt == 2)
    newer = [f for f in frames if f.name == "Produce" and f.attempt == 1 and f.id > "Produce#2"]
    assert len(newer) == 3
    assert next(f for f in frames if f.of == retry.id).error == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert len(list_values(cluster)) == 6


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("{}", "idempotent"),
        ("{'acks': 1}", "NOT idempotent"),
        ("{'retries': 0}", "NOT idempotent"),
        ("{'retries': 3}", "idempotent"),
        ("{'enable_idempotence': True, 'acks': 1}", "Must set acks to all"),
        ("{'max_in_flight_requests_per_connection': 6}", "at most 5. Current value is 6."),
    ],
)
def test_the_settings_come_to_what_the_lab_says(settings: str, says: str) -> None:
    lines = dict(line.split(" → ") for line in output("settings").splitlines())
    assert lines[settings].startswith(says) or lines[settings].endswith(says)


def test_the_restarted_shop_is_a_stranger_and_the_forgotten_one_too() -> None:
    assert output("restart").endswith("(0, 3, ['tea']), (1, 0, ['tea'])]")
    assert output("idle") == "['soup', 'bread', 'rice', 'tea', 'rice']"
    old, new = output("unknown").splitlines()
    assert "UNKNOWN_PRODUCER_ID" in old
    assert "NONE" in new
