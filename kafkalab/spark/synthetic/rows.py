"""The rows that a block's ordinary traffic leaves in each table, as int64 columns in raw form.

Raw form: texts are names (kafkalab/spark/synthetic/names.py), virtual time and the index of operations are left out,
and an invocation is the place of its invoke among the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.block import BATCH, COMMIT, END, FILL, INPUT, POLL, TAKE, WINDOW, Block, ranks
from kafkalab.spark.synthetic.names import EMPTY, NULL, Ints, name_of
from kafkalab.spark.synthetic.shape import BLOCKS_OF_A_LEADER
from kafkalab.spark.synthetic.windows import COMMITS_KEY

Columns = dict[str, Ints | int]
COORDINATOR = names.BROKER + 3
READ_COMMITTED, READ_UNCOMMITTED = name_of("read_committed"), name_of("read_uncommitted")
KINDS = np.array([name_of("COMMIT"), name_of("ABORT")])


class Records:
    """Data records of a block, one element each: those of transactions, of the idempotent producer, and inputs."""

    def __init__(self, block: Block) -> None:
        shape, batch, fill = block.shape, block.batch, block.filling
        taken = block.granted[block.takes]
        self.of_batch = np.repeat(np.arange(len(batch.key)), batch.count)
        self.of_fill = np.repeat(np.arange(len(fill.key)), fill.count)
        self.of_input = np.repeat(np.arange(len(block.takes)), taken)
        self.sizes = [len(self.of_batch), len(self.of_fill), len(self.of_input)]
        inside = [ranks(of) for of in (self.of_batch, self.of_fill, self.of_input)]
        input_base = block.number * shape.inputs
        key = [names.OUT + block.keys.start + k for k in (batch.key[self.of_batch], fill.key[self.of_fill])]
        self.key = np.concatenate([*key, np.full(self.sizes[2], names.IN + block.lane)])
        offsets = [block.batch_offset[self.of_batch] + inside[0], block.fill_offset[self.of_fill] + inside[1]]
        self.offset = np.concatenate([*offsets, input_base + np.arange(self.sizes[2])])
        starts = [block.first_of(BATCH)[self.of_batch], block.first_of(FILL)[self.of_fill]]
        self.start = np.concatenate([*starts, block.first_of(INPUT)[self.of_input]])
        self.txn = np.concatenate([batch.slot[self.of_batch], np.full(self.sizes[1] + self.sizes[2], -1)])
        sequences = [block.batch_sequence[self.of_batch] + inside[0], block.fill_sequence[self.of_fill] + inside[1]]
        self.sequence = np.concatenate([*sequences, np.arange(self.sizes[2])])
        filler = np.full(self.sizes[1] + self.sizes[2], block.filler)
        owner = block.producer[batch.slot[self.of_batch]]
        self.pid = np.concatenate([block.pid[owner], filler])
        self.epoch = np.concatenate([block.epoch[batch.slot[self.of_batch]], np.zeros_like(filler)])
        self.headers = np.full(len(self.key), NULL)
        self.value = self._values(block)

    def _values(self, block: Block) -> Ints:
        """Numbers of their own; what a processor sends has the number of an input."""
        first = block.cell * block.shape.values
        number = first + np.arange(len(self.key))
        value = names.VALUE + number
        transformed = np.flatnonzero(block.transforms[self.txn[: self.sizes[0]]])
        value[transformed] = names.RESULT + number[self.sizes[0] + self.sizes[1] :][: len(transformed)]
        inputs = self.offset[self.sizes[0] + self.sizes[1] :][: len(transformed)]
        self.headers[transformed] = names.source_of_in(block.lane) + inputs
        return value


def leader_of(block: Block, number: Ints | int) -> Ints:
    """The broker that leads partitions with these numbers in this block."""
    brokers: Ints = names.BROKER + 1 + (np.asarray(number) + block.leader_epoch) % 3
    return brokers


def names_of_members(block: Block, what: str) -> Ints:
    """process, client or transactional_id of each active producer; the last one is the lane's processor."""
    normal, processor = {
        "process": (names.PRODUCER, names.APP),
        "client": (names.PRODUCER_CLIENT, names.APP_CLIENT),
        "transactional_id": (names.PRODUCER_ID, names.APP_ID),
    }[what]
    found: Ints = np.r_[normal + block.member[:-1], processor + block.lane]
    return found


