"""What lab 04 says in words is what its runs do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkalab import lab04, price_list
from kafkalab.cli.transactions import transactions_of
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.partition import ElectLeader
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.predict import Predict

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "04_markers_and_lag.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {i: "".join(c["source"]) for i, c in CELLS.items()}


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in CELLS[cell]["outputs"])


def test_each_question_has_the_cell_that_answers_it_and_a_row_in_the_recap() -> None:
    answered = [q for c in CELLS.values() for q in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(answered) == [1, 2, 3, 4, 5, 42]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in answered)


def test_the_night_program_is_right_without_transactions_and_wrong_with_them() -> None:
    old, new = " ".join(output("naive-old").split()), " ".join(output("naive-new").split())
    assert old == "{'read': ['tea', 'bun', 'cake', 'soup'], 'orders': 4, 'jumps': [], 'left to read': 0}"
    assert new == "{'read': ['tea', 'bun', 'soup'], 'orders': 7, 'jumps': [(1, 5)], 'left to read': 1}"


def test_the_walk_has_the_offsets_and_positions_that_the_list_names() -> None:
    cluster = Cluster(lab04())
    cluster.run()
    batches = [(b.base_offset, b.control.name if b.control else "") for b in cluster.log_of("orders-0").batches]
    assert batches == [(0, ""), (2, "COMMIT"), (3, ""), (4, "ABORT"), (5, ""), (6, "COMMIT")]
    polls = [e.data for e in cluster.trace.of("complete", "poll")]
    assert [[r[1] for r in p["records"]] for p in polls] == [[0, 1], [5]]
    assert [p["to"]["orders-0"] for p in polls] == [5, 7]
    tape = LogTape(cluster)
    tape.press("end")
    assert "    position of books: 7, lag 0 (read_committed)" in str(tape)
    assert "[0 offset 5 of orders-0 for books]" in str(tape)


def test_a_real_loss_has_no_gap_and_the_checks_find_it() -> None:
    assert output("loss-run") == "{'read': ['tea', 'soup'], 'orders': 2, 'jumps': [], 'left to read': 0}"
    assert "lost-write (violated)" in output("loss-verdict")


def test_three_lags_part_while_a_transaction_is_undecided_and_the_own_one_never_ends() -> None:
    assert output("lag-table").splitlines() == [
        "{'ms': 500, 'own': 3, 'records-lag': 0, 'LAG': 0}",
        "{'ms': 2000, 'own': 3, 'records-lag': 0, 'LAG': 1}",
        "{'ms': 80000, 'own': 5, 'records-lag': 0, 'LAG': 0}",
    ]
    assert "LSO 5, HW 6" in output("lag-picture")
    assert "position of books: 5, lag 0" in output("lag-picture")


def test_a_group_that_commits_its_last_record_plus_one_keeps_a_lag() -> None:
    assert output("idle-run") == "{'committed': 6, 'position': 7, 'LAG': 1}"


def test_waiting_for_the_last_record_hangs_only_with_transactions() -> None:
    assert output("wait-run").splitlines() == [
        "3 s: ['tea', 'bun', 'cake', 'soup'], position 4 of 4",
        "60 s: ['tea', 'bun', 'soup'], position 7 of 7",
    ]


def test_an_unclean_election_loses_a_marker_and_the_abort_that_frees_readers_takes_a_committed_order() -> None:
    found, aborted = output("unclean").split("producer 2000 epoch 2 on orders-0")
    assert found.splitlines()[1].split()[:6] == ["orders", "0", "2000", "2", "0", "5"]
    assert "ABORT written" in aborted
    assert "before  last stable offset 5, high watermark 6" in aborted
    till, _ = lab04().programs
    faults = (
        Cut("b1", ("b2",), at_ms=1_146),
        Heal("b1", ("b2",), at_ms=101_000),
        ElectLeader("orders-0", "b1", unclean=True, at_ms=100_000),
    )
    cluster = Cluster(replace(lab04(), programs=(till,), faults=faults))
    cluster.run()
    assert cluster.results["till"] == "done"  # soup was told to be committed
    decided = [e.data for e in cluster.trace.of("state", "transaction") if e.data["state"] == "CompleteCommit"]
    assert len(decided) == 2
    assert [b.control.name if b.control else "" for b in cluster.log_of("orders-0").batches][-1] == ""
    cluster.run_for(960_000)
    transactions_of(cluster, "abort --topic orders --partition 0 --start-offset 5")
    assert cluster.outcome().committed["orders-0"] == ("tea", "bun")


def test_four_late_readers_get_a_part_of_a_committed_transaction() -> None:
    whole, *parts, half = output("later-table").splitlines()
    assert whole == "all of it:  [(0, '2.00'), (1, '1.00'), (3, '2.50')]"
    assert [line.partition("[")[2] for line in parts] == ["(1, '1.00'), (3, '2.50')]"] * 3
    assert half == "one of two: [(0, '+10')]"
    for cleaned, why in (("compacted", "compacted"), ("deleted", "deleted")):
        tape = LogTape(price_list(cleaned))
        tape.press("end")
        assert f"[0 tea=2.00 · pid 1000 e0 seq 0 · {why}]" in str(tape)


def test_deleting_all_leaves_begin_and_end_where_the_end_was() -> None:
    tape = LogTape(price_list())
    tape.press("end")
    tape.press("delete_segment", "prices-0")
    tape.press("end")
    assert "prices-0 on b2 (leader): log start 5, LSO 5, HW 5, end 5" in str(tape)


def test_the_sealed_cards_know_what_the_runs_show() -> None:
    for cell, answer in (("predict", "D"), ("turn-guess", "C")):
        scope: dict[str, object] = {"Predict": Predict}
        exec(TEXTS[cell], scope)
        (card,) = (value for value in scope.values() if isinstance(value, Predict))
        card.press("choose", answer)
        card.press("tell")
        assert (card.truth, card.verdict) == (answer, "right")
