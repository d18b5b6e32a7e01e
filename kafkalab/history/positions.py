"""Positions outside Kafka: how far an application has come that keeps that in a checkpoint, a database or a file.

A history holds them as labels. They were read at another time than Kafka's logs, and no commit covers both: a position
proves something only if everything that was written before it was stored is in the history. So read positions first,
then Kafka.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from kafkalab.history.history import History
from kafkalab.history.schema import Label
from kafkalab.limits import quote
from kafkalab.protocol.partitions import split, topic_of
from kafkalab.protocol.source_header import place_of

POSITION = "position"
"""The name of a label: its value is a topic whose positions are outside Kafka ("in"), or one of them ("in-0@5": the
application goes on at offset 5)."""
Positions = Mapping[str, int] | Literal["unknown"]
"""The next offset to read, by partition; "unknown" where nobody can read that."""


def with_positions(history: History, topic: str, positions: Positions) -> History:
    """Return the history of an application that keeps its positions of `topic` outside Kafka.

    The check exactly-once then judges the inputs of `topic` by `positions`, and by no group's committed offset. Of a
    partition without a position it says "unknown". ValueError for what is no position, or for a second one of a
    partition.
    """
    labels = list(_labels(topic, positions))
    told = dict(value.rsplit("@", 1) for value in history.label(POSITION) if "@" in value)
    for label in labels:
        key, _, offset = label.value.rpartition("@")
        if told.get(key, offset) != offset:
            raise ValueError(f"the position of {key} is {told[key]} and {offset}: a history has one of each partition")
    return replace(history, labels=(*history.labels, *(one for one in labels if one not in history.labels)))


def _labels(topic: str, positions: object) -> Iterator[Label]:
    yield Label(name=POSITION, value=topic)
    if positions == "unknown":
        return
    if not isinstance(positions, Mapping):
        raise ValueError(f'positions are {{"{topic}-0": 3}} or "unknown", not {quote(positions)}')
    for key, offset in sorted(positions.items(), key=str):
        if split(key)[0] != topic or type(offset) is not int or offset < 0:
            raise ValueError(f"positions has {key!r}: {quote(offset)}, not offsets of partitions as {topic}-0")
        yield Label(name=POSITION, value=place_of(key, offset))


class OutsidePositions:
    """Hold the positions outside Kafka that a history's labels name."""

    def __init__(self, history: History) -> None:
        self._offsets: dict[str, int] = {}
        self._topics: set[str] = set()
        for value in history.label(POSITION):
            key, at, offset = value.rpartition("@")
            self._topics.add(topic_of(key) if at else value)
            if at:
                self._offsets[key] = min(int(offset), self._offsets.get(key, int(offset)))

    def __bool__(self) -> bool:
        return bool(self._topics)

    def has(self, key: str) -> bool:
        """Return True if the application keeps its position of the key outside Kafka."""
        return topic_of(key) in self._topics

    def get(self, key: str) -> int | None:
        """Return the position of the key, None if it is not known."""
        return self._offsets.get(key)


def positions_in_spark(checkpoint: str | Path, source: int = 0) -> dict[str, int]:
    """Return the positions that a checkpoint of Spark's Structured Streaming holds of its Kafka source.

    They are the end of the newest batch that Spark calls done: of the newest number in `commits`, what `offsets` says.
    A batch that is in `offsets` only was planned; its rows may be written or not. `source` counts the sources of a
    query with several. {} before the first batch is done. ValueError for a folder that is no such checkpoint.
    """
    folder = Path(checkpoint)
    if not (folder / "offsets").is_dir():
        raise ValueError(f"{folder} is no checkpoint of Spark: it has no folder offsets; give the checkpointLocation")
    done = folder / "commits"
    numbers = [int(file.name) for file in done.iterdir() if file.name.isdecimal()] if done.is_dir() else []
    if not numbers:
        return {}
    path = folder / "offsets" / str(max(numbers))
    try:
        by_topic: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8").splitlines()[2 + source])
        found = {f"{topic}-{part}": offset for topic, parts in by_topic.items() for part, offset in parts.items()}
    except (OSError, ValueError, IndexError, AttributeError) as error:
        raise ValueError(f"{path} does not hold the offsets of a Kafka source {source}: {error}") from None
    if wrong := [key for key, offset in found.items() if split(key)[1] < 0 or type(offset) is not int]:
        raise ValueError(f"{path} does not hold the offsets of a Kafka source {source}: {quote(wrong[0])}")
    return found
