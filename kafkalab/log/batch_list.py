"""The batches of a log in offset order: the newest in memory, the older ones in a spill file where there is one.

A simulated run has no spill file: it keeps all of its batches. A server that runs for hours gives each log one.
What stays in memory of a chunk in the spill file is five numbers, so the index is as sparse as Kafka's offset index.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, overload

from kafkalab.protocol.records import Batch

MEMORY_BYTES = 128 * 1024
"""The most bytes that a log with a spill file keeps in memory; half of it goes to the spill file then."""
READ_BYTES = 1024 * 1024
"""The most bytes of the spill file that one limited read returns, and a chunk more."""
_NO_END = 2**63 - 1
_COLUMNS = ("_numbers", "_firsts", "_counts", "_newest", "_sizes")
"""The columns of each chunk in the spill file."""


class SpillFile(Protocol):
    """The store of chunks of batches, each by a number."""

    def weight(self, batch: Batch) -> int:
        """Return about how many bytes of memory the batch takes."""

    def put(self, batches: Sequence[Batch]) -> int:
        """Keep the batches and return their number; -1 if they cannot be kept."""

    def get(self, number: int) -> list[Batch]:
        """Return the batches that were put under this number."""

    def share(self, number: int) -> None:
        """Keep the batches of this number until they are freed once more."""

    def free(self, number: int) -> None:
        """Forget the batches of this number."""


class BatchList(Sequence[Batch]):
    """Batches in offset order. Without a spill file it is a list with a few look-ups by offset."""

    __slots__ = (
        "_bases",
        "_counts",
        "_firsts",
        "_memory",
        "_most",
        "_newest",
        "_numbers",
        "_sizes",
        "_spill_file",
        "_weight"
    )  # fmt: skip

    def __init__(self, spill_file: SpillFile | None = None) -> None:
        self._memory: list[Batch] = []
        self._bases: list[int] = []  # their base offsets
        self._spill_file, self._weight, self._most = spill_file, 0, MEMORY_BYTES
        self._numbers, self._firsts, self._counts = array("q"), array("q"), array("q")  # of chunks in the spill file
        self._newest, self._sizes = array("q"), array("q")

    # as a sequence

    def __len__(self) -> int:
        return sum(self._counts) + len(self._memory)

    def __iter__(self) -> Iterator[Batch]:
        return self.stream(0, _NO_END) if self._firsts else iter(self._memory)

    @overload
    def __getitem__(self, index: int) -> Batch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Batch]: ...
    def __getitem__(self, index: int | slice) -> Batch | Sequence[Batch]:
        """Return from the end what is in memory; anything else reads the whole spill file."""
        if not self._firsts or (isinstance(index, int) and -len(self._memory) <= index < 0):
            return self._memory[index]
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (BatchList, list)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    # adding

    def append(self, batch: Batch) -> None:
        """Add a batch behind all the others."""
        self._memory.append(batch)
        self._bases.append(batch.base_offset)
        if self._spill_file is not None:
            self._weight += self._spill_file.weight(batch)
            if self._weight > self._most:
                self._shelve()

    def extend(self, batches: Iterable[Batch]) -> None:
        """Add batches behind all the others."""
        for batch in batches:
            self.append(batch)

    def take_over(self, leader: BatchList, end: int) -> None:
        """Add the batches that the leader has from offset `end` on; below it has the same ones.

        Where chunks begin alike, as they do if both logs have grown together, they are shared and not read.
        """
        here = self._bases[0] if self._bases else end
        place = bisect_left(leader._firsts, here)
        if self._spill_file is None or self._spill_file is not leader._spill_file or place >= len(leader._firsts):
            self.extend(leader.between(end, _NO_END))
        elif leader._firsts[place] != here:
            self.extend(leader.stream(end, _NO_END))
        else:
            for number in leader._numbers[place:]:
                self._spill_file.share(number)
            for name in _COLUMNS:
                getattr(self, name).extend(getattr(leader, name)[place:])
            self._memory, self._bases = list(leader._memory), list(leader._bases)
            self._weight = leader._weight

    def _shelve(self) -> None:
        """Put the older half of what is in memory in the spill file, the newest batch never."""
        assert self._spill_file is not None
        left, count = self._weight, 0
        while count < len(self._memory) - 1 and left > MEMORY_BYTES // 2:
            left -= self._spill_file.weight(self._memory[count])
            count += 1
        put = self._put(len(self._numbers), self._memory[:count])
        if put < count:
            self._most *= 2  # the rest stays in memory, and the next attempt is not soon
            left = sum(map(self._spill_file.weight, self._memory[put:]))
        self._weight = left
        del self._memory[:put], self._bases[:put]

    def _put(self, place: int, batches: Sequence[Batch]) -> int:
        """Put batches in the spill file, in chunks from `place` on; return how many of them it took."""
        assert self._spill_file is not None
        begin = end = 0
        while begin < len(batches):
            room = MEMORY_BYTES
            while end < len(batches) and (room > 0 or end == begin):
                room -= self._spill_file.weight(batches[end])
                end += 1
            chunk = batches[begin:end]
            number = self._spill_file.put(chunk)
            if number < 0:
                return begin
            self._numbers.insert(place, number)
            self._firsts.insert(place, chunk[0].base_offset)
            self._counts.insert(place, len(chunk))
            self._newest.insert(place, max(b.timestamp_ms for b in chunk))
            self._sizes.insert(place, sum(b.size_bytes for b in chunk))
            place, begin = place + 1, end
        return begin

    # reading

    def between(self, first: int, until: int) -> list[Batch]:
        """Return the batches whose base offset lies in [first, until)."""
        found = self._memory[bisect_left(self._bases, first) : bisect_left(self._bases, until)]
        if not self._firsts or (self._bases and first >= self._bases[0]):
            return found
        return [b for b in self._read_shelf(first) if b.base_offset < until] + found

    def stream(self, first: int, until: int) -> Iterator[Batch]:
        """Yield the batches that hold offsets from `first` on, of which the first offset is below `until`.

        One chunk of the spill file is in memory at a time; the list must not change meanwhile.
        """
        for place in range(max(bisect_right(self._firsts, first) - 1, 0), len(self._firsts)):
            if self._firsts[place] < until:
                for batch in self._chunk(place):
                    if batch.last_offset >= first and batch.base_offset < until:
                        yield batch
        yield from self._in_memory(first, until)

    def read(self, offset: int, upper: int, most_bytes: int = _NO_END) -> list[Batch]:
        """Return the batches that hold offsets from `offset` on, of which the first offset is below `upper`.

        What has to come from the spill file ends when it is `most_bytes` long, so a large log is read in parts.
        """
        if not self._firsts or (self._bases and offset >= self._bases[0]):
            return self._in_memory(offset, upper)
        found, size = [], 0
        for batch in self.stream(offset, upper):
            found.append(batch)
            size += batch.size_bytes
            if size >= most_bytes:
                break
        return found

    def _in_memory(self, offset: int, upper: int) -> list[Batch]:
        start = max(bisect_right(self._bases, offset) - 1, 0)
        found = self._memory[start : bisect_right(self._bases, upper - 1)]
        return found[1:] if found and found[0].last_offset < offset else found

    def _read_shelf(self, first: int) -> Iterator[Batch]:
        for place in range(max(bisect_right(self._firsts, first) - 1, 0), len(self._firsts)):
            yield from (b for b in self._chunk(place) if b.base_offset >= first)

    def _chunk(self, place: int) -> list[Batch]:
        assert self._spill_file is not None
        return self._spill_file.get(self._numbers[place])

    def extent(self, first: int, until: int) -> tuple[int, int]:
        """Return the newest timestamp (-1 if there is none) and the size of the batches that begin in [first, until).

        Only the chunks at both ends are read from the spill file.
        """
        newest, size = -1, 0
        ends = [*self._firsts[1:], self._bases[0] if self._bases else _NO_END]
        for place, (begin, end) in enumerate(zip(self._firsts, ends, strict=True) if self._firsts else ()):
            if first <= begin and end <= until:
                newest, size = max(newest, self._newest[place]), size + self._sizes[place]
            elif begin < until and first < end:
                newest, size = _extent((b for b in self._chunk(place) if first <= b.base_offset < until), newest, size)
        here = self._memory[bisect_left(self._bases, first) : bisect_left(self._bases, until)]
        return _extent(here, newest, size)

    # changing

    def replace(self, first: int, until: int, others: Sequence[Batch]) -> None:
        """Put `others` in place of the batches whose base offset lies in [first, until)."""
        low, high = bisect_left(self._firsts, first), bisect_left(self._firsts, until)
        if not self._firsts or (self._bases and first >= self._bases[0]):
            self._replace_in_memory(first, until, others)
            return
        head = max(low - 1, 0)  # it may begin before `first` and reach beyond it
        touched = [b for place in range(head, high) for b in self._chunk(place)]
        before, after = [b for b in touched if b.base_offset < first], [b for b in touched if b.base_offset >= until]
        whole = [*before, *others, *after]
        behind = len(self._firsts) - high
        self._drop_chunks(head, high)
        if behind:
            whole = whole[self._put(head, whole) :]
            if not whole:
                return
            # the disk is full: what follows comes back into memory
            whole += [b for place in range(len(self._firsts) - behind, len(self._firsts)) for b in self._chunk(place)]
            self._drop_chunks(len(self._firsts) - behind, len(self._firsts))
        self._replace_in_memory(min(first, self._bases[0]) if self._bases else first, until, whole)

    def _replace_in_memory(self, first: int, until: int, others: Sequence[Batch]) -> None:
        place = slice(bisect_left(self._bases, first), bisect_left(self._bases, until))
        self._memory[place] = others
        self._bases[place] = [b.base_offset for b in others]
        self._weigh()

    def _weigh(self) -> None:
        if self._spill_file is not None:
            self._weight = sum(map(self._spill_file.weight, self._memory))
            if self._weight > self._most:
                self._shelve()

    def _drop_chunks(self, low: int, high: int) -> None:
        assert self._spill_file is not None
        for number in self._numbers[low:high]:
            self._spill_file.free(number)
        for name in _COLUMNS:
            del getattr(self, name)[low:high]

    def truncate(self, offset: int) -> None:
        """Drop every batch that reaches to `offset` or beyond."""
        if self._firsts and (not self._bases or self._bases[0] >= offset):
            self._memory, self._bases = [], []
            self._drop_chunks(bisect_left(self._firsts, offset), len(self._firsts))
            if self._firsts:  # the last of its batches may reach beyond
                last = self._chunk(len(self._firsts) - 1)
                self._drop_chunks(len(self._firsts) - 1, len(self._firsts))
                self._memory, self._bases = last, [b.base_offset for b in last]
        kept = bisect_left(self._memory, offset, key=lambda b: b.last_offset)
        del self._memory[kept:], self._bases[kept:]
        self._weigh()

    def copy(self) -> BatchList:
        """Return a list of the same batches, for one that takes the place of this one."""
        other = BatchList(self._spill_file)
        other._memory, other._bases = list(self._memory), list(self._bases)
        other._weight, other._most = self._weight, self._most
        for name in _COLUMNS:
            setattr(other, name, array("q", getattr(self, name)))
        return other


def _extent(batches: Iterable[Batch], newest: int, size: int) -> tuple[int, int]:
    for batch in batches:
        newest, size = max(newest, batch.timestamp_ms), size + batch.size_bytes
    return newest, size
