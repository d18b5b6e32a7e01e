"""CRC-32C (Castagnoli), the checksum of record batches and of producer snapshots: RFC 3720, appendix B.4."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78  # bits reversed


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """The checksum as an unsigned 32-bit number: `crc32c(b"123456789") == 0xE3069283`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
