"""Programs that run whole transactions or read whole topics, and the torn transaction of KAFKA-17754."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from kafkalab.client.consumer.consumer import Consumer
from kafkalab.client.producer.producer import Producer
from kafkalab.faults.frame import Delay
from kafkalab.protocol.arguments import Count, Milliseconds, Name, Partition, calls_of
from kafkalab.protocol.source_header import made_from
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.sim.scenario_names import register_scenario

if TYPE_CHECKING:
    from kafkalab.sim.cluster import Cluster

SENT = ("init_transactions", "begin_transaction", "send", "flush", "commit_transaction", "abort_transaction")
READ = ("assign", "poll", "seek", "seek_to_beginning", "seek_to_end", "commit_sync")

ProducerCalls = Annotated[list[list[Any]], calls_of(Producer, SENT)]
ConsumerCalls = Annotated[list[list[Any]], calls_of(Consumer, READ)]
TRANSACTIONAL_ID, GROUP = "payments-0", "payments"


@program
async def consume_transform_produce(
    app: App, transactional_id: Name = TRANSACTIONAL_ID, wait_ms: Milliseconds = 0, polls: Count = 0
) -> str:
    """Read transfers, write each as a debit to accounts-0 and a credit to accounts-1, commit all with the input offset.

    Each side is flushed before the next, so that the frames of one write are together; a program need not do that.
    It begins after `wait_ms`; after so many empty polls it ends with "nothing to do" (0: it polls for ever).
    """
    if wait_ms:
        await app.sleep(wait_ms)
    producer = app.producer(transactional_id=transactional_id)
    consumer = app.consumer(
        group_id=GROUP, isolation_level="read_committed", auto_offset_reset="earliest", enable_auto_commit=False
    )
    consumer.assign(["transfers-0"])
    await producer.init_transactions()
    while not (records := await consumer.poll()):
        if consumer.has_all_fetch_positions():  # it was read in vain; a lost Fetch is an empty poll, too: ask again
            polls -= 1
            if not polls:
                return "nothing to do"
    producer.begin_transaction()
    for partition, sign in ((0, "-"), (1, "+")):
        for record in records:
            headers = made_from(record)
            await producer.send("accounts", f"{sign}{record.value}", partition=partition, headers=headers)
        await producer.flush()
    next_offset = records[-1].offset + 1
    await producer.send_offsets_to_transaction({"transfers-0": next_offset}, consumer.group_metadata())
    await producer.commit_transaction()
    return "committed"


@program
async def first_transaction(app: App, transactional_id: Name = TRANSACTIONAL_ID, records: Count = 1) -> str:
    """Initialise, then one transaction with so many records to accounts-0."""
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    if records == 0:
        return "initialised"
    producer.begin_transaction()
    for number in range(records):
        await producer.send("accounts", f"{10 + number}", partition=0)
    await producer.commit_transaction()
    return "committed"


@program
async def transactions(
    app: App, transactional_id: Name, count: Count = 1, topic: Name = "out", records: Count = 1
) -> int:
    """So many transactions, each with so many records to partition 0 of the topic; how many were committed."""
    producer = app.producer(transactional_id=transactional_id, linger_ms=0)
    await producer.init_transactions()
    for number in range(count):
        producer.begin_transaction()
        for record in range(records):
            await producer.send(topic, f"{transactional_id}/{number}/{record}", partition=0)
        await producer.commit_transaction()
    return count


@program
async def read_all(app: App, partitions: list[Partition], isolation_level: str = "read_committed") -> list[list[Any]]:
    """Every record of the partitions, from the start to the end that the isolation level sees: [partition, value]."""
    consumer = app.consumer(isolation_level=isolation_level, auto_offset_reset="earliest")
    consumer.assign(partitions)
    found: list[list[Any]] = []
    ends = {p: await consumer.end_offset(p) for p in partitions}
    while any([await consumer.position(p) < ends[p] for p in partitions]):
        found += [[r.partition, r.value] for r in await consumer.poll(500)]
    return found


def read_to_the_end(cluster: Cluster) -> None:
    """Every topic of the scenario was read to its end, under both isolation levels, by nodes called final-..."""
    partitions = [f"{t}-{i}" for t, n in cluster.scenario.topics.items() for i in range(n)]
    for level in ("read_committed", "read_uncommitted"):
        cluster.spawn(f"final-{level}", read_all, partitions=partitions, isolation_level=level)
    cluster.run()


@program
async def committed_offsets(app: App, group: Name, partitions: list[Partition]) -> dict[str, int]:
    """The group's committed offsets, once no transaction is undecided."""
    consumer = app.consumer(group_id=group, isolation_level="read_committed", default_api_timeout_ms=3_600_000)
    return await consumer.committed(partitions)


@program
async def operations(app: App, steps: ProducerCalls, transactional_id: Name | None = None) -> str:
    """A list of producer calls as data: [["begin_transaction"], ["send", "out", "value"], ["commit_transaction"]]."""
    producer = app.producer(transactional_id=transactional_id)
    for name, *args in steps:
        await (app.sleep(*args) if name == "sleep" else getattr(producer, name)(*args))
    return "done"


@program
async def consumer_operations(
    app: App, steps: ConsumerCalls, isolation_level: str = "read_committed", group_id: Name | None = None
) -> list[list[Any]]:
    """A list of consumer calls as data: [["assign", ["out-0"]], ["poll", 500], ["seek", "out-0", 0], ["sleep", 20]].

    The result is what its polls returned: [partition, offset, value].
    """
    consumer = app.consumer(isolation_level=isolation_level, group_id=group_id, auto_offset_reset="earliest")
    found: list[list[Any]] = []
    for name, *args in steps:
        if name in ("assign", "seek"):
            getattr(consumer, name)(*args)
        elif name == "poll":
            found += [[r.partition, r.offset, r.value] for r in await consumer.poll(*args)]
        else:
            await (app.sleep(*args) if name == "sleep" else getattr(consumer, name)(*args))
    return found


@register_scenario
def kafka_17754(profile: str = "4.x/TV1", first_commits: bool = True, seed: int = 1) -> Scenario:
    """The torn transaction of KAFKA-17754: a first EndTxn is so slow that its retry ends the first transaction.

    It arrives in the middle of the second one, which has the same producer id and, before transaction version 2, the
    same epoch: so it ends what was written until then. The application ends the second transaction the other way.
    """
    first, second = ("commit_transaction", "abort_transaction") if first_commits else (
        "abort_transaction", "commit_transaction")  # fmt: skip
    steps = [
        ["init_transactions"],
        *(["begin_transaction"], ["send", "out", "first-a", None, 0], ["send", "out", "first-b", None, 1], ["flush"]),
        [first],
        *(["begin_transaction"], ["send", "out", "second-a", None, 0], ["flush"], ["sleep", 2000]),
        *(["send", "out", "second-b", None, 1], ["flush"]),
        [second],
    ]
    return Scenario(
        title="KAFKA-17754: one late EndTxn ends the next transaction",
        profile=profile,
        seed=seed,
        topics={"out": 2},
        programs=(Program("app", "operations", {"transactional_id": "orders-0", "steps": steps}),),
        faults=(Delay("EndTxn#1", 31_500),),
    )
