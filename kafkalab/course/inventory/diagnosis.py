"""Find the beliefs that explain the answers of a sitting best; slips and guesses explain the rest.

A learner with some beliefs chooses an option of one of them where a question offers it, and the right one elsewhere;
now and then anything. Beliefs are added for as long as each makes the answers clearly likelier, and none is named if
guessing explains the answers as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from kafkalab.course.inventory.item import BELIEFS, RIGHT
from kafkalab.course.inventory.sitting import Question

EXPECTED, OPTIONS = 0.75, 4
"""The share of answers that follow from what a learner believes: without slips (10 %) and guesses (20 %)."""
FOLLOWS, STRAYS, GUESSED = log(EXPECTED), log((1 - EXPECTED) / (OPTIONS - 1)), log(1 / OPTIONS)
LEAST_HITS, ALONE = 2, 3
"""A belief is named after at least so many of its options were chosen; more, if it is the only one."""
GAIN, MARGIN = 1.9, 10.0
"""The least gain in log-likelihood (natural logarithm) of one belief, and of all beliefs together over guessing."""
Answers = Mapping[str, str]


def find_beliefs(questions: Sequence[Question], answers: Answers) -> tuple[str, ...]:
    """Return the beliefs that the answers show, the clearest first."""
    asked = [(one, one.options[answers[one.name]].stands_for) for one in questions if answers.get(one.name)]
    held: tuple[str, ...] = ()
    score = _score(asked, held)
    while True:
        chosen = {stands_for for _, stands_for in asked}
        candidates = [b for b in BELIEFS if b in chosen and b not in held and _count_hits(asked, b) >= LEAST_HITS]
        scores = {belief: _score(asked, (*held, belief)) for belief in candidates}
        best = max(scores, key=scores.__getitem__, default="")
        if not best or scores[best] < score + GAIN:
            break
        held, score = (*held, best), scores[best]
    if len(held) == 1 and _count_hits(asked, held[0]) < ALONE:
        return ()
    return held if score > len(asked) * GUESSED + MARGIN else ()


def _count_hits(asked: Sequence[tuple[Question, str]], belief: str) -> int:
    return sum(stands_for == belief for _, stands_for in asked)


def _score(asked: Sequence[tuple[Question, str]], held: tuple[str, ...]) -> float:
    """Return the logarithm of how likely the answers are for a learner with these beliefs."""
    total = 0.0
    for question, stands_for in asked:
        offered = sum(option.stands_for in held for option in question.options.values())
        if (stands_for in held) if offered else (stands_for == RIGHT):
            total += FOLLOWS - log(max(offered, 1))
        else:
            total += STRAYS
    return total


def find_right_items(questions: Sequence[Question], answers: Answers) -> dict[int, bool]:
    """Return, by the place of each item, whether more than half of its questions are answered rightly."""
    found: dict[int, list[bool]] = {}
    for one in questions:
        letter = answers.get(one.name, "")
        found.setdefault(one.item, []).append(bool(letter) and one.options[letter].stands_for == RIGHT)
    return {item: 2 * sum(right) > len(right) for item, right in found.items()}
