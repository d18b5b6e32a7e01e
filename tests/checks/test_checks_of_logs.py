"""Checks over logs, markers and transactions: violated, clean, and the legal cases beside them."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.checks.check import OK as FINE
from kafkalab.checks.view import LACKS
from kafkalab.faults.node import Crash
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.export import history_of
from kafkalab.history.schema import FrameRow
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.checks.verdicts import OK, SEEN, UNKNOWN, VIOLATED, Build, build_history, verdict

K, L, OFFSETS, IN = "out-0", "out-1", "__consumer_offsets-1", "in-0"
CANNOT_TELL = ("unknown", ["unknown"])
TWICE = ("violated", ["forbidden", "forbidden"])


def sequences(*numbers: int, epochs: tuple[int, ...] = (), **given: Any) -> Build:
    def build(m: HistoryBuilder) -> None:
        for place, number in enumerate(numbers):
            m.log(K, f"v{place}", pid=1, epoch=epochs[place] if epochs else 0, seq=number, **given)

    return build


def in_two_transactions(m: HistoryBuilder, epoch: int, first: int) -> None:
    """Two transactions of one producer; the marker of the first carries `epoch`."""
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.marker(K, "COMMIT", epoch=epoch)
    m.log(K, "y", pid=1, epoch=epoch, seq=first, txn=True)


def hole(m: HistoryBuilder, sequence: int) -> None:
    """Offsets 1 to 3 are not in the history: compaction took them before it was made."""
    m.log(K, "x", pid=1, epoch=0, seq=0)
    m.log(K, "y", 4, pid=1, epoch=0, seq=sequence)


def reset_after_retention(m: HistoryBuilder) -> None:
    m.log(K, "x", pid=1, epoch=0, seq=7, removed="deleted")
    m.log(K, "y", pid=1, epoch=0, seq=0)


def offset_batches(m: HistoryBuilder) -> None:
    for value in ("1", "2"):
        m.log(OFFSETS, value, pid=1, epoch=0, seq=0, txn=True, record_key="g/in-0")


def copies(*pids: int, epochs: tuple[int, ...] = (0, 0), sent: int = 1) -> Build:
    def build(m: HistoryBuilder) -> None:
        for place, pid in enumerate(pids):
            epoch = epochs[place] if pid >= 0 else -1
            if place < sent:
                m.send("p", K, "x", pid=pid, epoch=epoch, seq=place)
            else:
                m.log(K, "x", pid=pid, epoch=epoch, seq=place)

    return build


def sent_in_order(*offsets: int, pid: int = 1, n: tuple[int, ...] = (), clients: str = "") -> Build:
    def build(m: HistoryBuilder) -> None:
        for place, offset in enumerate(offsets):
            client = clients[place] if clients else "p"
            m.send(client, K, f"v{place}", pid=pid, seq=place, offset=offset, n=n[place] if n else -1)

    return build


def without_an_offset(m: HistoryBuilder) -> None:
    m.send("p", K, "a", seq=0, offset=4)
    m.send("p", K, "b", seq=1, offset=3, told=False)


def interleave(m: HistoryBuilder, *clients: str) -> None:
    for seq, client in enumerate(clients):
        m.send(client, K, f"{client}{seq}", pid=ord(client), seq=seq, n=1)


def two_writers(m: HistoryBuilder, first: str, second: str, outcome: str = "COMMIT") -> None:
    """Add a and b to K and to L, in the orders that the arguments name."""
    for key, order in ((K, first), (L, second)):
        for client in order:
            m.send(client, key, f"{client} to {key}", pid=ord(client), n=1)
        for client in order:
            m.marker(key, outcome, pid=ord(client))


def read_from_each_other(m: HistoryBuilder, level: str = "read_committed", both: bool = True) -> None:
    m.send("a", K, "from a", pid=1, n=1)
    m.send("b", L, "from b", pid=2, n=1)
    m.poll("ra", L, *([(0, "from b")] if both else []), process="a", level=level)
    m.poll("rb", K, (0, "from a"), process="b", level=level)
    for client, key, pid in (("a", K, 1), ("b", L, 2)):
        m.end(client, "commit", 1)
        m.marker(key, "COMMIT", pid=pid)


def read_what_nobody_committed(m: HistoryBuilder) -> None:
    """As before, but a's part aborted; and b has read a record of no transaction, too."""
    m.log("in-0", "plain")
    m.send("a", K, "from a", pid=1, n=1)
    m.send("b", L, "from b", pid=2, n=1)
    m.poll("ra", L, (0, "from b"), process="a")
    m.poll("rb", K, (0, "from a"), process="b")
    m.poll("rb", "in-0", (0, "plain"), process="b")
    for client, key, pid, control in (("a", K, 1, "ABORT"), ("b", L, 2, "COMMIT")):
        m.end(client, "commit", 1)
        m.marker(key, control, pid=pid)


