"""A check: a name, a policy, and a function from a history to findings, each with the steps that prove it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from kafkalab.checks.from_a_log import CAPTURED
from kafkalab.checks.view import LACKS, View, view_of
from kafkalab.history.history import History

FORBIDDEN, ALLOWED, REPORTED = "forbidden", "allowed", "reported"
OK, VIOLATED, UNKNOWN = "ok", "violated", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place where an anomaly shows. `steps` and `keys` prove it.

    `policy` says whether it is forbidden there. A finding of policy "unknown" says what the history cannot tell.
    """

    anomaly: str
    policy: str
    text: str
    steps: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The findings of a check, and its verdict. The verdict is unknown where nothing could be examined, never ok.

    `missing` names the tables that the check needs and the history lacks. The verdict is unknown then, too, unless what
    is left proves a violation.
    """

    name: str
    policy: str
    verdict: str
    findings: tuple[Finding, ...]
    examined: int
    missing: tuple[str, ...] = ()


Examined = tuple[int, Iterable[Finding]]
"""The number of things that were examined, and the findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An anomaly and how to find it; `check(history)` gives its `Result`. `meaning` is one sentence.

    Without one of the tables of the history that it `needs` its verdict is "unknown" (docs/checks-and-tables.md).
    `from_a_log` finds what logs alone show, of a capture or where only operations are missing; it never proves that
    nothing is wrong. With `counts_certain` it examines only what is certain, and its allowed findings may be about the
    rest: alone they prove nothing.
    """

    name: str
    policy: str
    meaning: str
    needs: tuple[str, ...]
    examine: Callable[[Check, View], Examined]
    from_a_log: Callable[[Check, View], Iterable[Finding]] | None = None
    counts_certain: bool = False

    def __call__(self, source: History | View) -> Result:
        """Examine a history, or a view of it that is there already."""
        view = source if isinstance(source, View) else view_of(source)
        missing = self.missing_tables(view.history.label(LACKS))
        by_log = self.from_a_log if view.history.label(CAPTURED) or missing == ("operations",) else None
        if by_log is not None or missing:
            examined, found = 0, by_log(self, view) if by_log is not None else ()
        else:
            examined, found = self.examine(self, view)
        findings = tuple(found)
        verdict = self.verdict_of(examined, [*(f.policy for f in findings), *([UNKNOWN] if by_log else [])])
        return Result(
            name=self.name, policy=self.policy, verdict=verdict, findings=findings, examined=examined, missing=missing
        )

    def verdict_of(self, examined: int, policies: Collection[str]) -> str:
        """Return the verdict of findings with these policies.

        Violated if any is forbidden; unknown if any is, or if nothing was examined and no finding decides; else ok.
        """
        if FORBIDDEN in policies:
            return VIOLATED
        decided = examined or (policies and not self.counts_certain)
        return OK if decided and UNKNOWN not in policies else UNKNOWN

    def missing_tables(self, lacks: Collection[str]) -> tuple[str, ...]:
        """Return the tables that the check needs and that are among `lacks`."""
        return tuple(table for table in self.needs if table in lacks)

    def make_finding(
        self,
        text: str,
        steps: Iterable[int] = (),
        keys: Iterable[str] = (),
        offsets: Iterable[int] = (),
        policy: str = "",
    ) -> Finding:
        """A finding of this check; its policy is the check's unless another is given."""
        return Finding(
            anomaly=self.name,
            policy=policy or self.policy,
            text=text,
            steps=tuple(sorted({s for s in steps if s >= 0})),
            keys=tuple(dict.fromkeys(keys)),
            offsets=tuple(offsets),
        )


def anomaly(
    name: str,
    meaning: str,
    policy: str = FORBIDDEN,
    from_a_log: Callable[[Check, View], Iterable[Finding]] | None = None,
    *,
    needs: tuple[str, ...],
    counts_certain: bool = False,
) -> Callable[[Callable[[Check, View], Examined]], Check]:
    """Decorate the function that examines a view: the result is the check of that name."""
    return lambda examine: Check(
        name=name, policy=policy, meaning=meaning, needs=needs, examine=examine, from_a_log=from_a_log,
        counts_certain=counts_certain,
    )  # fmt: skip
