"""The rows of lab 5's exercises as a run, so that a log tape can show a wrong answer."""

from __future__ import annotations

from typing import Any

from kafkalab.course.lab05.logs import ABORT, COMMIT, PARTITION, RECORD, Aborted, Row
from kafkalab.faults.fault import Fault
from kafkalab.faults.node import Pause
from kafkalab.grading.mutants import Counterexample
from kafkalab.programs.steps import Step, later, sleep
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

STEP_MS = 100
"""The time from one row to the next: every replica has a row before the next one is written."""
FOLLOWERS = ("b2", "b3")


def scenario(rows: list[Row], high_watermark: int | None = None) -> Scenario:
    """A client that writes these rows into one log, by hand, on Kafka 1.0, where leaders verify no transaction.

    The followers stop before they have the row at `high_watermark`, if it is given.
    """
    steps = [step for row in rows for step in (sleep(STEP_MS), later(_step(row, rows), f"row{row['offset']}"))]
    stop_ms = (high_watermark or 0) * STEP_MS + STEP_MS * 9 // 10
    stopped = high_watermark is not None and high_watermark < len(rows)
    faults: tuple[Fault, ...] = tuple(Pause(node, at_ms=stop_ms) for node in FOLLOWERS if stopped)
    topic, _, _ = PARTITION.rpartition("-")
    program = Program("by hand", "raw_requests", {"steps": [*steps, sleep(STEP_MS)]})
    return Scenario(title="The log of the case", profile="1.0", topics={topic: 1}, programs=(program,), faults=faults)


def show_log(rows: list[Row], high_watermark: int | None = None) -> Counterexample:
    """The tape of the log right after its last row was written, and copied if it is to be."""
    cluster = ran(scenario(rows, high_watermark))
    end_ms = (len(rows) + 1) * STEP_MS
    return {"run": cluster, "step": _last_step(cluster, end_ms), "view": "LogTape"}


def shown_whole(rows: list[Row], aborted: list[Aborted]) -> Counterexample:
    """The same for fetched rows; behind them come the markers of transactions that the fetch cut in two."""
    first: dict[int, int] = {}
    for row in rows:
        if row["producer"] is not None:
            if row["kind"] == RECORD:
                first.setdefault(row["producer"], row["offset"])
            else:
                first.pop(row["producer"], None)
    ends = [
        {"offset": offset, "producer": producer, "kind": ABORT if (producer, begun) in aborted else COMMIT, "value": ""}
        for offset, (producer, begun) in enumerate(first.items(), len(rows))
    ]
    return show_log([*rows, *ends])


def _last_step(cluster: Cluster, end_ms: int) -> int:
    return max(e.step for e in cluster.trace.events if e.at_ms <= end_ms)


def _step(row: Row, rows: list[Row]) -> Step:
    producer = row["producer"]
    before = sum((r["producer"], r["kind"]) == (producer, RECORD) for r in rows[: row["offset"]])
    if row["kind"] == RECORD:
        batch: dict[str, Any] = {"values": [row["value"]]}
        if producer is not None:
            identity = {"producer_id": producer, "producer_epoch": 0, "base_sequence": before}
            batch |= {**identity, "transactional": True}
        name = None if producer is None else f"producer-{producer}"
        given = {"transactional_id": name, "acks": 1, "timeout_ms": STEP_MS, "batches": {PARTITION: batch}}
        return {"ask": "Produce", "to": f"leader of {PARTITION}", "version": 3, "with": given}
    marker = {"producer_id": producer, "producer_epoch": 0, "coordinator_epoch": 0, "partitions": [PARTITION]}
    marker["committed"] = row["kind"] == COMMIT
    return {"ask": "WriteTxnMarkers", "to": f"leader of {PARTITION}", "with": {"markers": [marker]}}
