"""Members in the order of their loads, from both ends: the next to get a partition, and the next to give one."""

from __future__ import annotations


class Levels:
    """The `places` of members, whose loads are in `sizes`, as they are raised and lowered level by level.

    All members of the lowest level get one partition each before any gets a second one, and those of the highest level
    give one each (`UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer`).
    """

    def __init__(self, places: list[int], sizes: list[int]) -> None:
        self.sizes = sizes
        self.order = sorted(places, key=lambda place: (sizes[place], place))
        self.imbalance = sizes[self.order[-1]] - sizes[self.order[0]]
        self.low_end, self.low_level, self.next_low = 0, sizes[self.order[0]] - 1, 0
        self.high_start = self.high_end = len(self.order)
        self.high_level, self.next_high = sizes[self.order[-1]] + 1, len(self.order) - 1

    @property
    def is_balanced(self) -> bool:
        """Return True if the levels at both ends are at most one apart."""
        return self.high_level - self.low_level <= 1

    def next_least_loaded(self) -> int:
        """Return the member that gets the next partition."""
        if self.next_low >= self.low_end:
            self.low_level += 1
            while self.low_end < len(self.order) and self.sizes[self.order[self.low_end]] == self.low_level:
                self.low_end += 1
            self.next_low = 0
        self.next_low += 1
        return self.order[self.next_low - 1]

    def next_most_loaded(self) -> int | None:
        """Return the member that gives the next partition, None if none is left."""
        if self.next_high < self.high_start:
            is_empty = self.high_end <= self.high_start and self.high_start > 0
            self.high_level = self.sizes[self.order[self.high_start - 1]] if is_empty else self.high_level - 1
            while self.high_start > 0 and self.sizes[self.order[self.high_start - 1]] == self.high_level:
                self.high_start -= 1
            self.next_high = self.high_end - 1
        if self.next_high < 0:
            return None
        self.next_high -= 1
        return self.order[self.next_high + 1]

    def exclude_most_loaded(self) -> None:
        """Leave the member that `next_most_loaded` returned out from now on: it has nothing to give."""
        place, last = self.next_high + 1, self.high_end - 1
        self.order[place], self.order[last] = self.order[last], self.order[place]
        self.high_end -= 1
