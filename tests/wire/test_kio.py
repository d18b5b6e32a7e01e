"""kio, which has tables of Kafka's messages of its own, and our codec: the same values in the same bytes."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kio.index import UnknownEntity, load_request_schema, load_response_schema
from kio.serial import entity_writer
from kio.static.primitive import Records

from kafkalab.wire.definitions import api_names, list_versions
from kafkalab.wire.primitives import Codec, Sink, Source
from kafkalab.wire.structs import raw

FEW = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
st.register_type_strategy(Records, st.binary(max_size=9).map(Records))
EPOCH = datetime.fromtimestamp(0, UTC)
SIDES = {"Request": load_request_schema, "Response": load_response_schema}
LACKING = {"ApiVersions": [5], "DeleteGroups": [3], "TxnOffsetCommit": [6]}
"""The versions of Kafka 4.4.0 that kio does not have."""
NEWER = {"generation_id": "generation_id_or_member_epoch"}
"""Names that Kafka 4.4.0 has changed."""


def versions(name: str, side: str) -> dict[int, type]:
    """Return kio's classes of a message by version."""
    key = next(key for key, found in api_names().items() if found == name)
    found = {}
    for version in list_versions()[f"{name}{side}"]:
        with suppress(UnknownEntity):
            found[version] = SIDES[side](key, version)
    return found


def plain(value: Any) -> Any:
    """Return a value of kio's as it is in the bytes."""
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(milliseconds=1)
    return value.value if isinstance(value, Enum) else value


def same(ours: Any, theirs: Any) -> bool:
    """Return whether both say the same; names of ours may have a part more, as `throttle_time_ms`."""
    if isinstance(theirs, dict):
        assert len(ours) == len(theirs), (ours, theirs)
        return all(same(ours[name_in(ours, name)], value) for name, value in theirs.items())
    if isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if theirs is None:
        return ours in (None, -1, UUID(int=0))
    return bool(ours == theirs)


def name_in(ours: dict[str, Any], name: str) -> str:
    """Return the name that a field of kio's has here."""
    return next(one for one in (name, f"{name}_ms", NEWER.get(name)) if one in ours)


NAMES = sorted({name.removesuffix("Response") for name in list_versions() if name.endswith("Response")})


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", NAMES)
def test_a_message_has_the_bytes_and_the_values_that_it_has_by_kio(name: str, side: str) -> None:
    found = versions(name, side)
    assert sorted(set(list_versions()[f"{name}{side}"]) - set(found)) == LACKING.get(name, [])
    for version, kind in found.items():
        compare(raw(f"{name}{side}", version), kind)


def compare(codec: Codec, kind: type) -> None:
    """Compare what some messages of a class of kio's are in bytes, and what these bytes are here."""

    @FEW
    @given(st.from_type(kind))
    def check(made: Any) -> None:
        out = io.BytesIO()
        entity_writer(kind)(out, made)
        source = Source(out.getvalue())
        values = codec.read(source)
        assert source.place == len(source.data)
        assert same(values, plain(made))
        written = Sink()
        codec.write(written, values)
        assert bytes(written) == source.data

    check()
