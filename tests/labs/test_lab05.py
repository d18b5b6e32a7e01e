"""What lab 05 says in words is what its runs do."""

from __future__ import annotations

from pathlib import Path

from kafkalab import lab05, two_accounts
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.sim.cluster import Cluster

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "05_read_committed.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {i: "".join(c["source"]) for i, c in CELLS.items()}


def output(cell: str) -> str:
    """Return what the cell's saved run printed or returned."""
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in CELLS[cell]["outputs"])


def test_each_question_has_the_cell_that_answers_it_and_a_row_in_the_recap() -> None:
    answered = [q for c in CELLS.values() for q in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(answered) == [6, 7, 8, 9, 10, 11]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in answered)


def test_the_looks_are_those_of_the_text() -> None:
    everything = "['slow-1', 'quick-1', 'quick-2', 'sorry', 'slow-2']"
    assert output("naive").split() == f"[['slow-1', 'quick-1', 'quick-2', 'sorry'], {everything}]".split()
    assert output("naive-committed") == "[[], ['slow-1', 'quick-1', 'quick-2', 'slow-2']]"


def test_the_walk_has_the_offsets_that_the_list_names() -> None:
    cluster = Cluster(lab05())
    frames = cluster.run().frames
    kinds = [
        (b.base_offset, b.control.name if b.control else b.records[0].value) for b in cluster.log_of("ledger-0").batches
    ]
    assert kinds == [
        (0, "slow-1"), (1, "quick-1"), (2, "quick-2"), (3, "COMMIT"), (4, "sorry"), (5, "ABORT"), (6, "slow-2"),
        (7, "COMMIT"),
    ]  # fmt: skip
    marks = [e.data for e in cluster.trace.of("state", "watermark") if e.data["partition"] == "ledger-0"]
    assert (marks[-1]["high_watermark"], marks[-1]["last_stable_offset"]) == (8, 8)
    assert {m["last_stable_offset"] for m in marks[:-1]} == {0}
    responses = [f for f in frames.values() if f.name == "ListOffsetsResponse"]
    assert responses[0].sent_ms < 1_100
    assert "LSO 0, HW 6" in output("line")
    assert "read_uncommitted gets 0–2, 4" in output("line")
    assert "read_committed gets nothing" in output("line")
    fetches = [f for f in frames.values() if f.name == "Fetch"]
    assert [f.sent_ms > 3_000 for f in fetches] == [True]


def test_the_dead_writer_holds_readers_up_for_seventy_seconds() -> None:
    assert output("stuck") == "70008 ms: the LSO is 7 [[], []]\n[['quick-1', 'quick-2']]"


def test_the_broker_sends_the_aborted_record_and_the_list() -> None:
    lines = output("where").splitlines()
    assert "offset 4  producer 1000  sorry" in lines
    assert lines[-1] == "aborted: [(1000, 4)]"


def test_the_consumer_filters_and_buffers_nothing() -> None:
    everything = "['slow-1', 'quick-1', 'quick-2', 'sorry', 'slow-2']"
    assert output("where-off") == f"[[], {everything}]"
    assert "Fetch" not in output("where-fetched").replace("OffsetFetch", "")


def test_the_checks_call_interleaving_allowed_and_nothing_forbidden() -> None:
    said = output("verdict")
    assert "int-send-skip (allowed)" in said
    assert "forbidden" not in said.replace("Nothing forbidden", "")


def test_without_presses_the_reader_of_the_third_exercise_sees_both_accounts_at_each_look() -> None:
    for seed in range(1, 11):
        cluster = Cluster(two_accounts(seed))
        cluster.run()
        assert [sorted(v for _, v in look) for look in cluster.results["reader"]] == [["+10", "-10"]] * 2


def test_two_markers_apart_show_a_half_and_another_order_to_who_reads_again() -> None:
    live, again = output("apart").splitlines()
    assert live == "while it happens: ['accounts-1: +10', 'accounts-0: -10']"
    assert again == "a minute later:   ['accounts-0: -10', 'accounts-1: +10']"


def test_each_thing_that_a_reader_is_not_promised_is_shown_where_the_table_says() -> None:
    rows = [line for line in TEXTS["apart-what"].splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 7
    lab4 = {c["id"]: "".join(c["source"]) for c in read(PATH.parent / "04_markers_and_lag.ipynb")["cells"]}
    assert sum("04_markers_and_lag.ipynb#What-a-reader-is-not-promised" in row for row in rows) == 3
    assert "## What a reader is not promised" in lab4["later-why"]
    for way in ('price_list("compacted")', 'price_list("deleted")', '["seek"', '["assign", ["accounts-1"]]'):
        assert way in lab4["later-table"]
    assert "[lab 5](05_read_committed.ipynb#What-a-reader-is-not-promised)" in lab4["later-what"]
    assert "### What a reader is not promised" in TEXTS["e3-after"]
    assert "## What readers wait for" in TEXTS["line-why"]
    assert "(#Every-copy-is-lost)" in TEXTS["apart-what"]
    assert TEXTS["copies-why"].startswith("### Every copy is lost")


def test_with_every_copy_of_one_partition_lost_a_reader_gets_half_of_a_committed_transfer_and_no_error() -> None:
    assert output("copies").splitlines() == [
        "reader of accounts-0 gets [] · its leader: none",
        "reader of accounts-3 gets [['accounts-3', 0, '+10']] · its leader: b4",
    ]
