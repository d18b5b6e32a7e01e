"""An operation of the control interface as data: path, parameters, answer. Dispatch and OpenAPI read the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.limits import did_you_mean, list_names, quote, whole_number

REQUIRED: Any = object()
"""The default of a parameter that has none."""
GET, POST = "GET", "POST"
JSON, SVG, HTML, LINES = "application/json", "image/svg+xml", "text/html; charset=utf-8", "application/jsonl"
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list,),
}  # fmt: skip


class RefusedError(Exception):
    """A request that is answered with this HTTP `status` and the sentence."""

    def __init__(self, status: int, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, headers


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: of the query for GET, a field of the body's object for POST. An "array" has strings."""

    name: str
    kind: str
    about: str
    default: Any = REQUIRED
    least: int | None = None
    most: int | None = None

    def check(self, value: object) -> Any:
        """Return the value. ValueError, saying what would be right, for one of another type or out of bounds."""
        wrong = not isinstance(value, TYPES[self.kind]) or (isinstance(value, bool) and self.kind != "boolean")
        if wrong or (isinstance(value, list) and not all(isinstance(one, str) for one in value)):
            article = "an" if self.kind[0] in "ai" else "a"
            of_strings = " of strings" if self.kind == "array" else ""
            raise ValueError(f"{self.name} is {article} {self.kind}{of_strings}, not {quote(value)}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            least, most = self.least, self.most
            if (least is not None and value < least) or (most is not None and not value <= most):
                raise ValueError(f"{self.name} is from {least} to {most}, not {quote(value)}")
        return value

    def read(self, texts: Sequence[str]) -> Any:
        """Return the value that a query gives. ValueError as `check`, and for a name that is given twice."""
        if self.kind == "array":
            return list(texts)
        if len(texts) > 1:
            raise ValueError(f"{self.name} is given {len(texts)} times")
        if self.kind == "integer":
            return self.check(whole_number(texts[0]) if whole_number(texts[0]) >= 0 else texts[0])
        return self.check(texts[0])


Answer = Callable[..., Any]
"""Takes what is controlled, and the parameters by their names; returns plain data, or text for another media type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """Describe one path and method. `returns` is an example of the answer, with every field."""

    method: str
    path: str
    about: str
    answer: Answer
    parameters: tuple[Parameter, ...] = ()
    returns: Mapping[str, Any] | None = None
    media: str = JSON
    more: str = ""
    """Describe further fields of the body, where it may have any."""

    def arguments(self, given: Mapping[str, Any], query: bool = False) -> dict[str, Any]:
        """Return the parameters by name. ValueError for one that is missing, unknown or wrong."""
        known = {parameter.name: parameter for parameter in self.parameters}
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                if self.more:
                    found[name] = value
                    continue
                near = did_you_mean(name, known)
                takes = list_names(known) or "no parameters"
                raise ValueError(f"{self.path} has no parameter {quote(name)}; it takes {takes}{near}")
            found[name] = known[name].read(value) if query else known[name].check(value)
        for parameter in self.parameters:
            if parameter.name not in found:
                if parameter.default is REQUIRED:
                    raise ValueError(f"{self.path} needs {parameter.name}: {parameter.about}")
                found[parameter.name] = parameter.default
        return found


def find_operation(table: Sequence[Operation], method: str, path: str) -> Operation:
    """Return the operation; RefusedError for an unknown path, or one that has another method."""
    here = [operation for operation in table if operation.path == path]
    if not here:
        near = did_you_mean(path, [operation.path for operation in table])
        raise RefusedError(404, f"no path {quote(path)}{near}; GET /openapi.json describes them all")
    for operation in here:
        if operation.method == method:
            return operation
    allowed = ", ".join(operation.method for operation in here)
    raise RefusedError(405, f"{path} takes {allowed}, not {quote(method)[1:-1]}", Allow=allowed)
