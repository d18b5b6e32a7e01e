"""What lab 15 says of its runs is so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkalab import late_batch, leaderless, left_hanging, wrong_patient
from kafkalab.checks.all import check_all
from kafkalab.checks.check import VIOLATED
from kafkalab.cli.transactions import transactions_of
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.history.export import history_of
from kafkalab.protocol import rules
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.payload import payload_of

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "15_hanging_transactions.ipynb")


def read_printed(cell: str) -> str:
    """Return what the cell's saved run printed."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join("".join(o.get("text", o.get("data", {}).get("text/plain", []))) for o in found["outputs"])


def without(scenario: Scenario, rule: rules.Rule) -> Cluster:
    return ran(replace(scenario, rules_off=(*scenario.rules_off, rule.name)))


def values(cluster: Cluster, partition: str) -> list[str]:
    return [b.control.name if b.control else b.records[0].value for b in cluster.log_of(partition).batches]


def anomalies(cluster: Cluster) -> set[str]:
    return {r.name for r in check_all(history_of(cluster)).results if r.verdict == VIOLATED}


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = {n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])}
    assert marked == {6, 38, 51, 52}


def test_only_without_the_rule_does_a_partition_without_a_leader_keep_its_transaction() -> None:
    waited, today = ran(leaderless()), without(leaderless(), rules.LEADER_AWAITED)
    for cluster, found in ((waited, ["10 moved", "COMMIT"]), (today, ["10 moved"])):
        assert cluster.results["app"] == "committed"
        assert cluster.outcome().txn_states == {"payments-0": "CompleteCommit"}
        assert values(cluster, "accounts-0") == ["-10", "COMMIT"]
        assert values(cluster, "audit-0") == found
        assert "audit-0" in payload_of(cluster)["partitions"]
    assert "hanging transaction" not in anomalies(waited)
    assert "hanging transaction" in anomalies(today)


def test_the_tools_name_what_hangs_and_the_abort_ends_it() -> None:
    assert "CompleteCommit" in read_printed("find-coordinator")
    (_, row) = read_printed("find-both").splitlines()
    assert row.split() == ["audit", "0", "2000", "0", "-1", "0", "1040", "16"]
    assert "after   last stable offset 2, high watermark 2" in read_printed("find-abort")


def test_a_late_batch_hangs_without_verification_and_is_refused_with_it_or_under_version_2() -> None:
    assert values(ran(late_batch()), "accounts-0") == ["first", "ABORT", "a"]
    for refused in (late_batch(verified=True), late_batch(profile="4.x/TV2")):
        assert values(ran(refused), "accounts-0") == ["first", "ABORT"]
    assert read_printed("late-end").split()[0] == "INVALID_PRODUCER_EPOCH"


def test_an_abort_from_outside_tears_and_a_transaction_left_hanging_is_read_dirty() -> None:
    torn = ran(wrong_patient())
    assert "torn transaction" in anomalies(torn)
    assert torn.results == {"admin": "aborted", "app": "done"}
    assert torn.trace.frames["EndTxnResponse#1"].error == "NONE"
    given = torn.trace.frames["InitProducerIdResponse#1"].body
    assert (given.producer_id, given.producer_epoch) == (2000, 0)
    assert {"torn transaction", "zombie write"} <= anomalies(ran(left_hanging()))
    assert "A promise is broken: G1a, torn transaction, zombie write" in read_printed("left-verdict")


def test_find_hanging_reports_nothing_until_the_producer_was_silent_for_15_minutes() -> None:
    today = Cluster(replace(leaderless(), rules_off=(rules.LEADER_AWAITED.name,)))
    today.run_for(14 * 60_000)
    assert len(str(transactions_of(today, "find-hanging --topic audit")).splitlines()) == 1
    today.run_for(2 * 60_000)
    assert len(str(transactions_of(today, "find-hanging --topic audit")).splitlines()) == 2
    assert read_printed("trust").split("CurrentTransactionStartOffset")[1].split()[-1] == "0"
