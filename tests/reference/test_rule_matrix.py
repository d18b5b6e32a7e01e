"""Each rule's stored scenario is clean with the rule, and shows the anomaly that the rule prevents without it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.cli.main import main
from kafkalab.faults.frame import Drop
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY, Rule
from kafkalab.reference.found_scenarios import slug
from kafkalab.reference.rule_matrix import (
    EXPECTED,
    FOLDER,
    PAGE,
    REASONS,
    Row,
    page,
    report_of,
    scenario_of,
    text_of,
)


@pytest.mark.parametrize("rule", EXPECTED)
def test_with_the_rule_nothing_forbidden_happens(rule: Rule, root: Path) -> None:
    report = report_of(scenario_of(rule, root))
    assert report.violated == (), str(report)


@pytest.mark.parametrize("rule", EXPECTED)
def test_without_the_rule_its_anomaly_is_found_with_steps_that_prove_it(rule: Rule, root: Path) -> None:
    scenario = scenario_of(rule, root)
    report = report_of(replace(scenario, rules_off=(*scenario.rules_off, rule.name)))
    assert EXPECTED[rule] in report.violated, str(report)
    assert all(finding.steps for finding in report.findings)


def test_every_file_belongs_to_a_rule_and_every_rule_of_the_list_has_a_file(root: Path) -> None:
    assert sorted(p.stem for p in (root / FOLDER).glob("*.klab")) == sorted(slug(rule) for rule in EXPECTED)
    assert [name for name in EXPECTED.values() if name not in BY_NAME] == []


def test_the_page_is_what_the_scenarios_show_today(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == text_of(root), "run `kafkalab rules`"


def test_the_page_names_every_rule(root: Path) -> None:
    text = (root / PAGE).read_text(encoding="utf-8")
    assert [rule.name for rule in REGISTRY if rule.name not in text] == []


def test_every_rule_has_a_scenario_or_a_reason_why_it_has_none() -> None:
    assert [rule.name for rule in REGISTRY if (rule in EXPECTED) == (rule in REASONS)] == []


def test_every_rule_is_asked_somewhere(root: Path) -> None:
    names = {slug(rule).upper() for rule in REGISTRY}
    asked: set[str] = set()
    for path in (root / "kafkalab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "on":
                asked |= {argument.id for argument in node.args if isinstance(argument, ast.Name)}
    assert sorted(names - asked) == []


def test_a_mark_is_bold_for_what_the_scenario_was_made_to_show() -> None:
    text = page([Row(rules.DEDUPLICATION, "a title", on=(), off=("duplicate", "sequence gap"))])
    assert f"| {rules.DEDUPLICATION.name} | **X** | x |" in text


def test_what_is_off_in_both_runs_is_said() -> None:
    row = Row(rules.DEDUPLICATION, "a title", (), ("duplicate",), "1.0", (rules.FIVE_BATCHES.name,))
    assert f'| a title | 1.0; also off: "{rules.FIVE_BATCHES.name}" |' in page([row])


def test_a_scenario_that_is_not_clean_with_its_rule_shows_in_the_page() -> None:
    row = Row(rules.DEDUPLICATION, "a title", on=("G1a",), off=("duplicate",))
    assert "duplicate (with it on: G1a)" in page([row])


def test_a_profile_without_the_rule_and_a_fault_without_effect_are_errors(root: Path, tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    scenario = scenario_of(rules.VERIFICATION, root)
    replace(scenario, profile="1.0").save(tmp_path / FOLDER / "verification.klab")
    with pytest.raises(ValueError, match="runs without the rule"):
        scenario_of(rules.VERIFICATION, tmp_path)
    with pytest.raises(ValueError, match=r"EndTxn#9.* changed nothing"):
        report_of(scenario.with_faults(Drop("EndTxn#9")))


@pytest.mark.campaign
def test_the_command_writes_the_page(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").symlink_to(root / "data")
    (tmp_path / "docs").mkdir()
    assert main(["rules"], tmp_path) == 0
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == (root / PAGE).read_text(encoding="utf-8")
    assert main(["rules", "now"], tmp_path) == 2
    assert main(["rules"], tmp_path / "docs") == 2
    assert "kafkalab rules: " in capsys.readouterr().err
