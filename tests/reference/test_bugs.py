"""Historical bugs, replayed: each shows without its cure, and does not with it; docs/bugs.md is what they show now."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab.cli.main import main
from kafkalab.protocol.rules import REGISTRY, SEQUENCE_GAPS
from kafkalab.reference.bug import FOLDER, Bug, scenario_of, show, without_the_cure
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.bug_page import NOT_SHOWN, PAGE, text_of
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.payload.payload import payload_of

FRAMES = 60
"""A scenario that someone is to click through has no more frames than this, not counting replication."""


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bug", [pytest.param(b, id=b.file.removesuffix(".klab")) for b in BUGS])


@each()
def test_with_the_rule_on_the_run_is_good_and_every_check_is_content(bug: Bug, root: Path) -> None:
    shown = show(bug, scenario_of(bug, root))
    assert (shown.sign, shown.anomalies) == (bug.good, ())


@each()
def test_without_the_rule_the_bug_shows(bug: Bug, root: Path) -> None:
    shown = show(bug, without_the_cure(bug, scenario_of(bug, root)))
    assert shown.sign == bug.bad != bug.good
    assert not bug.anomaly or bug.anomaly in shown.anomalies


@each()
def test_a_scenario_is_small_enough_to_be_clicked_through(bug: Bug, root: Path) -> None:
    cluster = Cluster(scenario_of(bug, root))
    cluster.run()
    assert len([f for f in cluster.trace.frames.values() if not f.name.startswith("ReplicaFetch")]) <= FRAMES


def test_every_file_belongs_to_a_bug_and_every_bug_has_a_rule_of_the_registry(root: Path) -> None:
    assert sorted(p.name for p in (root / FOLDER).glob("*.klab")) == sorted(b.file for b in BUGS)
    assert all(b.rule in REGISTRY for b in BUGS)


def test_bugs_are_listed_by_number() -> None:
    assert [b.number for b in BUGS] == sorted((b.number for b in BUGS), key=lambda n: (n.startswith("KIP"), len(n), n))


def test_no_bug_is_both_shown_and_not_shown() -> None:
    left_out = [number for _, numbers in NOT_SHOWN for number in numbers]
    assert len(set(left_out)) == len(left_out)
    assert not set(left_out) & {b.number for b in BUGS}


@each()
def test_both_runs_can_be_drawn(bug: Bug, root: Path) -> None:
    scenario = scenario_of(bug, root)
    for one in (scenario, without_the_cure(bug, scenario)):
        cluster = Cluster(one)
        cluster.run()
        assert len(payload_of(cluster)["events"]) == cluster.trace.steps


def test_a_bug_whose_scenario_lacks_its_rule_is_refused(root: Path, tmp_path: Path) -> None:
    bug = replace(BUGS[0], rule=SEQUENCE_GAPS)
    (tmp_path / FOLDER).mkdir(parents=True)
    saved = Scenario.load(root / FOLDER / bug.file)
    replace(saved, rules_off=(SEQUENCE_GAPS.name,)).save(tmp_path / FOLDER / bug.file)
    with pytest.raises(ValueError, match="runs without the rule"):
        scenario_of(bug, tmp_path)


def test_the_page_is_what_the_scenarios_show_now(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == text_of(root), "run `kafkalab bugs`"


def test_the_command_writes_the_page_or_says_what_is_missing(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bugs"]) == main(["bugs", "now"]) == 2
    assert capsys.readouterr().err.count("kafkalab bugs: ") == 2
    (tmp_path / PAGE.parent).mkdir()
    shutil.copytree(root / FOLDER, tmp_path / FOLDER)
    assert main(["bugs"]) == 0
    assert (tmp_path / PAGE).read_text(encoding="utf-8") == (root / PAGE).read_text(encoding="utf-8")
