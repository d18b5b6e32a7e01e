"""Exercises that give what happens in a run in disorder, and ask for the order in which it happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """A run, and things that happen in it, each with a function that finds its step.

    `exercise` is the exercise's id and `form` what to give. Of a pair that is the wrong way round, `look` returns a
    question about it, and `miss` the misconception behind it. `clean` is done to each name of an answer first.
    """

    exercise: str
    form: str
    steps: Mapping[str, Callable[[Cluster], int]]
    run: Callable[[int], Cluster]
    look: Callable[[str, str], str]
    miss: Callable[[str, str], str]
    clean: Callable[[str], str] = str.strip

    def sort(self, of_seed: int) -> tuple[str, ...]:
        """Return the names in the order in which they happen in the run of this seed."""
        cluster = self.run(of_seed)
        return tuple(sorted(self.steps, key=lambda name: self.steps[name](cluster)))

    def shuffle(self, of_seed: int) -> list[str]:
        """Return the names in disorder, another one for each seed."""
        names = list(self.steps)
        random_for(self.exercise, of_seed).shuffle(names)
        return names if tuple(names) != self.sort(of_seed) else names[::-1]

    def check(self, answer: object) -> str:
        """ "9 of 9 in order"; WrongAnswer names the first neighbours that are not, and opens the run there."""
        given = self._read(answer)
        right = self.sort(seed())
        if given == list(right):
            return f"{len(right)} of {len(right)} in order"
        place = {name: number for number, name in enumerate(right)}
        one, other = next((a, b) for a, b in itertools.pairwise(given) if place[a] > place[b])
        fine = sum(a == b for a, b in zip(given, right, strict=True))
        run = self.run(seed())
        raise WrongAnswer(
            f"{fine} of {len(right)} are in their places. One pair that is not: {one!r} is not before {other!r}. "
            f"{self.look(one, other)}",
            run=run,
            step=self.steps[other](run),
            miss=self.miss(one, other),
            part=fine / len(right),
        )

    def _read(self, answer: object) -> list[str]:
        if is_blank(answer) or (isinstance(answer, Sequence) and all(map(is_blank, answer))):
            raise BlankAnswer(f"The list is still blank. Give {self.form}.")
        if not isinstance(answer, (list, tuple)):
            raise WrongType(f"Give {self.form}, not {describe(answer)}.")
        given = [self.clean(str(name)) for name in answer if not is_blank(name)]
        if unknown := [name for name in given if name not in self.steps]:
            raise WrongValue(f"{unknown[0]!r} is none of the names in the question. Give {self.form}.")
        if sorted(given) != sorted(self.steps):
            missing = ", ".join(repr(name) for name in self.steps if name not in given) or "none"
            raise WrongValue(f"The list needs each name once; missing: {missing}. Give {self.form}.")
        return given
