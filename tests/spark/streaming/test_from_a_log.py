"""Without operations: what is found while a log arrives is what the check finds in the end, and little is kept."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import FORBIDDEN, UNKNOWN, Finding
from kafkalab.checks.from_a_log import LACKING
from kafkalab.checks.view import LACKS
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.spark.streaming.arrivals import Arrival, arrivals_of
from kafkalab.spark.streaming.group import NAMES, PRODUCER, VALUE, Group, parts_of, watch_arrivals
from kafkalab.spark.streaming.torn_transaction import FEW, IDLE_MS
from kafkalab.spark.streaming.watch import Limits
from tests.checks.test_offset_commits import OFFSETS, commit
from tests.spark.streaming.histories import RULES, STUCK, without

KEYS = ("a-0", "b-0", "c-0", "d-0")
LIMITS = Limits()


def by_chance(seed: int, late: bool, transactions: int = 60, producers: int = 3) -> History:
    """Transactions of several producers under version 1, some of which somebody ends on some keys by hand."""
    counts, sequences = Counter[int](), Counter[tuple[int, str]]()
    random, m = Random(seed), HistoryBuilder()
    for number in range(transactions):
        pid = 1 + random.randrange(producers)
        keys = random.sample(KEYS, random.randint(1, len(KEYS)))
        who = {"pid": pid, "epoch": 0}
        counts[pid] += 1
        same: dict[str, Any] = {
            "client": f"c{pid}", "process": f"c{pid}", "transactional_id": f"t{pid}", "producer_id": pid,
            "producer_epoch": 0, "transaction": counts[pid],
        }  # fmt: skip
        m.entry("Ongoing", *sorted(keys), tid=f"t{pid}", **who)
        for key in random.sample(keys * 2, random.randint(1, 2 * len(keys))):
            sequence, value = sequences[pid, key], f"v{number}"
            sequences[pid, key] += 1
            m.operation("send", key=key, sequence=sequence, value=value, **same)
            m.log(key, value, txn=True, seq=sequence, **who)
            if random.random() < 0.1:
                m.marker(key, random.choice(["COMMIT", "ABORT"]), **who)
        outcome = random.choice(["Commit", "Commit", "Abort"])
        m.entry(f"Prepare{outcome}", *sorted(keys), tid=f"t{pid}", **who)
        for key in random.sample(keys, len(keys)):
            m.marker(key, outcome.upper(), **who)
        m.entry(f"Complete{outcome}", tid=f"t{pid}", **who)
        if late and random.random() < 0.1:  # what comes late hangs, until somebody ends it
            key = random.choice(keys)
            m.log(key, "late", txn=True, seq=-1, **who)
            m.marker(key, random.choice(["COMMIT", "ABORT"]), **who)
    m.label("end_ms", m.step)
    return m.history()


def from_a_log(history: History) -> History:
    """The history, which has and says it has only what a log shows."""
    lacks = tuple(Label(LACKS, table) for table in LACKING)
    return replace(
        history, operations=(), reads=(), polls=(), frames=(), labels=(*history.labels, *lacks)
    )


def in_pieces(history: History, random: Random) -> list[Finding]:
    """Return what the groups find that are given the arrivals in several goes, each with the state of the last."""
    rows, texts, found = list(arrivals_of([(1, history)])), dict[str, str](), list[Finding]()
    edges = sorted([0, len(rows), *(random.randrange(len(rows)) for _ in range(5))])
    for start, end in itertools.pairwise(edges):
        parts: dict[str, list[Arrival]] = {}
        for row in random.sample(rows[start:end], end - start):
            for part in parts_of(row):
                parts.setdefault(part, []).append(row)
        for part, mine in parts.items():
            group = Group(part, LIMITS, texts.get(part, ""))
            found += group.take(mine)
            texts[part] = group.text()
    return found


@pytest.mark.parametrize("seed", range(12))
def test_torn_transactions_are_those_of_the_check(seed: int) -> None:
    history = from_a_log(by_chance(seed, late=True))
    result = BY_NAME["torn transaction"](history)
    assert result.findings
    random = Random(seed)
    for _ in range(4):
        found = in_pieces(history, random)
        assert Counter(f for f in found if f.policy == FORBIDDEN) == Counter(result.findings)
        assert len(found) - len(result.findings) == 2  # what is unknown of two audits is told once


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_with_operations_they_are_those_of_the_check_too(seed: int, late: bool) -> None:
    history = by_chance(seed, late)
    torn = BY_NAME["torn transaction"](history).findings
    assert {"ended in" in finding.text for finding in torn} == {True, False}
    for _ in range(4):
        found = in_pieces(history, Random(seed))
        told = Counter(f for f in found if f.anomaly == "torn transaction")
        assert max(told.values()) == 1
        assert told.keys() >= {*torn}
        for early in told.keys() - {*torn}:  # more of the transaction ended after it was told
            assert any({*early.steps} < {*finding.steps} for finding in torn)
        last = {(f.keys, f.offsets[0]): f for f in found if f.anomaly == "duplicate"}
        assert Counter(last.values()) == Counter(BY_NAME["duplicate"](history).findings)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("seed", [2, 4])  # others join transactions that are more than DECISIONS_KEPT apart
def test_what_is_forgotten_meanwhile_changes_nothing(seed: int, late: bool) -> None:
    whole = by_chance(seed, late, transactions=400)
    for history in (whole, from_a_log(whole)):
        torn = BY_NAME["torn transaction"](history).findings
        told = [f for _, f in watch_arrivals(arrivals_of([(1, history)]), LIMITS) if f.anomaly == torn[0].anomaly]
        assert {*told} >= {*torn}
        assert all(any({*f.steps} <= {*finding.steps} for finding in torn) for f in told if f.policy == FORBIDDEN)


def test_a_late_marker_is_forgotten_with_its_decision() -> None:
    m, who = HistoryBuilder(), {"pid": 1, "epoch": 0, "txn": True}
    m.label(LACKS, "operations")
    m.entry("Ongoing", "k-0", "l-0")
    m.log("k-0", "v", **who)
    m.entry("PrepareCommit", "k-0", "l-0")
    m.entry("Ongoing", "k-0", "l-0")
    m.log("l-0", "w", **who)
    m.entry("PrepareAbort", "k-0", "l-0")
    m.marker("l-0", "ABORT")
    m.marker("k-0", "COMMIT")  # of the first one: the clock of its leader is ahead
    for _ in range(20):
        m.entry("Ongoing", "k-0", "l-0")
        m.log("k-0", "x", pid=1, epoch=0, txn=True)
        m.entry("PrepareCommit", "k-0", "l-0")
        m.marker("k-0", "COMMIT")
    group = Group(f"{PRODUCER} 1", LIMITS)
    for row in arrivals_of([(1, m.history())]):
        clock = Arrival(run=1, step=row.step, rank=4, at_ms=row.at_ms, kind="clock")
        assert not [f for f in group.take([row, clock]) if f.policy == FORBIDDEN]


@pytest.mark.parametrize("offsets", [(2, 1), (1, 2)])
def test_two_offsets_of_a_partition_in_one_transaction_are_told_once(offsets: tuple[int, ...]) -> None:
    m = HistoryBuilder()
    for number in range(40):
        m.entry("Ongoing", OFFSETS, pid=1, epoch=3)
        commit(m, *(10 * number + offset for offset in offsets), end="")
        m.entry("PrepareCommit", OFFSETS, pid=1, epoch=3)
        m.marker(OFFSETS, "COMMIT", epoch=3)
    m.label("end_ms", m.step)
    history = from_a_log(m.history())
    wanted = Counter(BY_NAME["torn transaction"](history).findings)
    assert len(wanted) == 40
    lacks = "the history lacks operations"
    for found in ([f for _, f in watch_arrivals(arrivals_of([(1, history)]), LIMITS)], in_pieces(history, Random(1))):
        assert Counter(f for f in found if f.text != lacks) == wanted


@pytest.mark.parametrize("name", [*RULES, *STUCK])
def test_what_is_found_of_a_log_alone_is_what_the_check_finds(name: str) -> None:
    history = from_a_log(without(name))
    found = [f for _, f in watch_arrivals(arrivals_of([(1, history)]), LIMITS) if f.policy == FORBIDDEN]
    assert Counter(found) == Counter(BY_NAME["torn transaction"](history).findings)


def test_an_audit_that_lacks_a_table_says_unknown_once_and_finds_nothing() -> None:
    history = without(next(iter(RULES)))
    found = [f for _, f in watch_arrivals(arrivals_of([(1, from_a_log(history))]), LIMITS)]
    unknown = {(f.anomaly, f.text) for f in found if f.policy == UNKNOWN}
    assert unknown == {(name, "the history lacks operations") for name in ("duplicate", "torn transaction")}
    group = Group(f"{PRODUCER} 0", LIMITS)
    lacks = Arrival(run=1, step=-1, rank=4, at_ms=-1, kind="lacks")
    counts = [len(list(group.take([lacks._replace(value=table)]))) for table in ("reads", *2 * ("operations",))]
    assert counts == [0, 2, 0]
    lacking = replace(history, labels=(*history.labels, Label(LACKS, "log"), Label(LACKS, "watermarks")))
    findings = [f for _, f in watch_arrivals(arrivals_of([(1, lacking)]), LIMITS) if f.anomaly != "duplicate"]
    assert {(f.anomaly, f.policy) for f in findings} == {(name, UNKNOWN) for name in NAMES if name != "duplicate"}


def test_values_are_not_watched_where_nobody_says_what_was_sent() -> None:
    arrivals = list(arrivals_of([(1, from_a_log(without(next(iter(RULES)))))]))
    assert not [part for row in arrivals for part in parts_of(row) if part.startswith(VALUE)]


def test_what_is_kept_of_producers_and_transactions_does_not_grow() -> None:
    group, sizes = Group(f"{PRODUCER} 0", LIMITS), []
    list(group.take([Arrival(run=0, step=-1, rank=4, at_ms=-1, kind="lacks", value="operations")]))
    for n in range(2_000):
        producer: dict[str, Any] = {"run": 0, "at_ms": -1, "producer_id": 8 * (n // 2), "producer_epoch": 0}
        same: dict[str, Any] = {**producer, "rank": 1, "key": "t-0", "partitions": ("k-0",), "transactional_id": "t"}
        outcome = "COMMIT" if n % 2 else "ABORT"
        list(group.take([
            Arrival(step=9 * n, kind="entry", state="Ongoing", **same),
            Arrival(**producer, step=9 * n + 1, rank=2, kind="record", key="k-0", offset=2 * n, transactional=True),
            Arrival(step=9 * n + 2, kind="decision", state=outcome, **same),
            Arrival(**producer, step=9 * n + 3, rank=2, kind="marker", key="k-0", offset=2 * n + 1, state=outcome),
            Arrival(run=0, step=9 * n + 4, rank=0, at_ms=n * IDLE_MS // 50, kind="clock"),
        ]))  # fmt: skip
        sizes.append(len(group.text()))
    assert max(sizes) < 1.3 * max(sizes[:150])
    one = Group(f"{PRODUCER} 0", LIMITS, group.text())
    last: dict[str, Any] = {**producer, "rank": 2, "key": "k-0"}
    for n in range(2 * FEW):
        list(one.take([
            Arrival(step=10**6 + 9 * n, kind="record", offset=10**4 + 2 * n, transactional=True, **last),
            Arrival(step=10**6 + 9 * n + 1, kind="decision", state="COMMIT", **{**same, "rank": 1}),
            Arrival(step=10**6 + 9 * n + 2, kind="marker", offset=10**4 + 2 * n + 1, state="COMMIT", **last),
        ]))  # fmt: skip
        sizes.append(len(one.text()))
    assert max(sizes[-FEW:]) < 1.1 * max(sizes[-2 * FEW : -FEW])
