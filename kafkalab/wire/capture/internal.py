"""The entries of Kafka's internal topics: keys and values of `__transaction_state` and `__consumer_offsets`
(`TransactionLogKey`, `TransactionLogValue`, `OffsetCommitKey`, `OffsetCommitValue`)."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from struct import error as StructError

from kafkalab.broker.transaction_coordinator.metadata import TxnState

_SHORT = Struct(">h")
_TXN_HEAD = Struct(">qhib")
_TIMES = Struct(">qq")
STATES = {state.id: state.label for state in TxnState}
OF_NEWER_VERSIONS = 1
"""TransactionLogValue is flexible from this version on."""


class EntryError(ValueError):
    """Bytes that are no entry of this topic in a version that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnValue:
    """What an entry of the transaction log says; `state` is Kafka's name, "Dead" for a tombstone."""

    transactional_id: str
    state: str = "Dead"
    producer_id: int = -1
    producer_epoch: int = -1
    timeout_ms: int = -1
    partitions: tuple[str, ...] = ()
    updated_ms: int = -1
    start_ms: int = -1


class _Reader:
    def __init__(self, data: bytes, flexible: bool) -> None:
        self.data, self.place, self.flexible = data, 2, flexible

    def unpack(self, struct: Struct) -> tuple[int, ...]:
        found: tuple[int, ...] = struct.unpack_from(self.data, self.place)
        self.place += struct.size
        return found

    def count(self) -> int:
        """The length of an array, -1 for none."""
        if not self.flexible:
            return self.unpack(Struct(">i"))[0]
        return self._varint() - 1

    def text(self) -> str:
        size = self._varint() - 1 if self.flexible else self.unpack(_SHORT)[0]
        self.place += max(size, 0)
        return self.data[self.place - max(size, 0) : self.place].decode()

    def skip_tags(self) -> None:
        if self.flexible:
            for _ in range(self._varint()):
                self._varint()
                size = self._varint()
                self.place += size

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.data[self.place]
            self.place += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7


def txn_value(key: bytes, value: bytes | None) -> TxnValue:
    """Return an entry of `__transaction_state`. EntryError for bytes that are none."""
    try:
        if _SHORT.unpack_from(key)[0] != 0:
            raise EntryError(f"a key of version {_SHORT.unpack_from(key)[0]}")
        transactional_id = _Reader(key, False).text()
        if value is None:
            return TxnValue(transactional_id=transactional_id)
        version = _SHORT.unpack_from(value)[0]
        if not 0 <= version <= OF_NEWER_VERSIONS:
            raise EntryError(f"a value of version {version}")
        reader = _Reader(value, version >= OF_NEWER_VERSIONS)
        producer_id, epoch, timeout_ms, status = reader.unpack(_TXN_HEAD)
        partitions = []
        for _ in range(reader.count()):
            topic = reader.text()
            partitions += [f"{topic}-{reader.unpack(Struct('>i'))[0]}" for _ in range(reader.count())]
            reader.skip_tags()
        updated_ms, start_ms = reader.unpack(_TIMES)
    except (StructError, IndexError, UnicodeDecodeError) as error:
        raise EntryError(str(error)) from None
    return TxnValue(
        transactional_id=transactional_id,
        state=STATES.get(status, f"state {status}"),
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        partitions=tuple(sorted(partitions)),
        updated_ms=updated_ms,
        start_ms=start_ms,
    )


def committed_offset(key: bytes, value: bytes | None) -> tuple[str, str | None]:
    """Return "group/topic-partition" and the offset of an entry of `__consumer_offsets`; EntryError for other entries,
    such as those of a group's members."""
    try:
        if _SHORT.unpack_from(key)[0] not in (0, 1):
            raise EntryError("not of an offset")
        reader = _Reader(key, False)
        group, topic = reader.text(), reader.text()
        place = f"{group}/{topic}-{reader.unpack(Struct('>i'))[0]}"
        return place, None if value is None else str(Struct(">q").unpack_from(value, 2)[0])
    except (StructError, IndexError, UnicodeDecodeError) as error:
        raise EntryError(str(error)) from None
