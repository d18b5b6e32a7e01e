"""Which input an output was made from is declared in a header; attempts and groups are told apart, not values."""

from __future__ import annotations

import pytest

from kafkalab import made_from
from kafkalab.checks.all import check_all
from kafkalab.checks.exactly_once import effects
from kafkalab.checks.view import view_of
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.export import history_of
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.checks.test_exactly_once import IN, OFFSETS, OUT, inputs
from tests.checks.verdicts import Build, build_history


def send(
    m: HistoryBuilder, name: str, value: str, *, n: int, seq: int = 0, pid: int = 1, type: str = "ok",
    logged: bool = True, topic: str = "out", at: int = 0,
) -> None:  # fmt: skip
    headers = (f"kafkalab-source={IN}@{at}",)
    m.send(name, f"{topic}-0", value, pid=pid, seq=seq, n=n, type=type, logged=logged, headers=headers)


def two_outputs_of_one_value(m: HistoryBuilder) -> None:
    """One transaction writes the same value twice for one input: both are its effect."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    for seq in (0, 1):
        send(m, "a", "ten", n=1, seq=seq)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def another_value_the_second_time(m: HistoryBuilder) -> None:
    """The first attempt aborts; the second one makes another value of the same input."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    for n, ending in ((1, "ABORT"), (2, "COMMIT")):
        send(m, "a", f"ten at {n}", n=n, seq=n)
        m.end("a", ending.lower(), n)
        m.marker(OUT, ending)
    m.log(OFFSETS, "1", record_key=f"g/{IN}", pid=1, epoch=0, seq=0, txn=True)
    m.marker(OFFSETS, "COMMIT")


def refused_and_sent_again(m: HistoryBuilder) -> None:
    """A send is refused and another one of the same transaction, for the same input, accepted."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    send(m, "a", "ten", n=1, type="fail", logged=False)
    send(m, "a", "ten", n=1, seq=1)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def stored_twice(m: HistoryBuilder) -> None:
    """One send of a committed transaction lies in the log twice."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    m.log(OUT, "ten", pid=1, epoch=0, seq=0, txn=True, headers=(f"kafkalab-source={IN}@0",))
    send(m, "a", "ten", n=1)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def for_two_groups(m: HistoryBuilder, second: str = "done") -> None:
    """Two groups make something of the same input; the second may not be done yet."""
    inputs(m, "10")
    for pid, (name, topic) in enumerate((("a", "charges"), ("b", "parcels")), 1):
        m.poll(f"{name}/c", IN, (0, "10"), process=name, group=f"group {name}")
        send(m, name, "ten", n=1, pid=pid, topic=topic)
        done = name == "a" or second == "done"
        m.end(name, "commit" if done else "abort", 1)
        m.marker(f"{topic}-0", "COMMIT" if done else "ABORT", pid=pid)
        if done:
            m.log(OFFSETS, "1", record_key=f"group {name}/{IN}", pid=pid, epoch=0, seq=0, txn=True)
            m.marker(OFFSETS, "COMMIT", pid=pid)


def with_an_onlooker(m: HistoryBuilder) -> None:
    """A group that only reads has committed an offset behind an input that the processor has not done yet."""
    for_two_groups(m, second="not yet")
    m.log(OFFSETS, "1", record_key=f"onlookers/{IN}", pid=-1)


@pytest.mark.parametrize(
    ("build", "verdicts"),
    [
        (two_outputs_of_one_value, ["duplicated"]),
        (another_value_the_second_time, ["once"]),
        (refused_and_sent_again, ["once"]),
        (stored_twice, ["duplicated"]),
        (for_two_groups, ["once"]),
        (lambda m: for_two_groups(m, second="not yet"), ["in flight"]),
        (with_an_onlooker, ["in flight"]),
    ],
)
def test_attempts_and_groups_are_told_apart(build: Build, verdicts: list[str]) -> None:
    rows = effects(view_of(build_history(build)))
    assert [r.verdict for r in rows] == verdicts, rows


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_the_exactly_once_processor_is_called_exactly_once(profile: str) -> None:
    arguments = {"inputs": ["in-0", "in-1"], "output": "out"}
    scenario = Scenario(
        profile=profile,
        topics={"in": 2, "out": 2},
        records={"in-0": ("a", "b", "c"), "in-1": ("d",)},
        programs=(Program("p", "exactly_once_processor", arguments),),
    )
    cluster = Cluster(scenario)
    cluster.run()
    report = check_all(history_of(cluster))
    assert report.violated == ()
    result = report["exactly-once"]
    assert (result.verdict, result.examined) == ("ok", 4)


def test_a_program_of_a_learners_own_declares_its_inputs_with_made_from() -> None:
    async def work(app: App, declares: bool) -> None:
        consumer = app.consumer(group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
        consumer.assign(["in-0"])
        producer = app.producer(transactional_id="t")
        await producer.init_transactions()
        records = await consumer.poll()
        producer.begin_transaction()
        total = str(sum(int(record.value) for record in records))
        await producer.send("out", total, headers=made_from(*records) if declares else ())
        await producer.send_offsets_to_transaction({"in-0": len(records)}, consumer.group_metadata())
        await producer.commit_transaction()

    for declares, wanted in ((True, ("ok", 3)), (False, ("unknown", 0))):
        cluster = Cluster(Scenario(topics={"in": 1, "out": 1}, records={"in-0": ("1", "2", "3")}))
        cluster.spawn("p", work, declares=declares)
        cluster.run()
        result = check_all(history_of(cluster))["exactly-once"]
        assert (result.verdict, result.examined) == wanted
