"""The rows of a block's ordinary traffic that say what clients and coordinators did: operations, entries, frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafkalab.protocol.partitions import transaction_partition
from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.block import BATCH, COMMIT, END, FILL, INPUT, Block, ranks
from kafkalab.spark.synthetic.names import EMPTY, NULL, Ints, name_of
from kafkalab.spark.synthetic.rows import (
    COORDINATOR,
    Columns,
    Records,
    frame_number,
    leader_of,
    names_of_members,
)
from kafkalab.spark.synthetic.windows import COMMITS_KEY

TIMEOUT_MS = 60_000
PRODUCE_VERSIONS = (11, 12)
"""Without and with adding partitions on the way, which transaction version 2 does."""


def operations(block: Block) -> list[Columns]:
    """init, begin, send, offsets, commit and abort: all invokes first, then their ends in the same order."""
    invoke = {"type": name_of("invoke"), "error": EMPTY, "invocation": -1}
    ok = {"type": name_of("ok"), "error": name_of("NONE")}
    invokes: list[Columns] = []
    ends: list[Columns] = []
    place = 0
    for part, begun, ended in (_inits(block), _begins(block), *_sends(block), _offsets(block), _ends(block)):
        told = part.pop("told", part["offset"])
        invokes.append(part | invoke | {"step": begun})
        ends.append(part | ok | {"offset": told, "step": ended, "invocation": place + np.arange(len(begun))})
        place += len(begun)
    return [*invokes, *ends]


_NOTHING: Columns = {
    "transaction": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "key": EMPTY,
    "sequence": -1,
    "offset": -1,
    "value": NULL,
    "headers": NULL,
}


def _build_call(block: Block, who: Ints, function: int | Ints, **given: Ints | int) -> Columns:
    return {**_NOTHING, **_members(block, who), "function": function, **given}


def _members(block: Block, who: Ints) -> Columns:
    return {name: names_of_members(block, name)[who] for name in ("process", "client", "transactional_id")}


def _inits(block: Block) -> tuple[Columns, Ints, Ints]:
    return _build_call(block, np.arange(len(block.inits)), name_of("init")), block.inits + 1, block.inits + 4


def _begins(block: Block) -> tuple[Columns, Ints, Ints]:
    start = first_batches(block)
    return _build_call(block, block.producer, name_of("begin"), transaction=block.txn_number), start, start


def first_batches(block: Block) -> Ints:
    """The step at which each transaction's first batch begins."""
    mine: Ints = block.first_of(BATCH)[ranks(block.batch.slot) == 0]
    return mine


def _sends(block: Block) -> Iterator[tuple[Columns, Ints, Ints]]:
    """Those of transactions, then those of the idempotent producer, with the inputs."""
    records = Records(block)
    many = records.sizes[0]
    txn = records.txn[:many]
    filler: Columns = {"process": names.IDEMPOTENT + block.filler, "client": names.IDEMPOTENT_CLIENT + block.filler}
    clients = _members(block, block.producer[txn]) | {"transaction": block.txn_number[txn]}
    for rows, client in ((slice(many), clients), (slice(many, None), filler | {"transactional_id": NULL})):
        sent: Columns = {name: getattr(records, name)[rows] for name in ("key", "sequence", "value", "headers")}
        sent |= {"producer_id": records.pid[rows], "producer_epoch": records.epoch[rows], "told": records.offset[rows]}
        start = records.start[rows]
        yield {**_NOTHING, **client, **sent, "function": name_of("send")}, start + 1, start + 4


def _offsets(block: Block) -> tuple[Columns, Ints, Ints]:
    takes, start = block.takes, block.first_of(COMMIT)
    who = np.full(len(takes), block.active)
    columns = _build_call(
        block,
        who,
        name_of("offsets"),
        transaction=block.txn_number[takes],
        producer_id=block.pid[who],
        producer_epoch=block.epoch[takes],
        key=names.IN + block.lane,
        offset=block.number * block.shape.inputs + np.cumsum(block.granted[takes]),
        value=name_of("app"),
    )
    return columns, start + 1, start + 4


def _ends(block: Block) -> tuple[Columns, Ints, Ints]:
    function = np.array([name_of("commit"), name_of("abort")])[block.aborted.astype(np.int64)]
    start = block.first_of(END)
    return _build_call(block, block.producer, function, transaction=block.txn_number), start, start + 3


