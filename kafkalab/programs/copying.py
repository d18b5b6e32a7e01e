"""One application in several client configurations, under the same drawn faults: how often does each keep its promise?

Two members of a group copy the topic `in` to the topic `out`. They differ in nothing but what their configuration says:
which acknowledgements the producer waits for, whether it is idempotent, and whether output and offsets are committed in
one transaction. Whatever error a member meets, it begins anew, as a supervisor would restart a service.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from kafkalab.broker.controller import Controller
from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.producer.producer import Producer
from kafkalab.faults.cluster import Upgrade
from kafkalab.faults.fault import Fault, TimedFault
from kafkalab.faults.frame import Delay
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Restart
from kafkalab.faults.storage import Compact, DeleteSegment, Roll
from kafkalab.limits import list_names, quote
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.programs.moments import MOMENTS, DryRun, dry_run
from kafkalab.programs.random_faults import random_fault
from kafkalab.programs.randomness import Pick, Seeded
from kafkalab.programs.transfers import committed_offsets, read_to_the_end
from kafkalab.protocol.arguments import Milliseconds, Name
from kafkalab.protocol.partitions import index_of
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.sim.scenario_names import register_scenario

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

GROUP, INPUT, OUTPUT = "copiers", "in", "out"
PARTITIONS, INPUTS = 2, 9
"""The partitions of each topic, and the records in each partition of the input."""
MEMBERS = ("m1", "m2")
FOR_MS, CALM_FROM_MS = 60_000, 40_000
"""A member works so long; no fault strikes later than the second, so that the cluster is whole again at the end."""
POLL_MS, RESTART_MS = 5_000, 500
BATCH = 3
"""The most records that are copied before their offsets are committed."""
TRANSACTIONS = "transactions"
CLIENTS: dict[str, dict[str, Any]] = {
    "acks=1": {"acks": "1", "enable_idempotence": False},
    "idempotent": {},
    TRANSACTIONS: {"transaction_timeout_ms": 10_000},
}
"""The producers' settings other than the defaults, by the name of the configuration."""
REQUEST_TIMEOUT_MS = 5_000
"""request.timeout.ms of all producers, below the timeout of a transaction: an answer that is late is not the end."""
DRAWN_FROM = "4.x/TV2"
"""The profile of the run from which faults are drawn, whatever configuration they then strike."""
LATE = ("Produce", "TxnOffsetCommit", "EndTxn")
LEFT_OUT = (Compact, DeleteSegment, Roll, Upgrade)
"""Faults that are not drawn: they change what the logs keep or what the cluster is, not how a client fares."""


@program
async def copier(app: App, clients: Name, start_after_ms: Milliseconds = 0, work_ms: Milliseconds = 700) -> int:
    """Copy records as a member of the group until FOR_MS, in the configuration `clients` of CLIENTS; restarts needed.

    `work_ms` pass after each record.
    """
    await app.sleep(start_after_ms)
    restarts = 0
    while app.now < FOR_MS:
        copier = _Copier(app, clients, work_ms)
        try:
            await copier.run()
        except KafkaError:
            restarts += 1
            await copier.close()
            await app.sleep(RESTART_MS)
    return restarts


class _Copier:
    """A member from its start to the error that ends it."""

    def __init__(self, app: App, clients: str, work_ms: int) -> None:
        identity = {"transactional_id": app.name} if clients == TRANSACTIONS else {}
        self.app, self.work_ms, self.transactional = app, work_ms, bool(identity)
        settings = {"linger_ms": 0, "request_timeout_ms": REQUEST_TIMEOUT_MS, **CLIENTS[clients], **identity}
        self.producer: Producer = app.producer(**settings)
        self.consumer: Consumer = app.consumer(
            group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False, isolation_level="read_committed",
            session_timeout_ms=6_000, heartbeat_interval_ms=2_000, fetch_max_wait_ms=POLL_MS,
        )  # fmt: skip

    async def run(self) -> None:
        """Copy what each poll brings, then commit the offsets; KafkaError for whatever goes wrong."""
        if self.transactional:
            await self.producer.init_transactions()
        self.consumer.subscribe([INPUT])
        while self.app.now < FOR_MS:
            records = await self.consumer.poll(POLL_MS)
            for first in range(0, len(records), BATCH):
                await self._copy_and_commit(records[first : first + BATCH])
        await self.close()

    async def _copy_and_commit(self, records: list[ConsumerRecord]) -> None:
        offsets = {record.partition: record.offset + 1 for record in records}
        if not self.transactional:
            await self._copy(records)
            await self.consumer.commit_sync(offsets)
            return
        self.producer.begin_transaction()
        await self._copy(records)
        await self.producer.send_offsets_to_transaction(offsets, self.consumer.group_metadata())
        await self.producer.commit_transaction()

    async def _copy(self, records: list[ConsumerRecord]) -> None:
        """Write each record to the partition of the same number, and wait until it is acknowledged."""
        for record in records:
            partition = index_of(record.partition)
            sent = await self.producer.send(OUTPUT, record.value, partition=partition, headers=made_from(record))
            await sent
            await self.app.sleep(self.work_ms)

    async def close(self) -> None:
        """Leave the group and drop the producer; what is open stays open, as after a crash."""
        with suppress(KafkaError):  # the group will notice
            await self.consumer.close()
        await self.producer.close(timeout_ms=0)


