"""The nearest run: which one it is for each incident, what is said of it, and that the stored shapes are current."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.nearest import nearest, shape
from kafkalab.diagnose.nearest.known import FILE, known_runs, open_run, text_of
from kafkalab.diagnose.nearest.nearest import HARMLESS, NOTHING, Nearest, find_nearest
from kafkalab.diagnose.nearest.shape import FENCED, RUN, SENTENCES, TEXT, is_alike, say_feature, shape_of
from kafkalab.diagnose.page import page_of
from kafkalab.diagnose.reading import read_files
from kafkalab.diagnose.report import as_data, as_text
from kafkalab.diagnose.run_evidence import evidence_of
from kafkalab.run.source import run_of
from kafkalab.sim.cluster import ran
from tests.diagnose.conftest import read_texts
from tests.diagnose.test_hanging import DUMP, HANGING
from tests.diagnose.test_score import FOLDERS, KEY

NEAREST = {
    "01": "KAFKA-14402",
    "02": "KAFKA-20734",
    "03": "KAFKA-14402",
    "05": "lab06",
    "06": "shelf",
    "07": "INVALID_PRODUCER_ID_MAPPING",
    "08": "KAFKA-19690",
    "09": "KAFKA-17754",
    "10": "aiokafka_session",
    "11": "clean_election",
    "12": "KAFKA-7190",
    "20": "INVALID_TRANSACTION_TIMEOUT",
    "21": "pending_first",
    "23": "CLUSTER_AUTHORIZATION_FAILED",
    "32": "pending_first",
    "36": "KAFKA-14402",
    "39": "shelf",
}
"""By the number of an incident, its nearest run; the others have none."""


def nearest_of(evidence: Evidence) -> Nearest:
    """Return the nearest run of the evidence."""
    return find_nearest(evidence, judge(evidence))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_each_incident_has_its_run_or_a_reason(folder: Path) -> None:
    found = nearest_of(read_files(path for path in sorted(folder.iterdir()) if path.name != KEY))
    assert (found.run.name if found.run else None) == NEAREST.get(folder.name[:2])
    assert bool(found.why) is (found.run is None)
    assert bool(found.same) is (found.run is not None)


def test_the_stored_shapes_are_those_of_the_runs_of_today(root: Path) -> None:
    assert FILE.read_text(encoding="utf-8") == text_of(root), "run `python -m kafkalab.diagnose.nearest.known`"


def test_a_pasted_find_hanging_alone_finds_the_run_of_the_bug() -> None:
    found = nearest_of(read_texts(HANGING))
    assert found.run is not None
    assert found.run.name == "KAFKA-14402"
    assert "The rules of `kafkalab diagnose` conclude: hanging." in found.only_text
    assert "The rules of `kafkalab diagnose` conclude: hanging, late batch." in found.only_run


def test_what_differs_is_named_on_its_own_side() -> None:
    found = nearest_of(read_texts(HANGING, DUMP))
    assert "The marker in front of the open transaction is ABORT, of the same epoch." in found.same
    told = nearest_of(read_texts(HANGING, DUMP.replace("endTxnMarker: ABORT", "endTxnMarker: COMMIT")))
    assert "The marker in front of the open transaction is COMMIT, of the same epoch." in told.only_text
    assert "The marker in front of the open transaction is ABORT, of the same epoch." in told.only_run


def test_the_order_of_the_files_changes_nothing() -> None:
    assert nearest_of(read_texts(HANGING, DUMP)) == nearest_of(read_texts(DUMP, HANGING))


def test_without_anything_wrong_no_run_is_looked_for() -> None:
    assert nearest_of(read_texts("hello")) == Nearest(None, NOTHING)
    harmless = read_files([next(path for path in FOLDERS if path.name.startswith("14")) / "stock-moves-0.dump.txt"])
    assert nearest_of(harmless) == Nearest(None, HARMLESS)


def test_no_near_run_says_so_and_what_the_shape_is() -> None:
    evidence = read_texts(HANGING)
    other = [one for one in known_runs() if "anomaly hanging transaction" not in one.features]
    found = find_nearest(evidence, judge(evidence), other)
    assert found.run is None
    assert found.why.startswith(f"None of the {len(other)} runs that the lab knows has the same shape. ")
    assert "conclude: hanging." in found.why


@pytest.mark.parametrize(
    ("own", "other", "alike"),
    [
        ({"concludes fenced", "error X"}, {"concludes fenced", "error X"}, True),
        ({"concludes fenced"}, {"concludes fenced"}, False),
        ({"error X", "open a partition", "rule a"}, {"error X", "open a partition", "rule a"}, False),
        ({"rule a", "anomaly b"}, {"rule a", "anomaly b"}, True),
        ({"bug A", "error X"}, {"bug A", "error X", "error Y"}, True),
        ({"bug A", "error X"}, {"bug B", "error X"}, False),
    ],
)
def test_runs_are_alike_if_the_same_went_wrong(own: set[str], other: set[str], alike: bool) -> None:
    assert is_alike(own, other) is alike


def test_most_common_features_win_then_the_fewest_others_then_the_first() -> None:
    evidence, first = read_texts(HANGING), next(one for one in known_runs() if one.name == "KAFKA-14402")
    few = first._replace(name="few", features=("anomaly hanging transaction", "bug KAFKA-14402"))
    more = first._replace(name="more", features=(*few.features, "open a partition", "error X", "error Y"))
    bare = more._replace(name="bare", features=more.features[:3])
    again = bare._replace(name="again")
    names = [one.run and one.run.name for one in (
        find_nearest(evidence, judge(evidence), runs) for runs in ([few, more], [more, bare], [bare, again])
    )]  # fmt: skip
    assert names == ["more", "bare", "bare"]


def test_every_feature_has_a_sentence_for_both_sides() -> None:
    features = {feature for one in known_runs() for feature in one.features}
    assert {feature.partition(" ")[0] for feature in features} == set(SENTENCES)
    told = {say_feature(feature, whose) for feature in features for whose in (TEXT, RUN, shape.BOTH)}
    assert all(one.endswith(".") and "{" not in one for one in told)


def test_two_names_of_an_old_epoch_are_one_feature() -> None:
    shapes = [shape_of(read_texts(f"ERROR {name} for x"), None) for name in FENCED.split(" or ")]
    assert shapes == [[f"error {FENCED}"]] * 2


def test_json_text_and_page_open_the_run_where_it_decides() -> None:
    evidence = read_texts(HANGING, DUMP)
    findings = judge(evidence)
    data = json.loads(json.dumps(as_data(evidence, findings)))["nearest"]
    run = next(one for one in known_runs() if one.name == data["run"]["name"])
    journey = open_run(run)
    assert journey.step == run.step == data["run"]["step"]
    told = as_text(evidence, findings)
    assert "\nTHE NEAREST RUN of the lab: KAFKA-14402: The hanging transaction. " in told
    assert "\n  only in the run: " in told
    assert '\n  open it, in a notebook: from kafkalab import museum; museum("KAFKA-14402")\n' in told
    shown = page_of(evidence, findings)
    assert shown.count("<iframe srcdoc=") == 1
    assert nearest.CAUTION in shown


def test_a_page_without_a_near_run_says_why() -> None:
    evidence = read_texts("hello")
    assert f"<h2>No near run</h2><p>{NOTHING}</p>" in page_of(evidence, [])
    assert f"NO NEAR RUN: {NOTHING}" in as_text(evidence, [])


def test_a_run_as_evidence_has_the_log_the_states_and_what_clients_are_told() -> None:
    known = next(one for one in known_runs() if one.name == "KAFKA-14402")
    run = run_of(ran(open_run(known).scenario))
    evidence = evidence_of(run, "x")
    (late,) = evidence.views["out-0"].open.values()
    assert late.after is not None
    assert [late.after.outcome, late.first.first] == ["ABORT", 2]
    event = run.trace.events[late.first.source.line]
    assert (event.kind, event.name, event.data.base_offset) == ("append", "out-0", 2)
    assert [record.state for record in evidence.records_of("pay")][-2:] == ["PrepareAbort", "CompleteAbort"]
    assert [(said.who, said.producer) for said in evidence.all_said("id given")] == [("pay", 2000)]
