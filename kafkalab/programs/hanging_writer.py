"""A transaction that hangs, on purpose: a batch comes after the marker, and the check that would refuse it is off."""

from __future__ import annotations

from kafkalab.client.admin.descriptions import AbortTransactionSpec
from kafkalab.client.exceptions import KafkaError
from kafkalab.faults.frame import Delay
from kafkalab.protocol.arguments import Count, Milliseconds, Name, Partition
from kafkalab.protocol.rules import PRODUCE_EPOCH, VERIFICATION
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.sim.scenario_names import register_scenario

LATE_MS = 20_000


@program
async def abort_without_waiting(app: App, transactional_id: Name, topic: Name, before: Count = 1) -> str:
    """So many records, then one that is given up on its way; the transaction is aborted and the program goes on."""
    producer = app.producer(
        transactional_id=transactional_id, linger_ms=0, request_timeout_ms=950, delivery_timeout_ms=1_000
    )
    await producer.init_transactions()
    producer.begin_transaction()
    for number in range(before):
        await (await producer.send(topic, str(number), partition=0))
    try:
        await (await producer.send(topic, "late", partition=0))
    except KafkaError as error:
        given_up = type(error).__name__
    else:
        given_up = "nothing"
    await producer.abort_transaction()
    await app.sleep(LATE_MS + 5_000)
    return f"aborted after {given_up}"


@program
async def abort_transaction(
    app: App, at_ms: Milliseconds, partition: Partition, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> str:
    """At a given time an administrator has an ABORT marker written (`kafka-transactions.sh abort`)."""
    await app.sleep(at_ms - app.now)
    await app.admin().abort_transaction(AbortTransactionSpec(partition, producer_id, producer_epoch, coordinator_epoch))
    return "aborted"


@program
async def force_terminate_transaction(app: App, at_ms: Milliseconds, transactional_id: Name) -> str:
    """At a given time an administrator ends the id's transaction through its coordinator."""
    await app.sleep(at_ms - app.now)
    await app.admin().force_terminate_transaction(transactional_id)
    return "terminated"


@register_scenario
def hanging(profile: str = "4.x/TV1") -> Scenario:
    """A transaction that hangs on out-0.

    Under version 1 the late batch is a Produce that nothing refuses once partitions are not verified (KAFKA-14402).
    Under version 2 the leader has asked the coordinator before the answer came late; the marker's higher epoch would
    still stop the batch, so that check is off too.
    """
    old = profile == "4.x/TV1"
    late = Delay("Produce#2" if old else "AddPartitionsToTxnResponse#1", LATE_MS)
    off = (VERIFICATION,) if old else (VERIFICATION, PRODUCE_EPOCH)
    return Scenario(
        title="A transaction that hangs",
        profile=profile,
        rules_off=tuple(rule.name for rule in off),
        topics={"out": 1},
        programs=(
            Program(
                "app",
                "abort_without_waiting",
                {"transactional_id": "payments-0", "topic": "out", "before": 1 if old else 0},
            ),
        ),
        faults=(late,),
    )
