"""What crosses from a notebook's process: data stays data, and whatever else comes is refused in a sentence."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from contextlib import suppress
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalab import Crash, Drop, Sequence, lab03
from kafkalab.client.exceptions import KafkaError, ProducerFencedError
from kafkalab.client.results import GroupMetadata
from kafkalab.faults.fault import Fault
from kafkalab.grading.objects import ANSWERS, Foreign, described_answer, error_row, rebuild_error
from kafkalab.grading.values import (
    BITS_MAX,
    DEPTH_MAX,
    PARTS_MAX,
    Reader,
    UnreadableError,
    encode,
    message_of,
    text_of,
)
from kafkalab.protocol.errors import Error


class Word(Enum):
    NONE = 0


class Odd(dict[str, int]):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


def cross(value: Any) -> Any:
    """The value as the grader gets it."""
    row = json.loads(json.dumps(encode(value, described_answer)))
    return Reader(ANSWERS).read(row)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.text()), inner, max_size=3)
    | st.tuples(inner, inner)
    | st.sets(st.integers() | st.text(), max_size=3)
    | st.frozensets(st.integers(), max_size=3),
    max_leaves=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["tuple", "dict", "set", "bytes", "ellipsis", *ANSWERS, "x"]), inner, max_size=1),
    max_leaves=12,
)
ANY_PACE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A machine that does much else at the time draws slowly, and that is no fault."""


@ANY_PACE
@given(DATA)
def test_data_comes_as_it_went(value: Any) -> None:
    assert cross(value) == value
    assert repr(cross(value)) == repr(value) or isinstance(value, (set, frozenset, dict, list, tuple))


@ANY_PACE
@given(JSON)
def test_whatever_is_sent_is_read_or_refused(row: Any) -> None:
    with suppress(UnreadableError):
        Reader(ANSWERS).read(row)


@ANY_PACE
@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda row: json.dumps(row).encode()))
def test_a_message_is_an_object_or_refused(data: bytes) -> None:
    with suppress(UnreadableError):
        assert isinstance(message_of(data), dict)


def test_kinds_of_data_become_pythons_own() -> None:
    assert type(cross(Odd(a=1))) is dict
    assert cross(Odd(a=1)) != {"a": 2}
    assert cross([Counter("aab"), OrderedDict(x=...)]) == [{"a": 2, "b": 1}, {"x": ...}]
    assert cross([Word.NONE, Error.NONE]) == ["NONE", "NONE"]


def test_faults_runs_and_records_come_as_what_they_are() -> None:
    faults: list[Fault] = [Drop("EndTxn#1"), Crash("b3", at_step=84)]
    assert cross(faults) == faults
    assert cross(lab03().with_faults(*faults)) == lab03().with_faults(*faults)
    widget = Sequence(lab03())
    widget.press("drop", "EndTxnResponse#1")
    assert cross(widget) == lab03().with_faults(Drop("EndTxnResponse#1"))
    assert cross(GroupMetadata("g", 3, "m")) == GroupMetadata("g", 3, "m")


def test_anything_else_shows_what_it_was_and_equals_nothing() -> None:
    found = cross({"x": iter([1])})["x"]
    assert isinstance(found, Foreign)
    assert type(found).__name__ == "list_iterator"
    assert repr(found).startswith("<list_iterator object")
    others: tuple[object, ...] = (1, "x", None, ...)
    assert found not in others


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"tuple": 7}, "it is no value"),
        ({"dict": [1]}, "it holds a dict that cannot be made"),
        ({"dict": [[[], 1]]}, "it holds a dict that cannot be made"),
        ({"set": [[1]]}, "it holds a set that cannot be made"),
        ({"bytes": 7}, "it holds a bytes that cannot be made"),
        ({"object": ["os", "system"]}, "it holds something that cannot be read"),
        ({"member": ["os", "x", "y"]}, "it holds something that cannot be read"),
        ({"fault": {"dict": [["fault", []]]}}, "it holds a fault that does not exist"),
        ({"scenario": 7}, "is not a scenario"),
        ({"result": ["Popen", {"dict": []}]}, "it holds a record that no client has"),
        ({"result": ["GroupMetadata", {"dict": [["x", 1]]}]}, "it holds a record that no client has"),
        ({"a": 1, "b": 2}, "it is no value"),
        (1 << (BITS_MAX + 1), "a number in it has more than"),
        ([0] * (PARTS_MAX + 1), "it has more than"),
    ],
)
def test_what_is_of_another_form_is_refused(row: Any, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        Reader(ANSWERS).read(row)


def test_depth_is_limited_on_both_sides() -> None:
    deep: Any = []
    for _ in range(DEPTH_MAX + 2):
        deep = [deep]
    with pytest.raises(UnreadableError, match="nested more than"):
        Reader({}).read(deep)
    with pytest.raises(UnreadableError, match="nested more than"):
        encode(deep, described_answer)


def test_an_error_of_a_client_is_itself_and_any_other_only_has_its_name() -> None:
    error = rebuild_error(error_row(ProducerFencedError("late", Error.PRODUCER_FENCED)))
    assert (type(error), str(error), getattr(error, "error", None)) == (
        ProducerFencedError, "late", Error.PRODUCER_FENCED,
    )  # fmt: skip
    other = rebuild_error(["WrongAnswer", "right", ""])
    assert (type(other).__name__, type(other).__mro__[1], str(other)) == ("WrongAnswer", Exception, "right")
    assert not isinstance(rebuild_error(7), KafkaError)


def test_a_text_for_the_report_has_nothing_that_no_report_can_hold() -> None:
    assert text_of("a\ud800\x00\x1b[31m\u202eb\n", 99) == "a[31mb\n"
    assert (text_of(7, 9), text_of("x" * 99, 9)) == ("", "x" * 9)
