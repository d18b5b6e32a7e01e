"""The error atlas: every error is met on purpose, and docs/errors.md says what the runs have shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.cli.main import main
from kafkalab.client.transaction_manager.error_reactions import APIS
from kafkalab.protocol.errors import Error
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import (
    ABORT,
    ADMIN,
    CLOSE,
    FOLDER,
    MEANING,
    PAGE,
    bugs_with,
    entries,
    entry_of,
    group_of,
    page,
    reactions_to,
)
from kafkalab.reference.error_guide import GUIDE
from kafkalab.sim.scenario import Scenario

OLD = (Error.DUPLICATE_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID, Error.CLUSTER_AUTHORIZATION_FAILED)


def test_every_stored_scenario_is_in_the_atlas_and_every_error_has_one(root: Path) -> None:
    assert sorted(p.stem for p in (root / FOLDER).glob("*.klab")) == sorted(error.name for error in MEANING)


@pytest.mark.parametrize("error", MEANING, ids=lambda e: e.name)
def test_an_error_is_met_on_purpose(error: Error, root: Path) -> None:
    entry = entry_of(error, root)
    assert (entry.scenario.profile == "1.0") == (error in OLD)
    assert entry.scenario.title
    assert entry.broker in ("b1", "b2", "b3")


def test_the_page_says_what_the_runs_have_shown(root: Path) -> None:
    assert (root / PAGE).read_text(encoding="utf-8") == page(entries(root)), "run `kafkalab atlas`"


@pytest.mark.parametrize("error", MEANING, ids=lambda e: e.name)
def test_an_error_is_filed_by_what_it_means_where_its_run_meets_it(error: Error, root: Path) -> None:
    assert GUIDE[error].met_on[0] == entry_of(error, root).api
    reacted = [api for apis in reactions_to(error).values() for api in apis]
    assert sorted(reacted) == sorted({*GUIDE[error].met_on} & {*APIS})


def test_only_what_ends_a_producer_is_filed_under_close() -> None:
    groups = {error: group_of(error) for error in GUIDE}
    assert {error for error in GUIDE if groups[error] == CLOSE} == {
        Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_ID_MAPPING, Error.INVALID_TXN_STATE,
        Error.INVALID_TRANSACTION_TIMEOUT, Error.CLUSTER_AUTHORIZATION_FAILED,
    }  # fmt: skip
    assert groups[Error.ILLEGAL_GENERATION] == groups[Error.TOPIC_AUTHORIZATION_FAILED] == ABORT
    assert groups[Error.TRANSACTION_COORDINATOR_FENCED] == ADMIN


def test_an_error_names_the_bugs_in_which_it_shows() -> None:
    assert "KAFKA-19690" in [bug.number for bug in bugs_with(Error.INVALID_TXN_STATE)]
    assert [bug.number for bug in bugs_with(Error.ILLEGAL_GENERATION)] == ["KAFKA-15784"]
    assert bugs_with(Error.NOT_COORDINATOR) == ()
    assert {number for guide in GUIDE.values() for number in guide.bugs} <= {bug.number for bug in BUGS}


def test_each_error_has_every_line_of_advice_and_no_other(root: Path) -> None:
    for section in (root / PAGE).read_text(encoding="utf-8").split("\n## ")[1:]:
        lines = re.findall(r"^\* \*\*(.+?):\*\*", section, re.MULTILINE)
        assert lines[:5] == ["Check first", "Do, in Java", "Do, in librdkafka", "Command", "The run"]
        assert lines[5:] in ([], ["Bugs"])


def test_a_scenario_that_does_not_meet_its_error_is_told(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FOLDER).mkdir(parents=True)
    Scenario(topics={"out": 1}).save(tmp_path / FOLDER / "PRODUCER_FENCED.klab")
    with pytest.raises(ValueError, match="no client is answered with PRODUCER_FENCED"):
        entry_of(Error.PRODUCER_FENCED, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["atlas"]) == 2
    assert main(["atlas", "now"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
