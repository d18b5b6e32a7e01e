"""Find the beliefs that explain the answers of a sitting best; slips and guesses explain the rest.

A learner with some beliefs chooses an option of one of them where a question offers it, and the right one elsewhere;
now and then anything. Beliefs are added for as long as each makes the answers clearly likelier, and none is named if
guessing explains the answers as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import comb, log

from kafkalab.course.inventory.item import BELIEFS, RIGHT
from kafkalab.course.inventory.sitting import Question

EXPECTED, OPTIONS = 0.75, 4
"""The share of answers that follow from what a learner believes: without slips (10 %) and guesses (20 %)."""
FOLLOWS, STRAYS = log(EXPECTED), log((1 - EXPECTED) / (OPTIONS - 1))
LEAST_HITS, ALONE = 2, 3
"""A belief is named after at least so many of its options were chosen; more, if it is the only one."""
GAIN = 1.4
"""The least gain in log-likelihood (natural logarithm) of one belief."""
FALSE_ALARM = 1 / 5_000
"""The largest share of learners who only guess that is told of a belief."""
Answers = Mapping[str, str]
Asked = Sequence[tuple[Collection[str], str]]
"""For each question that is answered what its options stand for, and what the chosen one does."""


def find_beliefs(questions: Sequence[Question], answers: Answers) -> tuple[str, ...]:
    """Return the beliefs that the answers show, the clearest first."""
    chosen = [(one, one.options[answers[one.name]]) for one in questions if answers.get(one.name)]
    asked = [(frozenset(o.stands_for for o in one.options.values()), option.stands_for) for one, option in chosen]
    met = [stands_for for _, stands_for in asked]
    candidates = [belief for belief in BELIEFS if met.count(belief) >= LEAST_HITS]
    held: tuple[str, ...] = ()
    score = _score(asked, held)
    while True:
        scores = {belief: _score(asked, (*held, belief)) for belief in candidates if belief not in held}
        best = max(scores, key=scores.__getitem__, default="")
        if not best or scores[best] < score + GAIN:
            break
        held, score = (*held, best), scores[best]
    if len(held) == 1 and met.count(held[0]) < ALONE:
        return ()
    bounds = (bound_for_guessers(asked, held[:count]) for count in range(1, len(held) + 1))
    return held if min(bounds, default=1.0) <= FALSE_ALARM else ()


def _score(asked: Asked, held: tuple[str, ...]) -> float:
    """Return the logarithm of how likely the answers are for a learner with these beliefs."""
    total = 0.0
    for offered, stands_for in asked:
        expected = _expect(offered, held)
        total += FOLLOWS - log(len(expected)) if stands_for in expected else STRAYS
    return total


def _expect(offered: Collection[str], held: Collection[str]) -> Collection[str]:
    """Return what the options stand for that a learner with these beliefs chooses."""
    return [belief for belief in held if belief in offered] or [RIGHT]


def bound_for_guessers(asked: Asked, held: Collection[str]) -> float:
    """Return a bound on the share of guessers whose answers follow from any beliefs as well as these do from `held`.

    A guess follows with the share of options that a learner with the beliefs chooses, so the number of answers that
    follow has a known distribution. Its tail counts once for each set of as many beliefs, as the best of all sets was
    looked for (Bonferroni), and sets of k beliefs get 1/2**k of all false alarms, which adds up to less than 1.
    """
    chances, follow = [1.0], 0  # by the number of answers that follow, how likely it is
    for offered, stands_for in asked:
        expected = _expect(offered, held)
        follow += stands_for in expected
        share = len(expected) / OPTIONS
        chances = [a * (1 - share) + b * share for a, b in zip([*chances, 0.0], [0.0, *chances], strict=True)]
    return sum(chances[follow:]) * comb(len(BELIEFS), len(held)) * (1 << len(held))


def find_right_items(questions: Sequence[Question], answers: Answers) -> dict[int, bool]:
    """Return, by the place of each item, whether more than half of its questions are answered rightly."""
    found: dict[int, list[bool]] = {}
    for one in questions:
        letter = answers.get(one.name, "")
        found.setdefault(one.item, []).append(bool(letter) and one.options[letter].stands_for == RIGHT)
    return {item: 2 * sum(right) > len(right) for item, right in found.items()}
