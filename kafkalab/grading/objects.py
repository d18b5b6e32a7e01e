"""Objects besides data that cross between grader and notebook's process: faults, runs, records, errors of clients.

Each is a special of `kafkalab.grading.values`: a name, and a description in data. The grader makes of a notebook's
description only what this module names, and checks every part of it. The notebook's process, which trusts the grader,
makes whatever it is given.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from kafkalab.client import exceptions
from kafkalab.client.exceptions import KafkaError
from kafkalab.client.results import GroupMetadata, OffsetAndMetadata, RecordMetadata
from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import TYPES, fault_from_json, fault_to_json
from kafkalab.grading.values import Special, UnreadableError, text_of
from kafkalab.protocol.errors import Error
from kafkalab.sim.scenario import Scenario

TEXT_MAX, NAME_MAX = 400, 60
FAULTS: tuple[Any, ...] = tuple(TYPES.values())
RESULTS: dict[str, Any] = {kind.__name__: kind for kind in (RecordMetadata, GroupMetadata, OffsetAndMetadata)}
"""The records of a client that a program may give back to its clients."""


class Foreign:
    """A part of an answer that is no data. It is equal to nothing else, and shows what it was in the notebook."""

    shown = ""

    def __repr__(self) -> str:
        return self.shown


# a notebook's answer: described in its process, made in the grader's


def described_answer(value: Any) -> Special:
    """Describe a part of an answer that is neither data nor a function."""
    if isinstance(value, Enum):
        return "enum", str(value.name)
    if isinstance(value, FAULTS):
        return "fault", fault_to_json(value)
    scenario = getattr(getattr(value, "cluster", value), "scenario", value)
    if isinstance(scenario, Scenario):
        return "scenario", scenario.to_json()
    if type(value) in RESULTS.values():
        return "result", [type(value).__name__, fields_of(value)]
    if type(value).__module__.partition(".")[0] == "numpy" and getattr(value, "shape", None) == ():
        return "number", value.item()
    return "foreign", [type(value).__name__[:NAME_MAX], repr(value)[:TEXT_MAX]]


def fields_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by their names."""
    return {f.name: getattr(record, f.name) for f in fields(record)}


def made_enum(name: Any) -> str:
    """Return the name: checks treat a member of an enum and its name alike."""
    return text_of(name, NAME_MAX)


def made_fault(row: Any) -> Fault:
    """Return the fault; UnreadableError if there is none of this form."""
    try:
        return fault_from_json(row)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableError(f"it holds a fault that does not exist: {str(error)[:TEXT_MAX]}") from None


def made_scenario(row: Any) -> Scenario:
    """Return the scenario; UnreadableError if there is none of this form."""
    try:
        return Scenario.from_json(row, "the scenario of this answer")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableError(str(error)[:TEXT_MAX]) from None


def made_result(row: Any) -> Any:
    """Return the record of a client; UnreadableError for any but those in `RESULTS`."""
    name, given = row if isinstance(row, list) and len(row) == 2 else ("", None)
    if isinstance(name, str) and name in RESULTS and isinstance(given, dict) and all(isinstance(k, str) for k in given):
        with suppress(TypeError):
            return RESULTS[name](**given)
    raise UnreadableError("it holds a record that no client has")


def made_number(value: Any) -> Any:
    """Return the number; UnreadableError for anything else."""
    if isinstance(value, (bool, int, float, str)):
        return value
    raise UnreadableError("it holds a number that is none")


def made_foreign(row: Any) -> Foreign:
    """Return an object whose type has the name, and which shows the text, of what was in the notebook."""
    name, shown = row if isinstance(row, list) and len(row) == 2 else ("", "")
    found: Foreign = type(text_of(name, NAME_MAX) or "object", (Foreign,), {})()
    found.shown = text_of(shown, TEXT_MAX)
    return found


ANSWERS = {
    "enum": made_enum,
    "fault": made_fault,
    "scenario": made_scenario,
    "result": made_result,
    "number": made_number,
    "foreign": made_foreign,
}
"""The makers of the grader's objects from a notebook's descriptions."""


def rebuild_error(row: Any) -> Exception:
    """Return the error that a notebook's code raised: a client's own, or one that only has the type's name and text."""
    name, text, code = row if isinstance(row, list) and len(row) == 3 else ("", "", "")
    kind = getattr(exceptions, name, None) if isinstance(name, str) else None
    message = text_of(text, TEXT_MAX)
    if isinstance(kind, type) and issubclass(kind, KafkaError):
        error: KafkaError = kind.__new__(kind)
        error.args, error.error = (message,), Error.__members__.get(text_of(code, NAME_MAX), Error.NONE)
        return error
    made: Exception = type(text_of(name, NAME_MAX) or "Exception", (Exception,), {})(message)
    return made


def error_row(error: BaseException) -> list[str]:
    """Describe an error by its type, its text and the wire error behind it, for `rebuild_error` and `as_raised`."""
    try:
        text = str(error)[:TEXT_MAX]
    except Exception:
        text = "an error that cannot be shown"
    code = getattr(error, "error", Error.NONE)
    return [type(error).__name__[:NAME_MAX], text, code.name if isinstance(code, Error) else ""]


# what the grader gives: described there, made in the notebook's process


def described_result(value: Any) -> Special:
    """Describe what a client's method has returned, and is no data: a record, a member of an enum."""
    kind = [type(value).__module__, type(value).__qualname__]
    if isinstance(value, Enum):
        return "member", [*kind, value.name]
    if is_dataclass(value):
        return "record", [*kind, fields_of(value)]
    return "foreign", [type(value).__name__, repr(value)[:TEXT_MAX]]


def made_member(row: Any) -> Any:
    """Return the member of an enum."""
    return _kind(*row[:2])[row[2]]


def made_record(row: Any) -> Any:
    """Return the record, which may be frozen."""
    kind = _kind(*row[:2])
    record = kind.__new__(kind)
    for name, value in row[2].items():
        object.__setattr__(record, name, value)
    return record


def _kind(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


GIVEN = {"member": made_member, "record": made_record, "foreign": made_foreign}
"""The makers of a notebook's objects from the grader's descriptions."""


def as_raised(row: list[str], attributes: Mapping[str, Any]) -> BaseException:
    """Return, in the notebook's process, the error that a client's method raised there."""
    name, text, code = row
    kind: Any = getattr(exceptions, name, None) or getattr(builtins, name, RuntimeError)
    error: BaseException = kind.__new__(kind)
    error.args = (text,)
    for key, value in attributes.items():
        setattr(error, key, value)
    if isinstance(error, KafkaError):
        error.error = Error[code] if code else Error.NONE
    return error
