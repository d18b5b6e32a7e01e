"""A client that sends what it is told: requests as data, answers kept, mistakes explained."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalab.programs.raw_requests import StepError, raw_requests, request_of
from kafkalab.programs.steps import add, await_answer, commit, init, later, produce, sleep
from kafkalab.protocol.messages.create_topics import CreateTopics, NewTopic
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario

INIT, ADD, PRODUCE, COMMIT = init("a"), add("a", "out-0"), produce("a", "out-0", 0, "x"), commit("a")


def scenario(*steps: dict[str, Any]) -> Scenario:
    return Scenario(topics={"out": 1}, programs=(Program("hand", "raw_requests", {"steps": list(steps)}),))


def answers(*steps: dict[str, Any]) -> list[list[str]]:
    cluster = Cluster(scenario(*steps))
    cluster.run()
    result: list[list[str]] = cluster.results["hand"]
    return result


def test_a_transaction_by_hand_commits() -> None:
    cluster = Cluster(scenario(INIT, ADD, PRODUCE, COMMIT))
    cluster.run()
    assert cluster.results["hand"] == [
        ["InitProducerId", "NONE"], ["AddPartitionsToTxn", "NONE"], ["Produce", "NONE"], ["EndTxn", "NONE"]
    ]  # fmt: skip
    assert cluster.outcome().committed == {"out-0": ("x",)}


@pytest.mark.parametrize("name", ["pay-1", "a.b_c", "shop-0-7"])
def test_a_transactional_id_may_have_hyphens_and_dots(name: str) -> None:
    """The producer id and epoch of an id with a hyphen were not found in its InitProducerId."""
    found = answers(init(name), add(name, "out-0"), produce(name, "out-0", 0, "x"), commit(name, "+1"), commit(name))
    assert [error for _, error in found] == ["NONE", "NONE", "NONE", "PRODUCER_FENCED", "NONE"]


def test_a_wrong_sequence_and_a_foreign_epoch_get_their_errors() -> None:
    found = answers(INIT, ADD, PRODUCE, produce("a", "out-0", 5, "y"), commit("a", "+1"))
    assert found[3:] == [["Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER"], ["EndTxn", "PRODUCER_FENCED"]]


def test_a_request_can_be_left_under_way_and_awaited_later() -> None:
    found = answers(INIT, ADD, later(PRODUCE, "p"), sleep(100), await_answer("p"))
    assert found[-1] == ["Produce", "NONE"]


def test_a_step_takes_what_an_answer_had_as_it_was() -> None:
    member = {"group_id": "g", "generation_id": "$me.generation_id", "member_id": "$me.member_id"}
    join = {"ask": "JoinGroup", "to": "group coordinator of g", "version": 3, "as": "me"}
    join["with"] = {"group_id": "g", "protocols": {"range": ["out"]}}
    found = answers(join, {"ask": "Heartbeat", "to": "group coordinator of g", "with": member})
    assert found == [["JoinGroup", "NONE"], ["Heartbeat", "NONE"]]


def test_a_step_can_ask_until_the_answer_is_there() -> None:
    found = answers(INIT, ADD, PRODUCE, COMMIT, {**COMMIT, "until": "NONE"})
    assert found[-1] == ["EndTxn", "NONE"]


def test_a_list_of_objects_holds_the_messages_of_its_field() -> None:
    asked = request_of("CreateTopics", {"topics": [{"name": "t", "num_partitions": 2}]})
    assert asked == CreateTopics(topics=(NewTopic(name="t", num_partitions=2),))
    with pytest.raises(StepError, match=r"CreateTopics.topics has the fields name, num_partitions"):
        request_of("CreateTopics", {"topics": [{"title": "t"}]})
    with pytest.raises(StepError, match="asks for 1,000,000,000 partitions; the limit is 1,000"):
        request_of("CreateTopics", {"topics": [{"name": "t", "num_partitions": 10**9}]})


def test_a_program_by_hand_can_be_saved(tmp_path: Any) -> None:
    path = tmp_path / "by_hand.klab"
    scenario(INIT, ADD, PRODUCE, COMMIT).save(path)
    first, second = Cluster(scenario(INIT, ADD, PRODUCE, COMMIT)), Cluster(Scenario.load(path))
    assert first.run().digest() == second.run().digest()


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"ask": "Endtxn", "to": "b1"}, "the APIs are"),
        ({**INIT, "to": "coordinator a"}, '"to" is "b1"'),
        ({**INIT, "with": {}}, "missing: .'transactional_id'."),
        ({**INIT, "with": {"transactional_id": "a", "colour": 1}}, "unknown: .'colour'."),
        ({**INIT, "colour": 1}, "a step has ask"),
        (ADD, "no answer called 'a' has 'producer_id'"),
        ({"await": "p"}, "nothing is under way"),
    ],
)
def test_a_step_that_is_not_understood_is_explained(step: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"step 1 of the raw requests.*{message}"):
        answers(step)


@pytest.mark.parametrize("step", [{"ask": "Nope"}, {"ask": "EndTxn", "to": 3}, {"foo": 1}])
def test_a_step_of_a_spawned_program_is_checked_when_it_is_sent(step: dict[str, Any]) -> None:
    cluster = Cluster(Scenario(topics={"t": 1}))
    cluster.spawn("p", raw_requests, steps=[step])
    with pytest.raises(ValueError, match=r'step 1 of the raw requests.*(a step has ask|"to" is "b1")'):
        cluster.run()
