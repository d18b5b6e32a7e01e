"""The reasons why switching a rule would leave a run as it is: found by running it again, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from kafkalab.protocol.rules import REGISTRY
from kafkalab.widgets.model.futures import idle_rule
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import Content, MessageWidget


class TriedRules(MessageWidget):
    """A widget of a journey with `reasons`, which a browser gets by a message of the kind "rules"."""

    journey: Journey
    reasons = traitlets.Dict().tag(sync=True)

    def __init__(self, *args: Any, **traits: Any) -> None:
        super().__init__(*args, **traits)
        self.hear(self.handlers())

    def handlers(self) -> dict[str, Callable[[Content], Any]]:
        """Return by kind of message what is done with it."""
        return {"rules": lambda _: self.rules()}

    def rules(self) -> dict[str, str]:
        """By name of a rule why switching it would leave this run as it is; "" where it would make another.

        Every rule is tried out: it takes as long as fifty runs.
        """
        journey = self.journey
        if self.reasons.get("place") != journey.place:
            run, off = journey.run, journey.run.cast.rules.off
            found = {r.name: idle_rule(run, r, r.name in off) for r in REGISTRY}
            self.reasons = {"place": journey.place, "off": list(off), "why": found}
        return dict(self.reasons["why"])
