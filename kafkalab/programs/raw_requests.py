"""Raw requests: a client program that sends exactly what it is given, as data.

A real client would never send most of what a lesson wants to show: a sequence out of order, a foreign epoch, an EndTxn
from yesterday. `raw_requests` sends it, and keeps the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import Any

from kafkalab.client.promise import Promise
from kafkalab.protocol.field_versions import messages_in
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import offsets_partition, transaction_partition
from kafkalab.protocol.records import Batch, Record
from kafkalab.sim.app import App
from kafkalab.sim.scenario import PROGRAMS, program
from kafkalab.trace import error_of

REFERENCE = re.compile(r"\$(\w+)\.(\w+)([+-]\d+)?")
PLACES = '"b1", "leader of out-0", "coordinator of some-id" or "group coordinator of some-group"'
KEYS = ("ask", "to", "with", "version", "as", "wait", "until", "show")
PAUSE_MS, TRIES = 20, 500


class StepError(ValueError):
    """A step is not understood; the message says which and what would be."""


@program
async def raw_requests(app: App, steps: list[dict[str, Any]]) -> list[list[str]]:
    """Send the requests in order; the result is [API, error] for each answer that was waited for.

    A step is {"ask": "EndTxn", "to": "coordinator of a", "with": {fields}, "version": 4, "as": "name"}, or
    {"sleep": 20}, or {"await": "name"} for one sent with "wait": false. "until": "NONE" asks again until that is the
    error. A field "$name.producer_epoch+1" takes a number from an earlier answer. No answer counts as
    NETWORK_EXCEPTION. "show": ["producer_epoch"] adds these fields of the response to its answer.
    kafkalab/programs/steps.py writes such steps.
    """
    hand = Hand(app)
    for number, step in enumerate(steps, 1):
        try:
            await hand.do(step)
        except StepError as error:
            raise ValueError(f"step {number} of the raw requests, {step!r}: {error}") from None
    return hand.answers


PROGRAMS.register("by_hand", raw_requests)
"""Its former name, which saved scenarios have."""


class Hand:
    """The answers so far, by name, and the requests still under way."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.answers: list[list[str]] = []
        self.named: dict[str, Any] = {}
        self.under_way: dict[str, tuple[str, Promise[Any]]] = {}

    async def do(self, step: dict[str, Any]) -> None:
        """One step, to its end."""
        if "sleep" in step:
            await self.app.sleep(step["sleep"])
            return
        if "await" in step:
            if step["await"] not in self.under_way:
                raise StepError(f"nothing is under way as {step['await']!r}; there is {', '.join(self.under_way)}")
            api, promise = self.under_way.pop(step["await"])
            self._answered(api, await promise, step["await"], step.get("show", ()))
            return
        unknown = sorted(set(step) - set(KEYS))
        if unknown or step.get("ask") not in BY_NAME:
            raise StepError(f"a step has {', '.join(KEYS)}, or sleep, or await; the APIs are {', '.join(BY_NAME)}")
        body = request_of(step["ask"], self._resolved(step.get("with", {})))
        name = step.get("as", "")
        for _ in range(TRIES):
            promise = self.app.ask(self._node(step.get("to", "")), body, step.get("version"))
            if not step.get("wait", True):
                self.under_way[name] = (step["ask"], promise)
                return
            response = await promise
            if step.get("until") in (None, answer_of(response)):
                self._answered(step["ask"], response, name, step.get("show", ()))
                return
            await self.app.sleep(PAUSE_MS)
        raise StepError(f"still {answer_of(response)} after {TRIES} tries")

    def _answered(self, api: str, response: Any, name: str, shown: Sequence[str]) -> None:
        self.named[name] = response
        self.answers.append(
            [api, answer_of(response), *(f"{field}={getattr(response, field, None)}" for field in shown)]
        )

    def _node(self, to: str) -> str:
        kind, _, key = to.rpartition(" of ")
        partitions: dict[str, Callable[[str], str]] = {
            "leader": str,
            "coordinator": transaction_partition,
            "group coordinator": offsets_partition,
        }
        if kind in partitions:
            return self.app.leader(partitions[kind](key))
        if to not in self.app.brokers:
            raise StepError(f'"to" is {PLACES}, not {to!r}')
        return to

    def _resolved(self, value: Any) -> Any:
        """The value with every "$name.field" or "$name.field+1" replaced by what it stands for."""
        if isinstance(value, dict):
            return {k: self._resolved(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._resolved(v) for v in value]
        found = REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            return value
        name, attribute, offset = found.groups()
        if not hasattr(self.named.get(name), attribute):
            raise StepError(f"{value!r}: no answer called {name!r} has {attribute!r}")
        found_value = getattr(self.named[name], attribute)
        return found_value if offset is None else int(found_value) + int(offset)


def answer_of(response: Any) -> str:
    """The name of an answer's error; no answer at all counts as NETWORK_EXCEPTION."""
    return "NETWORK_EXCEPTION" if response is None else error_of(response)


def request_of(api: str, given: dict[str, Any]) -> Any:
    """The request with these fields; StepError for a field it does not have, or one that is missing."""
    return _message(BY_NAME[api].request, api, given)


def _message(kind: type, api: str, given: dict[str, Any]) -> Any:
    known = {f.name: f for f in fields(kind)}
    unknown = sorted(set(given) - set(known))
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING and n not in given]
    if unknown or needed:
        raise StepError(f"{api} has the fields {', '.join(known)}; missing: {needed}, unknown: {unknown}")
    return kind(**{name: _field(kind, api, name, value) for name, value in given.items()})


def _field(kind: type, api: str, name: str, value: Any) -> Any:
    """The value of one field; a list of objects becomes the messages that the field holds."""
    inside = messages_in(kind, name)
    if inside and isinstance(value, list):
        return tuple(_message(inside[0], f"{api}.{name}", one) for one in value)
    return _typed(value)


def _typed(value: Any) -> Any:
    """JSON's lists as tuples, an object with "values" as a batch; its "headers" has [key, value] pairs for each."""
    if isinstance(value, list):
        return tuple(_typed(v) for v in value)
    if not isinstance(value, dict):
        return value
    if "values" not in value:
        return {key: _typed(v) for key, v in value.items()}
    batch = {key: v for key, v in value.items() if key not in ("values", "headers")}
    try:
        headers = value.get("headers", [[]] * len(value["values"]))
        records = zip(value["values"], (tuple((k, v.encode()) for k, v in each) for each in headers), strict=True)
        return Batch(records=tuple(Record(None, v, each) for v, each in records), **batch)
    except (AttributeError, TypeError, ValueError) as error:
        raise StepError(f"{value!r} is no batch: {error}") from None
