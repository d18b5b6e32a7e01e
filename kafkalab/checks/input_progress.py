"""Find up to where each key is done: by the offsets that groups have committed, or by positions outside Kafka."""

from __future__ import annotations

from kafkalab.checks.view import COMMITTED, PLAIN, View
from kafkalab.history.positions import OutsidePositions
from kafkalab.protocol.partitions import topic_of
from kafkalab.protocol.source_header import sources_of


class InputProgress:
    """The offset up to which each key is done, by group or outside Kafka."""

    def __init__(self, view: View, groups: dict[tuple[str, str], str]) -> None:
        self.outside = OutsidePositions(view.history)
        self._by_group: dict[tuple[str, str], int] = {}
        self._in_kafka: set[str] = set()
        for record in view.offset_commits:
            group, _, key = (record.record_key or "").rpartition("/")
            self._in_kafka.add(topic_of(key))
            if view.outcomes.get((record.key, record.offset)) in (COMMITTED, PLAIN):
                known = self._by_group.get((group, key), -1)
                self._by_group[group, key] = max(known, int(record.value or -1))
        makers = {s.invoke.process for s in view.sends if s.invoke.headers and sources_of(s.invoke.headers)}
        of_makers = {(group, key) for (process, key), group in groups.items() if process in makers}
        self._any: dict[str, int] = {}
        self._makers: dict[str, int] = {}
        for (group, key), offset in self._by_group.items():
            of = self._makers if (group, key) in of_makers else self._any
            of[key] = max(of.get(key, -1), offset)

    def is_past(self, group: str, key: str, offset: int) -> bool:
        """Return True if the group, or without one any (first of all those that make outputs), is past this input."""
        if self.outside.has(key):
            position = self.outside.get(key)
            return position is not None and position > offset
        if group:
            return self._by_group.get((group, key), -1) > offset
        return self._makers.get(key, self._any.get(key, -1)) > offset

    def why_unknown(self, key: str, has_effects: bool) -> str:
        """Return why nobody can tell how far the inputs of a key are done; "" if it can be told.

        `has_effects` says that outputs of the key's topic took effect: something works on it.
        """
        topic = topic_of(key)
        if self.outside.has(key):
            known = self.outside.get(key) is not None
            return "" if known else f"its positions are outside Kafka, and none of {key} is given"
        if has_effects and topic not in self._in_kafka:
            return f"nobody has committed an offset of the topic {topic}: its positions may be outside Kafka"
        return ""


def commits_in_transactions(view: View) -> bool:
    """Return True if all offsets, and at least one, were committed in transactions: Kafka promises exactly-once."""
    return bool(view.offset_commits) and all(record.transactional for record in view.offset_commits)
