"""What is found while a history arrives is what the checks find in it afterwards, wherever it was interrupted."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import Finding
from kafkalab.checks.view import View, view_of
from kafkalab.history.history import History
from kafkalab.spark.simulation.runs import Runs, history_of_seed
from kafkalab.spark.streaming.arrivals import END_STEP, Arrival, arrivals_of
from kafkalab.spark.streaming.group import KEY, NAMES, PRODUCER, VALUE, Group, watch_arrivals
from kafkalab.spark.streaming.sink import FindingsFolder
from kafkalab.spark.streaming.watch import Limits
from tests.checks import equal_records
from tests.spark.streaming.histories import RULES, STUCK, all_of_them, without


def find(history: History, anomaly: str, limits: Limits | None = None) -> list[Finding]:
    """Return what the streaming audits find in the history."""
    return [f for _, f in watch_arrivals(arrivals_of([(1, history)]), limits or Limits()) if f.anomaly == anomaly]


def last_of_each(findings: Iterable[Finding]) -> list[Finding]:
    """Of what was told of one value, the last: it has all the copies."""
    return sorted({(f.keys, f.offsets[0]): f for f in findings}.values(), key=lambda f: (f.keys, f.offsets))


@pytest.mark.parametrize("name", RULES)
def test_duplicates_and_torn_transactions_are_those_of_the_checks(name: str) -> None:
    history = without(name)
    assert last_of_each(find(history, "duplicate")) == last_of_each(BY_NAME["duplicate"](history).findings)
    assert Counter(find(history, "torn transaction")) == Counter(BY_NAME["torn transaction"](history).findings)


def test_equal_records_of_different_attempts_raise_no_alarm() -> None:
    findings = watch_arrivals(arrivals_of(enumerate(equal_records.histories())), Limits())
    assert [f for _, f in findings if f.policy == "forbidden"] == []


def test_the_corpus_has_what_is_looked_for() -> None:
    findings = [f for _, f in watch_arrivals(arrivals_of(all_of_them()), Limits())]
    assert {f.anomaly for f in findings} == set(NAMES)
    assert {f.policy for f in findings} == {"forbidden", "reported"}


@pytest.mark.parametrize("seed", range(1, 21))
def test_nothing_forbidden_is_found_in_runs_by_chance(seed: int) -> None:
    history = history_of_seed(Runs.of(str(seed)), seed)
    assert [f for _, f in watch_arrivals(arrivals_of([(seed, history)]), Limits()) if f.policy == "forbidden"] == []


def waits(view: View, limit_ms: int) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Key and first offset of every transaction that was open for longer, from what the logs say in the end."""
    waiting: dict[tuple[str, int, int], list[tuple[int, int, int]]] = {}
    for key in view.logs:
        for record in view.data(key):
            if record.transactional:
                marker = view.markers.get((key, record.offset))
                end = marker.offset if marker else END_STEP
                until = marker.at_ms if marker else view.end_ms
                waiting.setdefault((key, record.producer_id, end), []).append((record.offset, record.at_ms, until))
    first = {place: min(records) for place, records in waiting.items()}
    return sorted(((key,), (o,)) for (key, _, _), (o, since, until) in first.items() if until - since > limit_ms)


@pytest.mark.parametrize("limit_ms", [5, 100, 70_000])
@pytest.mark.parametrize("name", [*STUCK, *list(RULES)[:4]])
def test_open_too_long_is_what_had_no_marker_for_that_time(name: str, limit_ms: int) -> None:
    history = without(name)
    findings = find(history, "open too long", Limits(open_ms=limit_ms))
    assert sorted((f.keys, f.offsets) for f in findings) == waits(view_of(history), limit_ms)


def mark(at_ms: int, last_stable_offset: int, high_watermark: int = 9, key: str = "k-0") -> Arrival:
    return Arrival(
        run=1, step=at_ms, rank=3, at_ms=at_ms, kind="watermark", key=key,
        high_watermark=high_watermark, last_stable_offset=last_stable_offset,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("marks", "stuck"),
    [
        ([mark(0, 3), mark(101, 9)], [3]),
        ([mark(0, 3), mark(100, 9)], []),
        ([mark(0, 3), mark(60, 4), mark(120, 9)], []),
        ([mark(0, 3, 3), mark(500, 3), mark(550, 9)], []),
        ([mark(0, 3), mark(60, 3, 12), mark(120, 3, 13), mark(400, 3, 14)], [3]),
        ([mark(0, 3), mark(150, 4), mark(300, 9)], [3, 4]),
        ([mark(0, 3), mark(150, 1, key="other-0")], [3]),
        ([mark(0, 3), mark(10, 4, key="other-0"), mark(110, 9)], [3]),
        ([mark(0, 3)], []),
    ],
)
def test_an_lso_is_stuck_when_it_waits_behind_the_high_watermark_for_too_long(
    marks: list[Arrival], stuck: list[int]
) -> None:
    group = Group(f"{KEY} 0", Limits(stuck_ms=100))
    assert [f.offsets[0] for f in group.take(marks) if f.anomaly == "LSO stuck"] == stuck


