"""What a run costs: counted by hand on small runs, and cut at every step."""

from __future__ import annotations

import pytest

from kafkalab import lab03, lab13
from kafkalab.faults.frame import Drop
from kafkalab.history.costs import BY, COLUMNS, PHASE_OF, PHASES, Costs, Entry, Trip, costs_of
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.sim.cluster import Cluster, ran


def trip(api: str, sent_ms: int, received_ms: int, step: int) -> Trip:
    return Trip(api, step, sent_ms, 10, step + 1, sent_ms + 1, 5, step + 2, received_ms)


def test_round_trips_at_the_same_time_count_once_and_time_under_way_is_counted_once() -> None:
    trips = (
        trip("Produce", 0, 10, 1),
        trip("Produce", 2, 12, 4),
        trip("EndTxn", 10, 20, 10),
        trip("Produce", 30, 31, 20),
    )
    costs = Costs(trips, (Entry("Produce", 3, 4),), (11,))
    rows = {row["name"]: row for row in costs.rows()}
    assert rows["Produce"] == {"name": "Produce", "frames": 6, "bytes": 45, "entries": 4, "round_trips": 2, "ms": 13}
    assert rows["all"] == {"name": "all", "frames": 8, "bytes": 60, "entries": 4, "round_trips": 3, "ms": 21}
    assert costs.per_transaction() == {"frames": 8.0, "bytes": 60.0, "entries": 4.0, "round_trips": 3.0, "ms": 21.0}


def test_a_run_cut_at_a_step_has_what_was_spent_by_then() -> None:
    trips = (trip("Produce", 0, 10, 1), trip("EndTxn", 12, 20, 10))
    costs = Costs(trips, (Entry("EndTxn", 11, 1),), (11,))
    assert costs.rows(step=0)[-1] == {"name": "all", "frames": 0, "bytes": 0, "entries": 0, "round_trips": 0, "ms": 0}
    assert costs.rows(step=2)[-1] == {"name": "all", "frames": 2, "bytes": 15, "entries": 0, "round_trips": 0, "ms": 1}
    assert costs.rows(step=10)[-1]["frames"] == 3
    assert (costs.transactions(10), costs.transactions(11), costs.per_transaction(10)) == (0, 1, {})


def test_a_transaction_of_three_records_in_one_partition_by_hand() -> None:
    costs = costs_of(ran(lab13()))
    rows = {row["name"]: row for row in costs.rows("phase")}
    assert list(rows) == ["start", "write", "decide", "markers", "all"]
    assert costs.transactions() == 2
    assert [rows["write"][k] for k in ("frames", "entries")] == [
        8,
        2 * (3 + 1),
    ]  # the records, and one note of the partition
    assert [rows["decide"][k] for k in ("frames", "entries", "round_trips")] == [4, 2, 2]
    assert [rows["markers"][k] for k in ("frames", "entries", "round_trips")] == [4, 2 * (1 + 1), 2]
    assert rows["all"]["bytes"] is None


@pytest.mark.parametrize("partitions", [1, 2, 4, 8])
def test_markers_are_written_per_partition_and_sent_per_broker(partitions: int) -> None:
    for records in (partitions, 3 * partitions):
        run = ran(lab13(records=records, size=records, partitions=partitions, work_ms=0))
        row = next(r for r in costs_of(run).rows() if r["name"] == "WriteTxnMarkers")
        assert (row["frames"], row["entries"]) == (2 * min(partitions, 3), partitions + 1)


def test_every_entry_that_a_leader_appends_for_a_request_is_counted_once_and_by_the_api_that_led_to_it() -> None:
    for scenario in (
        lab03(),
        lab03().with_faults(Drop("EndTxnResponse#1")),
        lab03(profile="4.x/TV1"),
        lab13(partitions=4),
    ):
        run = ran(scenario)
        costs = costs_of(run)
        appended = 0
        for name, broker in run.brokers.items():
            for partition, log in broker.state.logs.items():
                if run.controller.metadata.partitions[partition].leader == name:
                    appended += log.log_end_offset - len(scenario.records.get(partition, ()))
        assert costs.rows()[-1]["entries"] == appended
        records = sum(e.count for e in costs.entries if e.api in ("Produce", "TxnOffsetCommit"))
        data = [e for e in run.trace.of("append") if not e.name.startswith("__transaction") and e.data.transactional]
        first = {(e.name, e.data.base_offset): e for e in data if e.data.control is None}
        assert records == sum(len(e.data.records) for e in first.values())


@pytest.mark.parametrize("by", BY)
def test_the_rows_never_shrink_and_their_frames_and_entries_add_up(by: str) -> None:
    run: Cluster = ran(lab13(partitions=4))
    costs = costs_of(run, lambda cluster, frame: 7)
    before = dict.fromkeys(COLUMNS, 0)
    for step in range(0, run.trace.steps, 7):
        *rows, whole = costs.rows(by, step)
        for key in ("frames", "bytes", "entries"):
            assert sum(row[key] for row in rows) == whole[key]
        assert all(whole[key] >= before[key] for key in COLUMNS)
        before = whole
    assert costs.rows(by, run.trace.steps) == costs.rows(by)


def test_every_request_of_a_transaction_has_its_phase_and_any_other_is_other() -> None:
    assert set(PHASE_OF) <= set(BY_NAME)
    assert sum(map(len, PHASES.values())) == len(PHASE_OF)
    assert [r["name"] for r in Costs((trip("DescribeCluster", 0, 1, 1),), (), ()).rows("phase")] == ["other", "all"]
    with pytest.raises(ValueError, match="by is 'api' or 'phase', not 'size'"):
        costs_of(ran(lab13())).rows("size")
