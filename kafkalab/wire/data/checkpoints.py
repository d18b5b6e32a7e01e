"""Offsets by partition in a text file of Kafka's form: a version, how many there are, then topic, number, offset."""

from __future__ import annotations

from pathlib import Path

from kafkalab.protocol.partitions import split

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
VERSION = "0"


def checkpoint_bytes(offsets: dict[str, int]) -> bytes:
    """Return the contents of a checkpoint file."""
    rows = (f"{' '.join(map(str, split(p)))} {offset}\n" for p, offset in sorted(offsets.items()))
    return f"{VERSION}\n{len(offsets)}\n{''.join(rows)}".encode()


def read_checkpoint(path: Path) -> dict[str, int]:
    """Return the offsets of a file, none if there is no such file. ValueError if it is damaged."""
    if not path.exists():
        return {}
    try:
        version, count, *rows = path.read_text().splitlines()
        words = [row.split() for row in rows]
        found = {f"{topic}-{int(number)}": int(offset) for topic, number, offset in words}
    except ValueError:
        raise ValueError(f"{path} is damaged") from None
    if version != VERSION or int(count) != len(found):
        raise ValueError(f"{path} is damaged")
    return found
