"""A fault with what undoes it, such as a crash and the restart: a search tries both as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import FAULTS
from kafkalab.limits import did_you_mean, quote

SEARCHED = {kind.kind: kind for kind in FAULTS if kind.kind}
"""Every kind of fault, and the class that does its harm."""
KINDS = ("drop", "late", "duplicate", "crash", "pause", "cut", "clock", "elect", "delete", "compact", "upgrade")
"""The kinds that a search tries, in this order, unless it is given others. The order is a part of each found run."""
ALL_KINDS = (*KINDS, *(name for name in SEARCHED if name not in KINDS))

GIVEN = "given"
"""The kind of a fault that the scenario had before the search."""


ISOLATED = "isolated"
"""A network partition that separates a broker from the others, but not from the controller: it stays leader, what it
does is not replicated, and so each step of each request is left half done for long."""
SHARES = {ISOLATED: 1, "drop": 2, "crash": 3, "cut": 3, "late": 4, "pause": 6}
OTHERS_SHARE = 12
"""The distance between the turns of a kind: six frames are lost for each leader that is elected."""


class Rank(NamedTuple):
    """The order in which sequences of one size are tried: the smallest first.

    `turn` is a sequence's place among those of its kind, which are spread over the run, times the kind's share: all
    kinds have their turns, and the commonest have them more often.
    """

    tier: int
    turn: int
    kind: int
    step: int


@dataclass(frozen=True, slots=True)
class FaultSequence:
    """A fault with what undoes it (a crash and the restart), its kind, and the step at which it begins.

    `lasts_ms` is how much later it is undone. `rank` orders the faults that can follow the same run. `place` names
    what it strikes, without numbers: "EndTxn", "PrepareCommit".
    """

    kind: str
    faults: tuple[Fault, ...]
    step: int
    rank: Rank = Rank(0, 0, 0, 0)
    lasts_ms: int = 0
    place: str = ""


def kinds_named(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds, all of them for none. ValueError for an unknown one."""
    for kind in kinds:
        if kind not in ALL_KINDS:
            hint = did_you_mean(kind, ALL_KINDS)
            raise ValueError(f"no kind of fault is called {quote(kind)}; there are {', '.join(ALL_KINDS)}{hint}")
    return tuple(kinds) or KINDS


def faults_of(sequences: tuple[FaultSequence, ...]) -> tuple[Fault, ...]:
    """Return the faults of all the sequences, in their order."""
    return tuple(fault for sequence in sequences for fault in sequence.faults)
