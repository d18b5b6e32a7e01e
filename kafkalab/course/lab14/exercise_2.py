"""L14.E2: eight questions over the whole course, drawn by the number of a set; each has a run behind it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kafkalab.course.lab14.mixed import LETTERS, Question, evidence_of, list_beliefs, pool
from kafkalab.grading.exercise import (
    Belief,
    BlankAnswer,
    Exercise,
    WrongAnswer,
    WrongType,
    WrongValue,
    cells,
    describe,
    is_blank,
)
from kafkalab.grading.seeds import random_for

COUNT, MOST = 8, 1_000_000
FORM = 'a dict with the number of your set and a letter for each question, like {"set": 1, 1: "a", 2: ...}'


@cache
def draw(number: int) -> tuple[Question, ...]:
    """Return the questions of a set, each from another exercise or lab, with their choices in some order."""
    random = random_for("L14.E2", number)
    sources = random.sample(sorted({question.source for question in pool(number % 10)}), COUNT)
    picked = [random.choice([q for q in pool(number % 10) if q.source == source]) for source in sources]
    return tuple(question.shuffle(random) for question in picked)


def open_set(number: int) -> dict[int, str]:
    """Return the questions of a set with their choices. WrongValue for a number that is not 1 to a million."""
    if type(number) is not int or not 1 <= number <= MOST:
        raise WrongValue(f"A set has a number from 1 to {MOST:,}, not {number!r}.")
    return {place: "\n".join([one.asks, *list_choices(one)]) for place, one in enumerate(draw(number), 1)}


def list_choices(one: Question) -> list[str]:
    """Return a line for each choice of a question."""
    return [f"   {letter}) {text}" for letter, text in zip(LETTERS, one.choices, strict=False)]


def check(answer: object) -> str:
    """ "8 of 8 questions" if each letter is right; WrongAnswer names the belief behind the first wrong one."""
    if is_blank(answer):
        raise BlankAnswer(f"All questions are still blank. Give {FORM}.")
    if not isinstance(answer, Mapping) or "set" not in answer:
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    open_set(answer["set"])
    drawn = draw(answer["set"])
    letters = {name: letter for name, letter in answer.items() if name != "set"}
    given = cells(letters, tuple(range(1, COUNT + 1)), LETTERS, FORM, "question")
    if not any(given.values()):
        raise BlankAnswer(f"All questions are still blank. Give {FORM}.")
    said = {n: dict(zip(LETTERS, one.choices, strict=False)).get(given[n], "") for n, one in enumerate(drawn, 1)}
    wrong = [n for n, one in enumerate(drawn, 1) if said[n] != one.right]
    if not wrong:
        return f"{COUNT} of {COUNT} questions"
    first, one = wrong[0], drawn[wrong[0] - 1]
    told, part = f"{COUNT - len(wrong)} of {COUNT} questions are right.", (COUNT - len(wrong)) / COUNT
    if missing := [n for n, text in said.items() if not text]:
        raise WrongAnswer(f"Question {missing[0]} has no answer yet, or a letter that it does not have.", part=part)
    belief = one.beliefs.get(said[first])
    why = f" That would follow if this were true: {belief.says}." if belief else ""
    run, step = evidence_of(one, said[first])
    text = f"{told} Question {first}: you say {said[first]!r}.{why} {one.fact.look}".rstrip()
    raise WrongAnswer(text, run=run, step=step, miss=name_belief(one, belief), part=part)


def name_belief(one: Question, belief: Belief | None) -> str:
    """Return the key of a belief in `misses`; "" for none."""
    source = "only here" if one.source.startswith("lab") else one.source
    return f"{source}: {belief.says}" if belief else ""


EXERCISE = Exercise(
    "L14.E2",
    check,
    (
        "Each question is about one moment. Who knows what at that moment, and what is in a log by then?",
        "A wrong answer opens the run of its question. Step to the end and look at the logs before you choose again.",
        "Each question comes from a lab; its recap, at the end, has the belief and what you have seen.",
    ),
    points=8,
    misses=list_beliefs(),
    afterwards=(
        "Why: each answer is what the run of its question does. Another number gives other questions; come back to it "
        "in a week. Next: exercise 3 looks into PostgreSQL."
    ),
)
