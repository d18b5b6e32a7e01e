"""The compressions of records: gzip of the standard library, the others of cramjam.

Kafka reads compressed records as a stream, so what precedes a defect is read before the defect is met.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from kafkalab.extras import import_from_extra
from kafkalab.protocol.batch_bytes import GZIP, LZ4, SNAPPY, ZSTD, CorruptBatchError
from kafkalab.protocol.errors import Error

DECODED_MOST = 64 * 1024 * 1024
_XERIAL, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
_GZIP_MEMBER, _GZIP_LEAST = b"\x1f\x8b\x08", 19
_LZ4_LEAST = 7
_LZ4_READABLE, _LZ4_INDEPENDENT = 0b1110_0011, 0b0110_0000
_LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_CONTENT_CHECKSUM = 0b1_0000, 0b1000, 0b100


class UnpackError(CorruptBatchError):
    """Compressed records cannot be decompressed."""

    error = Error.UNKNOWN_SERVER_ERROR


def unpack(codec: int, data: bytes) -> tuple[bytes, bool]:
    """Return the decompressed bytes, and False if the stream breaks off behind them.

    UnpackError for what cannot be decompressed, for another codec, and for more than 64 MB. ModuleNotFoundError names
    the extra that is missing.
    """
    if codec not in CODECS:
        raise UnpackError(f"no compression has the number {codec}")
    known = [ValueError, zlib.error, *(() if codec == GZIP else (_cramjam().DecompressionError,))]
    try:
        body, is_whole = CODECS[codec](data)
    except tuple(known) as error:
        raise UnpackError(f"records that cannot be decompressed: {error}") from None
    if len(body) > DECODED_MOST:
        raise UnpackError(f"{len(body)} bytes of records")
    return body, is_whole


def is_unreadable_in_java(codec: int, data: bytes, at: int) -> bool:
    """Return True for an LZ4 frame whose blocks depend on each other: Kafka does not read them, other libraries do."""
    return codec == LZ4 and len(data) >= at + _LZ4_LEAST and data[at + 4] & _LZ4_READABLE != _LZ4_INDEPENDENT


def import_codec(codec: int) -> None:
    """Raise ModuleNotFoundError, which says how to get it, if the library for this codec is not there."""
    if codec in (SNAPPY, LZ4, ZSTD):
        _cramjam()


def _cramjam() -> Any:
    """Return the module of compressions, which only a client's snappy, lz4 and zstd need, and no browser has."""
    return import_from_extra("cramjam", "wire", "snappy, lz4 and zstd need cramjam")


def _gunzip(data: bytes) -> tuple[bytes, bool]:
    """Return what gzip has packed, of all members, at most a byte more than DECODED_MOST.

    What follows the last member and is no member is ignored (`GZIPInputStream.readTrailer`).
    """
    body = b""
    while len(body) <= DECODED_MOST:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS + 16)
        body += unpacker.decompress(data, DECODED_MOST + 1 - len(body))
        if not unpacker.eof:
            return body, False
        data = unpacker.unused_data
        if len(data) < _GZIP_LEAST or not data.startswith(_GZIP_MEMBER):
            break
    return body, True


def _snappy(data: bytes) -> tuple[bytes, bool]:
    """Java writes blocks behind a header of its own; other clients may write one raw block."""
    decompress = _cramjam().snappy.decompress_raw
    if not data.startswith(_XERIAL) or len(data) < _XERIAL_HEADER:
        return bytes(decompress(data)), True
    found, place = b"", _XERIAL_HEADER
    while place + 4 <= len(data):
        end = place + 4 + int.from_bytes(data[place : place + 4], "big")
        found += bytes(decompress(data[place + 4 : end]))
        place = end
    return found, True


def _lz4(data: bytes) -> tuple[bytes, bool]:
    """Read a frame of blocks; what follows it is ignored (`Lz4BlockInputStream`)."""
    if len(data) < _LZ4_LEAST:
        raise ValueError("no LZ4 frame")
    place = _LZ4_LEAST + 8 if data[4] & _LZ4_CONTENT_SIZE else _LZ4_LEAST
    while size := int.from_bytes(data[place : place + 4], "little"):
        place += 4 + (size & 0x7FFFFFFF) + (4 if data[4] & _LZ4_BLOCK_CHECKSUM else 0)
    end = place + 4 + (4 if data[4] & _LZ4_CONTENT_CHECKSUM else 0)
    return bytes(_cramjam().lz4.decompress(data[:end])), True


def _zstd(data: bytes) -> tuple[bytes, bool]:
    return bytes(_cramjam().zstd.decompress(data)) if data else b"", True


CODECS: dict[int, Callable[[bytes], tuple[bytes, bool]]] = {GZIP: _gunzip, SNAPPY: _snappy, LZ4: _lz4, ZSTD: _zstd}
