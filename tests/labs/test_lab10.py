"""What lab 10 says of its runs is so."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kafkalab import lab10, pending_offsets
from kafkalab.course.lab10 import for_real
from kafkalab.grading.builder import SOLUTIONS, read
from kafkalab.programs.packing import PARCELS, VALUES
from kafkalab.protocol.rules import GENERATION_CHECK, STABLE_OFFSETS
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario

LAB = read(Path(__file__).resolve().parents[2] / SOLUTIONS / "10_consume_transform_produce.ipynb")
TWICE = (*VALUES, *VALUES)
TWICE_FOR_REAL = ("tea", "jam", "jam", "pot")
LOST_FOR_REAL = ("tea", "pot")


def read_printed(cell: str) -> list[str]:
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join("".join(o.get("text", [])) for o in found["outputs"]).splitlines()


def read_figure(cell: str) -> str:
    """The text of the figure or value that the cell's saved run shows."""
    (found,) = [c for c in LAB["cells"] if c["id"] == cell]
    return "".join(found["outputs"][-1]["data"]["text/plain"])


def parcels(scenario: Scenario) -> tuple[str, ...]:
    return ran(scenario).outcome().committed[f"{PARCELS}-0"]


def test_its_questions_are_marked_where_they_are_answered() -> None:
    marked = [n for c in LAB["cells"] for n in c["metadata"].get("kafkalab", {}).get("questions", [])]
    assert sorted(set(marked)) == [27, 28, 29, 30, 39, 41, 45, 49]


def test_two_commits_double_or_lose_the_parcels() -> None:
    assert read_printed("naive-crash") == [f"after:  {TWICE}", "inside: ()"]
    assert read_printed("naive-frames")[1] == "names a producer: False"


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_the_sleeper_is_refused_and_joins_again_and_without_its_name_packs_twice(seed: int, profile: str) -> None:
    cluster = ran(lab10(seed=seed, profile=profile))
    assert cluster.outcome().committed[f"{PARCELS}-0"] == VALUES
    assert cluster.results["anna"] == {"packed": [], "refused": "UNKNOWN_MEMBER_ID"}
    joined = [e.data["generation"] for e in cluster.trace.of("state", "member") if e.node == "anna"]
    assert joined == [1, 4]
    assert parcels(lab10(seed=seed, profile=profile, named=False)) == TWICE
    assert parcels(replace(lab10(seed=seed, profile=profile), rules_off=(GENERATION_CHECK.name,))) == TWICE


def test_kafka_1_0_packs_twice() -> None:
    assert parcels(lab10(profile="1.0")) == TWICE


def test_the_producer_that_was_refused_can_abort_and_go_on() -> None:
    assert "anna packer-1: ABORTABLE_ERROR" in read_figure("abortable")


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_successor_waits_for_the_pending_offset_until_the_sleeper_commits(seed: int) -> None:
    cluster = ran(pending_offsets(seed=seed))
    assert cluster.outcome().committed[f"{PARCELS}-0"] == VALUES
    assert (cluster.results["anna"]["packed"], cluster.results["ben"]["packed"]) == (list(VALUES), [])
    without = ran(replace(pending_offsets(seed=seed), rules_off=(STABLE_OFFSETS.name,)))
    assert without.outcome().committed[f"{PARCELS}-0"] == TWICE


def test_if_the_sleeper_is_dead_the_successor_waits_for_the_transaction_s_timeout() -> None:
    cluster = ran(pending_offsets(awake_ms=0))
    assert cluster.outcome().committed[f"{PARCELS}-0"] == VALUES
    assert cluster.results["ben"]["packed"] == list(VALUES)
    aborted = next(e for e in cluster.trace.of("state", "transaction") if e.data["state"] == "PrepareAbort")
    assert 30_000 <= aborted.at_ms < 30_100
    awake, dead = read_printed("pending-end")
    assert awake.startswith("anna wakes up: ben is refused")
    assert "packed by ben: []" in awake
    assert dead.startswith("anna is dead: ben is refused")
    assert "packed by ben: ['tea', 'salt']" in dead


def test_without_a_seek_the_orders_of_an_aborted_transaction_are_lost() -> None:
    assert read_printed("abort-run") == [
        "without seek: (['tea', 'salt'], [])",
        "with seek:    (['tea', 'salt'], ['tea', 'salt'])",
    ]


def test_real_clients_pack_an_order_twice_or_never_on_brokers_of_level_2(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("aiokafka")
    pytest.importorskip("confluent_kafka")
    assert for_real.aiokafka() == TWICE_FOR_REAL
    assert for_real.librdkafka() == LOST_FOR_REAL
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("why", ["no client", "no sockets"])
def test_where_no_real_client_can_run_the_saved_session_stands_in(
    why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("sockets are forbidden here")

    if why == "no client":
        monkeypatch.setitem(sys.modules, "aiokafka", None)
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    else:
        monkeypatch.setattr("kafkalab.live.cluster.LiveCluster.__init__", refuse)
    assert for_real.aiokafka() == TWICE_FOR_REAL
    assert "this is the saved session of aiokafka 0.14" in capsys.readouterr().err
    assert for_real.librdkafka() == LOST_FOR_REAL
    assert "this is the saved session of librdkafka 2.16" in capsys.readouterr().err
