"""Raw requests: a client program that sends exactly what it is given, as data.

A real client would never send most of what a lesson wants to show: a sequence out of order, a foreign epoch, an EndTxn
from yesterday. `raw_requests` sends it, and keeps the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, get_origin, get_type_hints

from kafkalab.client.promise import Promise
from kafkalab.limits import PARTITIONS, list_names, quote, truncate
from kafkalab.protocol.acls import is_server
from kafkalab.protocol.arguments import Later, Milliseconds, misfit
from kafkalab.protocol.field_versions import messages_in
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.partitions import offsets_partition, split, transaction_partition
from kafkalab.protocol.records import Batch, ControlType, Record
from kafkalab.sim.app import App
from kafkalab.sim.scenario import PROGRAMS, program
from kafkalab.trace import error_of

REFERENCE = re.compile(r"\$([\w.-]+)\.(\w+)([+-][0-9]{1,10})?")
PLACES = '"b1", "leader of out-0", "coordinator of some-id" or "group coordinator of some-group"'
KINDS = {"as": str, "await": str, "until": str, "wait": bool, "show": list[str], "times_out": bool}
KEYS = ("ask", "to", "with", "version", "as", "wait", "until", "show", "times_out")
AS_WRITTEN = ("values", "keys", "headers")
"""The fields of a record batch that are never references to an earlier answer."""
PAUSE_MS, TRIES = 20, 500


class StepError(ValueError):
    """A step is not understood; the message says which and what would be."""


def steps_error(steps: list[dict[str, Any]]) -> str:
    """Return which step is not understood and why; "" if all can be sent. What an answer will have is not known yet."""
    for number, step in enumerate(steps, 1):
        try:
            check_step(step)
        except StepError as error:
            return f": {_of_step(number, step, error)}"
    return ""


Steps = Annotated[list[dict[str, Any]], steps_error]


@program
async def raw_requests(app: App, steps: Steps) -> list[list[str]]:
    """Send the requests in order; the result is [API, error] for each answer that was waited for.

    A step is {"ask": "EndTxn", "to": "coordinator of a", "with": {fields}, "version": 4, "as": "name"}, or
    {"sleep": 20}, {"at": 120} for a time of the run, or {"await": "name"} for one sent with "wait": false. "until":
    "NONE" asks again until that is the error. A field "$name.producer_epoch+1" takes a number from an earlier answer.
    No answer counts as NETWORK_EXCEPTION, and comes after 30 s, unless "times_out" is false. "show": ["producer_epoch"]
    adds these fields of the response to its answer. kafkalab/programs/steps.py writes such steps.
    """
    hand = Hand(app)
    for number, step in enumerate(steps, 1):
        try:
            check_step(step)  # `Cluster.spawn` takes any arguments
            await hand.do(step)
        except StepError as error:
            raise ValueError(_of_step(number, step, error)) from None
    return hand.answers


def _of_step(number: int, step: dict[str, Any], error: StepError) -> str:
    return truncate(f"step {number} of the raw requests, {quote(step)}: {error}")


def check_step(step: dict[str, Any]) -> None:
    """Raise StepError for a step that can never be sent, whatever the answers before it have."""
    for key in ("sleep", "at"):
        if key in step:
            if wrong := misfit(step[key], Milliseconds, key):
                raise StepError(wrong)
            return
    if "await" not in step:
        if set(step) - set(KEYS) or not isinstance(step.get("ask"), str) or step["ask"] not in BY_NAME:
            raise StepError(f"a step has {', '.join(KEYS)}, or sleep, at or await; the APIs are {list_names(BY_NAME)}")
        _check_place(step.get("to", ""))
        versions = BY_NAME[step["ask"]].versions
        if step.get("version") is not None and (type(step["version"]) is not int or step["version"] not in versions):
            raise StepError(f"version is a number from {versions[0]} to {versions[-1]}, not {quote(step['version'])}")
        request_of(step["ask"], _with_references(step.get("with", {}), lambda _: Later()))
    for key, kind in KINDS.items():
        if key in step and (wrong := misfit(step[key], kind, key)):
            raise StepError(wrong)


def _check_place(to: object) -> None:
    kind, _, key = to.rpartition(" of ") if isinstance(to, str) else ("", "", "")
    if kind == "leader" and split(key)[1] < 0:
        raise StepError(f'"to" is {PLACES}; {quote(key)} is no partition')
    if kind not in ("leader", "coordinator", "group coordinator") and not (isinstance(to, str) and is_server(to)):
        raise StepError(f'"to" is {PLACES}, not {quote(to)}')


def _with_references(value: object, found: Callable[[re.Match[str]], Any]) -> Any:
    """Return the value with every "$name.field" or "$name.field+1" replaced by what `found` says."""
    if isinstance(value, dict):
        return {k: v if k in AS_WRITTEN else _with_references(v, found) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_references(v, found) for v in value]
    match = REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return value if match is None else found(match)


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
        """One step, to its end. StepError, if it cannot be sent, or not with what the answers so far have."""
        if "sleep" in step:
            await self.app.sleep(step["sleep"])
            return
        if "at" in step:
            await self.app.sleep(max(0, step["at"] - self.app.now))
            return
        if "await" in step:
            if step["await"] not in self.under_way:
                there = list_names(self.under_way) or "nothing"
                raise StepError(f"nothing is under way as {quote(step['await'])}; there is {there}")
            api, promise = self.under_way.pop(step["await"])
            self._note_answer(api, await promise, step["await"], step.get("show", ()))
            return
        body = self._request(step)
        name = step.get("as", "")
        for _ in range(TRIES):
            timeout_ms = 0 if step.get("times_out", True) else -1
            promise = self.app.ask(self._node(step.get("to", "")), body, step.get("version"), timeout_ms)
            if not step.get("wait", True):
                self.under_way[name] = (step["ask"], promise)
                return
            response = await promise
            if step.get("until") in (None, answer_of(response)):
                self._note_answer(step["ask"], response, name, step.get("show", ()))
                return
            await self.app.sleep(PAUSE_MS)
        raise StepError(f"still {answer_of(response)} after {TRIES} tries")

    def _request(self, step: dict[str, Any]) -> Any:
        return request_of(step["ask"], self._resolve(step.get("with", {})))

    def _resolve(self, given: object) -> Any:
        """Return the value with what the answers so far have in place of references."""
        return _with_references(given, self._look_up)

    def _note_answer(self, api: str, response: object, name: str, shown: Sequence[str]) -> None:
        self.named[name] = response
        self.answers.append(
            [api, answer_of(response), *(f"{field}={_read_field(response, field)}" for field in shown)]
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
            raise StepError(f'"to" is {PLACES}, not {quote(to)}')
        return to

    def _look_up(self, reference: re.Match[str]) -> Any:
        """Return what the answer of this name has there, or a number with the distance from it."""
        name, attribute, distance = reference.groups()
        found = _field_of(self.named.get(name), attribute)
        if found is MISSING or (distance is not None and type(found) is not int):
            what = "has" if found is MISSING else "has as a number"
            raise StepError(f"{quote(reference[0])}: no answer called {quote(name)} {what} {quote(attribute)}")
        return found if distance is None else found + int(distance)


def _field_of(message: object, name: str) -> Any:
    """Return the value of a message's field or property; MISSING if it has none of this name."""
    return MISSING if message is None or name.startswith("_") else getattr(message, name, MISSING)