def through_the_log(m: HistoryBuilder) -> None:
    """a wrote before b on K; b's value on L was read by a."""
    m.send("a", K, "from a", pid=1, n=1)
    m.send("b", K, "from b", pid=2, n=1)
    m.send("b", L, "from b", pid=2, n=1)
    m.poll("ra", L, (0, "from b"), process="a")
    for client in "ab":
        m.end(client, "commit", 1)
    for key, pid in ((K, 1), (K, 2), (L, 2)):
        m.marker(key, "COMMIT", pid=pid)


def two_keys(m: HistoryBuilder, first: str, second: str, decisions: tuple[tuple[str, ...], ...] = ((K, L),)) -> None:
    """One client transaction on K and L, its decisions in the log, and how each key was ended ("" not yet)."""
    m.send("p", K, "x", n=1)
    m.send("p", L, "y", n=1)
    for partitions, control in zip(decisions, (first, second), strict=False):
        m.entry("PrepareCommit" if control == "COMMIT" else "PrepareAbort", *partitions)
        for key, ending in ((K, first), (L, second)):
            if ending and key in partitions:
                m.marker(key, ending)


def half_in_one_partition(m: HistoryBuilder) -> None:
    """A time-out ends the transaction in the middle; the rest joins the next one of the same epoch."""
    m.send("p", K, "x", n=1)
    m.entry("PrepareAbort", K)
    m.marker(K, "ABORT")
    m.send("p", K, "y", n=1, seq=1)
    m.entry("PrepareCommit", K)
    m.marker(K, "COMMIT")


def of_nobody(m: HistoryBuilder, first: str, second: str) -> None:
    """The same without any operation: producer id, epoch and decisions tell transactions apart."""
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.log(L, "y", pid=1, epoch=0, seq=0, txn=True)
    m.entry("PrepareCommit", K, L)
    m.marker(K, first)
    m.marker(L, second)


def reader_between_markers(m: HistoryBuilder, also: bool = True) -> None:
    two_keys(m, "COMMIT", "")
    m.poll("r", K, (0, "x"))
    m.marker(L, "COMMIT")
    if also:
        m.poll("r", L, (0, "y"))


def fence(m: HistoryBuilder, epoch: int, late: bool = True, state: str = "Empty", pid: int = 1) -> None:
    """A record of epoch 0 and producer 1, before or after the transaction log says epoch and producer id."""
    m.entry("Ongoing", K, epoch=0)
    if not late:
        m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.entry(state, epoch=epoch, pid=pid)
    if late:
        m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)


def fenced_and_on(m: HistoryBuilder, epoch: int, pid: int = 1, on: bool = True) -> None:
    """`fenced` after an empty transaction, and before one that goes on."""
    m.entry("Empty")
    fence(m, epoch, pid=pid)
    if on:
        m.entry("Ongoing", K)


def old_epoch_on_the_key(m: HistoryBuilder, marker: bool) -> None:
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=marker)
    if marker:
        m.marker(K, "ABORT", epoch=1)
    else:
        m.log(K, "y", pid=1, epoch=1, seq=0)
    m.log(K, "z", pid=1, epoch=0, seq=1, txn=marker)


