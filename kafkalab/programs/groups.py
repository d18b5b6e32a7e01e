"""Programs of consumers in groups: what is lost, what is done twice, and what KIP-447 prevents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.exceptions import CommitFailedError, InvalidConfigurationError, KafkaError, ProducerFencedError
from kafkalab.client.producer.producer import Producer
from kafkalab.faults.node import Pause, Resume
from kafkalab.log.aborted_filter import ConsumerRecord
from kafkalab.protocol.arguments import Count, Milliseconds, Name
from kafkalab.protocol.partitions import index_of
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.sim.scenario_names import register_scenario

GROUP = "workers"


class Log(RebalanceListener):
    """Writes down when partitions come and go: [what, partitions]."""

    def __init__(self) -> None:
        self.seen: list[list[Any]] = []

    def on_partitions_revoked(self, partitions: Sequence[str]) -> None:
        self.seen.append(["revoked", list(partitions)])

    def on_partitions_assigned(self, partitions: Sequence[str]) -> None:
        self.seen.append(["assigned", list(partitions)])

    def on_partitions_lost(self, partitions: Sequence[str]) -> None:
        self.seen.append(["lost", list(partitions)])


def _reads_in_vain(consumer: Consumer, records: list[ConsumerRecord]) -> bool:
    """Return whether a poll found nothing although it knew where to read."""
    return not records and bool(consumer.assignment()) and consumer.has_all_fetch_positions()


async def _worker(app: App, commit_first: bool, group: str, start_after_ms: int, polls: int, work_ms: int) -> int:
    """Read "in", write each record to "out", one after the other; commit before that or after it."""
    await app.sleep(start_after_ms)
    consumer = app.consumer(group_id=group, auto_offset_reset="earliest", enable_auto_commit=False)
    producer = app.producer(linger_ms=0)
    consumer.subscribe(["in"])
    done = empty = 0
    while empty < polls:
        records = await consumer.poll(500)
        empty = empty + 1 if _reads_in_vain(consumer, records) else 0
        if records and commit_first:
            await consumer.commit_sync()
        for record in records:
            await app.sleep(work_ms)
            await producer.send("out", record.value, partition=0, headers=made_from(record))
            await producer.flush()
            done += 1
        if records and not commit_first:
            await consumer.commit_sync()
    await consumer.close()
    return done


@program
async def at_most_once(
    app: App, group: Name = GROUP, start_after_ms: Milliseconds = 0, polls: Count = 3, work_ms: Milliseconds = 20
) -> int:
    """Commit the offsets, then process: what a crash interrupts is lost. How many records were processed."""
    return await _worker(app, True, group, start_after_ms, polls, work_ms)


@program
async def at_least_once(
    app: App, group: Name = GROUP, start_after_ms: Milliseconds = 0, polls: Count = 3, work_ms: Milliseconds = 20
) -> int:
    """Process, then commit the offsets: what a crash interrupts is processed again. How many were processed."""
    return await _worker(app, False, group, start_after_ms, polls, work_ms)


async def _transaction(
    producer: Producer, consumer: Consumer, records: list[Any], app: App, work_ms: int, fenced_by_group: bool,
    outputs: int,
) -> None:  # fmt: skip
    producer.begin_transaction()
    for record in records:
        partition = index_of(record.partition) % outputs
        await producer.send("out", record.value, partition=partition, headers=made_from(record))
    await producer.flush()
    if work_ms:
        await app.sleep(work_ms)
    offsets = {r.partition: r.offset + 1 for r in records}
    metadata = consumer.group_metadata()
    if not fenced_by_group:
        metadata = type(metadata)(metadata.group_id)
    await producer.send_offsets_to_transaction(offsets, metadata)
    await producer.commit_transaction()


@program
async def exactly_once_worker(
    app: App,
    transactional_id: Name,
    group: Name = GROUP,
    start_after_ms: Milliseconds = 0,
    polls: Count = 3,
    work_ms: Milliseconds = 0,
    fenced_by_group: bool = True,
    settings: dict[str, Any] | None = None,
    outputs: int = 1,
) -> dict[str, Any]:
    """Consume, transform, produce as a member of a group: output and offsets in one transaction.

    The output of "in-3" goes to partition 3 of "out", modulo `outputs`.

    Each instance has a transactional id of its own, so only the group can tell that one has lost its partitions
    (KIP-447). With `fenced_by_group` False only the group's name is told, as before. The result counts transactions,
    and names the error of the one that was refused last.
    """
    await app.sleep(start_after_ms)
    log = Log()
    given = {"isolation_level": "read_committed", "auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = app.consumer(group_id=group, **given, **(settings or {}))
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    consumer.subscribe(["in"], log)
    result: dict[str, Any] = {"committed": 0, "refused": "", "rebalances": log.seen}
    empty = 0
    while empty < polls:
        records = await consumer.poll(500)
        empty = empty + 1 if _reads_in_vain(consumer, records) else 0
        if not records:
            continue
        try:
            await _transaction(producer, consumer, records, app, work_ms, fenced_by_group, outputs)
            result["committed"] += 1
        except ProducerFencedError:
            raise
        except KafkaError as error:
            result["refused"] = error.error.name
            await producer.abort_transaction()
            if isinstance(error.__cause__ or error, InvalidConfigurationError):
                raise  # such as a denial: it would be the same again, for ever
            if not isinstance(error, CommitFailedError):
                await _rewind(consumer)
    await consumer.close()
    await producer.close()
    return result


async def _rewind(consumer: Consumer) -> None:
    """Read again from the committed offsets what the aborted transaction had read."""
    partitions = consumer.assignment()
    for partition, offset in (await consumer.committed(partitions)).items():
        if offset >= 0:
            consumer.seek(partition, offset)
        else:
            await consumer.seek_to_beginning([partition])


@program
async def group_reader(
    app: App,
    topics: list[Name],
    group: Name = GROUP,
    start_after_ms: Milliseconds = 0,
    for_ms: Milliseconds = 10_000,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A member that reads for so long, then leaves: its records, and when partitions came and went."""
    await app.sleep(start_after_ms)
    log = Log()
    given = {"group_id": group, "auto_offset_reset": "earliest", **(settings or {})}
    consumer = app.consumer(**given)
    consumer.subscribe(topics, log)
    until, values = app.now + for_ms, []
    while app.now < until:
        values += [r.value for r in await consumer.poll(min(500, until - app.now))]
    await consumer.close()
    return {"values": values, "rebalances": log.seen}


