"""The records of a client's batch, read only as far as a leader has to know that they are records (`DefaultRecord`)."""

from __future__ import annotations

from kafkalab.protocol.batch_bytes import CorruptBatchError
from kafkalab.protocol.errors import Error


class RecordError(CorruptBatchError):
    """Bytes that are no records, or not as many as the batch says. `error` is what a leader answers."""

    def __init__(self, message: str, error: Error = Error.INVALID_RECORD) -> None:
        super().__init__(message)
        self.error = error


def check_records(data: bytes, place: int, is_whole: bool, count: int, framed: bool) -> tuple[list[int], bool]:
    """Return how much later than the batch each record is, in milliseconds, and whether their offsets are 0, 1, 2, …

    RecordError unless `data` has, from `place` on, `count` records and nothing else; there must be one at least.
    Kafka compares the size of a record with its fields only where it was not compressed: `framed`. Without `is_whole`
    the stream of a compression breaks off behind `data`, which is met when more is read.
    """
    later_ms, in_order, end_of_all = [], True, len(data)
    try:
        for number in range(count):  # numbers of one or two bytes are read in place, which takes a third of the time
            byte, more = data[place], data[place + 1]
            if byte < 0x80:
                size, place = byte >> 1 ^ -(byte & 1), place + 1
            elif more < 0x80:
                size, place = (byte & 0x7F | more << 7) >> 1 ^ -(byte & 1), place + 2
            else:
                size, place = _size(data, place, framed)
            end = place + size
            byte = data[place + 1]
            later, place = (byte >> 1 ^ -(byte & 1), place + 2) if byte < 0x80 else _number(data, place + 1, 64)
            later_ms.append(later)
            byte = data[place]
            offset, place = (byte >> 1 ^ -(byte & 1), place + 1) if byte < 0x80 else _number(data, place)
            if offset != number:
                in_order = False
            byte = data[place]
            place = place + 1 + (byte >> 1) if byte < 0x80 and not byte & 1 else _skip(data, place)
            byte, more = data[place], data[place + 1]
            if byte & 1:
                place = _skip(data, place)
            elif byte < 0x80:
                place += 1 + (byte >> 1)
            elif more < 0x80:
                place += 2 + ((byte & 0x7F | more << 7) >> 1)
            else:
                place = _skip(data, place)
            if data[place]:
                place = _skip_headers(data, place)
            else:
                place += 1
            if place > end_of_all or (framed and place != end):
                raise IndexError
        if place != end_of_all or not is_whole:
            raise IndexError
    except IndexError:
        if is_whole:
            raise RecordError("bytes that are not as many records as the batch says") from None
        raise RecordError("compressed records that end too early", Error.UNKNOWN_SERVER_ERROR) from None
    return later_ms, in_order


def _size(data: bytes, place: int, framed: bool) -> tuple[int, int]:
    """Return the size of a record, and where it begins. Of a number that does not end Kafka makes an error of its own.
    """
    try:
        return _number(data, place)
    except RecordError:
        raise RecordError("a size", Error.UNKNOWN_SERVER_ERROR if framed else Error.INVALID_RECORD) from None


def _skip(data: bytes, place: int) -> int:
    """Return where a key or a value ends; a length below 0 is none."""
    length, place = _number(data, place)
    return place + length if length > 0 else place


def _skip_headers(data: bytes, place: int) -> int:
    count, place = _number(data, place)
    if count < 0:
        raise RecordError(f"{count} headers")
    for _ in range(count):
        if _number(data, place)[0] < 0:
            raise RecordError("a header without a name")
        place = _skip(data, _skip(data, place))
    return place


def _number(data: bytes, place: int, bits: int = 32) -> tuple[int, int]:
    """Return a zig-zag number and where it ends (`ByteUtils.readVarint`, `readVarlong`)."""
    byte = data[place]
    if byte < 0x80:
        return byte >> 1 ^ -(byte & 1), place + 1
    number, shift = byte & 0x7F, 7
    while True:
        place += 1
        byte = data[place]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            number &= (1 << bits) - 1
            return number >> 1 ^ -(number & 1), place + 1
        shift += 7
        if shift >= bits:
            raise RecordError("a number that does not end")
