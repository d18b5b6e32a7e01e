"""Mixed questions: a numbered set of them is drawn from a pool, and answered with a letter for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from kafkalab.grading.exercise import (
    Belief,
    BlankAnswer,
    WrongAnswer,
    WrongType,
    WrongValue,
    cells,
    describe,
    is_blank,
)
from kafkalab.grading.forms import Form
from kafkalab.grading.predictions import Fact, judge_word, rows
from kafkalab.grading.seeds import random_for, seed

LETTERS, SET, MOST = ("a", "b", "c", "d", "e"), "set", 1_000_000
FORM = 'a dict with the number of your set and a letter for each question, like {"set": 1, 1: "a", 2: ...}'


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a pool: the lab or the exercise that it comes from, and its row, whose `words` are the choices.

    `fact.misses` maps wrong choices to the sentences of beliefs.
    """

    source: str
    fact: Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """An exercise that asks `count` questions of a pool, each from another source; `pool(n)` takes n from 0 to 9.

    `beliefs` has the beliefs that the questions name, by their sentences.
    """

    exercise: str
    count: int
    pool: Callable[[int], Sequence[Question]]
    beliefs: Mapping[str, Belief]

    @property
    def form(self) -> Form:
        """Return the check; its blanks are the questions of the seed's set."""
        asked = rows(lambda of_seed: self.draw(number_of(of_seed)), (), FORM, "question", self._read, self.beliefs)
        return replace(asked, check=self._check, kind="mixed questions")

    def draw(self, number: int) -> tuple[Fact, ...]:
        """Return the questions of a set, numbered from 1, each with its choices in some order.

        WrongValue for a number that is not 1 to a million.
        """
        if type(number) is not int or not 1 <= number <= MOST:
            raise WrongValue(f"A set has a number from 1 to {MOST:,}, not {number!r}.")
        random, pool = random_for(self.exercise, number), self.pool(number % 10)
        sources = random.sample(sorted({question.source for question in pool}), self.count)
        picked = [random.choice([one.fact for one in pool if one.source == source]) for source in sources]
        return tuple(_shuffle(place, fact, random) for place, fact in enumerate(picked, 1))

    def open_set(self, number: int) -> dict[Any, Any]:
        """Return the number of a set under "set", and by its number the text of each question with its choices."""
        texts = {fact.name: "\n".join([fact.says, *list_choices(fact)]) for fact in self.draw(number)}
        return {SET: number, **texts}

    def ask(self, of_seed: int) -> dict[Any, Any]:
        """Return the set that a seed asks, as `open_set` does."""
        return self.open_set(number_of(of_seed))

    def _read(self, answer: Any) -> dict[Any, Any]:
        """Return the set's number and, for each question, the choice of its letter; "" for none."""
        if is_blank(answer):
            raise BlankAnswer(f"All questions are still blank. Give {FORM}.")
        if not isinstance(answer, Mapping) or SET not in answer:
            raise WrongType(f"Give {FORM}, not {describe(answer)}.")
        drawn = self.draw(answer[SET])
        letters = {name: letter for name, letter in answer.items() if name != SET}
        given = cells(letters, tuple(fact.name for fact in drawn), LETTERS, FORM, "question")
        return {SET: answer[SET], **{fact.name: _choose(fact, given[fact.name]) for fact in drawn}}

    def _check(self, answer: Mapping[Any, Any]) -> str:
        """ "8 of 8 questions" if each choice is right; WrongAnswer names the belief that the first wrong one shows."""
        drawn = self.draw(answer.get(SET, number_of(seed())))
        wrong = [fact for fact in drawn if answer[fact.name] != fact.truth]
        if not wrong:
            return f"{self.count} of {self.count} questions"
        blank, right = [fact.name for fact in drawn if is_blank(answer[fact.name])], self.count - len(wrong)
        part = right / self.count
        if len(blank) == self.count:
            raise BlankAnswer(f"All questions are still blank. Give {FORM}.")
        if blank:
            raise WrongAnswer(f"Question {blank[0]} has no answer yet.", part=part)
        fact, word = wrong[0], answer[wrong[0].name]
        told = judge_word(fact, word, "question", self.beliefs)
        why = f" That would follow if this were true: {told.sentence}." if told.belief else ""
        said = f"{right} of {self.count} questions are right. Question {fact.name}: you say {word!r}.{why} {fact.look}"
        raise WrongAnswer(said.rstrip(), run=told.run, step=told.step, miss=told.belief, part=part)


def number_of(of_seed: int) -> int:
    """Return the number of the set that a seed asks: the seed itself, from 1 to `MOST`."""
    return (of_seed - 1) % MOST + 1


def list_choices(fact: Fact) -> list[str]:
    """Return a line for each choice of a question."""
    return [f"   {letter}) {text}" for letter, text in zip(LETTERS, fact.words, strict=False)]


def _choose(fact: Fact, letter: str) -> str:
    """Return the choice of a letter, "" for a blank; WrongValue for a letter that the question does not have."""
    letters = LETTERS[: len(fact.words)]
    if letter and letter not in letters:
        raise WrongValue(f"Question {fact.name} has no choice {letter!r}; it has {', '.join(letters)}.")
    return fact.words[letters.index(letter)] if letter else ""


def _shuffle(place: int, fact: Fact, random: Random) -> Fact:
    return replace(fact, name=place, words=tuple(random.sample(fact.words, len(fact.words))))