def transactions(block: Block) -> tuple[list[Columns], Ints, Ints]:
    """Empty, Ongoing, Prepare and Complete; and the lists of partitions that they name by number, flat, with counts."""
    ids = names_of_members(block, "transactional_id")
    homes = np.array([_home(name) for name in ids.tolist()])
    started, end_of, producer = first_batches(block), block.first_of(END), block.producer
    kind, ended = block.aborted.astype(np.int64), block.epoch + block.shape.bump
    prepared, complete = (
        np.array([name_of(f"{when}Commit"), name_of(f"{when}Abort")])[kind] for when in ("Prepare", "Complete")
    )
    own, none = np.arange(block.txns), block.txns
    entries: list[tuple[Ints, Ints | int, Ints, Ints | int, Ints | int, Ints]] = [
        (np.arange(len(block.member)), name_of("Empty"), block.first_epoch, none, -1, block.inits + 2),
        (producer, name_of("Ongoing"), block.epoch, own, started, started + 1),
        (producer, prepared, ended, own, started, end_of + 1),
        (producer, complete, ended, none, -1, end_of + 6),
    ]
    usual: Columns = {"timeout_ms": TIMEOUT_MS, "coordinator_epoch": 0, "node": COORDINATOR, "removed": EMPTY}
    parts = [
        usual
        | {"key": homes[who], "offset": step, "transactional_id": ids[who], "state": state, "step": step}
        | {"producer_id": block.pid[who], "producer_epoch": epoch, "partitions": partitions, "started": begun}
        for who, state, epoch, partitions, begun, step in entries
    ]
    return parts, *_partitions(block)


def _home(transactional_id: int) -> int:
    text = names.text_of(transactional_id)
    assert text is not None
    return names.TXN_LOG + int(transaction_partition(text).rpartition("-")[2])


def _partitions(block: Block) -> tuple[Ints, Ints]:
    """The partitions of each transaction, flat, and how many each has, a processor's offsets among them; then none."""
    key = names.OUT + block.keys.start + block.batch.key
    txn = np.r_[block.batch.slot, block.takes]
    order = np.argsort(txn, kind="stable")
    flat = np.r_[key, np.full(len(block.takes), COMMITS_KEY)][order]
    return flat, np.bincount(txn, minlength=block.txns + 1).astype(np.int64)


def frames(block: Block) -> list[Columns]:
    """Produce, TxnOffsetCommit, EndTxn and WriteTxnMarkers, each with its response."""
    lane, out = block.lane, block.keys.start
    processes = names_of_members(block, "process")
    filler = names.IDEMPOTENT + block.filler
    version = PRODUCE_VERSIONS[block.shape.bump]
    end_of, owner = block.first_of(END), processes[block.producer]
    app, some = names.APP + lane, np.ones(len(block.takes), np.int64)
    batch, fill = out + block.batch.key, out + block.filling.key
    writer = owner[block.batch.slot]
    parts: list[tuple[str, Ints | int, Ints | int, int, Ints]] = [
        ("Produce", writer, leader_of(block, batch), version, block.first_of(BATCH) + 1),
        ("Produce", filler, leader_of(block, fill), version, block.first_of(FILL) + 1),
        ("Produce", filler, some * leader_of(block, lane), version, block.first_of(INPUT) + 1),
        ("TxnOffsetCommit", app, some * (names.BROKER + 1), 3 + 2 * block.shape.bump, block.first_of(COMMIT) + 1),
        ("EndTxn", owner, np.full(block.txns, COORDINATOR), 3 + 2 * block.shape.bump, end_of),
        ("WriteTxnMarkers", COORDINATOR, np.full(block.txns, names.BROKER + 1), 1 + block.shape.bump, end_of + 3),
    ]  # fmt: skip
    found: list[Columns] = []
    for name, sender, receiver, number, sent in parts:
        request, response = names.REQUEST[name] + frame_number(sent), names.REPLY[name] + frame_number(sent)
        same: Columns = {"version": number, "copy_of": EMPTY, "attempt": 1, "fate": name_of("delivered")}
        asked: Columns = {"name": name_of(name), "kind": name_of("request"), "sender": sender, "receiver": receiver}
        told: Columns = {
            "name": name_of(f"{name}Response"), "kind": name_of("response"), "sender": receiver, "receiver": sender
        }  # fmt: skip
        asked |= {"id": request, "of": EMPTY, "error": EMPTY, "sent_step": sent, "received_step": sent + 1}
        told |= {"id": response, "of": request, "error": name_of("NONE")}
        found += [same | asked, same | told | {"sent_step": sent + 2, "received_step": sent + 3}]
    return found
