"""Find the known run of the same shape as the evidence, and name what both have and what only one of them has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.nearest.known import Known, known_runs
from kafkalab.diagnose.nearest.shape import BOTH, RUN, TEXT, is_alike, say_feature, shape_of

HARMLESS = "Nothing is wrong here, so no run of the lab is looked for."
NOTHING = "No rule concludes anything, so no run of the lab is looked for."
NONE = "None of the {count} runs that the lab knows has the same shape. {shape}"
CAUTION = "The same shape is no proof of the same cause."


class Nearest(NamedTuple):
    """The run of the same shape, or None and why. `same`, `only_text` and `only_run` are sentences."""

    run: Known | None
    why: str = ""
    same: tuple[str, ...] = ()
    only_text: tuple[str, ...] = ()
    only_run: tuple[str, ...] = ()


def find_nearest(evidence: Evidence, findings: list[Finding], runs: Iterable[Known] | None = None) -> Nearest:
    """Return the run that has most features of the evidence; of several the one with the fewest others, then the first.

    Only a run counts in which the same went wrong as in the first finding: see `is_alike`. `runs` are those of
    `known_runs` if they are not given.
    """
    first = next((one for one in findings if not one.harmless), None)
    if first is None:
        return Nearest(None, HARMLESS if findings else NOTHING)
    own = set(shape_of(evidence, first))
    known = list(known_runs() if runs is None else runs)
    alike = [one for one in known if is_alike(own, set(one.features))]
    if not alike:
        return Nearest(None, NONE.format(count=len(known), shape=" ".join(_say(own, TEXT))).strip())
    found = min(alike, key=lambda one: (-len(own & set(one.features)), len(own ^ set(one.features))))
    other = set(found.features)
    return Nearest(found, "", _say(own & other, BOTH), _say(own - other, TEXT), _say(other - own, RUN))


def _say(features: set[str], whose: str) -> tuple[str, ...]:
    return tuple(say_feature(one, whose) for one in sorted(features))