def frame_number(steps: Ints) -> Ints:
    """Items begin at different multiples of 8."""
    return steps >> 3


def log(block: Block) -> list[Columns]:
    """Records, their markers, the offsets that the processor commits, and the markers of these."""
    records, slot, takes = Records(block), block.batch.slot, block.takes
    committed, end_of = block.first_of(COMMIT), block.first_of(END)
    marker_key = block.batch.key + block.keys.start
    marker_epoch, marker_frame = block.epoch + block.shape.bump, names.REQUEST["WriteTxnMarkers"] + frame_number(end_of)
    usual: Columns = {"record_key": NULL, "value": NULL, "sequence": -1, "transactional": 1, "control": EMPTY}
    usual |= {"coordinator_epoch": -1, "leader_epoch": block.leader_epoch, "headers": NULL}
    usual |= {"removed": EMPTY, "removed_step": -1}
    of_app: Columns = {"key": COMMITS_KEY, "producer_id": block.pid[block.active], "leader_epoch": 0}
    of_app["node"] = names.BROKER + 1
    parts: list[Columns] = [
        {name: getattr(records, name) for name in ("key", "offset", "value", "sequence", "headers")}
        | {"producer_id": records.pid, "producer_epoch": records.epoch, "transactional": records.txn >= 0}
        | {"node": leader_of(block, records.key & names.NUMBER), "step": records.start + 2}
        | {"frame": names.REQUEST["Produce"] + frame_number(records.start)},
        {"key": names.OUT + marker_key, "offset": block.marker_offset, "producer_id": block.pid[block.producer[slot]]}
        | {"producer_epoch": marker_epoch[slot], "control": KINDS[block.aborted[slot].astype(np.int64)]}
        | {"coordinator_epoch": 0, "node": leader_of(block, marker_key)}
        | {"frame": marker_frame[slot], "step": end_of[slot] + 4},
        of_app
        | {"offset": committed + 2, "record_key": names.COMMIT_OF_IN + block.lane, "sequence": 0}
        | {"value": names.PLAIN_NUMBER + block.number * block.shape.inputs + np.cumsum(block.granted[takes])}
        | {"producer_epoch": block.epoch[takes], "step": committed + 2}
        | {"frame": names.REQUEST["TxnOffsetCommit"] + frame_number(committed)},
        of_app
        | {"offset": end_of[takes] + 4, "producer_epoch": marker_epoch[takes], "control": name_of("COMMIT")}
        | {"coordinator_epoch": 0, "frame": marker_frame[takes], "step": end_of[takes] + 4},
    ]
    return [usual | part for part in parts]


def _positions(block: Block, level: int) -> tuple[Ints, npt.NDArray[np.bool_], Ints]:
    """Places of polls and windows in time; which are polls; the position of the lane's reader after each, by key."""
    places = np.concatenate([block.place[POLL], block.place[WINDOW]])
    order = np.argsort(places)
    at = block.stable_at if level == READ_COMMITTED else block.ends_at
    return (
        places[order],
        order < len(block.place[POLL]),
        np.stack([at(k, places[order]) for k in range(len(block.keys))]),
    )


def _reader(block: Block, level: int) -> tuple[Columns, int]:
    if level == READ_COMMITTED:
        return {"consumer": names.COMMITTED_CONSUMER + block.lane, "process": names.COMMITTED + block.lane}, 1
    return {"consumer": names.UNCOMMITTED_CONSUMER + block.lane, "process": names.UNCOMMITTED + block.lane}, 2