@pytest.mark.parametrize("name", ["deduplication", *STUCK, "marker_producer_epoch"])
def test_findings_are_the_same_wherever_the_history_is_interrupted(name: str) -> None:
    rows = list(arrivals_of([(1, without(name))]))
    whole = list(Group(f"{PRODUCER} 0", Limits(open_ms=50, stuck_ms=50)).take(rows))
    random = Random(name)
    for _ in range(10):
        edges = sorted([0, len(rows), *(random.randrange(len(rows)) for _ in range(5))])
        text, parts = "", []
        for start, end in itertools.pairwise(edges):
            group = Group(f"{PRODUCER} 0", Limits(open_ms=50, stuck_ms=50), text)
            parts += list(group.take(random.sample(rows[start:end], end - start)))
            text = group.text()
            json.loads(text)
        assert parts == whole


def test_what_is_kept_does_not_grow_with_the_history() -> None:
    def transaction(n: int) -> list[Arrival]:
        def at(step: int, kind: str, **more: object) -> Arrival:
            same = {"run": 1, "step": 10 * n + step, "rank": 0, "at_ms": n, "kind": kind, "producer_id": 7}
            return Arrival(**{**same, "producer_epoch": n, "key": "k-0", **more})  # type: ignore[arg-type]

        of = {"client": "c", "transaction": n + 1, "sequence": 0, "value": str(n)}
        return [
            at(0, "send", state="invoke", call=n, **of),
            at(1, "record", offset=2 * n, transactional=True, sequence=0, value=str(n)),
            at(2, "decision", key="t-0", state="COMMIT", partitions=("k-0",)),
            at(3, "marker", state="COMMIT", offset=2 * n + 1),
        ]

    sizes = []
    group = Group(f"{PRODUCER} 0", Limits())
    for n in range(300):
        assert list(group.take(transaction(n))) == []
        sizes.append(len(group.text()))
    assert max(sizes) < 1.1 * max(sizes[:60])


def test_a_copy_of_a_value_is_told_when_it_comes() -> None:
    def record(offset: int, producer_id: int) -> Arrival:
        return Arrival(
            run=1, step=offset, rank=2, at_ms=0, kind="record", key="k-0", value="v", offset=offset,
            producer_id=producer_id,
        )  # fmt: skip

    group = Group(f"{VALUE} k-0 v", Limits())
    assert list(group.take([record(1, 7)])) == []
    (first,) = group.take([record(4, 8)])
    assert (first.policy, first.offsets, first.keys) == ("allowed", (1, 4), ("k-0",))
    (second,) = Group(f"{VALUE} k-0 v", Limits(), group.text()).take([record(6, 8)])
    assert (second.policy, second.offsets) == ("forbidden", (1, 4, 6))
    sends = [
        Arrival(run=1, step=s, rank=0, at_ms=0, kind="send", key="k-0", value="v", producer_id=8, state="invoke")
        for s in (0, 2)
    ]
    (of_two,) = Group(f"{VALUE} k-0 v", Limits()).take([*sends, record(4, 8), record(6, 8)])
    assert (of_two.policy, of_two.offsets) == ("allowed", (4, 6))


@pytest.mark.parametrize(("unsent", "policy"), [(0, "allowed"), (1, "forbidden")])
def test_of_a_value_with_many_copies_few_are_kept_and_none_too_many_is_missed(unsent: int, policy: str) -> None:
    group, sizes, last = Group(f"{VALUE} k-0 v", Limits()), [], None
    of: dict[str, Any] = {"run": 1, "at_ms": 0, "key": "k-0", "value": "v", "producer_id": 8}
    for n in range(200):
        if n >= unsent:
            assert not list(group.take([Arrival(step=2 * n, rank=0, kind="send", state="invoke", **of)]))
        for last in group.take([Arrival(step=2 * n + 1, rank=2, kind="record", offset=n, **of)]):
            assert last.offsets[0] == 0
        sizes.append(len(group.text()))
    assert last is not None
    assert last.policy == policy
    assert max(sizes) < 1.5 * sizes[20]


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="open_ms is a number of milliseconds from 0 on, not -1"):
        Limits(open_ms=-1)


def frame_of(*found: tuple[int, Finding]) -> Any:
    """Return the rows of findings, which the sink collects."""
    rows = [Row(run=run, **asdict(finding)) for run, finding in found]
    return SimpleNamespace(collect=lambda: rows)


class Row(dict[str, Any]):
    asDict = dict.copy


def test_a_batch_that_is_run_again_counts_once(tmp_path: Path) -> None:
    found = watch_arrivals(arrivals_of(all_of_them()), Limits())
    folder = FindingsFolder(tmp_path)
    assert folder.read_findings() == []
    folder.put(frame_of(*found[:3]), 0)
    folder.put(frame_of(*found[3:5]), 1)
    folder.put(frame_of(*found[3:]), 1)
    folder.put(frame_of(), 2)
    assert Counter(folder.read_findings()) == Counter(found)
    assert [file.name for file in sorted(folder.batches.iterdir())] == [f"{n:08}.jsonl" for n in range(2)]
