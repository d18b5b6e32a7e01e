"""L10.E3: a zombie's parcels, once group coordinators do not compare members; the presses are replayed."""

from __future__ import annotations

from dataclasses import replace

from kafkalab.course.lab10.scenario import JOINS_MS, packers
from kafkalab.faults.node import Pause, Resume
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.presses import Goal, Miss, judge_presses, presses_of, run_with
from kafkalab.grading.seeds import seed
from kafkalab.programs.packing import PARCELS
from kafkalab.protocol.rules import GENERATION_CHECK
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame

PAR = 2
"""The fewest presses; a search finds none with one (tests/course/test_lab10.py)."""


def scenario(of_seed: int = 1, members: bool = False) -> Scenario:
    """Both packers, nothing pressed yet; the group coordinator does not compare members unless `members`."""
    first = {"work_ms": 2_000, "late_ms": 2_000}
    title = "A coordinator that does not look at the member"
    base = packers(seed=of_seed, title=title, joins_ms=JOINS_MS, first=first)
    return base if members else replace(base, rules_off=(GENERATION_CHECK.name,))


def with_members(answer: object) -> Cluster:
    """The run of the learner's presses with a group coordinator that does compare members."""
    base = scenario(members=True)
    return run_with(base, presses_of(answer, scenario()))


def twice(cluster: Cluster) -> bool:
    """Return True if an order has two committed parcels."""
    parcels = cluster.outcome().committed[f"{PARCELS}-0"]
    return len(set(parcels)) < len(parcels)


def _find_requests(cluster: Cluster, node: str, name: str) -> list[Frame]:
    return [f for f in cluster.trace.frames.values() if f.sender == node and f.name == name]


def _was_done(cluster: Cluster) -> bool:
    """Return True if anna had asked for her commit before ben came."""
    return any(f.sent_ms < JOINS_MS for f in _find_requests(cluster, "anna", "EndTxn"))


def _had_to_wait(cluster: Cluster) -> bool:
    """Return True if ben was told that the offset is pending."""
    answers = (f for f in cluster.trace.frames.values() if f.name == "OffsetFetchResponse" and f.receiver == "ben")
    return any(f.error == "UNSTABLE_OFFSET_COMMIT" for f in answers)


def _asked_in_vain(cluster: Cluster) -> bool:
    """Return True if ben found everything packed, or nothing to read."""
    result = cluster.results.get("ben")
    return isinstance(result, dict) and not result["packed"]


GOAL = Goal(
    says="order with two parcels",
    reached=twice,
    example=(Pause("ben", at_ms=12_000), Resume("ben", at_ms=14_000)),
    misses=(
        Miss(
            "nobody slept",
            "anna had committed before ben came. Stop her in the middle of her transaction.",
            _was_done,
        ),
        Miss(
            "pending",
            "When anna fell asleep her offsets were sent already. ben had to wait until they were decided.",
            _had_to_wait,
            hint=1,
        ),
        Miss(
            "never wakes",
            "anna never wakes up, so she commits nothing. The coordinator aborts her transaction.",
            lambda cluster: "anna" not in cluster.results,
            hint="A zombie is an instance that comes back. Let it wake up, while its transaction is still open: it may "
            "be open for a minute.",
        ),
        Miss(
            "still a member",
            "ben found nothing left to pack: he got the partition only after anna had committed.",
            _asked_in_vain,
            hint=1,
        ),
        Miss(
            "too late",
            "anna woke up, and her transaction had been aborted by then.",
            lambda cluster: True,
            hint="A transaction may be open for a minute (transaction.timeout.ms). Wake anna up before that.",
        ),
    ),
)


ALLOWED = ("Pause", "Resume", "Crash", "Drop", "Delay", "Cut", "Heal")

EXERCISE = Exercise(
    "L10.E3",
    lambda answer: judge_presses(answer, scenario(seed()), GOAL, most=PAR, par=PAR, allowed=ALLOWED),
    (
        "anna must be silent for so long that the group gives her partition to ben, and then continue her own "
        "transaction as if nothing had happened.",
        "Which requests must she have sent when she falls asleep, and which not yet? Once her offsets are sent, ben "
        "waits for them. And until her session of 45 seconds is over, she keeps her partition.",
        "Pause anna after ProduceResponse#1 and before TxnOffsetCommit#1, about four seconds after the start. Resume "
        "her when ben has committed, some 50 seconds later.",
    ),
    points=4,
    misses={**GOAL.hints, "does not end": "An instance that sleeps must wake up again, or the run never ends. When?"},
    questions=(28,),
    afterwards=(
        "Why: the two have different transactional ids, so no epoch tells them apart. Only the group knows who owns "
        "the partition, and here it does not check. The cell below runs your presses with the check on. Next: a real "
        "client that packed an order twice."
    ),
)
