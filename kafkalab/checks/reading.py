"""The positions of consumers, for the checks that need to know what each has seen."""

from __future__ import annotations

from kafkalab.checks.view import Place, View


def collect_polls(view: View) -> dict[Place, list[str | None]]:
    """The values that somebody was given, by key and offset."""
    found: dict[Place, list[str | None]] = {}
    for read in view.history.reads:
        found.setdefault((read.key, read.offset), []).append(read.value)
    return found


def passages(view: View) -> dict[str, list[tuple[int, int, int]]]:
    """For each key what was read in one go: (first position, last offset seen, step), by first position.

    A seek or an assignment begins another passage. Where no position is known a passage begins at 0: then a poll that
    saw an offset is taken to have come by all before it.
    """
    found: dict[str, list[tuple[int, int, int]]] = {}
    for (_, key), stretches in view.stretches.items():
        start, last, step = -1, -1, -1
        for stretch in stretches:
            if stretch.moved or start == -1:
                if last >= 0:
                    found.setdefault(key, []).append((start, last, step))
                start, last = max(stretch.start, 0), -1
            for read in stretch.reads:
                if read.offset > last:
                    last, step = read.offset, read.step
        if last >= 0:
            found.setdefault(key, []).append((start, last, step))
    return {key: sorted(passed) for key, passed in found.items()}


def passed_over(passed: list[tuple[int, int, int]], offset: int) -> int:
    """The step at which a passage that had begun at or before `offset` saw it or one behind it; -1 for none."""
    return next((step for start, last, step in passed if start <= offset <= last), -1)
