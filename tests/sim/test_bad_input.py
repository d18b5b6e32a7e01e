"""Bad input gets an error that says what to do, and changes nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkalab import lab03
from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop, Duplicate
from kafkalab.faults.node import Crash, Restart
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.run_errors import ForeignAwaitError, RunawayError, UnawaitedCallError
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import load_trace


@pytest.fixture(scope="module")
def base() -> Cluster:
    cluster = Cluster(lab03())
    cluster.run()
    return cluster


@pytest.mark.parametrize(
    ("step", "fault", "message"),
    [
        (9999, Crash("b1"), "no step 9999 in this run; it has steps 0 to"),
        (-1, Crash("b1"), "no step -1"),
        ("3", Crash("b1"), "no step '3'"),
        (20, Crash("b9"), "no node 'b9' in this scenario; there are app, b1, b2, b3, controller"),
        (20, Crash("controller"), "its consensus is not modelled"),
        (20, Restart("app"), "only a broker can be restarted"),
        (20, Restart("b1"), "would change nothing"),
        (20, Drop("EndTx#1"), r"did you mean EndTxn#1\?"),
        (20, Drop("EndTxn"), 'the first EndTxn is "EndTxn#1"'),
        (20, Drop("EndTxn#0"), "has no number"),
        (20, Drop("EndTxn#7"), "EndTxn#7 never flies in this run; it has EndTxn#1 to EndTxn#1"),
        (200, Drop("FindCoordinator#1"), "was sent at step 15, before step 200"),
        (20, Delay("EndTxn#1", 0), "delay_ms is a number of milliseconds from 1 on"),
    ],
)
def test_a_fork_refuses_what_makes_no_sense(base: Cluster, step: Any, fault: Fault, message: str) -> None:
    before = base.trace.digest()
    with pytest.raises(ValueError, match=message):
        base.fork(step, fault)
    assert base.trace.digest() == before
    assert base.scenario.faults == ()


@pytest.mark.parametrize(
    "fault", [Crash("b1", at_step=4), Restart("b1", at_ms=7), Drop("EndTxn#1"), Delay("EndTxn#1", 5)], ids=str
)
def test_the_repr_of_a_fault_can_be_pasted(fault: Fault) -> None:
    names = {"Crash": Crash, "Restart": Restart, "Drop": Drop, "Delay": Delay}
    assert eval(repr(fault), names) == fault
    assert "-1" not in repr(fault)


def test_only_a_fault_is_a_fault(base: Cluster) -> None:
    with pytest.raises(TypeError, match="'drop EndTxn' is not a fault; there are Drop, Duplicate"):
        base.fork(20, "drop EndTxn")  # type: ignore[arg-type]


def break_row(change: Callable[[dict[str, Any]], Any]) -> str:
    row = lab03().to_json()
    changed = change(row)
    return json.dumps(row if changed is None else changed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON"),
        ("[1]", "is not a scenario that kafkalab saved"),
        (break_row(lambda r: r.update(version=2)), "a scenario of version 2; this kafkalab reads version 1"),
        (break_row(lambda r: r.update(colour="red")), "has fields that no scenario has: colour"),
        (break_row(lambda r: r.update(profile="9.x")), "no profile '9.x'; there are 0.11, 1.0, 4.x/TV1, 4.x/TV2"),
        (break_row(lambda r: r.update(faults=[{"fault": "Explode"}])), "is not a fault; there are"),
        (break_row(lambda r: r.update(faults=[{"fault": "Drop", "frame": 3}])), "no frame is called 3"),
        (break_row(lambda r: r.update(programs=[{"node": "app"}])), "is damaged"),
        (break_row(lambda r: r.update(seed="one")), "seed is a whole number"),
        (break_row(lambda r: r.update(records={"nowhere-0": ["1"]})), "records for 'nowhere-0', but the topics are"),
        (break_row(lambda r: r.update(rules_off=["gravity"])), "no rule 'gravity'"),
    ],
)
def test_a_scenario_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.klab"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Scenario.load(path)


def test_a_scenario_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    scenario = lab03("4.x/TV1", 9).with_faults(
        Drop("EndTxnResponse#1"), Crash("b2", at_step=40), Duplicate("Produce#1")
    )
    scenario.save(tmp_path / "run.klab")
    again = Scenario.load(tmp_path / "run.klab")
    assert again == scenario
    assert Cluster(again).run().digest() == Cluster(scenario).run().digest()


async def sleeper(app: App) -> None:
    await asyncio.sleep(0)


async def sleeper_of_asyncio(app: App) -> None:
    await asyncio.sleep(1)


async def waiter(app: App) -> None:
    await asyncio.wait_for(app.sleep(5), 1)


async def timer(app: App) -> None:
    async with asyncio.timeout(1):
        await app.sleep(5)


async def fails_itself(app: App) -> None:
    raise RuntimeError("of the program's own")


async def spinner(app: App) -> None:
    while True:
        await app.sleep(1)


def not_a_coroutine(app: App) -> str:
    return "done"


def running(function: Callable[..., Any]) -> Scenario:
    return Scenario(topics={"t": 1}, programs=(Program("app", function),))


def test_a_program_that_awaits_something_foreign_is_told_so() -> None:
    with pytest.raises(ForeignAwaitError, match="await only the methods of its producers and consumers"):
        Cluster(running(sleeper)).run()


@pytest.mark.parametrize("function", [sleeper_of_asyncio, waiter, timer])
def test_a_program_that_uses_asyncio_is_told_what_to_use(function: Callable[..., Any]) -> None:
    """Outside of a notebook asyncio finds no event loop: the RuntimeError said no more than that."""
    said = r"^the program of 'app' used asyncio \(.+\), which the simulator cannot drive: .* app\.sleep\(ms\)$"
    with pytest.raises(ForeignAwaitError, match=said):
        Cluster(running(function)).run()


def test_another_runtime_error_of_a_program_stays_what_it_is() -> None:
    with pytest.raises(RuntimeError, match="of the program's own"):
        Cluster(running(fails_itself)).run()


async def forgets_at_once(app: App) -> None:
    producer = app.producer(transactional_id="a")
    await producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", "x")  # type: ignore[unused-coroutine]
    await producer.commit_transaction()


async def forgets_in_the_end(app: App) -> None:
    waiting = app.producer().send("t", "x")
    assert waiting is not None


async def never_waits_for_the_answer(app: App) -> None:
    await app.producer().send("t", "x")


@pytest.mark.parametrize("function", [forgets_at_once, forgets_in_the_end])
def test_a_call_that_is_never_awaited_is_an_error(function: Callable[..., Any]) -> None:
    """The run ended well, and its transaction was committed without the record."""
    cluster = Cluster(running(function))
    with pytest.raises(UnawaitedCallError, match=r"'app' called send\(\) without `await`, so nothing of it happened"):
        cluster.run()
    cluster.close()


def test_a_promise_need_not_be_awaited() -> None:
    cluster = Cluster(running(never_waits_for_the_answer))
    cluster.run()
    assert cluster.outcome().committed == {"t-0": ("x",)}


def test_a_program_that_never_ends_is_stopped_with_the_last_events() -> None:
    with pytest.raises(RunawayError, match=r"did not end within 500 steps: app goes on; the last events:\n  step \d+"):
        Cluster(running(spinner)).run(limit=500)


def test_a_program_must_be_async_and_must_be_registered_to_be_saved() -> None:
    with pytest.raises(TypeError, match="write `async def`"):
        Cluster(running(not_a_coroutine))
    with pytest.raises(ValueError, match="register it with @program first"):
        running(spinner).to_json()
    with pytest.raises(ValueError, match="no program 'nothing' is registered; there are"):
        Cluster(Scenario(programs=(Program("app", "nothing"),)))


@pytest.mark.parametrize("programs", [(Program("b1", "read_all"),), (Program("x", "read_all"),) * 2])
def test_every_program_needs_a_node_of_its_own(programs: tuple[Program, ...]) -> None:
    with pytest.raises(ValueError, match="a node name of its own"):
        Scenario(programs=programs)


def test_a_trace_file_keeps_the_run_and_a_damaged_one_is_refused(tmp_path: Path, base: Cluster) -> None:
    path = tmp_path / "trace.jsonl"
    base.trace.save(path)
    saved = load_trace(path)
    assert saved.digest == base.trace.digest()
    assert [e["step"] for e in saved.events] == list(range(len(base.trace)))
    lines = path.read_text(encoding="utf-8").splitlines()
    for text, message in (
        ("\n".join(lines[:-5]), "the file is cut off"),
        ("\n".join([lines[0], lines[1][:40]]), "line 2 is not JSON"),
        ("", "is not a trace"),
        (lines[0].replace('"version":1', '"version":7'), "a trace of version 7"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            load_trace(path)