@register_scenario
def copying(
    clients: str = TRANSACTIONS, seed: int = 1, profile: str = "4.x/TV2", rules_off: tuple[str, ...] = (),
    cluster_level: int = -1,
) -> Scenario:  # fmt: skip
    """Two members copy `in` to `out` in the configuration `clients` of CLIENTS, without faults.

    `cluster_level` is the finalized level of `transaction.version`; below 0 it is the profile's. ValueError for unknown
    clients.
    """
    if clients not in CLIENTS:
        raise ValueError(f"no clients {quote(clients)}; there are {list_names(CLIENTS)}")
    return Scenario(
        title=f"Two copiers, {clients}",
        profile=profile,
        rules_off=rules_off,
        config={"transaction_version": cluster_level} if cluster_level >= 0 else {},
        topics={INPUT: PARTITIONS, OUTPUT: PARTITIONS},
        records={f"{INPUT}-{p}": tuple(f"{p}/{n}" for n in range(INPUTS)) for p in range(PARTITIONS)},
        programs=tuple(
            Program(member, "copier", {"clients": clients, "start_after_ms": 100 * number})
            for number, member in enumerate(MEMBERS)
        ),
        seed=seed,
    )


def drawn_faults(seed: int, most: int = 3) -> tuple[Fault, ...]:
    """Draw one to `most` faults (none if that is 0) from what a run with transactions does.

    Each strikes at a time, never at a step, so that the same ones strike every configuration with this seed. A frame
    that a configuration never sends is not struck there.
    """
    if most == 0:
        return ()
    pick = Seeded(seed)
    return tuple(fault for _ in range(pick.number(1, most)) for fault in _drawn_fault(pick, _quiet_run()))


@cache
def _quiet_run() -> DryRun:
    """Run once without faults: the runs of other seeds differ from it by milliseconds."""
    return dry_run(copying(TRANSACTIONS, 1, DRAWN_FROM))


def read_what_is_there(cluster: Cluster) -> dict[str, int]:
    """Read all topics to their end, under both isolation levels; return how far the group has committed each input."""
    read_to_the_end(cluster)
    inputs = [f"{INPUT}-{p}" for p in range(PARTITIONS)]
    cluster.spawn("final-offsets", committed_offsets, group=GROUP, partitions=inputs)
    cluster.run()
    committed: dict[str, int] = cluster.results["final-offsets"]
    return committed


def _drawn_fault(pick: Pick, run: DryRun) -> list[Fault]:
    kind = pick.number(1, 5)
    if kind > 3:
        return _lonely_death(pick, run) if kind == 4 else _late_request(pick, run)
    found = random_fault(pick, run)
    while not found or isinstance(found[0], LEFT_OUT):
        found = random_fault(pick, run)
    return [_by_the_clock(fault, run) for fault in found]


def _lonely_death(pick: Pick, run: DryRun) -> list[Fault]:
    """Draw a broker that loses its network and soon afterwards dies; clients still reach it in between."""
    broker = pick.one_of(run.cluster.broker_names)
    others = (*(name for name in run.cluster.broker_names if name != broker), Controller.name)
    begin = run.at_ms(pick.one_of(run.steps[pick.one_of([moment for moment in MOMENTS if moment in run.steps])]))
    end = begin + pick.one_of((500, 2_000))
    back = end + pick.one_of((5_000, 15_000))
    return [
        Cut(broker, others, at_ms=begin), Crash(broker, at_ms=end),
        Heal(broker, others, at_ms=back), Restart(broker, at_ms=back),
    ]  # fmt: skip


def _late_request(pick: Pick, run: DryRun) -> list[Fault]:
    """Draw a request that comes after its own retry; the member that sent it dies soon afterwards."""
    frame = pick.one_of(run.frames[pick.one_of(LATE)])
    late = REQUEST_TIMEOUT_MS + pick.one_of((100, 500, 1_500))
    end = frame.sent_ms + late + pick.one_of((50, 500, 1_500))
    return [Delay(frame.id, late), Crash(frame.sender, at_ms=end)]


def _by_the_clock(fault: Fault, run: DryRun) -> Fault:
    """Return the fault with a time in place of a step, early enough for the members to go on afterwards."""
    if not isinstance(fault, TimedFault):
        return fault
    at_ms = run.at_ms(fault.at_step) if fault.at_step >= 0 else fault.at_ms
    return replace(fault, at_step=-1, at_ms=min(at_ms, CALM_FROM_MS))
