"""Every field that can stand in the frame inspector has a sentence that says what it is for."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.protocol.records import CleanedBatch, OtherRecords, Record
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.field_meanings import MEANINGS, key_of
from kafkalab.widgets.payload.fields import fields_of, path_of
from kafkalab.wire.tap.frames import Unread

IN_ONE_LINE = (ClusterMetadata, Record)


def paths(kind: Any, prefix: str = "", inside: tuple[Any, ...] = ()) -> Iterator[str]:
    """The paths of all fields of a message, without the keys and numbers of its parts."""
    if kind in inside:
        return  # a request may hold further ones of its own kind
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            yield f"{prefix}{field.name}"
            yield from paths(hints[field.name], f"{prefix}{field.name}.", (*inside, kind))
    for inner in typing.get_args(kind):
        if inner not in IN_ONE_LINE:
            yield from paths(inner, prefix, inside)


def all_fields() -> list[tuple[str, str]]:
    found = [("EndTxn", "version"), ("EndTxn", "correlation_id")]
    for name, api in BY_NAME.items():
        for frame, kind in ((name, api.request), (f"{name}Response", api.response)):
            found += [(frame, path) for path in paths(kind)]
    kinds = (CleanedBatch, OtherRecords)
    found += [("Produce", f"batches.{f.name}") for kind in kinds for f in dataclasses.fields(kind)]
    found += [("ShareFetch", f.name) for f in dataclasses.fields(Unread)]
    return [(frame, path) for frame, path in found if not path.startswith("metadata.")]


@pytest.mark.parametrize(("frame", "path"), all_fields())
def test_each_field_of_each_api_has_a_sentence(frame: str, path: str) -> None:
    key = key_of(frame, path)
    assert key in MEANINGS, f"say what {frame}'s {path} is for: an entry {key!r} in field_meanings.py"
    assert re.fullmatch(r"\S.{8,110}\.", MEANINGS[key])


def test_no_sentence_is_about_a_field_that_is_not_there() -> None:
    used = {key_of(frame, path) for frame, path in all_fields()}
    assert sorted(set(MEANINGS) - used) == [], "no frame has these fields"


@pytest.mark.parametrize("profile", ["1.0", "4.x/TV1", "4.x/TV2"])
def test_each_field_of_each_frame_that_flies_has_a_sentence(profile: str) -> None:
    cluster = Cluster(lab03(profile))
    for frame in cluster.run().frames.values():
        for name, _ in fields_of(frame):
            assert MEANINGS[key_of(frame.name, path_of(name))]


def test_the_parts_of_a_frame_are_fields_of_their_own() -> None:
    frames = Cluster(lab03()).run().frames
    produce = dict(fields_of(frames["Produce#1"]))
    assert produce["batches[accounts-0].base_sequence"] == "0"
    assert produce["batches[accounts-0].transactional"] == "True"
    answer = dict(fields_of(frames["ProduceResponse#1"]))
    assert answer["partitions[accounts-0].base_offset"] == "0"
    marker = dict(fields_of(frames["WriteTxnMarkers#1"]))
    assert marker["markers[0].committed"] == "True"
