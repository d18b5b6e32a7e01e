"""A classroom's challenge: a teacher sends one line of text, learners press faults, and answer with one line of text.

The answer names the presses only: counting replays them (tokens.py).
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.explore.fault_sequence import GIVEN, KINDS, SEARCHED
from kafkalab.explore.search import explore
from kafkalab.explore.shrink import shrink
from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import TYPES
from kafkalab.grading.exercise import Line, WrongAnswer, WrongValue
from kafkalab.grading.presses import presses_of, run_with
from kafkalab.history.export import history_of
from kafkalab.programs.transfers import read_to_the_end
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import ANSWER, CHALLENGE, decode, encode, fault_of_row, fault_row, scenario_of_row, scenario_row
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario

MOST = 20
PAR_RUNS = 400
NAME_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Press faults into the scenario until one of the anomalies shows that `find` names, in at most `most` presses.

    `allowed` names the faults that may be pressed, all of them if it is empty. ValueError for an anomaly or a fault
    that does not exist, and for a scenario in which the anomaly shows without a press.
    """

    scenario: Scenario
    find: tuple[str, ...]
    most: int = 4
    allowed: tuple[str, ...] = ()
    given: str = field(default="", compare=False, repr=False)
    """The line from which it was opened."""

    def __post_init__(self) -> None:
        for what, names, known in (("anomaly", self.find, BY_NAME), ("fault", self.allowed, TYPES)):
            for name in names:
                if name not in known:
                    raise ValueError(f"no {what} is called {name!r}; there are {', '.join(known)}")
        if not self.find:
            raise ValueError(f"a challenge names what is to be found; there are {', '.join(BY_NAME)}")
        if type(self.most) is not int or not 1 <= self.most <= MOST:
            raise ValueError(f"most is a number of presses from 1 to {MOST}, not {self.most!r}")

    @property
    def code(self) -> str:
        """Return the line to hand out; ValueError if the scenario cannot be saved, or shows the anomaly by itself."""
        if found := anomalies(self, run_with(self.scenario, ())):
            raise ValueError(f"this scenario shows {', '.join(found)} without any press; there is nothing to find")
        return encode(CHALLENGE, [scenario_row(self.scenario), list(self.find), self.most, list(self.allowed)])

    def par(self, runs: int = PAR_RUNS) -> int:
        """Return the fewest presses with which a search finds it, after at most `runs` runs; 0 if it finds none.

        ValueError, as of `code`, if the scenario shows the anomaly by itself.
        """
        kinds = tuple(kind for kind in KINDS if not self.allowed or SEARCHED[kind].__name__ in self.allowed)
        if not kinds:
            return 0
        found = explore(self.scenario, self.find, (), self.most, runs=runs, kinds=kinds, read=True)
        if found.found is None:
            return 0
        pressed = shrink(found).sequences
        presses = [fault for sequence in pressed if sequence.kind != GIVEN for fault in sequence.faults]
        allowed = all(not self.allowed or type(fault).__name__ in self.allowed for fault in presses)
        return len(presses) if allowed and len(presses) <= self.most else 0

    @property
    def mark(self) -> str:
        """Eight letters that an answer to this challenge repeats."""
        row = [self.scenario.to_json(), self.find, self.most, self.allowed]
        return f"{zlib.crc32(json.dumps(row, sort_keys=True).encode()):08x}"

    def is_answered_by(self, mark: str) -> bool:
        """Return whether an answer with this mark is to this challenge; in the first format the mark was the line's."""
        return mark == self.mark or (self.given != "" and mark == f"{zlib.crc32(self.given.encode()):08x}")

    def __str__(self) -> str:
        faults = f" Faults that count: {', '.join(self.allowed)}." if self.allowed else ""
        off = "; ".join(self.scenario.rules_off)
        meaning = " ".join(f"{name}: {BY_NAME[name].meaning}" for name in self.find)
        return (
            f"{self.scenario.title or 'A run'} ({self.scenario.profile}{f', without: {off}' if off else ''}). "
            f"Find {' or '.join(self.find)} in at most {self.most} presses.{faults}\n{meaning}"
        )

    def __repr__(self) -> str:
        return str(self)