@register_scenario
def two_members(profile: str = "4.x/TV2", seed: int = 1) -> Scenario:
    """Two readers of one group: the second joins later, and the first leaves earlier."""
    return Scenario(
        title="Two members share a topic",
        profile=profile,
        seed=seed,
        topics={"in": 4},
        records={f"in-{i}": (f"{i}a", f"{i}b") for i in range(4)},
        programs=(
            Program("m1", "group_reader", {"topics": ["in"], "for_ms": 14_000}),
            Program("m2", "group_reader", {"topics": ["in"], "start_after_ms": 6_000, "for_ms": 16_000}),
        ),
    )


@register_scenario
def zombie_member(
    profile: str = "4.x/TV2", fenced_by_group: bool = True, seed: int = 1, settings: dict[str, Any] | None = None
) -> Scenario:
    """Two exactly-once workers with transactional ids of their own. The first is paused in the middle of a transaction
    for longer than its session: the second gets its partition, and KIP-447 decides what the first may still commit.

    `settings` are those of both consumers; with one group.instance.id for both the second one takes over at once.
    """
    arguments = {"fenced_by_group": fenced_by_group, "settings": settings or {}}
    return Scenario(
        title="A member that was away too long",
        profile=profile,
        seed=seed,
        topics={"in": 1, "out": 1},
        records={"in-0": ("a", "b")},
        programs=(
            Program("m1", "exactly_once_worker", {"transactional_id": "worker-1", "work_ms": 2_000, **arguments}),
            Program(
                "m2",
                "exactly_once_worker",
                {"transactional_id": "worker-2", "start_after_ms": 10_000, **arguments},
            ),
        ),
        faults=(Pause("m1", at_ms=4_000), Resume("m1", at_ms=55_000)),
    )