def left_open(m: HistoryBuilder, state: str, *partitions: str, pid: int = 1, end_ms: int = 1000, **given: Any) -> None:
    if state:
        m.entry(state, *partitions, pid=pid, **given)
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.label("end_ms", end_ms)


def from_the_future(m: HistoryBuilder, build: Build) -> None:
    """A client stamps a record with a time that is years ahead; only rows say when the history ends."""
    m.log("in-0", "x")
    m.rows["log"][-1] = m.rows["log"][-1]._replace(at_ms=10**12)
    build(m)
    m.rows["labels"] = [label for label in m.rows["labels"] if label.name != "end_ms"]
    m.entry("Empty", tid="another", pid=9)


def end(m: HistoryBuilder) -> None:
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.marker(K, "ABORT")


def marks(*stable: int, nodes: str = "", leads: str = "", epochs: tuple[int, ...] = ()) -> Build:
    def build(m: HistoryBuilder) -> None:
        for place, value in enumerate(stable):
            node = f"b{nodes[place]}" if nodes else "b1"
            m.watermark(K, value, node, not leads or leads[place] == "y", epochs[place] if epochs else 0)

    return build


def decide(m: HistoryBuilder, state: str, control: str, epoch: int = 0, partitions: tuple[str, ...] = (K,)) -> None:
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.entry(state, *partitions)
    m.marker(K, control, epoch=epoch)


def marker_first(m: HistoryBuilder) -> None:
    m.marker(K, "COMMIT")
    m.entry("PrepareCommit", K)


def by_an_administrator(m: HistoryBuilder, control: str) -> None:
    m.entry("Empty")
    m.add(FrameRow(id="WriteTxnMarkers#1", name="WriteTxnMarkers", kind="request", sender="admin"))
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.marker(K, control, frame="WriteTxnMarkers#1")


def administrator_against(
    m: HistoryBuilder, state: str, partition: str = K, late: bool = False, epoch: int = 0
) -> None:
    """An administrator's ABORT comes after the coordinator's decision; if `late`, after its marker, too."""
    m.entry("Empty")
    m.add(FrameRow(id="WriteTxnMarkers#1", name="WriteTxnMarkers", kind="request", sender="admin"))
    m.log(K, "x", pid=1, epoch=0, seq=0, txn=True)
    m.entry(state, partition, epoch=epoch)
    if late:
        m.marker(K, "COMMIT", epoch=epoch)
    m.marker(K, "ABORT", frame="WriteTxnMarkers#1")


def clean(m: HistoryBuilder, marker: str, *records: str) -> None:
    """Two records of a committed transaction, and its marker; of each how it was removed."""
    m.entry("Ongoing", K)
    for seq, removed in enumerate(records):
        m.log(K, f"v{seq}", pid=1, epoch=0, seq=seq, txn=True, removed=removed)
    m.marker(K, "COMMIT", removed=marker, removed_step=40 if marker else -1)
    m.entry("CompleteCommit")


def compacted_decision(m: HistoryBuilder) -> None:
    m.entry("PrepareCommit", K, removed="compacted")
    m.marker(K, "COMMIT")
    m.entry("CompleteCommit")


def prepare(
    m: HistoryBuilder, *more: str, leader: str = "b1", end_ms: int = 100_000, too_few: str = "", **given: Any
) -> None:
    m.leader(K, leader)
    m.leader("__transaction_state-1", "b2")
    m.entry("PrepareCommit", K, **given)
    for state in more:
        m.entry(state)
    if too_few:
        m.label("too few in sync", too_few)
    m.label("end_ms", end_ms)


def clock_set_back(m: HistoryBuilder) -> None:
    """The clock is set back by an hour after the decision."""
    prepare(m, at_ms=3_600_000, end_ms=0)
    m.rows["labels"].clear()
    m.entry("Empty", tid="another", pid=9)


