"""The OpenAPI description of the control interface, made of the table that dispatches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkalab.control.operations import GET, JSON, REQUIRED, Operation, Parameter

REFUSALS = {
    "400": "The request is wrong, or what it asks for cannot be done now.",
    "403": "The request comes from a web page, or names another host.",
    "409": "What was waited for has not come, or recording has stopped.",
    "413": "The body is too large.",
    "415": "The Content-Type is not application/json.",
}
SENTENCE = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def describe(table: Sequence[Operation], title: str) -> dict[str, Any]:
    """Return the description in OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in table:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1", "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "paths": paths,
    }


def _operation(operation: Operation) -> dict[str, Any]:
    media = operation.media.partition(";")[0]
    schema = _schema_of(operation.returns) if operation.media == JSON else {"type": "string"}
    refusals = {
        status: {"description": about, "content": {JSON: {"schema": SENTENCE}}}
        for status, about in REFUSALS.items()
        if operation.method != GET or status < "410"
    }
    words = operation.path.strip("/").replace(".", "_")
    described: dict[str, Any] = {
        "operationId": f"{operation.method.lower()}_{words}",
        "summary": operation.about,
        "responses": {"200": {"description": "Done.", "content": {media: {"schema": schema}}}, **refusals},
    }
    if operation.method == GET:
        if operation.parameters:
            described["parameters"] = list(map(_query, operation.parameters))
        return described
    body: dict[str, Any] = {
        "type": "object",
        "properties": {p.name: _schema(p) for p in operation.parameters},
        "additionalProperties": {"description": operation.more} if operation.more else False,
    }
    if required := [p.name for p in operation.parameters if p.default is REQUIRED]:
        body["required"] = required
    described["requestBody"] = {"required": bool(required), "content": {JSON: {"schema": body}}}
    return described


def _query(parameter: Parameter) -> dict[str, Any]:
    required = parameter.default is REQUIRED
    return {
        "name": parameter.name, "in": "query", "required": required, "description": parameter.about,
        "schema": {name: value for name, value in _schema(parameter).items() if name != "description"},
    }  # fmt: skip


def _schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.kind, "description": parameter.about}
    if parameter.kind == "array":
        schema["items"] = {"type": "string"}
    if parameter.least is not None:
        schema["minimum"] = parameter.least
    if parameter.most is not None:
        schema["maximum"] = parameter.most
    if parameter.default not in (REQUIRED, None, ()):
        schema["default"] = parameter.default
    return schema


def _schema_of(example: Any) -> dict[str, Any]:
    """Return the schema of values like the example. An object with the one key "*" has any keys."""
    if isinstance(example, Mapping):
        if set(example) == {"*"}:
            return {"type": "object", "additionalProperties": _schema_of(example["*"])}
        fields = {name: _schema_of(value) for name, value in example.items()}
        return {"type": "object", "properties": fields, "required": list(fields)}
    if isinstance(example, list):
        return {"type": "array", "items": _schema_of(example[0])}
    if example is None:
        return {"type": ["string", "null"]}
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number")):
        if isinstance(example, kind):
            return {"type": name}
    return {"type": "string"}
