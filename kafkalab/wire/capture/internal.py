"""The entries of Kafka's internal topics: keys and values of `__transaction_state` and `__consumer_offsets`
(`TransactionLogKey`, `TransactionLogValue`, `OffsetCommitKey`, `OffsetCommitValue`)."""

from __future__ import annotations

from struct import Struct

from kafkalab.history.schema import TxnEntry
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.wire.primitives import Source
from kafkalab.wire.structs import UNREADABLE, raw, read_versioned
from kafkalab.wire.values import partitions_in

_SHORT, _LONG = Struct(">h"), Struct(">q")
STATES = {state.id: state.label for state in TxnState}


class EntryError(ValueError):
    """Bytes that are no entry of this topic in a version that is known."""


def txn_entry(key: bytes, value: bytes | None) -> TxnEntry:
    """Return what key and value of a record of `__transaction_state` say; EntryError for bytes that are none.

    `at_ms` is the time of the transaction's last update. The state is Kafka's name, "Dead" for a tombstone.
    """
    try:
        transactional_id = read_versioned("TransactionLogKey", key)["transactional_id"]
        if value is None:
            return TxnEntry(transactional_id=transactional_id, state="Dead")
        found = read_versioned("TransactionLogValue", value)
    except UNREADABLE as error:
        raise EntryError(str(error)) from None
    status = found["transaction_status"]
    return TxnEntry(
        transactional_id=transactional_id,
        state=STATES.get(status, f"state {status}"),
        producer_id=found["producer_id"],
        producer_epoch=found["producer_epoch"],
        timeout_ms=found["transaction_timeout_ms"],
        partitions=tuple(sorted(partitions_in(found["transaction_partitions"] or (), numbers="partition_ids"))),
        start_ms=found["transaction_start_timestamp_ms"],
        at_ms=found["transaction_last_update_timestamp_ms"],
    )


def committed_offset(key: bytes, value: bytes | None) -> tuple[str, str | None]:
    """Return "group/topic-partition" and the offset of an entry of `__consumer_offsets`; EntryError for other entries,
    such as those of a group's members."""
    try:
        if _SHORT.unpack_from(key)[0] not in (0, 1):
            raise EntryError("not of an offset")
        found = raw("OffsetCommitKey", 0).read(Source(key, _SHORT.size))
        place = f"{found['group']}/{found['topic']}-{found['partition']}"
        if value is None:
            return place, None
        raw("OffsetCommitValue", _SHORT.unpack_from(value)[0])  # each version that is known begins with the offset
        return place, str(_LONG.unpack_from(value, _SHORT.size)[0])
    except UNREADABLE as error:
        raise EntryError(str(error)) from None