CASES: list[tuple[str, Build, tuple[str, list[str]]]] = [
    ("duplicate", copies(1, sent=1), OK),
    ("duplicate", copies(1, 1), VIOLATED),
    ("duplicate", copies(1, 1, epochs=(0, 1)), VIOLATED),
    ("duplicate", copies(1, 1, sent=2), SEEN),
    ("duplicate", copies(1, 2, sent=2), SEEN),
    ("duplicate", copies(-1, -1), SEEN),
    ("duplicate", copies(0, 0), VIOLATED),
    ("nonmonotonic-send", sent_in_order(0, 1, 2), OK),
    ("nonmonotonic-send", sent_in_order(0, 5, 2), VIOLATED),
    ("nonmonotonic-send", sent_in_order(3, 2, pid=-1), SEEN),
    ("nonmonotonic-send", sent_in_order(3, 2, clients="ab"), UNKNOWN),
    ("nonmonotonic-send", sent_in_order(3, 2, n=(1, 2)), VIOLATED),
    ("nonmonotonic-send", sent_in_order(3, 2, n=(1, 1)), UNKNOWN),
    ("nonmonotonic-send", without_an_offset, UNKNOWN),
    ("int-nonmonotonic-send", sent_in_order(3, 2, n=(1, 1)), VIOLATED),
    ("int-nonmonotonic-send", sent_in_order(2, 3, n=(1, 1)), OK),
    ("int-nonmonotonic-send", sent_in_order(3, 2, n=(1, 2)), UNKNOWN),
    ("int-send-skip", lambda m: interleave(m, "a", "b", "a"), SEEN),
    ("int-send-skip", lambda m: interleave(m, "a", "a", "b"), OK),
    ("G0", lambda m: two_writers(m, "ab", "ba"), SEEN),
    ("G0", lambda m: two_writers(m, "ab", "ab"), OK),
    ("G0", lambda m: two_writers(m, "ab", "ba", "ABORT"), UNKNOWN),
    ("G1c", read_from_each_other, VIOLATED),
    ("G1c", lambda m: read_from_each_other(m, both=False), OK),
    ("G1c", lambda m: read_from_each_other(m, "read_uncommitted"), SEEN),
    ("G1c", read_what_nobody_committed, OK),
    ("G1c", through_the_log, SEEN),
    ("torn transaction", lambda m: two_keys(m, "COMMIT", "COMMIT"), OK),
    ("torn transaction", lambda m: two_keys(m, "ABORT", "ABORT"), OK),
    ("torn transaction", lambda m: two_keys(m, "COMMIT", "ABORT"), VIOLATED),
    ("torn transaction", lambda m: two_keys(m, "COMMIT", ""), OK),
    ("torn transaction", lambda m: two_keys(m, "COMMIT", "COMMIT", ((K,), (L,))), VIOLATED),
    ("torn transaction", half_in_one_partition, VIOLATED),
    ("torn transaction", lambda m: of_nobody(m, "COMMIT", "ABORT"), VIOLATED),
    ("torn transaction", lambda m: of_nobody(m, "COMMIT", "COMMIT"), OK),
    ("torn transaction", lambda m: two_keys(m, "", ""), UNKNOWN),
    ("partial visibility", reader_between_markers, SEEN),
    ("partial visibility", lambda m: reader_between_markers(m, also=False), OK),
    ("zombie write", lambda m: fence(m, 1), VIOLATED),
    ("zombie write", lambda m: fence(m, 1, late=False), OK),
    ("zombie write", lambda m: fence(m, 0), OK),
    ("zombie write", lambda m: fence(m, 1, state="PrepareAbort"), OK),
    ("zombie write", lambda m: fence(m, 1, state="CompleteAbort"), VIOLATED),
    ("zombie write", lambda m: fenced_and_on(m, 0, pid=2, on=False), VIOLATED),
    ("zombie write", lambda m: fenced_and_on(m, 0, pid=2), OK),
    ("zombie write", lambda m: fenced_and_on(m, 1), OK),
    ("zombie write", lambda m: old_epoch_on_the_key(m, marker=False), VIOLATED),
    ("zombie write", lambda m: old_epoch_on_the_key(m, marker=True), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, ""), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, "CompleteAbort"), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K), OK),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", L), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K, end_ms=89_000), OK),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K, end_ms=91_000), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K, start_ms=31_000), OK),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K, start_ms=31_001), CANNOT_TELL),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", L, start_ms=31_001), VIOLATED),
    ("hanging transaction", lambda m: from_the_future(m, lambda m: left_open(m, "Ongoing", K)), OK),
    ("hanging transaction", lambda m: left_open(m, "PrepareAbort", K), OK),
    ("hanging transaction", lambda m: left_open(m, "PrepareAbort", L), VIOLATED),
    ("hanging transaction", lambda m: left_open(m, "Ongoing", K, pid=2), VIOLATED),
    ("hanging transaction", end, OK),
    ("hanging transaction", lambda m: clean(m, "compacted", "", ""), VIOLATED),
    ("hanging transaction", lambda m: clean(m, "compacted", "compacted", ""), VIOLATED),
    ("hanging transaction", lambda m: clean(m, "compacted", "compacted", "compacted"), OK),
    ("hanging transaction", lambda m: clean(m, "compacted", "deleted", "deleted"), OK),
    ("hanging transaction", lambda m: clean(m, "", "", "compacted"), OK),
    ("sequence gap", sequences(0, 1, 2), OK),
    ("sequence gap", sequences(0, 2), VIOLATED),
    ("sequence gap", sequences(0, 2, 1), TWICE),
    ("sequence gap", sequences(0, 0), VIOLATED),
    ("sequence gap", sequences(7, 8), OK),
    ("sequence gap", sequences(2147483646, 2147483647, 0, 1), OK),
    ("sequence gap", sequences(2147483647, 1), VIOLATED),
    ("sequence gap", sequences(0, 1, 0, 1, epochs=(0, 0, 1, 1)), OK),
    ("sequence gap", sequences(0, 1, 2, epochs=(0, 0, 1)), VIOLATED),
    ("sequence gap", lambda m: in_two_transactions(m, epoch=0, first=1), OK),
    ("sequence gap", lambda m: in_two_transactions(m, epoch=0, first=0), VIOLATED),
    ("sequence gap", lambda m: in_two_transactions(m, epoch=1, first=0), OK),
    ("sequence gap", lambda m: in_two_transactions(m, epoch=1, first=1), VIOLATED),
    ("sequence gap", lambda m: hole(m, 4), OK),
    ("sequence gap", lambda m: hole(m, 2), OK),
    ("sequence gap", lambda m: hole(m, 5), VIOLATED),
    ("sequence gap", reset_after_retention, OK),
    ("sequence gap", offset_batches, UNKNOWN),
    ("LSO regression", marks(1, 3, 3, 5), OK),
    ("LSO regression", marks(3, 1), VIOLATED),
    ("LSO regression", marks(3, 1, nodes="12", epochs=(0, 1)), OK),
    ("LSO regression", marks(3, 1, leads="nn"), UNKNOWN),
    ("LSO regression", marks(3, 1, 4, leads="yny"), OK),
    ("marker without decision", lambda m: decide(m, "PrepareCommit", "COMMIT"), OK),
    ("marker without decision", lambda m: decide(m, "PrepareAbort", "COMMIT"), VIOLATED),
    ("marker without decision", lambda m: decide(m, "PrepareCommit", "COMMIT", epoch=1), VIOLATED),
    ("marker without decision", lambda m: decide(m, "PrepareCommit", "COMMIT", partitions=(L,)), VIOLATED),
    ("marker without decision", lambda m: decide(m, "Ongoing", "ABORT"), VIOLATED),
    ("marker without decision", marker_first, VIOLATED),
    ("marker without decision", lambda m: by_an_administrator(m, "ABORT"), OK),
    ("marker without decision", lambda m: by_an_administrator(m, "COMMIT"), VIOLATED),
    ("marker without decision", lambda m: administrator_against(m, "PrepareCommit"), VIOLATED),
    ("marker without decision", lambda m: administrator_against(m, "PrepareCommit", epoch=1), VIOLATED),
    ("marker without decision", lambda m: administrator_against(m, "PrepareCommit", partition=L), OK),
    ("marker without decision", lambda m: administrator_against(m, "PrepareCommit", late=True), OK),
    ("marker without decision", lambda m: administrator_against(m, "PrepareAbort", epoch=1), OK),
    ("marker without decision", lambda m: administrator_against(m, "Ongoing"), OK),
    ("marker without decision", compacted_decision, OK),
    ("marker without decision", end, UNKNOWN),
    ("decision without marker", prepare, VIOLATED),
    ("decision without marker", lambda m: prepare(m, "CompleteCommit"), OK),
    ("decision without marker", lambda m: prepare(m, "CompleteCommit", "Ongoing"), OK),
    ("decision without marker", lambda m: prepare(m, leader=""), OK),
    ("decision without marker", lambda m: prepare(m, too_few=K), OK),
    ("decision without marker", lambda m: prepare(m, too_few="other-0"), VIOLATED),
    ("decision without marker", lambda m: prepare(m, end_ms=20_000), OK),
    ("decision without marker", lambda m: prepare(m, at_ms=130_000), OK),
    ("decision without marker", lambda m: prepare(m, at_ms=130_001), CANNOT_TELL),
    ("decision without marker", lambda m: from_the_future(m, prepare), OK),
    ("decision without marker", clock_set_back, CANNOT_TELL),
]


