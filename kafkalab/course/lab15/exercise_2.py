"""L15.E2: an administrator ends a transaction that is not hanging, or does not end one that is. What is visible?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.predictions import Fact, facts_of, rows
from kafkalab.programs.failover import ACCOUNTS, LATE_MS, PAYMENTS
from kafkalab.protocol.rules import VERIFICATION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

WORDS = ("both", "only a", "only b", "none")
FORM = f'a dict with one of the words {", ".join(WORDS)} for each row, like {{1: "both", 2: ...}}'
PRODUCER = {"producer_id": 2000, "producer_epoch": 0, "coordinator_epoch": 0}
"""The id and epoch of the producer of payments-0 in all these runs; a test compares."""
A, B = (["send", ACCOUNTS, "a", None, 0], ["flush"]), (["send", ACCOUNTS, "b", None, 1], ["flush"])
BEGIN, COMMIT = ["begin_transaction"], ["commit_transaction"]
WRITTEN_MS, ADMIN_MS = 1_000, 500
SLOW_MS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One schedule: what it says, app's calls, the administrator's commands and when, and what is slow.

    With `late` app's debit "a" comes after its transaction was aborted, and its next transaction writes "b" there.
    """

    says: str
    look: str
    calls: tuple[list[Any], ...] = (*A, *B, ["sleep", WRITTEN_MS], COMMIT)
    aborts: tuple[tuple[int, int], ...] = ()
    terminated_ms: int = -1
    faults: tuple[Fault, ...] = ()
    late: int = -1
    misses: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Row(
        says="app has written a and b; the admin aborts on accounts-0; app commits",
        look="Whom does the admin's marker reach, and who hears of it? What does the coordinator do at the commit?",
        aborts=((0, ADMIN_MS),),
        misses={"both": "the commit overrules", "none": "the coordinator hears of it", "only a": "the wrong half"},
    ),
    Row(
        says="app has written a and b; the admin aborts on both partitions; app commits",
        look="What is still open in the two logs when the COMMIT markers arrive?",
        aborts=((0, ADMIN_MS), (1, ADMIN_MS)),
        misses={"both": "the commit overrules"},
    ),
    Row(
        says="app has written b; the admin aborts on accounts-0; app writes a there and commits",
        look="What does a marker end where nothing is open? Does it say anything of what comes later?",
        calls=(*B, ["sleep", WRITTEN_MS], *A, COMMIT),
        aborts=((0, ADMIN_MS),),
        misses={"only b": "a marker forbids", "none": "the coordinator hears of it"},
    ),
    Row(
        says="decided, but the marker for accounts-0 is slow; the admin aborts there meanwhile",
        look="PrepareCommit stands in the coordinator's log. Does the leader of accounts-0 read that log?",
        aborts=((0, 2_500),),
        faults=(Delay("WriteTxnMarkers#1", SLOW_MS),),
        misses={"both": "the decision protects", "none": "the coordinator hears of it", "only a": "the wrong half"},
    ),
    Row(
        says="all markers are written; then comes the admin's abort, with ids noted before",
        look="What is open when it arrives?",
        aborts=((0, 4_000),),
        misses={"only b": "the last marker counts", "none": "the last marker counts"},
    ),
    Row(
        says="app has written a and b; the admin terminates payments-0; app commits",
        look="The admin claims the name, as a second instance would. What becomes of what is open under it?",
        terminated_ms=ADMIN_MS,
        misses={"both": "the commit overrules", "only b": "one partition only"},
    ),
    Row(
        says="decided, but the marker for accounts-0 is slow; the admin terminates payments-0",
        look="What does a coordinator do with a name whose transaction is decided, when somebody claims it?",
        terminated_ms=2_500,
        faults=(Delay("WriteTxnMarkers#1", SLOW_MS),),
        misses={"only b": "terminated is aborted", "none": "terminated is aborted"},
    ),
    Row(
        says="a hangs in accounts-0; app's next transaction commits b in accounts-1",
        look="Which partitions does the coordinator send markers to?",
        late=1,
        misses={"both": "the commit takes it along", "none": "everything waits"},
    ),
    Row(
        says="a hangs in accounts-0; app's next transaction commits b in accounts-0, too",
        look="A marker names a producer id. What of that producer id is open in accounts-0 then?",
        late=0,
        misses={"only b": "aborted stays aborted", "none": "everything waits"},
    ),
    Row(
        says="a hangs in accounts-0; the admin aborts it; app's next one commits b in accounts-0",
        look="The admin aborts before the next transaction begins. What is open when the COMMIT marker comes?",
        late=0,
        aborts=((0, 25_000),),
        misses={"both": "the commit takes it along", "none": "a marker forbids"},
    ),
)


