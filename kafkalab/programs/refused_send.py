"""A record that `send` refused and that is committed all the same: Kafka adds it to its batch before it looks at the
state (`KafkaProducer.doSend`)."""

from __future__ import annotations

from kafkalab.client.exceptions import IllegalStateError
from kafkalab.protocol.arguments import Name
from kafkalab.sim.app import App
from kafkalab.sim.scenario import Program, Scenario, program
from kafkalab.sim.scenario_names import register_scenario

PATIENCE_MS = 5_000


@program
async def send_too_early(app: App, transactional_id: Name, topic: Name, elsewhere: bool = False) -> str:
    """Send one record before `begin_transaction`, note the refusal, and send another within a transaction.

    With `elsewhere` the second goes to partition 1: nothing releases the first, so that the commit times out.
    """
    producer = app.producer(transactional_id=transactional_id, linger_ms=0, max_block_ms=PATIENCE_MS)
    await producer.init_transactions()
    try:
        await producer.send(topic, "refused", partition=0)
    except IllegalStateError:
        producer.begin_transaction()
    await producer.send(topic, "accepted", partition=int(elsewhere))
    await producer.commit_transaction()
    return "committed"


@register_scenario
def refused_send(profile: str = "4.x/TV2", elsewhere: bool = False) -> Scenario:
    """A record that was refused becomes part of the next transaction, or blocks its commit (`elsewhere`)."""
    arguments = {"transactional_id": "payments-0", "topic": "out", "elsewhere": elsewhere}
    return Scenario(
        title="A refused record is committed",
        profile=profile,
        topics={"out": 2},
        programs=(Program("app", "send_too_early", arguments),),
    )
