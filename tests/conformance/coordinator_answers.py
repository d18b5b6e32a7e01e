"""The coordinator's answers as typed from the facts (coordinator_answers.csv), and the same asked of the handlers.

A cell says: the answer, `>` the record that is appended first and its epoch, `=` the epoch answered. E is the epoch
in the metadata; "-" for an answer means that nobody asked. `who` is the epoch in the request, or: nobody (no
expectation), last (E-1, which is the last epoch in memory), there (E, for a partition that is in the transaction),
other (another producer id), rotated (the producer id before, at its last epoch). MARKED's `versions` are the client's
transaction versions. Sources: docs/protocol.md#transaction-coordinator.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.broker.services import Context
from kafkalab.broker.transaction_coordinator.expiration import abort_timed_out
from kafkalab.protocol.errors import Error
from kafkalab.protocol.transaction_metadata import Txn
from tests.conformance.coordinator_world import EPOCH, PID, CoordinatorWorld, make_txn

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
FILE = Path(__file__).with_name("coordinator_answers.csv")
EPOCH_OF = {"E": EPOCH, "there": EPOCH, "last": EPOCH - 1, "other": EPOCH, "rotated": 32766}
EPOCH_OF |= {f"E{d:+d}": EPOCH + d for d in (-2, -1, 1)}
ROTATED = {"producer_id": 8, "producer_epoch": 0, "prev_producer_id": PID}


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer of the file: `table` names the cell of the coordinator's own table that it belongs to, if any."""

    table: str
    clusters: tuple[int, ...]
    ask: str
    versions: tuple[int, ...]
    who: str
    pending: str
    state: str
    expected: str

    def worlds(self) -> Iterator[tuple[int, int]]:
        """Every transaction version of a cluster, and every version of the request, that the answer is given in."""
        return ((cluster, version) for cluster in self.clusters for version in self.versions)


def _numbers(text: str) -> tuple[int, ...]:
    first, _, last = text.partition("-")
    return tuple(range(int(first), int(last or first) + 1))


def cells() -> list[Cell]:
    """The file, cell by cell."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    return [
        Cell(
            row["table"],
            _numbers(row["cluster"]),
            row["ask"],
            _numbers(row["versions"]),
            row["who"],
            row["pending"].replace("-", ""),
            state,
            row[state],
        )
        for row in rows
        for state in STATES
    ]


def answer(cell: Cell, cluster: int, version: int) -> str:
    """Return what the handlers answer, in the words of the file."""
    world = CoordinatorWorld(cluster)
    txn = make_txn(cell.state, timeout_ms=50, client_transaction_version=version if cell.ask == "MARKED" else 0)
    if cell.who == "rotated":
        txn = make_txn(cell.state, **ROTATED)
    if cell.who == "last":
        txn = make_txn(cell.state, last_producer_epoch=EPOCH - 1)
    world.holds(txn, cell.pending)
    response = _ask(world, cell, version)
    text = response.name if isinstance(response, Error) else "-" if response is None else response.error.name
    if written := world.list_written():
        text += f" > {written[0].state.label} {_epoch(txn, written[0].producer_epoch)}"
    if getattr(response, "producer_id", -1) == txn.producer_id:
        text += f" = {_epoch(txn, response.producer_epoch)}"
    return text


def _epoch(txn: Txn, epoch: int) -> str:
    return f"E{epoch - txn.producer_epoch:+d}" if epoch != txn.producer_epoch else "E"


def _ask(world: CoordinatorWorld, cell: Cell, version: int) -> Any:
    """The response, an error, or None where nobody asks."""
    producer_id = 9 if cell.who == "other" else PID
    epoch = EPOCH_OF.get(cell.who, -1)
    partition = "u-0" if cell.who == "there" else "v-0"
    match cell.ask:
        case "INIT":
            return world.init(version) if cell.who == "nobody" else world.init_expecting(producer_id, epoch, version)
        case "ADD":
            return world.add(partition, version=version, epoch=epoch, producer_id=producer_id)
        case "VERIFY":
            return world.verify(partition, version=version, epoch=epoch, producer_id=producer_id)
        case "ADD_OFFSETS":
            return world.add_offsets(version, epoch, producer_id)
        case "COMMIT" | "ABORT":
            return world.end(cell.ask == "COMMIT", version, epoch, producer_id)
        case "MARKED":
            world.load(world.now_known, epoch=9)
            world.before += 1
            world.answer_markers()
        case "TIMEOUT":
            world.run_for(100)
            world.broker.run(abort_timed_out(world.state), Context(None, -1))
        case _:
            raise ValueError(f"nobody asks {cell.ask!r}")
    return None


def differences(cell: Cell) -> list[str]:
    """Return what the handlers answer differently, in each version that the cell is about; also what they fail with."""
    found = []
    for cluster, version in cell.worlds():
        try:
            got = answer(cell, cluster, version)
        except Exception as failure:
            got = f"{type(failure).__name__}: {failure}"
        if got != cell.expected:
            found.append(f"{cell.ask} {cell.who} v{version} in {cell.state}, cluster {cluster}: {got}")
    return found
