"""Shapes that cannot be are refused in one line; offsets have no gaps, and shares come out as asked."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.shape import Shape
from tests.spark.whole import history_of


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"records": 0}, "records is at least 1, not 0"),
        ({"abort_rate": 1.5}, "abort_rate is between 0 and 1, not 1.5"),
        ({"block": 7}, "a block has 100 to 50000 records, not 7"),
        ({"seed": -1}, "a seed is 0 or more, not -1"),
        ({"profile": "5"}, "no profile '5'; there are 0.11, 1.0"),
        ({"inject": (("dup", 0.1),)}, "no anomaly 'dup' can be injected; there are inconsistent-offsets, G1a"),
        ({"inject": (("duplicate", -0.1),)}, "the rate of 'duplicate' is between 0 and 1, not -0.1"),
        ({"inject": (("duplicate", 1e-3),), "partitions": 1}, "injected on two partitions or more: partitions=2"),
        ({"inject": (("duplicate", 0.5),)}, "lower the rates, or ask for more records"),
    ],
    ids=str,
)
def test_a_shape_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")) as caught:
        Shape(**({"records": 1000} | given))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def shape() -> Shape:
    return Shape(records=4000, block=1000, inject=tuple((name, 1e-3) for name in SCENES))


def test_partitions_have_every_offset_once_up_to_the_end(shape: Shape) -> None:
    offsets: dict[str, list[int]] = {}
    for record in history_of(shape).log:
        if record.key.startswith(("out-", "own-")) and record.removed != "truncated":
            offsets.setdefault(record.key, []).append(record.offset)
    assert all(sorted(here) == list(range(len(here))) for here in offsets.values())
    assert sum(key.startswith("out-") for key in offsets) == shape.partitions


def test_steps_values_and_frames_are_of_one_block_only() -> None:
    shape = Shape(records=2000, block=500)
    history = history_of(shape)
    assert {record.step // shape.steps for record in history.log} == set(range(shape.cells))
    sent = [o.value for o in history.operations if (o.function, o.type) == ("send", "invoke")]
    assert len(sent) == len(set(sent))
    assert len(history.frames) == len({frame.id for frame in history.frames})


def test_operations_are_numbered_in_the_order_of_their_steps_and_ends_name_their_invokes(shape: Shape) -> None:
    operations = history_of(shape).operations
    by_index = {o.index: o for o in operations}
    assert [o.step for o in sorted(operations, key=lambda o: o.index)] == sorted(o.step for o in operations)
    for end in operations:
        if end.type != "invoke":
            invoke = by_index[end.invocation]
            assert (invoke.type, invoke.function, invoke.client) == ("invoke", end.function, end.client)
            assert (invoke.key, invoke.value, invoke.transaction) == (end.key, end.value, end.transaction)


def test_shares_are_about_what_was_asked_for() -> None:
    history = history_of(Shape(records=20_000, txn_size=8, abort_rate=0.3, idempotent=0.4, transform=0))
    data = [r for r in history.log if not r.control]
    ends = [t.state for t in history.transactions if t.state.startswith("Complete")]
    assert len(history.log) == pytest.approx(20_000, rel=0.01)
    assert ends.count("CompleteAbort") / len(ends) == pytest.approx(0.3, abs=0.03)
    assert sum(r.transactional for r in data) / len(ends) == pytest.approx(8, rel=0.1)
    assert sum(not r.transactional for r in data) / len(data) == pytest.approx(0.4, abs=0.1)


def test_transactions_are_open_side_by_side() -> None:
    history = history_of(Shape(records=2000, producers=8))
    most = open_now = 0
    for entry in sorted(history.transactions, key=lambda t: t.step):
        open_now += {"Ongoing": 1, "CompleteCommit": -1, "CompleteAbort": -1}.get(entry.state, 0)
        most = max(most, open_now)
    assert most >= 3
