"""Two runs side by side from their point of difference: with and without a rule, a fault, a version; two forks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import traitlets

from kafkalab.checks.check import VIOLATED
from kafkalab.limits import quote, whole_number
from kafkalab.palette import AMBER, DARK, DIM, GREEN, PALE, RED
from kafkalab.run.run import Run
from kafkalab.run.source import Source
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.findings import ALL_KEPT, in_short, report_of
from kafkalab.widgets.model.fork_tree import label_of
from kafkalab.widgets.model.futures import finish, payload_with_actions, rule_named, with_rule
from kafkalab.widgets.model.journey import CHECKED_AT_ONCE, Journey
from kafkalab.widgets.payload.packing import pack
from kafkalab.widgets.payload.side_by_side import StepPair, parting, rows_of, state_steps
from kafkalab.widgets.payload.text import replay, strip_line, transaction_line
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Picture, View

STATIC_ROWS, BATCHES = 24, 16
Side: TypeAlias = tuple[dict[str, Any], Run]
"""The payload of a run, and the run."""
MOVES = ("left", "right", "home", "end")


class Compare(Picture):
    """Two runs in two columns with one cursor: `Compare(lab03(), lab03().with_faults(Drop("EndTxn#1")))`.

    Also `Compare.rule(scenario, rule)`, `Compare.profiles(scenario, "4.x/TV1", "4.x/TV2")`, and two runs of a journey,
    `Compare.runs(journey, 0, 2)`. `Compare(journey)` shows a journey's run beside the one it was made of.
    """

    part = "compare"

    SETTABLE = ("row",)

    left = traitlets.Dict().tag(sync=True, to_json=lambda payload, _: pack(payload))
    right = traitlets.Dict().tag(sync=True, to_json=lambda payload, _: pack(payload))
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows: traitlets.List[StepPair] = traitlets.List().tag(sync=True)
    apart = traitlets.Int(-1).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    verdicts = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(
        self, left: Any, right: Any = None, size: str = "laptop", names: tuple[str, str] | None = None
    ) -> None:
        """Each side is a scenario, a cluster, or a view or journey with the run that it shows.

        TypeError for anything else, or one side that is no journey; ValueError for an unknown size.
        """
        super().__init__(size=size)
        self.hear({"check": lambda _: self.check()})
        if right is None:
            self._follow(left)
            return
        one, other = _side(left), _side(right)
        self._show(one, other, names or _names(one[0], other[0]))

    @classmethod
    def rule(cls, scenario: Scenario, rule: Any, size: str = "laptop") -> Compare:
        """The run with the rule on, and with it off. `rule` is a `Rule`, its name, or its name in the registry."""
        found = rule_named(getattr(rule, "name", rule))
        names = (f"with: {found.name}", f"without: {found.name}")
        return cls(with_rule(scenario, found, True), with_rule(scenario, found, False), size, names)

    @classmethod
    def profiles(cls, scenario: Scenario, left: str = "4.x/TV1", right: str = "4.x/TV2", **more: Any) -> Compare:
        """The same programs under two profiles."""
        return cls(replace(scenario, profile=left), replace(scenario, profile=right), names=(left, right), **more)

    @classmethod
    def runs(cls, journey: Journey | View, left: int, right: int, size: str = "laptop") -> Compare:
        """Two runs of a journey's tree, by their numbers. ValueError for a number that is none."""
        one, other = (Journey.of(journey).run_at(place) for place in (left, right))
        return cls(one, other, size=size, names=(f"run {left}", f"run {right}"))

    @traitlets.validate("row")
    def _inside(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self.rows) - 1))

    def _follow(self, thing: Any) -> None:
        journey = getattr(thing, "journey", thing)
        if not isinstance(journey, Journey):
            raise TypeError(f"Compare needs two runs, or one journey, not one {type(thing).__name__}")

        def show(_: Any = None) -> None:
            entry = journey.tree[journey.place]
            parent = entry["parent"] if entry["parent"] >= 0 else entry["id"]
            other = journey.tree[parent]
            names = (f"run {parent}: {label_of(other)}", f"run {entry['id']}: {label_of(entry)}")
            self._show(journey.run_at(parent), (dict(journey.payload), journey.run), names)

        show()
        journey.observe(show, "place")

    def _show(self, one: Side, other: Side, names: tuple[str, str]) -> None:
        (left, first), (right, second) = one, other
        self._runs = (first, second)
        with self.hold_sync():
            self.left, self.right, self.names, self.verdicts = left, right, list(names), []
            self.rows, self.apart = rows_of(left, right), parting(left, right)
            self.row = next((i for i, row in enumerate(self.rows) if max(row[:2]) >= self.apart >= 0), 0)

    def check(self) -> list[dict[str, Any]]:
        """Return what all checks say of both runs: see `report_of`. Checked once; the browser asks after its paint."""
        if not self.verdicts:
            self.verdicts = [report_of(run) for run in self._runs]
        return list(self.verdicts)

    def known_verdicts(self) -> list[dict[str, Any]]:
        short = max(len(self.left["events"]), len(self.right["events"])) <= CHECKED_AT_ONCE
        return self.check() if short else list(self.verdicts)

    def press(self, action: str, target: str = "") -> None:
        """left, right, home, end move the cursor; difference goes where the runs part; goto to a row's number.

        ValueError for an unknown action, and for goto without such a row.
        """
        if action == "goto":
            if not 0 <= whole_number(target) < len(self.rows):
                last = len(self.rows) - 1
                raise ValueError(f"goto needs the number of a row, from 0 to {last}, not {quote(target)}")
            self.row = int(target)
        elif action == "difference":
            self.row = next((i for i, row in enumerate(self.rows) if max(row[:2]) >= self.apart >= 0), 0)
        elif action in MOVES:
            self.row = {"left": self.row - 1, "right": self.row + 1, "home": 0, "end": len(self.rows) - 1}[action]
        else:
            raise ValueError(f"no action {quote(action)}; there are {', '.join(MOVES)}, difference, goto")

    # in words

    def first_difference(self) -> list[str]:
        """One line if both runs are the same; else three: where they part, and what each does there."""
        if self.apart < 0:
            return ["The runs are the same to their end."]
        lines = [f"The runs are the same up to step {self.apart - 1}; at step {self.apart} they part."]
        for name, payload in zip(self.names, (self.left, self.right), strict=True):
            events = payload["events"]
            what = events[self.apart]["text"] if self.apart < len(events) else "It has ended."
            lines.append(f"{name}: {what}")
        return lines

    def verdict_lines(self) -> list[str]:
        """Return what the checks say of each run to its end, a line each; none of long runs not checked yet."""
        told = zip(self.names, self.known_verdicts(), strict=False)
        return [
            f"{name}: {in_short(report)}. {report['sentence'].removeprefix(ALL_KEPT).strip()}" for name, report in told
        ]

    def columns(self) -> list[tuple[int, str, str, str]]:
        """Row number, "=" or "≠", and what both sides say."""
        found = []
        for i, (left, right, same, *data) in enumerate(self.rows):
            sides = zip((self.left, self.right), (left, right), data or ("", ""), strict=True)
            texts = [_line(payload, step) + (f" ({words})" if words else "") for payload, step, words in sides]
            found.append((i, "=" if same else "≠", texts[0], texts[1]))
        return found

    def state(self) -> list[tuple[str, str]]:
        """Return both sides' lines on transactions and logs at the cursor; "" where one has no such line."""
        left, right = state_steps(self.rows, self.row)
        one, other = _state(self.left, left), _state(self.right, right)
        return [(one.get(key, ""), other.get(key, "")) for key in dict.fromkeys((*one, *other))]

    def text(self) -> str:
        """The first difference, then both columns with the cursor's row marked ">", then both states there."""
        lines = [f"{self.names[0]} | {self.names[1]}", *self.first_difference(), *self.verdict_lines()]
        lines += [f"{'>' if i == self.row else ' '} {sign} {a} | {b}" for i, sign, a, b in self.columns()]
        lines += [f"{'=' if a == b else '≠'} {a} | {b}" for a, b in self.state()]
        return "\n".join(lines)

    def svg(self) -> str:
        """The first difference, the rows around the cursor, and both states there."""
        canvas = Canvas(y=30)
        for i, line in enumerate(self.first_difference()):
            canvas.text(18, canvas.y, fit(line, 920), more=BOLD if i == 0 else "")
            canvas.y += 20
        for line, report in zip(self.verdict_lines(), self.known_verdicts(), strict=True):
            canvas.text(18, canvas.y, fit(line, 920), RED if report["verdict"] == VIOLATED else GREEN)
            canvas.y += 20
        first = max(0, min(self.row - 6, len(self.rows) - STATIC_ROWS))
        _pair(canvas, self.names[0], self.names[1], DARK, BOLD)
        for i, sign, a, b in self.columns()[first : first + STATIC_ROWS]:
            if i == self.row:
                canvas.box(14, canvas.y - 15, 932, 21, DIM, f' fill="{PALE}"')
            _pair(canvas, a, b, DARK if sign == "=" else AMBER)
        canvas.path(f"M18,{canvas.y - 8}H942", DIM, 1)
        canvas.y += 10
        for a, b in self.state():
            _pair(canvas, a, b, DIM if a == b else DARK)
        return standalone(canvas, "Two runs side by side")

    def __repr__(self) -> str:
        return f"<Compare {self.names[0]!r} and {self.names[1]!r}, which part at step {self.apart}>"


