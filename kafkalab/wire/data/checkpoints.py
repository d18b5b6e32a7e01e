"""Offsets by partition in a text file of Kafka's form: a version, how many there are, then topic, number, offset."""

from __future__ import annotations

from pathlib import Path

from kafkalab.limits import Limit
from kafkalab.protocol.partitions import split
from kafkalab.saved_data import file_text

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
VERSION = "0"
CHECKPOINT = Limit(10_000_000, "bytes of a checkpoint")


def checkpoint_bytes(offsets: dict[str, int]) -> bytes:
    """Return the contents of a checkpoint file."""
    rows = (f"{' '.join(map(str, split(p)))} {offset}\n" for p, offset in sorted(offsets.items()))
    return f"{VERSION}\n{len(offsets)}\n{''.join(rows)}".encode()


def read_checkpoint(path: Path) -> dict[str, int]:
    """Return the offsets of a file, none if there is no such file. ValueError if it is damaged."""
    try:
        version, count, *rows = file_text(path, CHECKPOINT).splitlines()
        words = [row.split() for row in rows]
        found = {f"{topic}-{int(number)}": int(offset) for topic, number, offset in words}
        sound = version == VERSION and int(count) == len(found) == len(rows) and min(found.values(), default=0) >= 0
    except FileNotFoundError:
        return {}
    except ValueError:
        sound = False
    if not sound:
        raise ValueError(f"{path} is damaged: remove it, and the brokers take what their logs hold")
    return found
