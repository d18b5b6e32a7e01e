"""A service's first transaction, and clusters whose coordinator cannot be found: the scenarios of lab 02."""

from __future__ import annotations

from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.sim.app import App
from kafkalab.sim.scenario import program


@program
async def first_transaction(app: App, transactional_id: str = TRANSACTIONAL_ID, records: int = 1) -> str:
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
