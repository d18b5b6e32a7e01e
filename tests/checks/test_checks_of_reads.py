"""Checks over what consumers were given: violated, clean, and the legal cases beside them."""

from __future__ import annotations

import pytest

from kafkalab.checks.all import BY_NAME, CHECKS, check_all
from kafkalab.checks.dependencies import WRITE_READ, WRITE_WRITE, Graphs
from kafkalab.checks.g1c import circular_flow, g1c
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from tests.checks.verdicts import OK, SEEN, UNKNOWN, VIOLATED, Build, build_history, verdict

K = "out-0"


@pytest.mark.parametrize("name", [c.name for c in CHECKS])
def test_of_nothing_nothing_is_said(name: str) -> None:
    assert check_all(History())[name].verdict == "unknown"


def one_value_read_twice(m: HistoryBuilder) -> None:
    m.send("p", K, "x")
    m.poll("r", K, (0, "x"))
    m.poll("s", K, (0, "x"))


def told_one_value_shown_another(m: HistoryBuilder) -> None:
    m.send("p", K, "x")
    m.poll("r", K, (0, "y"))


def shown_two_values(m: HistoryBuilder) -> None:
    m.poll("r", K, (0, "x"))
    m.poll("s", K, (0, "y"))


def overwritten_before_anybody_knew(m: HistoryBuilder) -> None:
    m.send("p", K, "x", type="info")
    m.rows["log"].clear()
    m.log(K, "x", 0, pid=1, epoch=0, seq=0, removed="truncated")
    m.log(K, "y", 0)
    m.poll("r", K, (0, "y"))


def an_open_transaction(m: HistoryBuilder, *values: str, n: int = 1) -> None:
    for seq, value in enumerate(values):
        m.send("p", K, value, n=n, seq=seq)


def aborted_and_read(m: HistoryBuilder, level: str = "read_committed") -> None:
    an_open_transaction(m, "x")
    m.poll("r", K, (0, "x"), level=level)
    m.marker(K, "ABORT")


