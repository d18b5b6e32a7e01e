"""The watch over the tables sees what was looked at, and leaves the tables as they were."""

from __future__ import annotations

from kafkalab import lab03
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.protocol.transition_tables.transaction import TABLES, Ask
from kafkalab.sim.cluster import Cluster
from tests.cells import watching


def test_a_run_visits_the_cells_of_its_transaction() -> None:
    before = {name: dict(table) for name, table in TABLES.items()}
    with watching(TABLES) as seen:
        Cluster(lab03("4.x/TV1")).run()
    assert len(seen) == 6 * 6 + 6 * 8
    assert seen["TV1", TxnState.ONGOING, Ask.COMMIT] == 1
    assert seen["TV1", TxnState.EMPTY, Ask.ABORT] == 0
    assert {name: dict(table) for name, table in TABLES.items()} == before
    assert all(type(row) is dict for table in TABLES.values() for row in table.values())
