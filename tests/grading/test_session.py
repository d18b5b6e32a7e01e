"""A student's program runs in the notebook's process and its clients in the grader's: the run is the same as in one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalab.faults.frame import Drop
from kafkalab.grading.learner import Place, learner
from kafkalab.grading.runner import fallback
from kafkalab.grading.schedules import over_schedules
from kafkalab.grading.session import Session
from kafkalab.grading.values import UnreadableError
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import ForeignAwaitError
from kafkalab.sim.scenario import Program, Scenario

pytestmark = [pytest.mark.notebooks, pytest.mark.smoke]

PROGRAMS = '''
from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.client.exceptions import KafkaError, ConfigError
from kafkalab.client.results import OffsetAndMetadata

class Notes(RebalanceListener):
    def __init__(self): self.seen = []
    async def on_partitions_revoked(self, partitions): self.seen.append(["revoked", *partitions])
    def on_partitions_assigned(self, partitions): self.seen.append(["assigned", *partitions])

async def copies(app, rounds):
    notes, told = Notes(), []
    producer = app.producer(transactional_id="t", linger_ms=5)
    consumer = app.consumer(group_id="g", isolation_level="read_committed", enable_auto_commit=False)
    consumer.subscribe(["in"], notes)
    await producer.init_transactions()
    for _ in range(rounds):
        records = await consumer.poll(500)
        producer.begin_transaction()
        promises = [await producer.send("out", r.value.upper(), key=r.key, partition=0) for r in records]
        offsets = {r.partition: OffsetAndMetadata(r.offset + 1, metadata="here") for r in records}
        await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
        await (producer.commit_transaction() if records else producer.abort_transaction())
        told += [(p.done, (await p).offset) for p in promises]
    told.append(await consumer.committed(["in-0"]))
    consumer.commit_async({"in-0": 2}, lambda offsets, error: told.append([offsets, error is None]))
    await app.sleep(100)
    try: app.producer(acks=7)
    except ConfigError as error: told.append(str(error)[:20])
    try: await producer.send("nowhere", "x")
    except KafkaError as error: told.append(type(error).__name__)
    await consumer.close()
    return [told, notes.seen, app.name, list(app.brokers), app.now, producer.state.name]

async def elsewhere(app):
    import asyncio
    await asyncio.sleep(0)

async def other(app): raise KeyError("x")
async def fenced(app):
    first, second = app.producer(transactional_id="t"), app.producer(transactional_id="t")
    await first.init_transactions()
    await second.init_transactions()
    first.begin_transaction()
    await first.send("out", "x", partition=0)
    await first.commit_transaction()
async def reaches(app): return app.port()
def plain(x): return {"twice": [x, x], "same": x is x}
left = []
async def keeps(app):
    left.append(app)
'''


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    place = Place(readable=(), hidden=(), time_s=120, memory_mb=1024, seed=1)
    with learner(place, fallback()) as process:
        found = Session(process)
        assert found.run_cell(PROGRAMS) == ""
        yield found
        found.finish()


def here(name: str) -> Any:
    """The same function, in this process."""
    names: dict[str, Any] = {}
    exec(PROGRAMS, names)
    return names[name]


def scenario(function: Any, *faults: Any, **args: Any) -> Scenario:
    records: dict[str, tuple[str, ...]] = {"in-0": ("a", "b", "c")}
    programs = (Program("app", function, args),)
    return Scenario(topics={"in": 1, "out": 1}, records=records, programs=programs, faults=tuple(faults))


@pytest.mark.parametrize("faults", [(), (Drop("EndTxnResponse#1"), Drop("ProduceResponse#1"))], ids=["calm", "losses"])
def test_a_program_over_the_socket_makes_the_same_run(session: Session, faults: tuple[Any, ...]) -> None:
    one, other = (Cluster(scenario(f, *faults, rounds=9)) for f in (here("copies"), session.value("copies")))
    assert one.run().digest() == other.run().digest()
    assert one.results["app"] == other.results["app"]
    assert other.results["app"][1] == [["assigned", "in-0"], ["revoked", "in-0"]]


def test_a_clients_error_that_a_program_does_not_catch_ends_it_as_in_one_process(session: Session) -> None:
    one, other = (Cluster(scenario(f)) for f in (here("fenced"), session.value("fenced")))
    assert one.run().digest() == other.run().digest()
    assert repr(one.results["app"]) == repr(other.results["app"])


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("elsewhere", ForeignAwaitError, "awaited"),
        ("other", Exception, "'x'"),
        ("reaches", Exception, "in a graded program a App has no 'port'"),
    ],
)
def test_what_a_program_may_not_do_ends_its_run(
    session: Session, name: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Cluster(scenario(session.value(name))).run()


def test_a_program_is_one_for_the_checks(session: Session) -> None:
    base = Scenario(topics={"in": 1, "out": 1}, programs=(Program("app", "learner"),))
    assert over_schedules(session.value("fenced"), [base], (), "a program") == "1 of 1 schedules"


def test_a_function_gets_and_gives_data(session: Session) -> None:
    plain = session.value("plain")
    assert plain.__name__ == "plain"
    assert plain((1, {"a": [b"x", ...]})) == {"twice": [(1, {"a": [b"x", ...]})] * 2, "same": True}
    with pytest.raises(Exception, match="unexpected keyword") as caught:
        plain(y=1)
    assert type(caught.value).__name__ == "TypeError"


def test_a_client_is_of_no_use_after_its_run(session: Session) -> None:
    Cluster(scenario(session.value("keeps"))).run()
    assert "the run of this client is over" in session.run_cell("left[0].sleep(1)")


def test_variables_that_are_not_there_or_too_large_are_told(session: Session, tmp_path: Path) -> None:
    assert (session.has("plain"), session.has("nothing")) == (True, False)
    session.run_cell("large = list(range(1_000_000))")
    with pytest.raises(UnreadableError, match="larger than 2 MB"):
        session.value("large")