def committed_and_read(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.marker(K, "COMMIT")
    m.poll("r", K, (0, "x"))


def open_and_read(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.poll("r", K, (0, "x"))


def aborted_by_the_client_committed_by_the_log(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.end("p", "abort", 1)
    m.marker(K, "COMMIT")
    m.poll("r", K, (0, "x"))


def commit_in_doubt_then_abort(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.end("p", "commit", 1, "info")
    m.end("p", "abort", 1)
    m.marker(K, "COMMIT")
    m.poll("r", K, (0, "x"))


def other_value_at_an_aborted_offset(m: HistoryBuilder) -> None:
    m.log(K, "x", 0, pid=1, epoch=0, seq=0, txn=True, removed="truncated")
    m.log(K, "y", 0)
    m.poll("r", K, (0, "y"))


def own_value_before_the_commit(m: HistoryBuilder, level: str = "read_committed") -> None:
    an_open_transaction(m, "x")
    m.poll("r", K, (0, "x"), process="p", level=level)
    m.end("p", "commit", 1)
    m.marker(K, "COMMIT")


def own_value_after_the_commit(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.end("p", "commit", 1)
    m.marker(K, "COMMIT")
    m.poll("r", K, (0, "x"), process="p")


def another_ones_value(m: HistoryBuilder) -> None:
    an_open_transaction(m, "x")
    m.poll("r", K, (0, "x"), process="r")
    m.end("p", "commit", 1)


def three_plain(m: HistoryBuilder, removed: str = "", acknowledged: int = 3) -> None:
    for seq, value in enumerate("abc"):
        m.send("p", K, value, seq=seq, type="ok" if seq < acknowledged else "info")
    if removed:
        log = m.rows["log"]
        log[1] = log[1]._replace(removed=removed)


def passed_over(m: HistoryBuilder, **given: object) -> None:
    three_plain(m, **given)  # type: ignore[arg-type]
    m.poll("r", K, (0, "a"), (2, "c"), start=0, end=3, moved="assign")


def read_by_another(m: HistoryBuilder) -> None:
    passed_over(m)
    m.poll("s", K, (1, "b"), start=1, end=2, moved="seek")


def begun_behind(m: HistoryBuilder) -> None:
    three_plain(m)
    m.poll("r", K, (2, "c"), start=2, end=3, moved="seek")


def never_so_far(m: HistoryBuilder) -> None:
    three_plain(m)
    m.poll("r", K, (0, "a"), start=0, end=1, moved="assign")


def aborted_between(m: HistoryBuilder) -> None:
    m.send("p", K, "a", n=1)
    m.marker(K, "COMMIT")
    m.send("p", K, "b", n=2, seq=1)
    m.marker(K, "ABORT")
    m.send("p", K, "c", n=3, seq=2)
    m.marker(K, "COMMIT")
    m.poll("r", K, (0, "a"), (4, "c"), start=0, end=6, moved="assign")


def committed_for_the_client(m: HistoryBuilder, told: str = "commit", type: str = "ok", control: str = "ABORT") -> None:
    m.send("p", K, "a", n=1)
    m.end("p", told, 1, type)
    m.marker(K, control)
    m.send("p", K, "b", n=2, seq=1)
    m.marker(K, "COMMIT")
    m.poll("r", K, *[(0, "a")] * (control == "COMMIT"), (2, "b"), start=0, end=4, moved="assign")


def truncated_and_passed(m: HistoryBuilder) -> None:
    m.send("p", K, "a")
    m.send("p", K, "b", seq=1, logged=False, offset=1)
    m.log(K, "other", 1, pid=2, epoch=0, seq=0)
    m.poll("r", K, (0, "a"), (1, "other"), start=0, end=2, moved="assign")


def positions_not_known(m: HistoryBuilder) -> None:
    three_plain(m)
    m.poll("r", K, (2, "c"), known=False)


def two_polls(
    m: HistoryBuilder, first: tuple[int, ...], second: tuple[int, ...], moved: str = "", values: int = 6
) -> None:
    for seq in range(values):
        m.send("p", K, f"v{seq}", seq=seq)
    m.poll("r", K, *((o, f"v{o}") for o in first), known=False)
    if moved:
        m.poll("r", K, *((o, f"v{o}") for o in second), start=second[0], end=second[-1] + 1, moved=moved)
    else:
        m.poll("r", K, *((o, f"v{o}") for o in second), known=False)


def positions_over_a_committed_value(m: HistoryBuilder) -> None:
    three_plain(m)
    m.poll("r", K, (0, "a"), start=0, end=1, moved="assign")
    m.poll("r", K, start=1, end=3)


def position_over_markers(m: HistoryBuilder) -> None:
    committed_and_read(m)
    m.poll("q", K, (0, "x"), start=0, end=1, moved="assign")
    m.poll("q", K, start=1, end=2)


CASES: list[tuple[str, Build, tuple[str, list[str]]]] = [
    ("inconsistent-offsets", one_value_read_twice, OK),
    ("inconsistent-offsets", told_one_value_shown_another, VIOLATED),
    ("inconsistent-offsets", shown_two_values, VIOLATED),
    ("inconsistent-offsets", overwritten_before_anybody_knew, OK),
    ("G1a", aborted_and_read, VIOLATED),
    ("G1a", lambda m: aborted_and_read(m, "read_uncommitted"), UNKNOWN),
    ("G1a", committed_and_read, OK),
    ("G1a", open_and_read, OK),
    ("G1a", aborted_by_the_client_committed_by_the_log, VIOLATED),
    ("G1a", commit_in_doubt_then_abort, OK),
    ("G1a", other_value_at_an_aborted_offset, OK),
    ("precommitted-read", own_value_before_the_commit, VIOLATED),
    ("precommitted-read", lambda m: own_value_before_the_commit(m, "read_uncommitted"), SEEN),
    ("precommitted-read", own_value_after_the_commit, OK),
    ("precommitted-read", another_ones_value, UNKNOWN),
    ("lost-write", passed_over, VIOLATED),
    ("lost-write", read_by_another, OK),
    ("lost-write", begun_behind, OK),
    ("lost-write", never_so_far, OK),
    ("lost-write", aborted_between, OK),
    ("lost-write", committed_for_the_client, VIOLATED),
    ("lost-write", lambda m: committed_for_the_client(m, control="COMMIT"), OK),
    ("lost-write", lambda m: committed_for_the_client(m, type="info"), OK),
    ("lost-write", lambda m: committed_for_the_client(m, told="abort"), OK),
    ("lost-write", truncated_and_passed, VIOLATED),
    ("lost-write", positions_not_known, ("violated", ["forbidden", "forbidden"])),
    ("lost-write", lambda m: passed_over(m, removed="compacted"), OK),
    ("lost-write", lambda m: passed_over(m, removed="deleted"), OK),
    ("lost-write", lambda m: passed_over(m, acknowledged=1), OK),
    ("lost-write", three_plain, UNKNOWN),
    ("unseen", never_so_far, ("ok", ["reported"])),
    ("unseen", committed_and_read, OK),
    ("unseen", aborted_between, OK),
    ("unseen", three_plain, UNKNOWN),
    ("poll-skip", lambda m: two_polls(m, (0, 1), (2, 3)), OK),
    ("poll-skip", lambda m: two_polls(m, (0, 1), (4, 5)), VIOLATED),
    ("poll-skip", lambda m: two_polls(m, (0, 1), (4, 5), "seek"), OK),
    ("poll-skip", lambda m: two_polls(m, (0, 1), (4, 5), "assign"), OK),
    ("poll-skip", lambda m: two_polls(m, (0, 1), (4, 5), "rebalance"), SEEN),
    ("poll-skip", positions_over_a_committed_value, VIOLATED),
    ("poll-skip", position_over_markers, OK),
    ("poll-skip", never_so_far, UNKNOWN),
    ("int-poll-skip", lambda m: two_polls(m, (0, 2), (3,)), VIOLATED),
    ("int-poll-skip", lambda m: two_polls(m, (0, 1), (4, 5)), OK),
    ("int-poll-skip", aborted_between, OK),
    ("int-poll-skip", passed_over, VIOLATED),
    ("int-poll-skip", lambda m: passed_over(m, removed="compacted"), OK),
    ("nonmonotonic-poll", lambda m: two_polls(m, (0, 1), (1, 2)), VIOLATED),
    ("nonmonotonic-poll", lambda m: two_polls(m, (2, 3), (0, 1)), VIOLATED),
    ("nonmonotonic-poll", lambda m: two_polls(m, (2, 3), (0, 1), "seek"), SEEN),
    ("nonmonotonic-poll", lambda m: two_polls(m, (2, 3), (0, 1), "rebalance"), SEEN),
    ("nonmonotonic-poll", lambda m: two_polls(m, (0, 1), (2, 3)), OK),
    ("int-nonmonotonic-poll", lambda m: two_polls(m, (1, 0), (1, 2)), VIOLATED),
    ("int-nonmonotonic-poll", lambda m: two_polls(m, (0, 1), (1, 2)), OK),
]


@pytest.mark.parametrize(("name", "build", "expected"), CASES)
def test_the_check_says(name: str, build: Build, expected: tuple[str, list[str]]) -> None:
    assert verdict(build_history(build), name) == expected


def test_a_finding_names_the_steps_and_keys_that_prove_it() -> None:
    made = HistoryBuilder()
    aborted_and_read(made)
    (finding,) = BY_NAME["G1a"](made.history()).findings
    written, read, ended = made.rows["log"][0].step, made.rows["reads"][0].step, made.rows["log"][1].step
    assert (finding.steps, finding.keys, finding.offsets) == ((written, read, ended), (K,), (0,))
    assert finding.text == "r was given 'x' of out-0 at offset 0, which an ABORT marker ended"


def test_the_report_is_a_table_with_every_finding_below() -> None:
    made = HistoryBuilder()
    aborted_and_read(made)
    text = str(check_all(made.history()))
    assert [line.split()[0] for line in text.splitlines()[:3]] == ["anomaly", "inconsistent-offsets", "G1a"]
    assert "  forbidden G1a: r was given 'x'" in text
    with pytest.raises(KeyError, match="no check 'G7'; there are inconsistent-offsets, G1a"):
        check_all(made.history())["G7"]


def test_a_part_of_a_run_without_reads_has_no_circular_flow() -> None:
    """Spark hands over the edges of one part at a time, which may lack a kind of them."""
    assert list(circular_flow(g1c, {})) == []
    graphs: Graphs = {WRITE_READ: {"a": {"b": (1, 2)}, "b": {}}, WRITE_WRITE: {"b": {"a": (3, 4)}, "a": {}}}
    (found,) = circular_flow(g1c, graphs)
    assert found.text == "a cycle through the order of the log: a; b"
