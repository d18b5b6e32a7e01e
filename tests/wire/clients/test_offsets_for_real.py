"""docs/offsets_for_real.py: a late TxnOffsetCommit of real clients, and librdkafka's call that never returns."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from docs.offsets_for_real import CALM, JavaPacker
from kafkalab.checks.all import check_all
from kafkalab.course.lab10.for_real import LATE, NEXT_END, lose_one, never_returns, pack, pack_twice
from kafkalab.course.lab10.real_packers import TOPICS, Aiokafka, Librdkafka, Packer
from kafkalab.history.export import history_of
from kafkalab.live.cluster import LiveCluster
from tests.wire.clients.java_client import jars, java
from tests.wire.clients.python_clients import Confluent

pytestmark = pytest.mark.clients
TWICE, LOST, ONCE = ("tea", "jam", "jam", "pot"), ("tea", "pot"), ("tea", "jam", "pot")
HUNG_S, PATIENCE_S = 8, 90
Program = Callable[[Any, Callable[[], Packer]], None]


@pytest.mark.smoke
@pytest.mark.parametrize("client", [Librdkafka, Aiokafka])
@pytest.mark.parametrize(("program", "parcels"), [(pack_twice, TWICE), (lose_one, LOST)])
def test_a_late_offset_joins_the_next_transaction_on_brokers_of_level_2(
    client: Callable[[str], Packer], program: Program, parcels: tuple[str, ...], tmp_path: Path
) -> None:
    with LiveCluster(cluster_level=2, topics=TOPICS) as live:
        program(live, lambda: client(live.bootstrap_servers))
        assert live.outcome().committed["parcels-0"] == parcels
        assert live.unused_faults == ()
        assert live.save(tmp_path / "late.klab").differences == ()


def test_the_checks_name_the_tear_before_any_order_is_packed_twice() -> None:
    with LiveCluster(cluster_level=2, topics=TOPICS) as live:
        live.late(LATE, before=NEXT_END)
        packer = Librdkafka(live.bootstrap_servers)
        pack(packer, 0)
        pack(packer, 1)
        assert live.outcome().committed["parcels-0"] == ("tea", "jam")
        assert packer.find_offset() == 1
        assert check_all(history_of(live.run)).violated == ("torn transaction",)


@pytest.mark.parametrize("program", [pack_twice, lose_one])
def test_java_packs_each_order_once_since_its_late_offset_is_refused(program: Program) -> None:
    jars()
    with LiveCluster(cluster_level=2, topics=TOPICS) as live:
        jvm = java(live.bootstrap_servers)
        program(live, lambda: JavaPacker(jvm, ""))
        jvm.close()
        assert live.outcome().committed["parcels-0"] == ONCE
        answer = next(f for f in live.trace.frames.values() if f.of == "TxnOffsetCommit#1")
        assert (answer.version, answer.error) == (5, "INVALID_PRODUCER_EPOCH")


@pytest.mark.parametrize(
    ("client", "hangs"), [("librdkafka", True), ("librdkafka without re-bootstrap", False), ("aiokafka", False)]
)
def test_one_lost_answer_to_produce_and_a_call_never_returns(client: str, hangs: bool) -> None:
    """If a later version of librdkafka returns, docs/offsets_for_real.md and README.md need not speak of it."""
    assert run_elsewhere(packer_hangs, client) == (hangs, ())


def packer_hangs(client: str) -> tuple[bool, tuple[Any, ...]]:
    start: Callable[[str], Packer] = Aiokafka if client == "aiokafka" else Librdkafka
    if "without" in client:
        start = partial(Librdkafka, **CALM)
    with LiveCluster(brokers=1, cluster_level=2, topics=TOPICS) as live:
        return never_returns(live, start(live.bootstrap_servers), patience_s=HUNG_S), live.unused_faults


def test_the_program_s_application_hangs_when_the_answer_to_records_in_flight_is_lost() -> None:
    offsets, committed, handled = run_elsewhere(application_hangs)
    assert offsets == ["AddOffsetsToTxn#1", "TxnOffsetCommit#1", "AddOffsetsToTxn#2"]
    assert committed == ("1", "a", "b", "c")
    assert handled == "still waiting"


def application_hangs() -> tuple[list[str], tuple[str, ...], str]:
    """Break the only connection under the second of three transactions; return the requests about offsets, what is
    committed, and what the third step has handled."""
    with LiveCluster(brokers=1, cluster_level=2, topics={"in": 1, "out": 1}) as live:
        client = Confluent(live.bootstrap_servers)
        plain, application = client.producer(""), client.instance("sums", "in", "out", "sum")
        plain.send("in", 0, "1")
        while not application.step(commit=True):
            pass
        producer = application.producers["sum"]
        written = sum(frame.name == "Produce" for frame in live.trace.frames.values())
        live.drop(f"ProduceResponse#{written + 1}")
        producer.begin()
        for value in ("a", "b", "c"):
            producer.enqueue("out", 0, value)
        producer.commit()
        plain.send("in", 0, "2")
        handled: list[str] = []

        def work() -> None:
            while not handled:
                handled.extend(application.step(commit=True))

        waiting = threading.Thread(target=work, daemon=True)
        waiting.start()
        waiting.join(HUNG_S)
        offsets = [f.id for f in live.trace.frames.values() if f.name in ("AddOffsetsToTxn", "TxnOffsetCommit")]
        return offsets, live.outcome().committed["out-0"], "still waiting" if waiting.is_alive() else str(handled)


@pytest.mark.parametrize(("number", "printed"), [(0, "1\n"), (1, "has not returned after 15 s\n")])
def test_the_programs_of_the_page_print_what_it_says(number: int, printed: str, root: Path) -> None:
    page = (root / "docs" / "offsets_for_real.md").read_text(encoding="utf-8")
    program = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[number]
    assert len(program.splitlines()) <= 30
    assert printed.strip() in program if number else f"# {printed.strip()}," in program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.stdout == printed, done.stderr


def run_elsewhere(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function in a process that is then ended: the call that never returns keeps its client alive."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply_async(function, args).get(PATIENCE_S)