def open_challenge(code: str) -> Challenge:
    """Return the challenge of a teacher's line, whose `scenario` a `Sequence` opens; ValueError for any other line."""
    row = decode(CHALLENGE, code)
    if isinstance(row, dict):  # the first format
        row = [row.get("scenario"), row.get("find"), row.get("most"), row.get("allowed", [])]
    if not isinstance(row, list) or len(row) != 4 or not (_are_names(row[1]) and _are_names(row[3])):
        raise ValueError("this code holds no challenge")
    scenario, find, most, allowed = row
    given = "".join(code.split())
    return Challenge(
        scenario=scenario_of_row(scenario), find=tuple(find), most=most, allowed=tuple(allowed), given=given
    )


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def answer_challenge(code: str, name: str, answer: object) -> Line:
    """Return the line to hand in: your name and your presses, a list of faults or the widget in which you pressed them.

    WrongAnswer, with the run, if they do not find what is asked for.
    """
    challenge = open_challenge(code)
    if not isinstance(name, str) or not name.strip() or len(name) > NAME_MAX or not name.isprintable():
        raise WrongValue(f"give your name as a string of 1 to {NAME_MAX} letters, not {name!r}")
    faults = presses_of(answer, challenge.scenario)
    found = replay(challenge, faults)
    token = encode(ANSWER, [challenge.mark, name.strip(), [fault_row(f) for f in faults]])
    count = f"{len(faults)} press{'es' if len(faults) > 1 else ''}"
    return Line(f"You found {', '.join(found)} in {count}. Hand in this line:\n    {token}")


def replay(challenge: Challenge, faults: Sequence[Fault]) -> tuple[str, ...]:
    """Run the presses; return the anomalies that they find. WrongAnswer, saying why, for none or too many presses."""
    if not faults:
        raise WrongAnswer("There is no press in it.")
    if len(faults) > challenge.most:
        raise WrongAnswer(f"It has {len(faults)} presses; at most {challenge.most} count.")
    for fault in faults:
        if challenge.allowed and type(fault).__name__ not in challenge.allowed:
            raise WrongAnswer(f"{fault!r} does not count here; {', '.join(challenge.allowed)} do.")
    cluster = run_with(challenge.scenario, faults)
    if cluster.unused_faults:
        raise WrongAnswer(f"{', '.join(map(repr, cluster.unused_faults))} changed nothing.", run=cluster)
    found = anomalies(challenge, cluster)
    if not found:
        wanted = " or ".join(challenge.find)
        raise WrongAnswer(f"This run shows no {wanted}.", run=cluster)
    return found


def anomalies(challenge: Challenge, cluster: Cluster) -> tuple[str, ...]:
    """Read every topic to its end; return which of the challenge's anomalies the run then shows."""
    with contextlib.suppress(StuckError, RunawayError):  # who waits for a hanging transaction has seen what he has
        read_to_the_end(cluster)
    report = check_all(history_of(cluster))
    return tuple(name for name in challenge.find if report[name].findings)


def unpack_token(token: str) -> tuple[str, str, tuple[Fault, ...]]:
    """Return the challenge's mark, the name and the presses of a token; ValueError for any other line."""
    row = decode(ANSWER, token)
    if isinstance(row, dict):  # the first format
        row = [row.get("challenge"), row.get("name"), row.get("presses")]
    if not isinstance(row, list) or len(row) != 3 or not _are_names(row[:2]):
        raise ValueError("this token names nobody")
    mark, name, presses = row
    if not isinstance(presses, list) or len(presses) > MOST or not name.isprintable():
        raise ValueError(f"this token has no list of at most {MOST} presses")
    try:
        return mark, name[:NAME_MAX], tuple(fault_of_row(fault) for fault in presses)
    except (KeyError, TypeError) as error:
        raise ValueError(f"this token has a press that this kafkalab does not know: {error}") from None
