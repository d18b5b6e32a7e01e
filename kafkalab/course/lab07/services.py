"""The services of L7.E3: a properties file and broker settings, faulty lines, and a run for each line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from kafkalab.course.lab07.scenario import AWAY_MS, DAY_MS, SECOND_MS, shelf
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.node import Crash
from kafkalab.programs.counting import STOCK
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

SERVICES = 40
FITS, CLIENT, BROKER = "it fits", "the client refuses it", "a broker refuses it"
ABORTED, LEAVES, FORGOTTEN, WAIT = (
    "aborted while it works",
    "it leaves its group",
    "its name is forgotten",
    "readers wait",
)
EFFECTS = (CLIENT, BROKER, ABORTED, LEAVES, FORGOTTEN, WAIT)
LINES = (
    "transactional.id",
    "transaction.timeout.ms",
    "delivery.timeout.ms",
    "max.poll.interval.ms",
    "transactional.id.expiration.ms",
    "producer.id.expiration.ms",
)
"""The lines that are asked about."""
ERRORS = {"InvalidPidMappingError": FORGOTTEN, "CommitFailedError": LEAVES, "InvalidProducerEpochError": ABORTED}
"""The reason for each error that ends a shelf."""
REQUEST_MS, MOST_MS, LATE_MS = 30_000, 900_000, 3_000_000
HOUR_MS, RANDOM = 3_600_000, "${random.uuid}"
DIES_MS, RESTARTED_MS, LOOK_MS = 5_000, 8_000, 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service: how long a shelf takes, how many days may pass between two, and its settings."""

    work_ms: int
    days: int
    linger_ms: int
    transactional_id: str
    transaction_timeout_ms: int
    delivery_timeout_ms: int
    max_poll_interval_ms: int
    transactional_id_expiration_ms: int
    producer_id_expiration_ms: int

    def repair(self, values: Mapping[str, str | int]) -> Service:
        """Return the service with other values of these lines."""
        changed: dict[str, Any] = {line.replace(".", "_"): value for line, value in values.items()}
        return replace(self, **changed)

    def __str__(self) -> str:
        return "\n".join(
            (
                f"# counter.properties: a shelf takes {self.work_ms // 1_000} s.",
                f"# Up to {self.days} days pass between two shelves.",
                "# If the counter dies, it is started again within 3 s, with the same file.",
                f"transactional.id={self.transactional_id}",
                f"transaction.timeout.ms={self.transaction_timeout_ms}",
                f"linger.ms={self.linger_ms}",
                f"request.timeout.ms={REQUEST_MS}",
                f"delivery.timeout.ms={self.delivery_timeout_ms}",
                f"max.poll.interval.ms={self.max_poll_interval_ms}",
                "# server.properties",
                f"transaction.max.timeout.ms={MOST_MS}",
                f"transactional.id.expiration.ms={self.transactional_id_expiration_ms}",
                f"producer.id.expiration.ms={self.producer_id_expiration_ms}",
            )
        )


@cache
def service(number: int) -> Service:
    """Return the service of this number, from 1 to SERVICES; three of its lines break it."""
    random = Random(f"L7.E3/service {number}")
    wrong = set(random.sample(("name", "timeout", "delivery", "poll", "expiry"), 3))
    work_ms, days = random.choice((80, 150, 250)) * SECOND_MS, random.choice((3, 5, 9, 12))
    linger_ms = random.choice((0, 5_000))
    short_or_over = (work_ms - 30_000, MOST_MS + 300_000)
    return Service(
        work_ms=work_ms,
        days=days,
        transactional_id=f"counter-{RANDOM}" if "name" in wrong else "counter-0",
        transaction_timeout_ms=random.choice(short_or_over) if "timeout" in wrong else work_ms + 60_000,
        linger_ms=linger_ms,
        delivery_timeout_ms=REQUEST_MS + linger_ms - 5_000 if "delivery" in wrong else 120_000,
        max_poll_interval_ms=work_ms - 20_000 if "poll" in wrong else work_ms + 50_000,
        transactional_id_expiration_ms=(days - 1 if "expiry" in wrong else days + 4) * DAY_MS,
        producer_id_expiration_ms=random.choice((1, 24)) * HOUR_MS,
    )


def run_of(line: str, asked: Service, seed: int) -> Scenario:
    """Return the run in which this line alone decides."""
    patient = {"transaction_max_timeout_ms": LATE_MS}
    idle: dict[str, Any] = {"work_ms": 100, "idle_ms": 2 * AWAY_MS, "seed": seed}
    match line:
        case "transactional.id":
            name = "counter-1" if RANDOM in asked.transactional_id else "counter-0"
            other = {"transactional_id": name, "begin_ms": RESTARTED_MS}
            crash = Crash("counter", at_ms=DIES_MS)
            return shelf(crash, title="The counter dies", seed=seed, work_ms=60_000, other={**other, "work_ms": 2_000})
        case "transaction.timeout.ms":
            limits = {"transaction_max_timeout_ms": MOST_MS}
            timeout_ms = asked.transaction_timeout_ms
            return shelf(
                title="The commit", seed=seed, work_ms=asked.work_ms, transaction_timeout_ms=timeout_ms, config=limits
            )
        case "delivery.timeout.ms":
            return shelf(
                title="The client reads its settings", seed=seed, work_ms=1_000, linger_ms=asked.linger_ms,
                request_timeout_ms=REQUEST_MS, delivery_timeout_ms=asked.delivery_timeout_ms,
            )  # fmt: skip
        case "max.poll.interval.ms":
            return shelf(
                title="The next poll", seed=seed, reads=True, work_ms=asked.work_ms, config=patient,
                transaction_timeout_ms=2_000_000, max_poll_interval_ms=asked.max_poll_interval_ms,
            )  # fmt: skip
        case "transactional.id.expiration.ms":
            kept = {"transactional_id_expiration_ms": asked.transactional_id_expiration_ms}
        case _:
            kept = {
                "producer_id_expiration_ms": asked.producer_id_expiration_ms,
                "transactional_id_expiration_ms": 365 * DAY_MS,
            }
    title = f"Idle for {asked.days} days"
    return shelf(AdvanceClock(asked.days * DAY_MS, at_ms=AWAY_MS), title=title, config=kept, **idle)


def find_truth(line: str, cluster: Cluster) -> str:
    """Return what became of the line's run."""
    if line == "transactional.id":
        return WAIT if _waits(cluster) else FITS
    call, _, error = cluster.results["counter"][0].partition(": ")
    refused = {"producer": CLIENT, "init_transactions": BROKER}
    return FITS if call == "committed" else refused[call] if call in refused else ERRORS[error]


def _waits(cluster: Cluster) -> bool:
    """Return whether a read_committed reader of `stock-0` still waits a while after the counter was started again."""
    marks = [e.data for e in cluster.trace.of("state", "watermark") if e.at_ms <= LOOK_MS]
    last = [mark for mark in marks if mark["partition"] == f"{STOCK}-0"][-1]
    return bool(last["last_stable_offset"] < last["high_watermark"])
