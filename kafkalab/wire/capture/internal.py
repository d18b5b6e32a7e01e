"""The entries of Kafka's internal topics: keys and values of `__transaction_state` and `__consumer_offsets`
(`TransactionLogKey`, `TransactionLogValue`, `OffsetCommitKey`, `OffsetCommitValue`)."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from kio.serial.errors import SerialError
from kio.serial.readers import read_unsigned_varint

from kafkalab.broker.transaction_coordinator.metadata import TxnState
from kafkalab.history.schema import TxnEntry
from kafkalab.protocol.messages.describe_transactions import DescribedTransaction

_SHORT, _INT = Struct(">h"), Struct(">i")
_DESCRIBED = Struct(">iqqh")
_TXN_HEAD = Struct(">qhib")
_TIMES = Struct(">qq")
STATES = {state.id: state.label for state in TxnState}
OF_NEWER_VERSIONS = 1
"""TransactionLogValue is flexible from this version on."""
UNREADABLE = (StructError, SerialError, ValueError)
"""The errors of fields that end too early, and of text that is none."""


class EntryError(ValueError):
    """Bytes that are no entry of this topic in a version that is known."""


class Reader:
    """Reads fields from `place` on: those of flexible versions, or of older ones."""

    def __init__(self, data: bytes, flexible: bool, place: int = 2) -> None:
        self.data, self.place, self.flexible = data, place, flexible

    def unpack(self, struct: Struct) -> tuple[int, ...]:
        """Return the numbers of a struct."""
        found: tuple[int, ...] = struct.unpack_from(self.data, self.place)
        self.place += struct.size
        return found

    def count(self) -> int:
        """The length of an array, -1 for none."""
        if not self.flexible:
            return self.unpack(_INT)[0]
        return self._varint() - 1

    def text(self) -> str:
        """Return a string, "" for none."""
        size = self._varint() - 1 if self.flexible else self.unpack(_SHORT)[0]
        self.place += max(size, 0)
        return self.data[self.place - max(size, 0) : self.place].decode()

    def topic_partitions(self) -> tuple[str, ...]:
        """Return an array of topics, each with its partitions' numbers, as sorted names."""
        found = []
        for _ in range(self.count()):
            topic = self.text()
            found += [f"{topic}-{self.unpack(_INT)[0]}" for _ in range(self.count())]
            self.skip_tags()
        return tuple(sorted(found))

    def skip_tags(self) -> None:
        """Go past the tagged fields, which older versions do not have."""
        if self.flexible:
            for _ in range(self._varint()):
                self._varint()
                size = self._varint()
                self.place += size

    def _varint(self) -> int:
        number, size = read_unsigned_varint(self.data, self.place)
        self.place += size
        return int(number)


def txn_entry(key: bytes, value: bytes | None) -> TxnEntry:
    """Return what key and value of a record of `__transaction_state` say; EntryError for bytes that are none.

    `at_ms` is the time of the transaction's last update. The state is Kafka's name, "Dead" for a tombstone.
    """
    try:
        if _SHORT.unpack_from(key)[0] != 0:
            raise EntryError(f"a key of version {_SHORT.unpack_from(key)[0]}")
        transactional_id = Reader(key, False).text()
        if value is None:
            return TxnEntry(transactional_id=transactional_id, state="Dead")
        version = _SHORT.unpack_from(value)[0]
        if not 0 <= version <= OF_NEWER_VERSIONS:
            raise EntryError(f"a value of version {version}")
        reader = Reader(value, version >= OF_NEWER_VERSIONS)
        producer_id, epoch, timeout_ms, status = reader.unpack(_TXN_HEAD)
        partitions = reader.topic_partitions()
        updated_ms, start_ms = reader.unpack(_TIMES)
    except UNREADABLE as error:
        raise EntryError(str(error)) from None
    return TxnEntry(
        transactional_id=transactional_id,
        state=STATES.get(status, f"state {status}"),
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        partitions=partitions,
        start_ms=start_ms,
        at_ms=updated_ms,
    )


def committed_offset(key: bytes, value: bytes | None) -> tuple[str, str | None]:
    """Return "group/topic-partition" and the offset of an entry of `__consumer_offsets`; EntryError for other entries,
    such as those of a group's members."""
    try:
        if _SHORT.unpack_from(key)[0] not in (0, 1):
            raise EntryError("not of an offset")
        reader = Reader(key, False)
        group, topic = reader.text(), reader.text()
        place = f"{group}/{topic}-{reader.unpack(_INT)[0]}"
        return place, None if value is None else str(Struct(">q").unpack_from(value, 2)[0])
    except UNREADABLE as error:
        raise EntryError(str(error)) from None


def described_transactions(data: bytes, place: int) -> list[DescribedTransaction]:
    """Return the transactions of a DescribeTransactionsResponse 0, those without an error, from `place` on.

    kio refuses the start of a transaction that has not begun, which is -1.
    """
    reader, found = Reader(data, True, place), []
    reader.unpack(_INT)  # throttle_time_ms
    for _ in range(reader.count()):
        (error,) = reader.unpack(_SHORT)
        transactional_id, state = reader.text(), reader.text()
        timeout_ms, start_ms, producer_id, epoch = reader.unpack(_DESCRIBED)
        partitions = reader.topic_partitions()
        reader.skip_tags()
        if error == 0:
            found.append(
                DescribedTransaction(
                    transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, state=state,
                    timeout_ms=timeout_ms, start_ms=start_ms, partitions=partitions,
                )  # fmt: skip
            )
    return found
