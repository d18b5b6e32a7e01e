"""The image of a cluster in the folder of `serve --data`: what it may hold, and which folders are none of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kafkalab.limits import Limit, quote
from kafkalab.protocol.partitions import TRANSACTION_TOPIC, split, topic_of
from kafkalab.protocol.profiles import SERVED

FORMAT, VERSION = "kafkalab-data", 1
IMAGE, LOCK = "cluster.json", ".lock"
IMAGE_FILE = Limit(50_000_000, "bytes of a cluster's image")
MOST_BROKERS = 9


def refuse_foreign(folder: Path) -> None:
    """Raise ValueError for a folder that is not one of `serve --data`, nor new or empty; nothing in it is opened."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{quote(str(folder))} is no folder: name a new or an empty one")
    if not folder.is_dir() or (folder / IMAGE).is_file():
        return
    names = [path for path in folder.iterdir() if path.name != LOCK and not path.name.endswith(".tmp")]
    lock = folder / LOCK
    if names or (os.path.lexists(lock) and not (lock.is_file() and lock.stat().st_size == 0)):
        raise ValueError(f"{quote(str(folder))} has other files: name a new or an empty folder")


def check_image(stored: Any, where: str) -> None:
    """Raise ValueError, which names the value, for what is no image of a cluster that this kafkalab wrote."""
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise ValueError(f"{where} is damaged: it is not of a folder that kafkalab wrote")
    if stored.get("version") != VERSION:
        raise ValueError(f"{where} is of another version of kafkalab, {quote(stored.get('version'))}, not {VERSION}")
    brokers = stored.get("brokers")
    if type(brokers) is not int or not 1 <= brokers <= MOST_BROKERS:
        raise ValueError(f"{where} is damaged: brokers is {quote(brokers)}, not a number from 1 to {MOST_BROKERS}")
    profile = stored.get("profile")
    if not isinstance(profile, str) or profile not in SERVED.values():
        raise ValueError(f"{where} is damaged: profile is {quote(profile)}")
    for name in ("next_producer_id", "metadata_version"):
        if not _is_count(stored.get(name)):
            raise ValueError(f"{where} is damaged: {name} is {quote(stored.get(name))}, not a number from 0 on")
    partitions = stored.get("partitions")
    if not isinstance(partitions, dict) or TRANSACTION_TOPIC not in {topic_of(name) for name in partitions}:
        raise ValueError(f"{where} is damaged: partitions lacks those of {TRANSACTION_TOPIC}")
    names = {f"b{number}" for number in range(1, brokers + 1)}
    numbers: dict[str, list[int]] = {}
    for partition, row in partitions.items():
        _check_partition(partition, row, names, where)
        topic, number = split(partition)
        numbers.setdefault(topic, []).append(number)
    for topic, given in numbers.items():
        if sorted(given) != list(range(len(given))):
            raise ValueError(f"{where} is damaged: {quote(topic)} lacks some of its partitions")


def _check_partition(partition: str, row: Any, brokers: set[str], where: str) -> None:
    row = row if isinstance(row, dict) else {}
    lists = [row.get("replicas"), row.get("isr")]
    sound = split(partition)[1] >= 0 and _is_count(row.get("leader_epoch"))
    sound = sound and all(isinstance(one, list) and all(isinstance(b, str) for b in one) for one in lists)
    if sound:
        replicas, isr = map(set, lists)
        sound = bool(replicas) and isr <= replicas <= brokers and row.get("leader") in {"", *replicas}
        sound = sound and [*map(len, lists)] == [len(replicas), len(isr)]
    if not sound:
        raise ValueError(f"{where} is damaged: the partition {quote(partition)} is {quote(row)}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63