def polls(block: Block) -> list[Columns]:
    """Those of the lane's two readers, and of its processor."""
    found = []
    for level in (READ_COMMITTED, READ_UNCOMMITTED):
        who, later = _reader(block, level)
        places, is_poll, position = _positions(block, level)
        previous = np.c_[np.full(len(block.keys), block.base), position[:, :-1]]
        key, item = np.nonzero((position > previous) & is_poll)
        step = block.start[places[item]] + later
        moved = np.full(len(key), EMPTY)
        if block.number == 0:
            moved[ranks(key) == 0] = name_of("assign")
        found.append(
            who
            | {"group": NULL, "isolation_level": level, "poll": step, "key": names.OUT + block.keys.start + key}
            | {"start": previous[key, item], "end": position[key, item], "moved": moved, "step": step}
        )
    step, taken = block.first_of(TAKE) + 1, block.granted[block.takes]
    end = block.number * block.shape.inputs + np.cumsum(taken)
    moved = np.full(len(step), EMPTY)
    moved[:1] = name_of("assign") if block.number == 0 else EMPTY
    app: Columns = {"consumer": names.APP_CONSUMER + block.lane, "process": names.APP + block.lane}
    app |= {"group": name_of("app"), "isolation_level": READ_COMMITTED, "poll": step, "key": names.IN + block.lane}
    return [*found, app | {"start": end - taken, "end": end, "moved": moved, "step": step}]


def reads(block: Block) -> list[Columns]:
    """Return the reads that those polls returned."""
    records, width = Records(block), len(block.keys)
    lane = sum(records.sizes[:2])
    key, offset, value = (records.key[:lane] & names.NUMBER) - block.keys.start, records.offset[:lane], records.value
    aborted = np.r_[block.aborted, False][records.txn[:lane]]
    found = []
    for level in (READ_COMMITTED, READ_UNCOMMITTED):
        who, later = _reader(block, level)
        places, _, position = _positions(block, level)
        poll = np.empty(lane, np.int64)
        for k in range(width):
            mine = key == k
            poll[mine] = np.searchsorted(position[k], offset[mine], side="right")
        given = np.flatnonzero(~aborted) if level == READ_COMMITTED else np.arange(lane)
        given = given[np.argsort(((poll * width + key) * (block.rows + 1) + offset - block.base)[given], kind="stable")]
        step = block.start[places[poll[given]]] + later
        found.append(
            who
            | {"isolation_level": level, "poll": step, "index": ranks(poll[given]), "key": records.key[given]}
            | {"offset": offset[given], "value": value[given], "step": step}
        )
    step = (block.first_of(TAKE) + 1)[records.of_input]
    app: Columns = {"consumer": names.APP_CONSUMER + block.lane, "process": names.APP + block.lane}
    app |= {"isolation_level": READ_COMMITTED, "poll": step, "index": ranks(records.of_input), "step": step}
    return [*found, app | {"key": records.key[lane:], "offset": records.offset[lane:], "value": value[lane:]}]


def watermarks(block: Block) -> list[Columns]:
    """The leader's, after every append to an output partition."""
    found: list[Columns] = []
    ordinary = 2 * len(block.batch.key) + len(block.filling.key)
    for key, number in enumerate(block.keys):
        places = np.unique(block.append_at[block.appends[key][block.appends[key] < ordinary]])
        ends, stable = block.ends_at(key, places), block.stable_at(key, places)
        where: Columns = {"key": names.OUT + number, "node": leader_of(block, number), "step": block.start[places] + 5}
        when: Columns = {"leads": 1, "leader_epoch": block.leader_epoch}
        found.append(where | when | {"high_watermark": ends, "last_stable_offset": stable})
    return found


def leaders(block: Block) -> list[Columns]:
    """Of the lane's partitions, when they change; of the internal ones in the first cell."""
    if block.number % BLOCKS_OF_A_LEADER:
        return [{"key": np.zeros(0, np.int64), "leader": EMPTY, "leader_epoch": 0, "step": 0}]
    numbers = np.array(block.keys)
    key, leader = np.r_[names.OUT + numbers, names.IN + block.lane], leader_of(block, np.r_[numbers, block.lane])
    epoch = np.full(len(key), block.leader_epoch)
    if block.cell == 0:
        internal = np.r_[names.TXN_LOG + np.arange(50), COMMITS_KEY]
        key, epoch = np.r_[key, internal], np.r_[epoch, np.zeros_like(internal)]
        leader = np.r_[leader, np.full(50, COORDINATOR), names.BROKER + 1]
    return [{"key": key, "leader": leader, "leader_epoch": epoch, "step": block.cell * block.shape.steps}]
