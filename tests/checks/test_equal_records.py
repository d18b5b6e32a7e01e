"""Equal records of different attempts, all rules on: no alarm; and which attempt a record belongs to."""

from __future__ import annotations

import pytest

from kafkalab.checks.all import check_all
from kafkalab.checks.transactions import claim
from kafkalab.checks.view import view_of
from kafkalab.faults.link import Cut
from kafkalab.history.export import history_of
from kafkalab.history.history import History
from kafkalab.programs.steps import add_offsets, init, offsets, sleep
from kafkalab.protocol.partitions import offsets_partition
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.checks.equal_records import RUNS, TV1


@pytest.mark.parametrize("name", RUNS)
def test_no_check_cries(name: str) -> None:
    report = check_all(history_of(RUNS[name]()))
    assert report.violated == (), report


def owners(history: History) -> dict[tuple[str, int], str]:
    return {place: owner.id for place, owner in view_of(history).transaction_of.items()}


def test_an_offset_record_belongs_to_the_transaction_that_was_not_refused() -> None:
    found = owners(history_of(RUNS["offsets_refused"]()))
    assert found["out-0", 0] == "p/t, transaction 1"
    assert found["out-0", 2] == "p/t, transaction 2"
    assert [owner for (key, _), owner in found.items() if key.startswith("__")] == ["p/t, transaction 2"]


def test_equal_offset_records_belong_to_the_transactions_that_wrote_them() -> None:
    found = owners(history_of(RUNS["offsets_aborted"]()))
    commits = [owner for (key, _), owner in sorted(found.items()) if key.startswith("__")]
    assert commits == ["p/t, transaction 1", "p/t, transaction 2"]


def test_each_batch_is_an_operation_of_its_own() -> None:
    history = history_of(RUNS[f"twins, {TV1}"]())
    sends = [(o.sequence, o.offset) for o in history.operations if (o.function, o.type) == ("send", "ok")]
    assert sends == [(0, 0), (1, 1), (2, 2)]


def test_an_offset_commit_that_timed_out_may_have_happened() -> None:
    group = "g"
    home = offsets_partition(group)
    leader = Cluster(Scenario()).controller.metadata.partitions[home].leader
    cut = [Cut(leader, other, at_ms=1_000) for other in ("b1", "b2", "b3") if other != leader]
    steps = [init("t"), add_offsets("t", group), sleep(1_500), offsets("t", group, "in-0", 1)]
    scenario = Scenario(
        profile=TV1,
        topics={"in": 1},
        programs=(Program("p", "raw_requests", {"steps": steps}),),
        faults=(*cut,),
        rules_off=(VERIFICATION.name,),
    )
    cluster = Cluster(scenario)
    cluster.run()
    history = history_of(cluster)
    assert [r.record_key for r in history.log if r.key == home] == ["g/in-0"]
    assert cluster.results["p"][-1] == ["TxnOffsetCommit", "COORDINATOR_NOT_AVAILABLE"]
    assert [o.type for o in history.operations if o.function == "offsets"] == ["invoke", "info"]


@pytest.mark.parametrize(
    ("step", "type", "ended", "rank"),
    [(5, "ok", 9, 3), (5, "ok", 5, 3), (5, "info", 9, 2), (5, "", -1, 2), (5, "ok", 4, 1), (5, "fail", 9, 0)],
)
def test_what_was_acknowledged_comes_before_what_is_unknown_and_refused_never(
    step: int, type: str, ended: int, rank: int
) -> None:
    assert claim(step, 2, type, ended) == rank
    assert claim(step, 6, type, ended) == 0
