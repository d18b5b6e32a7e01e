"""What the campaign with all rules on finds: what is Kafka's own, and what was a mistake of the search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalab.explore.anomalies import findings_of, parse_names
from kafkalab.explore.experiment import RUNAWAY, Job, attempt, run_to_end
from kafkalab.explore.fault_sequence import FaultSequence
from kafkalab.explore.programs import idempotent_produce, two_partition_transactions
from kafkalab.explore.small_programs import idempotent_produce_in_small, processor_in_small
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Restart
from kafkalab.protocol.errors import Error
from tests.explore.sweep import Sweep

OVERTAKEN = (Delay("Produce#4", 5),)
FROM_BEFORE = (Delay("Produce#2", 350_132), Crash("p", at_step=95, sent=True))
FROM_LONG_BEFORE = (Delay("Produce#1", 350_147), Duplicate("ApiVersions#2"))


def find_anomalies(faults: tuple[Fault, ...], expires: bool) -> set[str]:
    """The anomalies of the idle producer; without `expires` its producer id is remembered for a day."""
    scenario = idempotent_produce().with_faults(*faults)
    if not expires:
        scenario = replace(scenario, config={})
    return {finding.anomaly for finding in findings_of(run_to_end(scenario)[0], parse_names(()))}


@pytest.mark.parametrize(
    ("faults", "anomaly"),
    [(OVERTAKEN, "nonmonotonic-send"), (FROM_BEFORE, "duplicate"), (FROM_LONG_BEFORE, "duplicate")],
)
def test_a_leader_that_has_forgotten_a_producer_takes_what_comes_first(faults: tuple[Fault, ...], anomaly: str) -> None:
    assert find_anomalies(faults, expires=True) == {anomaly}
    assert find_anomalies(faults, expires=False) == set()


LOST = (AdvanceClock(31_000, at_step=80), Crash("b1", at_step=88), Restart("b1", at_ms=371_060))
"""The answers to two batches come too late, and the leader restarts before they are sent again."""


def test_a_restarted_leader_recognises_the_last_batch_of_a_producer_only() -> None:
    scenario = replace(idempotent_produce_in_small(), config={})
    cluster, _ = run_to_end(scenario.with_faults(*LOST))
    assert [f.anomaly for f in findings_of(cluster, parse_names(()))] == ["duplicate", "duplicate"]
    writer, reader = scenario.programs
    steps = [step for step in writer.args["steps"] if step[0] != "sleep" or step[1] > 8]
    alone = [each for step in steps for each in ((step, ["flush"]) if step[0] == "send" else (step,))]
    one_at_a_time = replace(scenario, programs=(replace(writer, args={"steps": alone}), reader))
    usual = run_to_end(one_at_a_time)[0].trace
    sent = [e for e in usual.events if e.kind == "append" and e.data.records[0].value == "d"]
    for event in sent:
        lost = (Drop("ProduceResponse#4"), Crash("b1", at_step=event.step), Restart("b1", at_ms=371_060))
        assert findings_of(run_to_end(one_at_a_time.with_faults(*lost))[0], parse_names(())) == ()


OFFSETS_FROM_BEFORE = (Drop("AddPartitionsToTxnResponse#2"), Delay("TxnOffsetCommit#2", 30_245))
"""The transaction is aborted, since its output could not be verified; a copy of its offsets comes in the next one."""


def test_offsets_of_an_earlier_transaction_join_the_next_one_where_both_have_one_epoch() -> None:
    cluster, _ = run_to_end(processor_in_small("4.x/TV1").with_faults(*OFFSETS_FROM_BEFORE))
    assert {f.anomaly for f in findings_of(cluster, parse_names(()))} == {"torn transaction", "offset/output split"}


def test_offsets_of_an_earlier_transaction_are_refused_where_each_has_its_epoch() -> None:
    late = (Delay("TxnOffsetCommit#1", 30_245), Drop("ProduceResponse#1"))
    cluster, _ = run_to_end(processor_in_small("4.x/TV2").with_faults(*late))
    assert findings_of(cluster, parse_names(())) == ()
    (answer,) = (f.body.errors for f in cluster.trace.frames.values() if f.of == "TxnOffsetCommit#1")
    assert answer == {"in-0": Error.INVALID_PRODUCER_EPOCH}


def test_a_run_that_was_stopped_goes_on_before_a_marker_is_said_to_be_missing() -> None:
    """At version 1 a producer asks every 20 ms, so that the run comes to its limit before the third marker is sent."""
    lost = tuple(FaultSequence("drop", (Drop(name),), 0) for name in ("WriteTxnMarkers#1", "WriteTxnMarkers#3"))
    scenario = two_partition_transactions("4.x/TV1")
    trial = attempt(Job(scenario=scenario, find=parse_names(()), sequences=lost))
    assert (trial.end, trial.findings) == (RUNAWAY, ())


def test_of_the_finds_only_those_with_the_fewest_faults_are_told() -> None:
    sweep = Sweep.of(idempotent_produce(), 1, 1)
    sweep.finds = {("duplicate", "crash"): [()], ("duplicate", "crash", "drop Produce"): [()], ("G1a", "crash"): [()]}
    assert [line.split(":")[0].strip() for line in sweep.report()][-2:] == ["duplicate + crash", "G1a + crash"]
