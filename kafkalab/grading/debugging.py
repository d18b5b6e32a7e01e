"""Exercises that debug a real client: the frame that decided its saved session is named, and a program is repaired."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.grading.exercise import BlankAnswer, WrongAnswer, WrongType, WrongValue, describe, is_blank
from kafkalab.grading.schedules import Audit, over_scenarios, with_program
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario
from kafkalab.trace import Frame

FORM = 'a dict {{"frame": "Produce#1", "program": {program}}}'
KEYS = {"frame", "program"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Debugging:
    """A saved session, the frame that decided it, and a program with the same mistake.

    `asks` is the question about the frame; `decides` finds the frame in the session's run. `miss_of` names the
    misconception behind another frame, "" for none. `scenarios` are the schedules of the program, which is called
    `program`; `untouched` is the program as the notebook has it.
    """

    asks: str
    session: Callable[[], Scenario]
    decides: Callable[[Cluster], str]
    miss_of: Callable[[Frame], str]
    program: str
    untouched: Callable[..., Any]
    scenarios: Callable[[], Sequence[Scenario]]
    audits: Sequence[Audit]

    @property
    def form(self) -> str:
        """Return the form of an answer, in words."""
        return FORM.format(program=self.program)

    def check(self, answer: object) -> str:
        """ "EndTxn#1 decides; 12 of 12 schedules" if the frame is the one, and no audit finds anything in any run.

        Half of the points are for the frame.
        """
        if not isinstance(answer, Mapping) or set(answer) != KEYS:
            raise WrongType(f"Give {self.form}, not {describe(answer)}.")
        frame, program = answer["frame"], answer["program"]
        if not inspect.iscoroutinefunction(program):
            raise WrongType(f'"program" is your {self.program}, defined with `async def`, not {describe(program)}.')
        if is_blank(frame) and self._is_untouched(program):
            raise BlankAnswer(f"The frame is still blank, and {self.program} is unchanged. {self.asks}")
        named = self._check_frame(frame)
        try:
            every = [with_program(scenario, program) for scenario in self.scenarios()]
            return f"{named} decides; {over_scenarios(every, self.audits, len(every))}"
        except WrongAnswer as error:
            raise WrongAnswer(
                f"{named} is the frame. {error}", run=error.run, step=error.step, miss=error.miss,
                part=(1 + error.part) / 2,
            ) from None  # fmt: skip

    def _check_frame(self, frame: object) -> str:
        """Return the frame's name if it is the one that decides."""
        cluster = ran(self.session())
        if is_blank(frame):
            raise WrongAnswer(f"The frame is still blank. {self.asks}", run=cluster)
        name = str(frame).strip()
        if name not in cluster.trace.frames:
            raise WrongValue(f"The session has no frame {name!r}. {self.asks}")
        if name != self.decides(cluster):
            found = cluster.trace.frames[name]
            step = found.received_step if found.received_step >= 0 else found.sent_step
            raise WrongAnswer(f"{name} is not the one. {self.asks}", run=cluster, step=step, miss=self.miss_of(found))
        return name

    def _is_untouched(self, program: Any) -> bool:
        """Return True if the program does in the first schedule what the notebook's does."""
        first = self.scenarios()[0]
        try:
            given = ran(with_program(first, program))
        except Exception:
            return False
        return given.trace.digest() == ran(with_program(first, self.untouched)).trace.digest()
