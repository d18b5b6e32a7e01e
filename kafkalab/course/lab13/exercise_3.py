"""L13.E3, the capstone: three incidents, each explained by a causal chain of frame, state, rule and effect.

A wrong answer says only what contradicts itself in a chain, which does not depend on the incident. It never says which
incident is explained: a program that tries all chains against `check` would find each incident by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kafkalab.course.lab13.chains import BY_NAME, CAUSES, EFFECTS, STATES, Chain, fits_together, is_so
from kafkalab.course.lab13.evidence import list_given
from kafkalab.course.lab13.incidents import COUNT
from kafkalab.grading.exercise import BlankAnswer, Exercise, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.seeds import random_for

PARTS = ("frame", "state", "rule", "effect")
MOST = 1_000_000
FORM = (
    f'{{"case": 1, "chains": [...]}} with the number of your case and {COUNT} chains, each like '
    '{"frame": "Produce#3", "state": "in the log", "rule": "a", "effect": "duplicate out-0@4"}'
)


@cache
def name_rules(case: int) -> dict[str, str]:
    """Return the rules that may be missing, by a letter that the case gives them."""
    names = [rule.name for rule in CAUSES]
    random_for("L13.E3 letters", case).shuffle(names)
    return dict(zip("abcdefghijk", names, strict=True))


def open_case(number: int) -> dict[str, Any]:
    """Return a case: its `number`, its `incidents` as text, and the words for `rules`, `states` and `effects`.

    Each number has incidents of its own. WrongValue for one that is not 1 to a million.
    """
    if type(number) is not int or not 1 <= number <= MOST:
        raise WrongValue(f"A case has a number from 1 to {MOST:,}, not {number!r}.")
    words = {"rules": dict(name_rules(number)), "states": dict(STATES), "effects": list(EFFECTS)}
    return {"number": number, "incidents": [dict(incident) for incident in list_given(number)], **words}


def check(answer: object) -> str:
    """ "3 of 3 incidents" if each chain is what happened; WrongAnswer says which chain contradicts itself, if any."""
    case, rows = _read_form(answer)
    chains = [_read_chain(row, number, case) for number, row in enumerate(rows, 1)]
    for number, chain in enumerate(chains, 1):
        if problem := fits_together(chain):
            raise WrongAnswer(f"Incident {number}: {problem}", miss="no chain")
    right = sum([is_so(chain, case, place) for place, chain in enumerate(chains)])
    if right == COUNT:
        return f"{COUNT} of {COUNT} incidents of case {case}"
    looks = "; ".join(f"{n}: {CAUSES[BY_NAME[chain.rule]].look}" for n, chain in enumerate(chains, 1))
    raise WrongAnswer(
        "Each chain fits together, but not all of them are what happened, and you are not told which. "
        f"If your rules were missing, the records would show this. {looks}.",
        miss="another cause",
    )


def _read_form(answer: object) -> tuple[int, list[Mapping[str, Any]]]:
    """Return the case and the chains of an answer. BlankAnswer if all is blank, WrongType if it has not the form."""
    if is_blank(answer):
        raise BlankAnswer(f"The answer is still blank. Give {FORM}.")
    if not isinstance(answer, Mapping) or set(answer) != {"case", "chains"}:
        raise WrongType(f"Give {FORM}, not {describe(answer)}.")
    case, rows = answer["case"], answer["chains"]
    if type(case) is not int or not 1 <= case <= MOST:
        raise WrongValue(f"A case has a number from 1 to {MOST:,}, not {case!r}.")
    if not isinstance(rows, (list, tuple)) or len(rows) != COUNT:
        raise WrongType(f"Give {FORM}; your chains are {describe(rows)}.")
    for row in rows:
        if not isinstance(row, Mapping) or set(row) != set(PARTS):
            raise WrongType(f"Give {FORM}; one of your chains is {describe(row)}.")
    if all(is_blank(part) for row in rows for part in row.values()):
        raise BlankAnswer(f"All chains are still blank. Give {FORM}.")
    return case, list(rows)


@cache
def _name_frames(case: int, place: int) -> frozenset[str]:
    """Return the names of the frames in an incident's record."""
    return frozenset(line.split()[5] for line in list_given(case)[place]["frames"])


def _read_chain(row: Mapping[str, Any], number: int, case: int) -> Chain:
    """Return a row as a chain. WrongValue for a word that does not exist, and a frame that is not in the records."""
    said: dict[str, str] = {}
    for part in PARTS:
        value = row[part]
        if is_blank(value):
            raise WrongAnswer(f"Incident {number}: the {part} is still blank.", miss="no chain")
        if not isinstance(value, str):
            raise WrongType(f"Incident {number}: the {part} is a text, not {describe(value)}.")
        said[part] = value.strip()
    letters = name_rules(case)
    for part, words in (("rule", tuple(letters)), ("state", tuple(STATES))):
        if said[part] not in words:
            raise WrongValue(f"Incident {number}: the {part} is one of {', '.join(words)}, not {said[part]!r}.")
    if _name_frames(case, number - 1).isdisjoint({said["frame"], said["frame"].replace("#", "Response#")}):
        raise WrongValue(f"Incident {number}: no frame of its record is called {said['frame']!r}.")
    anomaly, _, place = said["effect"].rpartition(" ")
    if anomaly not in EFFECTS or "@" not in place:
        names = ", ".join(EFFECTS)
        raise WrongValue(f'Incident {number}: the effect is one of {names}, and a record, like "duplicate out-0@4".')
    return Chain(frame=said["frame"], state=said["state"], rule=letters[said["rule"]], effect=said["effect"])


EXERCISE = Exercise(
    "L13.E3",
    check,
    (
        "Begin at the end: which record is twice in a log, was read too early, or has no marker? Then go back through "
        "the frames to the one that put it there.",
        "For that frame ask what its receiver knew. A broker knows its logs (the dump), a coordinator the last entry "
        "of __transaction_state or of the group, a consumer the records that it got.",
        "Which of the rules looks at exactly this request in exactly this state? If two rules break the same promise, "
        "compare what each of them would have let through: the newest batch or an older one, a record before its "
        "marker or after it, an offset of an old member or an undecided one.",
    ),
    points=12,
    misses={
        "no chain": "The four parts have to be about one moment: this request arrived, its receiver was in this state, "
        "this rule should have refused it, and so this record is wrong.",
        "another cause": 0,
    },
    afterwards=(
        "Why: a cause is a frame, the state in which it arrived, the rule that should have stopped it, and the record "
        "that is wrong. Anyone can check such a report. Next: exercise 4 plans an upgrade."
    ),
)
