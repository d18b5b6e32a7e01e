"""What lab 13 says in words is what its runs do."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab import Sequence, lab13
from kafkalab.grading.builder import SOLUTIONS, read

ROOT = Path(__file__).resolve().parents[2]
CELLS = {c["id"]: c for c in read(ROOT / SOLUTIONS / "13_cost_and_latency.ipynb")["cells"]}
TEXTS = {i: "".join(c["source"]) for i, c in CELLS.items()}


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in CELLS[cell]["outputs"])


def numbers(cell: str) -> list[list[int]]:
    """All whole numbers of each line."""
    return [[int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", line)] for line in output(cell).splitlines()]


def test_each_question_has_the_cell_that_answers_it_and_a_row_in_the_recap() -> None:
    answered = [q for c in CELLS.values() for q in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(answered) == [35, 36]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in answered)


def test_sixty_transactions_take_eighty_times_as_long_as_one() -> None:
    (_, _, many, _), (_, _, one, _) = numbers("naive")
    assert round(many / one / 10) == 8
    assert "eighty times as long" in TEXTS["naive-result"]


def test_the_walk_shows_what_the_list_names() -> None:
    walk = Sequence(lab13(), groups=["transaction"])
    frames = walk.cluster.trace.frames
    assert [len(b.records) for b in frames["Produce#1"].body.batches.values()] == [3]
    sizes = {line.split()[0]: line.split()[2].replace(",", "") for line in output("walk-rows").splitlines()[2:-1]}
    assert int(sizes["start"]) > int(sizes["all"]) / 2
    assert frames["Produce#2"].sent_ms > frames["EndTxnResponse#1"].received_ms
    answered = next(e.step for e in walk.cluster.trace.of("complete", "commit_transaction"))
    assert answered < frames["WriteTxnMarkersResponse#1"].received_step


def test_frames_and_markers_do_not_depend_on_the_number_of_records() -> None:
    rows = numbers("records")[1:]
    assert {(frames, markers) for _, frames, markers, *_ in rows} == {(8, 1)}
    assert rows[0][3] < rows[1][3] < rows[2][3] < 60 * rows[0][3]


def test_markers_are_written_per_partition_and_sent_per_broker() -> None:
    assert [(p, f, m) for p, f, m, _ in numbers("partitions")[1:]] == [(1, 1, 1), (2, 2, 2), (4, 3, 4), (8, 3, 8)]


def test_who_comes_back_at_once_is_refused_and_who_works_meanwhile_is_not() -> None:
    refused = [row[-1] for row in numbers("waits")]
    assert refused[0] > refused[1] > refused[2] == refused[3] == 0


def test_the_latency_of_read_committed_is_the_interval_and_of_read_uncommitted_is_not() -> None:
    rows = [row for row in numbers("interval") if row]
    for interval, shortest, mean, longest in rows[3:]:
        assert abs(mean - interval / 2) < 15
        assert abs(longest - interval) < 30
        assert shortest < 30
    assert {longest for *_, longest in rows[:3]} == {41}


def test_below_the_time_of_a_commit_the_stream_falls_behind() -> None:
    longest = [row[-2] for row in numbers("short")]
    frames = [row[-1] for row in numbers("short")]
    assert longest[0] < longest[1] < 300 < longest[2] < longest[3]
    assert frames == sorted(frames)


def test_the_measurement_over_sockets_says_command_machine_and_the_same_law() -> None:
    text = (ROOT / "docs" / "commit_interval.txt").read_text(encoding="utf-8")
    assert "python -m tests.benchmarks.commit_interval --save" in text
    assert "Machine: " in text
    rows = [line.split() for line in text.splitlines() if line.startswith("read_committed")]
    assert [int(row[1]) for row in rows] == [100, 200, 500, 1000]
    for _, interval, _, _, mean, *_ in rows[1:]:
        assert int(interval) * 0.25 < int(mean) < int(interval) * 0.85


def test_what_the_lab_shows_of_an_incident_names_frames_and_logs_and_no_rule_as_missing() -> None:
    shown = output("e3-look")
    assert "Produce#2" in shown
    assert "out-0 on b1 (leader)" in shown
    assert "rules_off" not in shown
