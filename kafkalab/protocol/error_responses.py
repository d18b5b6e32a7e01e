"""The response to a request that says nothing but an error, as `AbstractRequest.getErrorResponse` of Kafka makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.registry import ALL, BY_REQUEST

KEYS = ("partitions", "batches", "offsets", "positions", "groups")
"""The fields of requests that say what each part of the response is about."""
EMPTY: dict[Any, Any] = {int: -1, str: "", Error: Error.NONE}
OTHERS = ("Metadata", "ApiVersions")
"""The APIs whose errors are those of topics, or make a client give up versions: no response says only an error."""


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def carries_error(api: Api) -> bool:
    """Return whether a response of this API may say nothing but an error."""
    if api.name in OTHERS:
        return False
    hints = _hints(api.response)
    filled = [hints[one.name] for one in fields(api.response) if _is_filled(one)]
    return api.name == "WriteTxnMarkers" or (all(map(_is_known, filled)) and any(map(_has_error, filled)))


def why_no_error(api: Api) -> str:
    """Return why no response of this API says nothing but an error; "" if one does."""
    named = [other.name for other in ALL if carries_error(other)]
    told = f"no {api.name}Response says nothing but an error; there are those of {', '.join(named)}"
    return "" if carries_error(api) else told


def error_response(request: object, error: Error) -> Any:
    """Return the response to a request in which every field for an error has this one.

    ValueError for an API without such a field.
    """
    api = BY_REQUEST[type(request)]
    if not carries_error(api):
        raise ValueError(why_no_error(api))
    if api.name == "WriteTxnMarkers":
        markers: Any = getattr(request, "markers", ())
        return api.response(markers={one.producer_id: dict.fromkeys(one.partitions, error) for one in markers})
    keys = [key for name in KEYS for key in getattr(request, name, None) or ()]
    keys += [topic.name for topic in getattr(request, "topics", ()) if not isinstance(topic, str)]
    hints = _hints(api.response)
    known = {one.name: _fill(hints[one.name], keys, error) for one in fields(api.response) if _is_filled(one)}
    return api.response(**known)


def _is_filled(one: Any) -> bool:
    """Return True if the field has no default, or is about errors."""
    has_default = one.default is not MISSING or one.default_factory is not MISSING
    return not has_default or one.name in ("error", "errors")


def _fill(kind: Any, keys: Iterable[str], error: Error) -> Any:
    """Return the value of a field: the error, or by key an error, a part with it, -1 or ""."""
    if kind is Error:
        return error
    of: Any = get_args(kind)[1]
    if of is Error:
        return dict.fromkeys(keys, error)
    return {key: EMPTY[of] if of in EMPTY else of(error=error) for key in keys}


def _is_known(kind: Any) -> bool:
    if kind is Error or get_origin(kind) is not dict:
        return kind is Error
    key, of = get_args(kind)
    return key is str and (of in EMPTY or (is_dataclass(of) and _is_made_of_an_error(of)))


def _is_made_of_an_error(kind: Any) -> bool:
    needed = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    return set(needed) <= {"error"} and "error" in _hints(kind)


def _has_error(kind: Any) -> bool:
    return kind is Error or any(of is Error or is_dataclass(of) for of in get_args(kind))
