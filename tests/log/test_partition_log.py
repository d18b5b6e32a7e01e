"""High watermark, last stable offset, aborted transactions, truncation (docs/protocol.md#reading; LOG-10, LOG-11,
LOG-13)."""

from __future__ import annotations

from kafkalab.log.aborted_filter import deliver
from kafkalab.log.group_offsets import GroupOffsets, OffsetCommit
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.records import Batch, ControlType, Record, marker


class Writer:
    """Appends batches of a partition with running sequences; the offsets follow from the counts."""

    def __init__(self) -> None:
        self.log = PartitionLog("p-0")
        self.sequences: dict[int, int] = {}

    def data(self, producer_id: int, count: int, transactional: bool = True) -> None:
        first = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = first + count
        records = tuple(Record(None, f"{producer_id}.{first + i}") for i in range(count))
        plain = producer_id < 0
        self.log.append(
            Batch(
                records=records,
                producer_id=producer_id,
                producer_epoch=-1 if plain else 0,
                base_sequence=-1 if plain else first,
                transactional=transactional and not plain,
            ),
            0,
        )

    def end(self, producer_id: int, control: ControlType) -> None:
        self.log.append(marker(producer_id, 0, control, 0, 0), 0)


def ten() -> Writer:
    """pid1 0-4; plain 5-7; pid2 8-9; pid1 10-13; plain 14-15; pid1 16-25, all replicated; COMMIT pid1 at 26."""
    w = Writer()
    for producer_id, count in ((1, 5), (-1, 3), (2, 2), (1, 4), (-1, 2), (1, 10)):
        w.data(producer_id, count)
    w.log.advance(26)
    w.end(1, ControlType.COMMIT)
    return w


def test_a_committed_transaction_stays_unstable_until_its_marker_is_replicated() -> None:
    w = ten()
    assert w.log.last_stable_offset == 0
    w.log.advance(27)
    assert w.log.last_stable_offset == 8
    w.end(2, ControlType.ABORT)
    assert w.log.last_stable_offset == 8
    w.log.advance(28)
    assert w.log.last_stable_offset == 28


def test_one_open_transaction_blocks_everything_behind_it() -> None:
    w = Writer()
    w.data(1, 1)
    w.data(2, 1)
    w.end(2, ControlType.COMMIT)
    w.data(-1, 1)
    w.log.advance(4)
    assert (w.log.high_watermark, w.log.last_stable_offset) == (4, 0)


def test_the_aborted_index_is_that_of_kafkas_example() -> None:
    w = Writer()
    script: list[tuple[int, int | str]]
    script = [(1, 5), (-1, 3), (2, 2), (1, 4), (3, 3), (-1, 2), (1, 10), (1, "ABORT"), (2, 6), (4, 3), (-1, 10), (3, 9)]
    script += [(3, "COMMIT"), (4, 8), (2, 7), (2, "ABORT"), (-1, 10), (4, 4), (4, "COMMIT")]
    for producer_id, what in script:
        if isinstance(what, str):
            w.end(producer_id, ControlType[what])
        else:
            w.data(producer_id, what)
    entries = w.log.transaction_index.entries
    found = [(a.producer_id, a.first_offset, a.last_offset, a.last_stable_offset) for a in entries]
    assert found == [(1, 0, 29, 8), (2, 8, 74, 36)]
    assert [a.producer_id for a in w.log.aborted_between(0, 8)] == [1]
    assert [a.producer_id for a in w.log.aborted_between(30, 75)] == [2]


def test_a_consumer_skips_what_was_aborted_and_delivers_what_the_same_producer_wrote_later() -> None:
    w = Writer()
    w.data(1, 1)
    w.end(1, ControlType.ABORT)
    w.data(1, 1)
    w.end(1, ControlType.COMMIT)
    w.log.advance(4)
    batches = w.log.read(0, 4)
    records, position = deliver("p-0", 0, batches, w.log.aborted_between(0, 4))
    assert ([(r.offset, r.value) for r in records], position) == ([(2, "1.1")], 4)
    uncommitted, _ = deliver("p-0", 0, batches, None)
    assert [r.offset for r in uncommitted] == [0, 2]


def test_an_aborted_transaction_alone_moves_the_position_past_its_marker() -> None:
    w = Writer()
    w.data(1, 2)
    w.end(1, ControlType.ABORT)
    assert deliver("p-0", 0, w.log.batches, w.log.aborted_between(0, 3)) == ([], 3)


def test_truncation_rebuilds_producer_state_and_marks() -> None:
    w = ten()
    w.log.advance(27)
    w.log.truncate(10)
    assert (w.log.log_end_offset, w.log.high_watermark, w.log.last_stable_offset) == (10, 10, 0)
    assert w.log.producers.ongoing == {1: 0, 2: 8}


def test_reading_starts_in_the_batch_that_holds_the_offset() -> None:
    w = ten()
    assert [b.base_offset for b in w.log.read(6, 10)] == [5, 8]
    assert w.log.read(27, 40) == []


def test_offsets_of_a_transaction_count_with_its_commit_marker_only() -> None:
    offsets = GroupOffsets()

    def commit(producer_id: int, partition: str, offset: int, at: int) -> None:
        entry = OffsetCommit(group="g", partition=partition, offset=offset)
        batch = Batch(
            records=(Record(None, entry),),
            base_offset=at,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            transactional=producer_id >= 0,
        )
        offsets.apply(batch)

    commit(-1, "bar-0", 99, 0)
    commit(5, "bar-0", 100, 1)
    commit(6, "bar-1", 200, 2)
    assert offsets.is_unstable("g", "bar-0")
    for producer_id, control in ((1, ControlType.COMMIT), (5, ControlType.COMMIT), (6, ControlType.ABORT)):
        offsets.apply(marker(producer_id, 0, control, 0, 0))
    assert {k: s.offset for k, s in offsets.committed.items()} == {("g", "bar-0"): 100}
    commit(5, "bar-0", 101, 3)
    commit(-1, "bar-0", 102, 4)
    offsets.apply(marker(5, 0, ControlType.COMMIT, 0, 0))
    assert offsets.committed["g", "bar-0"].offset == 102