def _read_field(message: object, name: str) -> Any:
    found = _field_of(message, name)
    return None if found is MISSING or callable(found) else found


def answer_of(response: object) -> str:
    """The name of an answer's error; no answer at all counts as NETWORK_EXCEPTION."""
    return "NETWORK_EXCEPTION" if response is None else error_of(response)


def request_of(api: str, given: object) -> Any:
    """Return the request with these fields; StepError for a field that it does not have, that is missing, or wrong."""
    request = _message(BY_NAME[api].request, api, given)
    if wrong := misfit(request, type(request), api):
        raise StepError(wrong)
    counts = [getattr(topic, "num_partitions", None) for topic in getattr(request, "topics", ())]
    asked = sum(count for count in counts if type(count) is int)
    if asked > PARTITIONS.most:
        raise StepError(f"{api} asks for {asked:,} partitions; the limit is {PARTITIONS.most:,}")
    return request


def _message(kind: type, api: str, given: object) -> Any:
    if not isinstance(given, dict):
        raise StepError(f"{api} is an object with fields, not {quote(given)}")
    known = {f.name: f for f in fields(kind)}
    unknown = sorted(set(given) - set(known))
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING and n not in given]
    if unknown or needed:
        raise StepError(f"{api} has the fields {list_names(known)}; missing: {needed}, unknown: {quote(unknown)}")
    return kind(**{name: _field(kind, api, name, value) for name, value in given.items()})


def _field(kind: type, api: str, name: str, value: object) -> Any:
    """Return the value of one field: a list of objects becomes the messages that the field holds, so does a dict's, and
    so does an object where the field holds one message.

    An object with "values" is a record batch.
    """
    inside = messages_in(kind, name)
    if inside and isinstance(value, list):
        return tuple(_message(inside[0], f"{api}.{name}", one) for one in value)
    if inside == (Batch,) and isinstance(value, dict):
        return {key: _batch(batch) for key, batch in value.items()}
    if inside and isinstance(value, dict) and get_origin(get_type_hints(kind)[name]) is not dict:
        return _message(inside[0], f"{api}.{name}", value)
    if inside and isinstance(value, dict):
        return {k: _message(inside[0], f"{api}.{name}", v) if isinstance(v, dict) else v for k, v in value.items()}
    return _to_tuples(value)


def _to_tuples(value: object) -> Any:
    """JSON's lists as tuples."""
    if isinstance(value, list):
        return tuple(_to_tuples(v) for v in value)
    return {key: _to_tuples(v) for key, v in value.items()} if isinstance(value, dict) else value


def _batch(value: Any) -> Any:
    """Return the record batch that an object says: {"values": [...]} and fields of `Batch`.

    "keys" has a key for each value; "headers" has a list of [key, value] pairs for each, whose value may be null;
    "control" is COMMIT or ABORT, as in a marker.
    """
    values = value.get("values") if isinstance(value, dict) else None
    if not isinstance(values, list) or not values or not all(v is None or isinstance(v, str) for v in values):
        raise StepError(f"{quote(value)} is no batch: it has values, a list of texts, and fields such as producer_id")
    batch = {key: v for key, v in value.items() if key not in AS_WRITTEN}
    try:
        if batch.get("control") is not None:
            batch["control"] = ControlType[batch["control"]]
        headers = value.get("headers", [[]] * len(values))
        texts = (tuple((k, None if v is None else v.encode()) for k, v in each) for each in headers)
        records = zip(value.get("keys", [None] * len(values)), values, texts, strict=True)
        return Batch(records=tuple(Record(*each) for each in records), **batch)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StepError(truncate(f"{quote(value)} is no batch: {error}")) from None
