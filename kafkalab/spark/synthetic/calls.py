"""The rows of a block's ordinary traffic that say what clients and coordinators did: operations, entries, frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from kafkalab.protocol.partitions import transaction_partition
from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.block import BATCH, COMMIT, END, FILL, INPUT, WINDOW, Block, before, ranks
from kafkalab.spark.synthetic.names import EMPTY, NULL, Ints, word
from kafkalab.spark.synthetic.rows import (
    COORDINATOR,
    OFFSETS_KEY,
    Columns,
    Records,
    frame_number,
    leader_of,
    names_of_members,
)

TIMEOUT_MS = 60_000
PRODUCE_VERSIONS = (11, 12)
"""Without and with adding partitions on the way, which transaction version 2 does."""


def operations(block: Block) -> list[Columns]:
    """init, begin, send, offsets, commit and abort: all invokes first, then their ends in the same order."""
    parts = [_inits(block), _begins(block), _sends(block), _offsets(block), _ends(block)]
    invokes = [part | {"type": word("invoke"), "error": EMPTY, "offset": part["offset"]} for part, _, _ in parts]
    places = np.cumsum([0, *(len(steps) for _, steps, _ in parts)])
    found: list[Columns] = [
        one | {"step": steps, "invocation": -1} for one, (_, steps, _) in zip(invokes, parts, strict=True)
    ]
    for (part, steps, ends), place in zip(parts, places[:-1], strict=True):
        told = part | {"offset": part["told"]} if "told" in part else part
        found.append(
            told
            | {"type": word("ok"), "error": word("NONE"), "step": ends, "invocation": place + np.arange(len(steps))}
        )
    return [{name: column for name, column in one.items() if name != "told"} for one in found]


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


def _called(block: Block, who: Ints, function: int | Ints, **given: Ints | int) -> Columns:
    return {
        **_NOTHING,
        "process": names_of_members(block, "process")[who],
        "client": names_of_members(block, "client")[who],
        "transactional_id": names_of_members(block, "id")[who],
        "function": function,
        **given,
    }


def _inits(block: Block) -> tuple[Columns, Ints, Ints]:
    first = np.full(len(block.member), block.cell * block.shape.steps)
    return _called(block, np.arange(len(first)), word("init")), first + 1, first + 4


def _begins(block: Block) -> tuple[Columns, Ints, Ints]:
    start = first_batches(block)
    return _called(block, block.producer, word("begin"), transaction=block.txn_number), start, start


def first_batches(block: Block) -> Ints:
    """The step at which each transaction's first batch begins."""
    mine: Ints = block.first_of(BATCH)[ranks(block.batch.slot) == 0]
    return mine


def _sends(block: Block) -> tuple[Columns, Ints, Ints]:
    records = Records(block)
    of_txn, others = records.sizes[0], sum(records.sizes[1:])
    txn, same = records.txn[:of_txn], np.ones(others, np.int64)
    columns = _called(block, block.producer[txn], word("send"), key=records.key, told=records.offset)
    for name, space in (("process", names.IDEMPOTENT), ("client", names.IDEMPOTENT_CLIENT)):
        columns[name] = np.r_[columns[name], same * (space + block.filler)]
    columns |= {
        "transactional_id": np.r_[columns["transactional_id"], same * NULL],
        "transaction": np.r_[block.txn_number[txn], -same],
        "producer_id": records.pid,
        "producer_epoch": records.epoch,
        "sequence": records.sequence,
        "value": records.value,
        "headers": records.headers,
    }
    return columns, records.start + 1, records.start + 4


def _offsets(block: Block) -> tuple[Columns, Ints, Ints]:
    takes, start = block.takes, block.first_of(COMMIT)
    who = np.full(len(takes), block.active)
    columns = _called(
        block,
        who,
        word("offsets"),
        transaction=block.txn_number[takes],
        producer_id=block.pid[who],
        producer_epoch=block.epoch[takes],
        key=names.IN + block.lane,
        offset=block.number * block.shape.inputs + np.cumsum(block.granted[takes]),
        value=word("app"),
    )
    return columns, start + 1, start + 4


def _ends(block: Block) -> tuple[Columns, Ints, Ints]:
    function = np.array([word("commit"), word("abort")])[block.aborted.astype(np.int64)]
    start = block.first_of(END)
    return _called(block, block.producer, function, transaction=block.txn_number), start, start + 3