def scenario(of_seed: int, row: Row) -> Scenario:
    """The row's schedule, with the latencies of this seed; what hangs does so in version 1, without verification."""
    hanging = row.late >= 0
    arguments: dict[str, Any] = {"transactional_id": PAYMENTS}
    if hanging:
        app = Program("app", "late_debit", {**arguments, "next_partition": row.late})
    else:
        app = Program("app", "operations", {**arguments, "steps": [["init_transactions"], BEGIN, *row.calls]})
    admins = [
        Program(
            f"admin-{number}", "abort_transaction", {"at_ms": at_ms, "partition": f"{ACCOUNTS}-{place}", **PRODUCER}
        )
        for number, (place, at_ms) in enumerate(row.aborts, 1)
    ]
    if row.terminated_ms >= 0:
        given = {"at_ms": row.terminated_ms, "transactional_id": PAYMENTS}
        admins.append(Program("admin-1", "force_terminate_transaction", given))
    return Scenario(
        title=row.says,
        seed=of_seed,
        profile="4.x/TV1" if hanging else "4.x/TV2",
        rules_off=(VERIFICATION.name,) if hanging else (),
        topics={ACCOUNTS: 2},
        programs=(app, *admins),
        faults=(*row.faults, *((Delay("Produce#2", LATE_MS),) if hanging else ())),
    )


def visible(cluster: Cluster) -> str:
    """Return which of the values a read_committed reader finds in the end."""
    seen = {value for values in cluster.outcome().committed.values() for value in values} & {"a", "b"}
    return "both" if len(seen) == 2 else f"only {seen.pop()}" if seen else "none"


def _deciding(cluster: Cluster) -> int:
    """The step at which the leader appends the first marker after "a"; after "b", if there is none after "a"."""
    found = -1
    for value, partition in (("b", f"{ACCOUNTS}-1"), ("a", f"{ACCOUNTS}-0")):
        leader, written = cluster.controller.metadata.leader(partition), False
        for event in (e for e in cluster.trace.of("append", partition) if e.node == leader):
            if written and event.data.control is not None:
                found = event.step
                break
            written = written or (event.data.control is None and event.data.records[0].value == value)
    return found


@cache
def facts(of_seed: int) -> tuple[Fact, ...]:
    """Every row with what a read_committed reader finds in the end."""
    return facts_of(ROWS, partial(scenario, of_seed), visible, _deciding)


EXERCISE = Exercise(
    "L15.E2",
    rows(facts, WORDS, FORM),
    (
        "A marker ends what its producer id has open in *one* partition, now. It looks neither back nor ahead, and "
        "the leader that appends it tells nobody.",
        "Go through each log alone: what is open there when its first marker comes? That marker decides. The "
        "coordinator sends COMMIT to every partition that it knows of, whatever an administrator has written there.",
        "Where the admin's ABORT comes first, the value there is aborted, though the commit succeeds. Where it comes "
        "last it ends nothing. Where something hangs, the next marker with that producer id ends it: COMMIT or ABORT.",
    ),
    points=10,
    questions=(38,),
    misses={
        "the commit overrules": 0,
        "the coordinator hears of it": "`abort` sends one frame, to the leader of one partition. Which frame would "
        "have told the coordinator?",
        "the wrong half": "In which partition did the ABORT marker come first?",
        "a marker forbids": "A marker ends what is open. Does anything keep the same producer from beginning again "
        "right after it?",
        "the decision protects": "The leader of accounts-0 knows markers only. Which one came to it first?",
        "the last marker counts": "After the COMMIT marker nothing is open. What is left for another marker to end?",
        "one partition only": "forceTerminateTransaction is not `abort`: it asks the coordinator, which knows all "
        "partitions of the transaction.",
        "terminated is aborted": "PrepareCommit cannot be undone: whoever claims the name waits until the markers are "
        "written.",
        "the commit takes it along": "Into which partitions does that commit write a marker, and what is open there?",
        "everything waits": "Only accounts-0 has something open. And what ends it?",
        "aborted stays aborted": 'The leader knows no transactions, only producer ids: "a" came after the ABORT '
        "marker, so it is open. Which marker comes next?",
    },
    afterwards=(
        "Why: `abort` writes to one log, and the coordinator does not hear of it. Where the transaction is alive, it "
        "tears it; where it hangs, leaving it there lets a later commit make it visible. Next: the judgement of "
        "find-hanging."
    ),
)
