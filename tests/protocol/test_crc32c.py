"""CRC-32C against the published check value and Kafka's own batches."""

from __future__ import annotations

import pytest

from kafkalab.protocol.crc32c import crc32c

MARKER = (
    "0000000000000002000000420000000002c11c27820030000000000000018bcfe568000000018bcfe5680000000000000004d20005ffffffff"
    "000000012000000008000000010c00000000000700"
)


@pytest.mark.parametrize(
    ("data", "checksum"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)]
)
def test_the_published_values(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum


def test_a_commit_marker_carries_its_checksum() -> None:
    batch = bytes.fromhex(MARKER)
    assert crc32c(batch[21:]) == int.from_bytes(batch[17:21])