def entry_offsets(block: Block) -> tuple[Ints, Ints, Ints, Ints]:
    """Offsets in the transaction log: of initialising, beginning and ending, and the first one of each window."""
    uses = np.zeros(len(block.start), np.int64)
    begins = block.place[BATCH][ranks(block.batch.slot) == 0]
    uses[begins], uses[block.place[END]] = 1, 2
    uses[block.place[WINDOW]] = [w.entries for _, _, w in block.windows]
    first = block.cell * block.shape.internal
    offsets = first + len(block.member) + before(uses)
    place = block.place
    return first + np.arange(len(block.member)), offsets[begins], offsets[place[END]], offsets[place[WINDOW]]


def transactions(block: Block) -> tuple[Columns, Ints, Ints]:
    """Empty, Ongoing, Prepare and Complete; with the partitions of each entry as a flat column and counts."""
    inits, begins, ends, _ = entry_offsets(block)
    who = np.r_[np.arange(len(block.member)), *[block.producer] * 3]
    ids = names_of_members(block, "id")
    homes = np.array([_home(name) for name in ids.tolist()])
    started, end_of = first_batches(block), block.first_of(END)
    kind = block.aborted.astype(np.int64)
    states = [np.array([word(f"{when}Commit"), word(f"{when}Abort")])[kind] for when in ("Prepare", "Complete")]
    initial, bump = np.full(len(block.member), word("Empty")), block.shape.bump
    columns: Columns = {
        "key": homes[who],
        "offset": np.concatenate([inits, begins, ends, ends + 1]),
        "transactional_id": ids[who],
        "state": np.concatenate([initial, np.full(block.txns, word("Ongoing")), *states]),
        "producer_id": block.pid[who],
        "producer_epoch": np.concatenate([block.first_epoch, block.epoch, block.epoch + bump, block.epoch + bump]),
        "timeout_ms": TIMEOUT_MS,
        "started": np.concatenate([-np.ones_like(inits), started, started, -np.ones_like(ends)]),
        "coordinator_epoch": 0,
        "node": COORDINATOR,
        "removed": EMPTY,
        "step": np.concatenate(
            [np.full(len(inits), block.cell * block.shape.steps + 2), started + 1, end_of + 1, end_of + 6]
        ),
    }
    partitions, sizes = _partitions(block)
    none, nothing = np.zeros(len(inits), np.int64), np.zeros(block.txns, np.int64)
    return columns, np.r_[partitions, partitions], np.concatenate([none, sizes, sizes, nothing])


def _home(transactional_id: int) -> int:
    text = names.text_of(transactional_id)
    assert text is not None
    return names.TXN_LOG + int(transaction_partition(text).rpartition("-")[2])


def _partitions(block: Block) -> tuple[Ints, Ints]:
    """The partitions of each transaction, flat, and how many each has; a processor's offsets among them."""
    key = names.OUT + block.keys.start + block.batch.key
    txn = np.r_[block.batch.slot, block.takes]
    order = np.argsort(txn, kind="stable")
    flat = np.r_[key, np.full(len(block.takes), OFFSETS_KEY)][order]
    return flat, np.bincount(txn, minlength=block.txns).astype(np.int64)


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
    parts = [
        ("Produce", writer, leader_of(block, batch), version, block.first_of(BATCH) + 1),
        ("Produce", filler, leader_of(block, fill), version, block.first_of(FILL) + 1),
        ("Produce", filler, some * leader_of(block, lane), version, block.first_of(INPUT) + 1),
        ("TxnOffsetCommit", app, some * (names.BROKER + 1), 3 + 2 * block.shape.bump, block.first_of(COMMIT) + 1),
        ("EndTxn", owner, np.full(block.txns, COORDINATOR), 3 + 2 * block.shape.bump, end_of),
        ("WriteTxnMarkers", COORDINATOR, np.full(block.txns, names.BROKER + 1), 1 + block.shape.bump, end_of + 3),
    ]  # fmt: skip
    found: list[Columns] = []
    for name, sender, receiver, number, sent in parts:
        request = names.REQUEST[name] + frame_number(sent)
        response = names.REPLY[name] + frame_number(sent)
        same: dict[str, Any] = {"version": number, "copy_of": EMPTY, "attempt": 1, "fate": word("delivered")}
        found.append(
            same
            | {"id": request, "name": word(name), "kind": word("request"), "sender": sender, "receiver": receiver}
            | {"error": EMPTY, "of": EMPTY, "sent_step": sent, "received_step": sent + 1}
        )
        found.append(
            same
            | {
                "id": response,
                "name": word(f"{name}Response"),
                "kind": word("response"),
                "sender": receiver,
                "receiver": sender,
            }
            | {"error": word("NONE"), "of": request, "sent_step": sent + 2, "received_step": sent + 3}
        )
    return found