@pytest.mark.parametrize(("name", "build", "expected"), CASES)
def test_the_check_says(name: str, build: Build, expected: tuple[str, list[str]]) -> None:
    assert verdict(build_history(build), name) == expected


def test_a_batch_of_an_unknown_partition_leaves_the_others_alone() -> None:
    made = HistoryBuilder()
    sequences(0, 1)(made)
    made.log(L, "z", pid=1, epoch=0, seq=0)
    assert BY_NAME["sequence gap"](made.history()).verdict == FINE


def test_a_marker_that_a_leader_refuses_for_want_of_replicas_is_no_decision_without_marker() -> None:
    """Both followers die before the commit: the leader answers NOT_ENOUGH_REPLICAS, and the coordinator asks again."""
    steps = [["init_transactions"], ["begin_transaction"], ["send", "out", "a", None, 0], ["flush"], ["sleep", 30_000]]
    steps.append(["commit_transaction"])
    writer = Program("p", "operations", {"transactional_id": "pay2", "steps": steps})
    cluster = Cluster(Scenario(
        topics={"out": 1}, brokers=3, seed=2, config={"min_insync_replicas": 2, "transaction_state_log_min_isr": 1},
        programs=(writer,), faults=(Crash("b1", at_ms=21_000), Crash("b2", at_ms=21_000)),
    ))  # fmt: skip
    cluster.run_for(200_000)
    partition = cluster.controller.metadata.partitions["out-0"]
    assert (partition.leader, partition.isr) == ("b3", ("b3",))
    history = history_of(cluster)
    assert history.label("too few in sync") == ("out-0",)
    assert check_all(history)["decision without marker"].verdict != "violated"


def test_a_report_names_the_steps_of_a_finding_and_the_tables_that_lack() -> None:
    m = HistoryBuilder()
    two_writers(m, "ab", "ba")
    text = str(check_all(m.history()))
    assert "each wrote before the other: " in text
    steps = next(f.steps for f in BY_NAME["G0"](m.history()).findings)
    assert f"(steps {', '.join(map(str, steps))})" in text
    for table in ("log", "reads"):
        m.label(LACKS, table)
    assert "  unknown unseen: the history lacks log, reads" in str(check_all(m.history())).splitlines()
