"""The log tape: every partition's batches, their outcome and marks, and what a consumer of each level is given."""

from __future__ import annotations

from typing import Any

import traitlets

from kafkalab.limits import quote, whole_number
from kafkalab.widgets.model.presses import check_known
from kafkalab.widgets.payload.log_view import MEANING, STATES, log_text, replicas_at
from kafkalab.widgets.payload.text import replay
from kafkalab.widgets.views.static_log_tape import draw
from kafkalab.widgets.views.view import Source, View, beside


class LogTape(View):
    """The logs of a run: `LogTape(lab03())`, or of a journey that other views show too.

    `partition` is the one chosen, `offset` one of its batch that is looked into (-1: none); `replicas` shows leader
    and followers side by side, `inspect` the chosen batch's fields.
    """

    part = "log_tape"

    SETTABLE = ("partition", "offset", "replicas", "inspect")

    partition = traitlets.Unicode("").tag(sync=True)
    offset = traitlets.Int(-1).tag(sync=True)
    replicas = traitlets.Bool(False).tag(sync=True)
    inspect = traitlets.Bool(False).tag(sync=True)
    words = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Source, size: str = "laptop", partition: str = "", replicas: bool = False) -> None:
        """See `View`. ValueError for a partition that the picture does not have."""
        super().__init__(run, size, words={"meaning": MEANING, "states": STATES})
        if not self.payload["partitions"]:
            raise ValueError("there is no partition yet: make a topic first")
        self.partition = self._check_known(partition or self.payload["partitions"][0])
        self.replicas = replicas

    def _check_known(self, partition: str) -> str:
        return check_known(partition, self.payload["partitions"], f"no log of {quote(partition)} in this run")

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """Do what the button `action` does: up, down, before, after, replicas, inspect, choose; else `View.press`.

        choose takes "accounts-0" or, for a batch, "accounts-0@3". ValueError, and nothing changes, for a press that
        would change nothing, and for a target that is not there.
        """
        if action in ("up", "down"):
            self._go(-1 if action == "up" else 1)
        elif action in ("before", "after"):
            self._batch(action)
        elif action == "choose":
            self._choose(target)
        elif action in ("replicas", "inspect"):
            self.set_trait(action, not getattr(self, action))
        else:
            super().press(action, target, **details)

    def _here(self) -> str:
        """Return the chosen partition; the first one if a fork's run does not have it."""
        known = self.payload["partitions"]
        return self.partition if self.partition in known else str(known[0])

    def _go(self, by: int) -> None:
        self.partition, self.offset = beside(self.payload["partitions"], self._here(), by, "partition"), -1

    def _bases(self) -> list[int]:
        logs = replicas_at(self.payload, replay(self.payload, self.step), self._here())
        return sorted({int(b["base"]) for b, _, _ in logs[0].cells()}) if logs else []

    def _batch(self, way: str) -> None:
        bases = self._bases()
        if not bases:
            raise ValueError("there is no batch in this log")
        beyond = [b for b in bases if (b < self.offset if way == "before" else b > self.offset)]
        if self.offset >= 0 and not beyond:
            raise ValueError(f"there is no batch {way} this one")
        self.offset = bases[-1] if self.offset < 0 else beyond[-1 if way == "before" else 0]
        self.inspect = True

    def _choose(self, target: str) -> None:
        partition, _, offset = target.rpartition("@") if "@" in target else (target, "", "")
        partition = self._check_known(partition)
        if not offset:
            self.partition, self.offset = partition, -1
            return
        logs = replicas_at(self.payload, replay(self.payload, self.step), partition)
        batches = [b for b, _, _ in logs[0].cells()] if logs and whole_number(offset) >= 0 else []
        found = next((b for b in batches if b["base"] <= int(offset) <= b["last"]), None)
        if found is None:
            there = ", ".join(str(b["base"]) for b in batches) or "nothing"
            raise ValueError(f"no batch at offset {offset} of {partition} at this step; there is {there}")
        self.partition, self.offset, self.inspect = partition, int(found["base"]), True

    def text(self) -> str:
        """Return the text twin: the logs at the cursor, and the fields of the batch that is inspected."""
        offset = self.offset if self.inspect else -1
        lines = log_text(self.payload, self.step, self._here(), offset, self.replicas)
        return "\n".join([*self._head(), *lines])

    def svg(self) -> str:
        """Return the logs at the cursor as a standalone SVG."""
        return draw(self.payload, self.step, self.journey.stops(), self.replicas)
