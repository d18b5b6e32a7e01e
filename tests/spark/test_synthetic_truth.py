"""The pure-Python checks find in a synthetic history what was injected there, all of it, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kafkalab.checks.all import BY_NAME, check_all
from kafkalab.checks.check import FORBIDDEN
from kafkalab.protocol.rules import EPOCH_PER_TRANSACTION
from kafkalab.spark.synthetic.injected_anomalies import SCENES
from kafkalab.spark.synthetic.relocation import windows_of
from kafkalab.spark.synthetic.shape import Shape
from tests.spark.whole import count_found, expect, history_of

PROFILES = ("4.x/TV1", "4.x/TV2")


def small(profile: str = "4.x/TV2", inject: tuple[tuple[str, float], ...] = (), seed: int = 1) -> Shape:
    return Shape(records=1000, block=250, partitions=8, producers=12, profile=profile, inject=inject, seed=seed)


def test_every_check_has_an_anomaly_to_inject() -> None:
    assert list(SCENES) == list(BY_NAME)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("anomaly", SCENES)
def test_what_is_injected_is_what_the_checks_find(anomaly: str, profile: str) -> None:
    shape = small(profile, ((anomaly, 6e-3),))
    truth = expect(shape)
    assert sum(row[0] == anomaly for row in truth.elements()) >= 6
    assert count_found(check_all(history_of(shape))) == truth


@pytest.mark.parametrize("profile", PROFILES)
def test_all_anomalies_together_are_found_each_where_it_was_injected(profile: str) -> None:
    shape = Shape(records=3000, block=1500, profile=profile, inject=tuple((name, 1e-3) for name in SCENES), seed=5)
    truth = expect(shape)
    assert {row[0] for row in truth} == set(SCENES)
    assert count_found(check_all(history_of(shape))) == truth


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_clean_history_has_no_finding_and_every_check_has_something_to_examine(profile: str, seed: int) -> None:
    report = check_all(history_of(small(profile, seed=seed)))
    assert report.findings == ()
    assert {result.verdict for result in report.results} == {"ok"}


@pytest.mark.parametrize(
    "given",
    [
        {"partitions": 1},
        {"producers": 1, "partitions": 12},
        {"transform": 0.0, "idempotent": 0.0, "abort_rate": 0.5},
        {"transform": 1.0},
        {"idempotent": 1.0},
        {"txn_size": 1},
        {"txn_size": 40},
        {"producers": 300},
        {"records": 100},
    ],
    ids=str,
)
def test_other_shapes_are_clean_too(given: dict[str, float]) -> None:
    shape = Shape(**({"records": 1000, "block": 250, "producers": 12} | given))  # type: ignore[arg-type]
    assert check_all(history_of(shape)).findings == ()


@pytest.mark.parametrize("bump", [0, 1])
@pytest.mark.parametrize("anomaly", SCENES)
def test_a_window_says_what_the_checks_find_in_the_whole_run_of_its_scene(anomaly: str, bump: int) -> None:
    for scene, window in zip(SCENES[anomaly], windows_of(anomaly, bump), strict=True):
        whole = Counter((f.anomaly, f.policy) for f in check_all(scene.history(bump)).findings)
        assert Counter((truth.anomaly, truth.policy) for truth in window.truths) == whole
        assert anomaly in {name for name, _ in whole}


OFF = [(name, number) for name, scenes in SCENES.items() for number, scene in enumerate(scenes) if scene.off]


@pytest.mark.parametrize("bump", [0, 1])
@pytest.mark.parametrize(("anomaly", "number"), OFF)
def test_with_all_rules_on_a_scene_does_not_show_its_anomaly(anomaly: str, number: int, bump: int) -> None:
    scene = SCENES[anomaly][number]
    findings = BY_NAME[anomaly](replace(scene, off=()).history(bump)).findings
    nothing_protects = bump == 0 and EPOCH_PER_TRANSACTION in scene.off  # it protects version 2 only
    assert any(f.policy == FORBIDDEN for f in findings) == nothing_protects


def test_stories_of_an_anomaly_take_turns() -> None:
    truth = expect(small(inject=(("duplicate", 6e-3),)))
    assert Counter((row[0], row[1]) for row in truth.elements()) == {
        ("duplicate", "forbidden"): 4,
        ("duplicate", "allowed"): 2,
        ("sequence gap", "forbidden"): 2,
    }
