"""The same press on four machines, and the table whose cells are runs."""

from __future__ import annotations

import pytest

from kafkalab.alternatives.matrix import COLUMNS, WORDS, cell, deciding_step, matrix
from kafkalab.alternatives.presses import MODELS, MOMENTS, SHARED, run, run_shared_press


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("press", [one.name for one in SHARED])
def test_the_same_press_and_seed_give_the_same_trace(model: str, press: str) -> None:
    from kafkalab.alternatives import presses

    once = run_shared_press(model, press, seed=3).trace.digest()
    presses._run.cache_clear()
    assert run_shared_press(model, press, seed=3).trace.digest() == once
    assert run_shared_press(model, press, seed=4).trace.digest() != once


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", [1, 2, 2026])
def test_every_machine_has_every_moment_in_their_order(model: str, seed: int) -> None:
    moments = run(model, seed=seed).moments
    assert tuple(moments) == MOMENTS
    assert list(moments.values()) == sorted(moments.values())


@pytest.mark.parametrize("seed", [1, 2, 3, 2026])
def test_the_table_is_the_same_whatever_the_seed(seed: int) -> None:
    assert matrix(seed) == {
        "Kafka": dict(zip(COLUMNS, ("a replicated log", "nobody", "yes", "nothing"), strict=True)),
        "two-phase commit": dict(zip(COLUMNS, ("one log after votes", "the parts", "no", "old values"), strict=True)),
        "MVCC": dict(zip(COLUMNS, ("one log", "everybody", "nobody is left", "nothing"), strict=True)),
        "atomic broadcast": dict(zip(COLUMNS, ("a majority", "nobody", "no", "the tail"), strict=True)),
    }


@pytest.mark.parametrize("model", MODELS)
def test_each_cell_has_a_word_of_its_column_and_a_step_of_its_run(model: str) -> None:
    for column in COLUMNS:
        found = cell(model, column)
        assert found.word in WORDS[column]
        assert 0 <= found.step < len(found.run.trace.events)


def test_the_deciding_step_is_the_entry_that_the_protocol_says() -> None:
    def deciding(model: str) -> tuple[str, str]:
        step, _ = deciding_step(model)
        event = run(model).trace.events[step]
        return event.node, event.data.kind

    assert deciding("two-phase commit") == ("tc", "commit")
    assert deciding("MVCC") == ("db", "commit")
    assert deciding("atomic broadcast") == ("s2", "proposal")


@pytest.mark.parametrize(
    ("model", "presses", "says"),
    [
        ("Oracle", [], "no machine 'Oracle'; there are Kafka"),
        ("Kafka", [("b1", "told")], "no press ('b1', 'told'); there are coordinator"),
        ("Kafka", [("told", "noon")], "no press ('told', 'noon')"),
    ],
)
def test_what_does_not_exist_is_named(model: str, presses: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(ValueError, match="no ") as error:
        run(model, presses)
    assert str(error.value).startswith(says)


def test_kafka_finishes_with_one_broker_of_three_but_its_client_does_not_know() -> None:
    left = run_shared_press("Kafka", "coordinator and participant")
    assert set(left.parts.values()) == {"committed"}
    assert left.told == "unknown"
    assert left.cluster is not None
    assert left.cluster.outcome().txn_states["payments-0"] == "PrepareCommit"
