"""L14.E2: the shortest schedule in which two-phase commit waits for ever and Kafka does not; it is run on both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

from kafkalab.alternatives.presses import MOMENTS, WHO, Press, Transfer, run
from kafkalab.course.lab14.tables import table_of
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe
from kafkalab.grading.seeds import random_for, seed

FORM = 'a list of crashes, each as who and when, like [("other", "written"), ("told", "decided")]'
MOST = 3


@cache
def question(of_seed: int) -> dict[str, Any]:
    """Return the number of participants, and the moment at which the coordinator must not crash."""
    random = random_for("L14.E2", of_seed)
    return {"participants": random.randint(2, 4), "not at": random.choice(("prepared", "decided"))}


def both(presses: Sequence[Press], of_seed: int) -> tuple[Transfer, Transfer]:
    """The runs of two-phase commit and of Kafka with these crashes."""
    parts = question(of_seed)["participants"]
    return (
        run("two-phase commit", tuple(presses), seed=of_seed, parts=parts),
        run("Kafka", tuple(presses), seed=of_seed),
    )


def is_reached(one: Transfer, kafka: Transfer) -> bool:
    """Return True if a part of two-phase commit waits for ever, and every part in Kafka is decided."""
    return bool(one.waiting) and set(kafka.parts.values()) <= {"committed", "aborted"}


@cache
def par(of_seed: int) -> int:
    """The fewest crashes that reach it, found by trying all schedules by their length."""
    for length in range(1, MOST + 1):
        for presses in combinations(list_allowed(of_seed), length):
            if is_reached(*both(presses, of_seed)):
                return length
    raise AssertionError(f"no schedule of {MOST} crashes reaches it")


def list_allowed(of_seed: int) -> list[Press]:
    """All crashes but the one that the question forbids."""
    return [press for press in product(WHO, MOMENTS) if press != ("coordinator", question(of_seed)["not at"])]


def presses_of(answer: object, of_seed: int) -> list[Press]:
    """The answer's crashes. BlankAnswer, WrongType or WrongValue where it is none."""
    if answer is ... or answer is None or answer == []:
        raise BlankAnswer(f"The list is still blank. Give {FORM}.")
    if not isinstance(answer, (list, tuple)):
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    found = []
    for press in answer:
        if not isinstance(press, (list, tuple)) or len(press) != 2:
            raise WrongType(f"A crash is who and when, not {describe(press)}. Give {FORM}.")
        who, moment = press
        if who not in WHO or moment not in MOMENTS:
            raise WrongValue(f"No crash {press!r}: who is {', '.join(WHO)}, and when is {', '.join(MOMENTS)}.")
        if (who, moment) not in list_allowed(of_seed):
            raise WrongValue(f"The coordinator must not crash at {moment!r} here. Look at question(\"L14.E2\").")
        found.append((who, moment))
    if len(found) > MOST:
        raise WrongValue(f"There are {len(found)} crashes; at most {MOST} are allowed.")
    return found


def check(answer: object) -> str:
    """ "1 crash, the fewest there are" if two-phase commit waits for ever under it and Kafka does not."""
    of_seed = seed()
    presses = presses_of(answer, of_seed)
    one, kafka = both(presses, of_seed)
    if is_reached(one, kafka):
        least = par(of_seed)
        many = f"{len(presses)} crash{'es' if len(presses) > 1 else ''}"
        return f"{many}, the fewest there are" if len(presses) == least else f"{many}; {least} would do"
    if one.waiting:
        miss, says, shown = "Kafka waits too", "Two-phase commit waits, but Kafka does not end either.", kafka
    else:
        miss, says = _why(presses, one)
        shown = one
    last = next((c.at_step for c in reversed(shown.strikes) if c.at_step >= 0), 0)
    raise WrongAnswer(says, run=table_of(shown, last, f"{shown.model} under your crashes"), miss=miss)


def _why(presses: Sequence[Press], one: Transfer) -> tuple[str, str]:
    ends = ", ".join(f"{name} {state}" for name, state in one.parts.items())
    said = f"Nobody waits in two-phase commit: {ends}. "
    moments = [moment for who, moment in presses if who == "coordinator"]
    if not moments:
        return "the coordinator lives", said + "The coordinator is there, and tells everybody who asks."
    if min(MOMENTS.index(moment) for moment in moments) < MOMENTS.index("prepared"):
        return "nobody had voted", said + "Who has not voted may abort alone, when its time is up."
    return "somebody knows", said + "Those who are left ask each other, and one of them knows."


EXERCISE = Exercise(
    "L14.E2",
    check,
    (
        "When may a participant not decide alone? Between its yes and the word of the decision. The coordinator must "
        "not be there then.",
        "Who has not voted aborts alone; and who asks another participant that knows, learns it. So nobody who is "
        "left may know, and all must have voted.",
        "Let the coordinator crash when it has every vote, or has decided and told nobody. If that moment is taken "
        "from you, take the other one.",
    ),
    points=5,
    misses={
        "the coordinator lives": 0,
        "nobody had voted": "At that moment no participant has voted. Read what p1 does ten seconds later.",
        "somebody knows": "Who was told before the coordinator was gone? That one answers all who ask.",
        "Kafka waits too": "You have crashed more of Kafka than it has copies for. Take away what is not needed.",
    },
    question=question,
    questions=(33,),
    afterwards=(
        "Why: after its vote a participant has given its right to decide away. A Kafka partition never had it; what it "
        "waits for is a log with copies, and the next coordinator reads it. Next: the same filter in a table."
    ),
)
