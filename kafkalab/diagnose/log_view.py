"""One partition's log as far as a dump shows it: transactions, markers and positions, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkalab.diagnose.facts import Batch, Marker, OffsetCommit, Source

KEPT = 2_000
"""Finished transactions that a view keeps: the newest. Open and odd ones are kept beside them."""
ODD = 200
"""Odd things of each kind that a view keeps: the first."""
PRODUCERS = 50_000
"""Producers of which a view keeps the last sequence: those that wrote last."""

CONTENTS = 1_000
"""Records of which a view keeps key and payload: the newest."""


@dataclass(slots=True)
class LogTransaction:
    """A transaction in one partition: its first batch, its last offset, and its marker, if the dump has one.

    `after` is the marker of the same producer before it. `unseen_start` is true if the dump begins within it.
    """

    first: Batch
    last: int
    batches: int = 1
    marker: Marker | None = None
    after: Marker | None = None
    offsets: dict[tuple[str, str], OffsetCommit] = field(default_factory=dict)


@dataclass(slots=True)
class Backwards:
    """Two commits of one group's position of one partition: the later one is smaller."""

    earlier: OffsetCommit
    later: OffsetCommit
    within: LogTransaction | None
    """The transaction that holds both."""


@dataclass(slots=True)
class LogView:
    """Hold the batches that a dump shows of one partition, by offset; batches in another order are counted."""

    partition: str
    start: int = -1
    end: int = -1
    batches: int = 0
    records: int = 0
    markers: int = 0
    decoded: int = 0
    """Records of an internal topic that a decoder printed."""
    disorder: int = 0
    """Batches whose offset is not above the one before: another segment, another replica, or a repeated paste."""
    forgotten: int = 0
    """Finished transactions that are no longer kept."""
    last_marker: Marker | None = None
    gaps: list[tuple[int, int, Source]] = field(default_factory=list)
    finished: list[LogTransaction] = field(default_factory=list)
    open: dict[int, LogTransaction] = field(default_factory=dict)
    lone_markers: list[Marker] = field(default_factory=list)
    ended: dict[int, Marker] = field(default_factory=dict)
    """The last marker of each producer."""
    sequences: dict[int, tuple[int, int, Batch]] = field(default_factory=dict)
    repeated: list[tuple[Batch, Batch]] = field(default_factory=list)
    """Batches of one producer and epoch whose sequences are in the log already, with the batch before."""
    commits: dict[tuple[str, str], OffsetCommit] = field(default_factory=dict)
    backwards: list[Backwards] = field(default_factory=list)

    contents: dict[str, Batch] = field(default_factory=dict)
    """Key and payload of records of idempotent producers without transactions, and their batch."""
    alike: list[tuple[Batch, Batch, str]] = field(default_factory=list)
    """Two batches of one producer that hold the same key and payload, under sequences of their own."""

    def is_later(self, first: int, source: Source) -> bool:
        """Return True if a batch at `first` follows what is here; count it if not. Note a gap before it."""
        if first < self.end:
            self.disorder += 1
            return False
        if self.start < 0:
            self.start = first
        elif first > self.end and len(self.gaps) < ODD:
            self.gaps.append((self.end, first, source))
        return True

    def add_batch(self, batch: Batch) -> None:
        """Add a batch of records."""
        if not self.is_later(batch.first, batch.source):
            return
        self.batches, self.end = self.batches + 1, batch.last + 1
        self.records += batch.last - batch.first + 1
        if batch.producer < 0:
            return
        if batch.base_sequence >= 0 and not self.partition.startswith("__"):  # a group's commits all have sequence 0
            self._compare_sequence(batch)
        if batch.transactional:
            found = self.open.get(batch.producer)
            if found is None:
                self.open[batch.producer] = LogTransaction(batch, batch.last, after=self.ended.get(batch.producer))
            else:
                found.last, found.batches = batch.last, found.batches + 1

    def add_content(self, content: str, batch: Batch) -> None:
        """Note key and payload of a record; remember the first record that another one is equal to."""
        before = self.contents.pop(content, None)
        if before and not self.alike and before.producer == batch.producer and before.first < batch.first:
            self.alike.append((before, batch, content))
        self.contents[content] = batch
        if len(self.contents) > CONTENTS:
            del self.contents[next(iter(self.contents))]

    def _compare_sequence(self, batch: Batch) -> None:
        before = self.sequences.pop(batch.producer, None)
        if before and before[0] == batch.epoch and batch.base_sequence <= before[1] < batch.base_sequence + 2**30:
            self.repeated.append((before[2], batch))
            del self.repeated[ODD:]
        self.sequences[batch.producer] = (batch.epoch, batch.last_sequence, batch)
        if len(self.sequences) > PRODUCERS:
            del self.sequences[next(iter(self.sequences))]

    def add_marker(self, marker: Marker) -> None:
        """Add a marker: it ends the transaction of its producer here, if there is one."""
        if not self.is_later(marker.offset, marker.source):
            return
        self.batches, self.markers, self.end = self.batches + 1, self.markers + 1, marker.offset + 1
        self.last_marker = marker
        self.ended[marker.producer] = marker
        if len(self.ended) > PRODUCERS:
            del self.ended[next(iter(self.ended))]
        found = self.open.pop(marker.producer, None)
        if found is None:
            if len(self.lone_markers) < ODD:
                self.lone_markers.append(marker)
            return
        found.marker = marker
        self.finished.append(found)
        if len(self.finished) > 2 * KEPT:
            self.forgotten += len(self.finished) - KEPT
            del self.finished[:-KEPT]

    def decide_marker(self, marker: Marker) -> bool:
        """Put the marker with its outcome in the place of the one just added. Return False if that is another."""
        last = self.last_marker
        if last is None or (last.offset, last.producer) != (marker.offset, marker.producer):
            return False
        self.last_marker = self.ended[marker.producer] = marker
        if self.finished and self.finished[-1].marker is last:
            self.finished[-1].marker = marker
        if self.lone_markers and self.lone_markers[-1] is last:
            self.lone_markers[-1] = marker
        return True

    def add_commit(self, commit: OffsetCommit) -> None:
        """Add a group's position, which the batch before holds; note it if it is smaller than the one before."""
        key = (commit.group, commit.partition)
        within = self.open.get(commit.producer) if commit.producer >= 0 else None
        before = within.offsets.get(key) if within else self.commits.get(key)
        if before and 0 <= commit.committed < before.committed and len(self.backwards) < ODD:
            self.backwards.append(Backwards(before, commit, within))
        if within:
            within.offsets[key] = commit
        else:
            self.commits[key] = commit
            if len(self.commits) > PRODUCERS:
                del self.commits[next(iter(self.commits))]

    @property
    def stable(self) -> int:
        """The last stable offset, if the dump reaches the end of the log: where the oldest open transaction begins."""
        return min((one.first.first for one in self.open.values()), default=self.end)
