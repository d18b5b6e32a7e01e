"""The memory that the workers of an audit hold at once, compared with what this machine has free.

A worker holds a bucket of keys, or a split of clients, at a time. Neither can be smaller than one key, or than what one
client has written, so a large key needs a large worker. The numbers were measured with histories of one key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from heapq import nlargest
from pathlib import Path

from pyspark.sql import SparkSession

WORKER_MB = 150
"""A worker of Python with what it imports."""
BYTES_OF_A_ROW = 380
"""The memory that a row of a bucket takes, of any table that is laid out by key."""
BYTES_OF_A_RECORD = 1_200
"""The memory that a record of a split takes, with its reads and its operations."""
LOCAL = re.compile(r"local(\[(\d+|\*)(,\d+)?\])?")
MEMINFO, CONTROL_GROUPS = Path("/proc/meminfo"), Path("/sys/fs/cgroup")
CONTAINER = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
)
"""The files of control groups of version 2 and 1 with a container's limit, its use, and the part that is a cache."""


def bucket_mb(rows: int) -> int:
    """Return what a worker takes for a bucket of so many rows, in MB."""
    return WORKER_MB + rows * BYTES_OF_A_ROW // 1_000_000


def split_mb(records: int) -> int:
    """Return what a worker takes for a split of so many records, in MB."""
    return WORKER_MB + records * BYTES_OF_A_RECORD // 1_000_000


def held_mb(parts: Iterable[int], workers: int) -> int:
    """Return what the largest parts take that so many workers may hold at the same time, in MB."""
    return sum(nlargest(workers, parts))


def require_memory(spark: SparkSession, parts: Sequence[int], what: str) -> None:
    """Raise ValueError, with what would do, if workers of this machine cannot hold the largest of these parts, in MB.

    Nothing is said of a cluster, nor where the machine does not tell how much is free.
    """
    workers = local_workers(spark)
    free = free_mb()
    if not workers or free is None or held_mb(parts, workers) <= free:
        return
    need, alone = held_mb(parts, workers), held_mb(parts, 1)
    line = f"{workers} workers take about {need:,} MB for the largest {what}, and this machine has {free:,} MB free"
    if workers > 1 and alone <= free:
        raise ValueError(f"{line}; --master 'local[1]' takes {alone:,} MB")
    raise ValueError(f"{line}: audit it on one with {alone:,} MB for a worker, or fewer records of one key and client")


def local_workers(spark: SparkSession) -> int:
    """Return how many workers of this machine run at once; 0 for those of a cluster, or through Spark Connect."""
    context = getattr(spark, "sparkContext", None)
    found = LOCAL.fullmatch(context.master) if context is not None else None
    if found is None:
        return 0
    return (os.cpu_count() or 1) if found[2] == "*" else int(found[2] or 1)


def free_mb(meminfo: Path = MEMINFO, control_groups: Path = CONTROL_GROUPS) -> int | None:
    """Return how much memory this machine, or the container around this process, has free, in MB.

    None if the machine does not tell.
    """
    found = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text(encoding="ascii") if meminfo.is_file() else "")
    if found is None:
        return None
    free = int(found[1]) * 1024
    for limit, used, cache in CONTAINER:
        with suppress(OSError, ValueError):  # it is no container of this kind, or has no limit
            limited = int((control_groups / limit).read_text(encoding="ascii"))
            stat = (control_groups / limit).with_name("memory.stat").read_text(encoding="ascii")
            cached = re.search(rf"^{cache} (\d+)$", stat, re.MULTILINE)
            taken = int((control_groups / used).read_text(encoding="ascii")) - int(cached[1] if cached else 0)
            free = min(free, max(limited - taken, 0))
    return free // 1_000_000
