"""Each scenario that the search found is clean with its rule, and broken without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalab import explore as called
from kafkalab.checks.all import BY_NAME
from kafkalab.explore.search import explore
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.reference.found_scenarios import (
    FOLDER,
    WHY_NOT,
    fault_count,
    found_scenario,
    section,
    shown_without,
    slug,
)
from kafkalab.reference.rule_matrix import EXPECTED, scenario_of

ROOT = Path(__file__).parents[2]
FOUND = [rule for rule in REGISTRY if found_scenario(rule, ROOT) is not None]
FEWEST = 48
"""The least number of rules that the search breaks."""


@pytest.mark.parametrize("rule", FOUND)
def test_what_was_found_shows_without_the_rule_only(rule: Rule, root: Path) -> None:
    scenario = found_scenario(rule, root)
    assert scenario is not None
    on, shown = shown_without(rule, scenario)
    assert on == ()
    assert shown != ()
    if rule in EXPECTED:
        assert set(shown) <= set(BY_NAME)


def test_every_file_belongs_to_a_rule(root: Path) -> None:
    assert sorted(path.stem for path in (root / FOLDER).glob("*.klab")) == sorted(map(slug, FOUND))


def test_most_rules_are_broken_with_no_more_faults_than_by_hand(root: Path) -> None:
    counts = {rule: fault_count(scenario_of(rule, root)) for rule in EXPECTED}
    found = {rule: found_scenario(rule, root) for rule in FOUND}
    more = [slug(r) for r, one in found.items() if one is not None and r in counts and fault_count(one) > counts[r]]
    assert more == []
    assert len(FOUND) >= FEWEST


def test_the_page_names_what_was_not_found(tmp_path: Path) -> None:
    lines = section({}, tmp_path)
    assert f"* {REGISTRY[0].name}" in lines
    assert f"* {rules.LEADER_EPOCH.name}: {WHY_NOT[rules.LEADER_EPOCH]}" in lines


def test_the_page_says_why_a_rule_was_not_found() -> None:
    assert sorted(map(slug, WHY_NOT)) == sorted(slug(rule) for rule in REGISTRY if rule not in FOUND)


def test_the_package_is_the_search() -> None:
    assert called.__name__ in ("explore", "kafkalab.explore")
    wrong: Any = 3
    with pytest.raises(TypeError, match="explore takes a Scenario"):
        called(wrong)
    assert callable(explore)
