"""The pass over logs alone finds what the checks find: small histories by hand, and captures by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import ALLOWED, FORBIDDEN, UNKNOWN
from kafkalab.checks.from_a_log import CAPTURED, COMPLETE
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.history import History
from kafkalab.spark.audits.by_log import rows_by_log
from kafkalab.spark.storage.schemas import arrow_batch
from tests.checks import test_torn_from_a_log as torn
from tests.checks.test_offset_commits import OFFSETS, commit, of_two_producers, plain

NAMES = ("torn transaction", "offset/output split")
SECOND = "__consumer_offsets-3"
TEXTS = ("run", "anomaly", "policy", "text")


def draw_capture(seed: int) -> History:
    """Return a capture of three producers and plain commits: offsets rise and fall, and markers may differ."""
    m, random = HistoryBuilder().label(CAPTURED, COMPLETE), Random(seed)
    for _ in range(60):
        pid, offsets = random.randrange(3), random.choice((OFFSETS, SECOND))
        name = f"{random.choice('gh')}/in-{random.randrange(2)}"
        match random.randrange(8):
            case 0:
                m.log(offsets, random.choice((None, str(random.randrange(9)))), record_key=name)
            case 1 | 2 | 3:
                m.log(offsets, str(random.randrange(9)), record_key=name, pid=pid, epoch=0, seq=0, txn=True)
            case 4:
                m.log("out-0", "v", pid=pid, epoch=0, txn=True)
            case 5:
                m.entry("Ongoing", offsets, "out-0", pid=pid, tid=f"t{pid}")
            case _:
                outcome = random.choice(("Commit", "Abort"))
                if random.random() < 0.7:
                    m.entry(f"Prepare{outcome}", OFFSETS, SECOND, "out-0", pid=pid, tid=f"t{pid}")
                for key in (OFFSETS, SECOND, "out-0"):
                    word = outcome if random.random() < 0.9 else "Abort"
                    m.marker(key, word.upper(), pid=pid, epoch=random.choice((0, 0, 1)))
    return m.history()


def find_by_pass(histories: list[History]) -> Counter[tuple[Any, ...]]:
    """Return what the pass finds, run by run."""
    whole = {n: pa.Table.from_batches([arrow_batch(n, enumerate(histories))]) for n in ("log", "transactions")}

    def elsewhere(table: str, columns: tuple[str, ...], wanted: pc.Expression) -> pa.Table:
        return whole[table].filter(wanted).select(list(columns))

    labels = {run: history.labels for run, history in enumerate(histories) if history.label(CAPTURED)}
    rows: list[dict[str, Any]] = rows_by_log(elsewhere, labels, NAMES)
    return Counter((*(row[n] for n in TEXTS), tuple(row["keys"]), tuple(row["steps"])) for row in rows)


def find_by_checks(histories: list[History]) -> Counter[tuple[Any, ...]]:
    """Return what the checks find in the runs that are captures."""
    found = [
        (run, name, f.policy, f.text, f.keys, f.steps)
        for run, history in enumerate(histories)
        if history.label(CAPTURED)
        for name in NAMES
        for f in BY_NAME[name](history).findings
    ]
    return Counter(found)


def test_captures_by_chance() -> None:
    histories = [draw_capture(seed) for seed in range(120)]
    wanted = find_by_checks(histories)
    assert find_by_pass(histories) == wanted
    kinds = {(anomaly, policy) for _, anomaly, policy, *_ in wanted}
    assert kinds == {(NAMES[0], FORBIDDEN), (NAMES[0], UNKNOWN), (NAMES[1], FORBIDDEN), (NAMES[1], ALLOWED)}
    assert any("ended in more than one way" in text for _, _, _, text, *_ in wanted)


@pytest.mark.parametrize(
    "make", [torn.aborted_by_hand, torn.aborted_while_it_is_committed, torn.committed_by_hand, torn.begin]
)
def test_markers_against_their_decision(make: Callable[[], HistoryBuilder]) -> None:
    history = make().label(CAPTURED, COMPLETE).history()
    assert find_by_pass([history]) == find_by_checks([history])


def test_a_history_that_is_no_capture_is_left_to_the_other_passes() -> None:
    bare, captured = HistoryBuilder(), HistoryBuilder().label(CAPTURED, COMPLETE)
    for m in (bare, captured):
        commit(m, 2, 1)
        plain(m, 0)
        of_two_producers(m)
    found = find_by_pass([bare.history(), captured.history()])
    assert {run for run, *_ in found} == {1}
    assert find_by_pass([HistoryBuilder().label(CAPTURED, COMPLETE).history()]) == Counter()
