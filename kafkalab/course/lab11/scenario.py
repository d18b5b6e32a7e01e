"""The scenarios of lab 11: a booker crashes in one of six gaps, and another one goes on."""

from __future__ import annotations

from functools import cache

from kafkalab.faults.node import Crash
from kafkalab.programs.booking import INPUT, OUTPUT, PATTERNS, PAYMENTS, RECEIPTS, TABLE_OF
from kafkalab.programs.database import rows
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario

AGAIN_MS = 30_000
"""The time at which the second booker starts: the first one's session is over."""
GAPS = (1, 2, 3, 4, 5, 6)
OK, LOST, DUP = WORDS = ("ok", "lost", "dup")
PAYMENT = "ann 10"


def bookers(pattern: str, seed: int = 1, profile: str = "4.x/TV2", more: int = 1) -> Scenario:
    """One payment and `more` + 1 bookers, one after the other; nothing crashes yet."""
    programs = [Program("booker", "booker", {"pattern": pattern})]
    if more:
        programs.append(Program("again", "booker", {"pattern": pattern, "start_after_ms": AGAIN_MS}))
    return Scenario(
        title=f"A booker beside a database: {pattern}",
        profile=profile,
        seed=seed,
        brokers=1,
        topics={PAYMENTS: 1, RECEIPTS: 1},
        records={INPUT: (PAYMENT,)},
        programs=tuple(programs),
        config={"group_initial_rebalance_delay_ms": 0},
    )


@cache
def _gaps(pattern: str, seed: int, profile: str) -> dict[int, int]:
    """The step at which each gap begins, in the run without a crash."""
    trace = ran(bookers(pattern, seed, profile)).trace
    found: dict[int, int] = {}
    for event in trace.of("state", "chapter"):
        found.setdefault(int(event.data["name"].split()[1]), event.step)
    return found


@register_scenario
def lab11(pattern: str = "database first", gap: int = 0, seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """A booker crashes after its call number `gap`, 1 to 6, and another goes on half a minute later; 0: no crash.

    ValueError for a pattern or a gap that there is not.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"no pattern is called {pattern!r}; there are {', '.join(PATTERNS)}")
    if gap not in (0, *GAPS):
        raise ValueError(f"gap is 1 to 6, the number of the call after which the booker crashes, not {gap!r}")
    base = bookers(pattern, seed, profile)
    return base.with_faults(Crash("booker", at_step=_gaps(pattern, seed, profile)[gap])) if gap else base


def counts(cluster: Cluster, pattern: str) -> tuple[int, int]:
    """Return how often the payment is booked in the database, and how many committed receipts it has."""
    table = TABLE_OF.get(pattern, "bookings")
    booked = rows(cluster, f"SELECT count(*) FROM {table}")[0][0]
    return booked, len(cluster.outcome().committed[OUTPUT])


def verdict(cluster: Cluster, pattern: str) -> str:
    """Return "lost" if the payment has no booking or no receipt, "dup" if it has two of either, else "ok"."""
    both = counts(cluster, pattern)
    return LOST if 0 in both else DUP if max(both) > 1 else OK


TWO_PHASE = {"transaction_two_phase_commit_enable": True, "unstable_api_versions_enable": True}
"""The settings for KIP-939: the broker's, and the API version that Kafka 4.3 and 4.4 call unstable."""
PREPARED_MS, CLAIM_MS = 1_500, 10_000


@register_scenario
def prepared_and_claimed(seed: int = 1, profile: str = "4.x/TV2", two_phase: bool = True) -> Scenario:
    """A producer prepares its transaction and crashes; its next process calls init_transactions() ten seconds later.

    Unless `two_phase` brokers and client are Kafka 4.3 and 4.4 as delivered: two-phase commit is never requested, and
    preparing is refused.
    """
    programs = [Program("booker", "preparer", {"decide_after_ms": 60_000})]
    if two_phase:
        programs.append(Program("again", "claimer", {"at_ms": CLAIM_MS}))
    return Scenario(
        title="A prepared transaction, and its producer's next process",
        profile=profile,
        seed=seed,
        brokers=1,
        topics={RECEIPTS: 1},
        programs=tuple(programs),
        faults=(Crash("booker", at_ms=PREPARED_MS),) if two_phase else (),
        config=TWO_PHASE if two_phase else {},
    )