def _pair(canvas: Canvas, a: str, b: str, colour: str, more: str = "") -> None:
    canvas.text(18, canvas.y, fit(a, 448), colour, more=more)
    canvas.text(488, canvas.y, fit(b, 448), colour, more=more)
    canvas.y += 21


def _side(thing: Any) -> Side:
    """Return one side's payload and its run."""
    thing = getattr(thing, "journey", thing)
    if isinstance(thing, tuple):
        return thing
    if isinstance(thing, Journey):
        return dict(thing.payload), thing.run
    if isinstance(thing, Scenario | Source):
        run = finish(thing)
        return payload_with_actions(run), run
    raise TypeError(f"Compare shows scenarios, clusters or journeys, such as Compare(lab03(), other), not {thing!r}")


def _names(left: dict[str, Any], right: dict[str, Any]) -> tuple[str, str]:
    """Return the names that tell the sides apart: their titles, profiles, seeds or faults."""
    for key in ("title", "profile", "seed"):
        if left[key] != right[key]:
            return str(left[key]), str(right[key])
    a, b = (", ".join(p["faults"]).replace("(frame=", "(") or "no fault" for p in (left, right))
    return (a, b) if a != b else ("left", "right")


def _line(payload: dict[str, Any], step: int) -> str:
    return f"{step} {payload['events'][step]['text']}" if step >= 0 else ""


def _state(payload: dict[str, Any], step: int) -> dict[str, str]:
    shown = replay(payload, step)
    lines = {tid: transaction_line(tid, known) for tid, known in shown.transactions.items()}
    return {**lines, **{p: strip_line(p, shown, BATCHES) for p in payload["partitions"]}}
