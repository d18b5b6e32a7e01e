"""Hanging transactions: from the rows of find-hanging and a dump to the cause and the command that ends it."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.diagnose.finding import CERTAIN, LIKELY, UNKNOWN, Finding

Diagnose = Callable[..., list[Finding]]
HANGING = """\
Topic     \tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\t
out       \t3        \t9         \t4            \t0               \t12         \t1700000000000\t75           \t
"""
DUMP = """\
Dumping /data/out-3/00000000000000000000.log
Log starting offset: 0
baseOffset: 10 lastOffset: 10 count: 1 baseSequence: 5 lastSequence: 5 producerId: 9 producerEpoch: 4 \
partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 0 \
CreateTime: 1700000000000 size: 71 magic: 2 compresscodec: none crc: 1 isvalid: true
| offset: 10 CreateTime: 1700000000000 keySize: -1 valueSize: 3 sequence: 5 headerKeys: [] payload: abc
baseOffset: 11 lastOffset: 11 count: 1 baseSequence: -1 lastSequence: -1 producerId: 9 producerEpoch: 4 \
partitionLeaderEpoch: 0 isTransactional: true isControl: true deleteHorizonMs: OptionalLong.empty position: 71 \
CreateTime: 1700000005000 size: 78 magic: 2 compresscodec: none crc: 1 isvalid: true
| offset: 11 CreateTime: 1700000005000 keySize: 4 valueSize: 6 sequence: -1 headerKeys: [] endTxnMarker: ABORT \
coordinatorEpoch: 0
baseOffset: 12 lastOffset: 12 count: 1 baseSequence: 6 lastSequence: 6 producerId: 9 producerEpoch: 4 \
partitionLeaderEpoch: 0 isTransactional: true isControl: false deleteHorizonMs: OptionalLong.empty position: 149 \
CreateTime: 1700000001000 size: 71 magic: 2 compresscodec: none crc: 1 isvalid: true
| offset: 12 CreateTime: 1700000001000 keySize: -1 valueSize: 3 sequence: 6 headerKeys: [] payload: def
"""
ABORT = "kafka-transactions.sh --bootstrap-server host:9092 abort --topic out --partition 3 --start-offset 12"


def test_find_hanging_alone_is_certain_and_names_the_command(diagnose: Diagnose) -> None:
    (finding,) = diagnose(HANGING)
    assert (finding.mechanism, finding.cause, finding.where, finding.certainty) == ("hanging", "", "out-3", CERTAIN)
    assert finding.act == ABORT
    assert finding.proofs[0].source.line == 2


def test_a_dump_tells_that_the_batch_was_late(diagnose: Diagnose) -> None:
    for texts in ((HANGING, DUMP), (DUMP, HANGING)):
        (finding,) = diagnose(*texts)
        assert (finding.cause, finding.certainty) == ("late_batch", CERTAIN)
        assert [proof.source.line for proof in finding.proofs] == [2, 6, 7]


def test_a_dump_alone_is_likely_if_the_batch_is_older_than_the_marker(diagnose: Diagnose) -> None:
    (finding,) = diagnose(DUMP)
    assert (finding.cause, finding.certainty, finding.act) == ("late_batch", LIKELY, ABORT)
    assert "find-hanging --topic out --partition 3" in finding.ask


def test_a_dump_alone_is_unknown_if_the_batch_may_be_a_new_transaction(diagnose: Diagnose) -> None:
    (finding,) = diagnose(DUMP.replace("1700000001000", "1700000009000"))
    assert (finding.mechanism, finding.certainty, finding.act) == ("open_transaction", UNKNOWN, "")


def test_a_transaction_of_a_higher_epoch_is_only_open(diagnose: Diagnose) -> None:
    first, marker = DUMP.index("baseOffset: 12"), "producerEpoch: 4"
    (finding,) = diagnose(DUMP[:first] + DUMP[first:].replace(marker, "producerEpoch: 5"))
    assert (finding.mechanism, finding.certainty) == ("open_transaction", UNKNOWN)


def test_a_skipped_marker_is_unknown_until_the_partition_is_known_to_exist(diagnose: Diagnose) -> None:
    line = (
        "[2026-11-01 10:00:00,000] INFO Couldn't find leader endpoint for partitions Set(in-0, out-3) while trying to "
        "send transaction markers for till-0, these partitions are likely deleted already and hence can be skipped"
    )
    found = {one.where: one for one in diagnose(line)}
    assert {where: one.certainty for where, one in found.items()} == {"in-0": UNKNOWN, "out-3": UNKNOWN}
    assert {one.cause for one in found.values()} == {"skipped_marker"}
    head = DUMP[: DUMP.index("baseOffset: 12")]
    assert {one.where: one.certainty for one in diagnose(line, head)} == {"in-0": UNKNOWN, "out-3": LIKELY}
    both = {one.where: one for one in diagnose(line, HANGING)}
    assert both["out-3"].certainty == CERTAIN
    assert both["out-3"].bugs == ("KAFKA-20734",)
