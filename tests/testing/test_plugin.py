"""The plugin in runs of pytest: options, what a failed test keeps, and that nothing is left running."""

from __future__ import annotations

import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario
from kafkalab.testing import failure_artifacts
from tests.testing.conftest import ARGS

pytest_plugins = ["pytester"]
ASKS = """
    from tests.live.conftest import Client

    def commits(lab, partition="orders-0"):
        client = Client(lab)
        client.init()
        client.send("a", partition)
        client.end()
        client.close()
"""


def run(pytester: pytest.Pytester, test: str, *args: str, ini: str = "") -> pytest.RunResult:
    """Run a file of tests with the plugin, in this process; warnings are errors."""
    pytester.makeini(f"[pytest]\n{ini}")
    pytester.makepyfile(asks=ASKS)
    pytester.makepyfile(f"import pytest\nfrom asks import commits\n\n{test}")
    return pytester.runpytest_inprocess(*ARGS, *args)


def test_the_marker_chooses_the_cluster(pytester: pytest.Pytester) -> None:
    run(pytester, """
@pytest.mark.kafka_lab(brokers=1, topics=["payments"])
class TestMarked:
    def test_class(self, kafka_lab):
        assert (len(kafka_lab.cluster.brokers), kafka_lab.topics) == (1, {"payments": 1})

    @pytest.mark.kafka_lab(topics={"orders": 3}, cluster_level=1, min_insync_replicas=2)
    def test_nearer(self, kafka_lab):
        scenario = kafka_lab.cluster.scenario
        assert (scenario.brokers, kafka_lab.cluster_level, kafka_lab.topics) == (1, 1, {"orders": 3})
        assert scenario.config["min_insync_replicas"] == 2

def test_default(kafka_lab):
    assert (len(kafka_lab.bootstrap_servers.split(",")), kafka_lab.topics) == (3, {})
""", "--strict-markers").assert_outcomes(passed=3)  # fmt: skip


def test_the_ini_file_and_the_command_line_choose_it_for_all(pytester: pytest.Pytester) -> None:
    test = """
def test_all(kafka_lab, kafka_lab_session):
    for lab in (kafka_lab, kafka_lab_session):
        found = lab.cluster.scenario
        assert (found.brokers, lab.cluster_level, lab.topics) == (2, 1, {"orders": 3, "payments": 1})
        assert found.profile == "4.4/TV1"

@pytest.mark.kafka_lab(brokers=1)
def test_nearer(kafka_lab):
    assert kafka_lab.cluster.scenario.brokers == 1
"""
    ini = "kafka_lab_cluster_level = 2\nkafka_lab_brokers = 2\nkafka_lab_topics = orders:3 payments"
    run(pytester, test, "--kafka-lab-cluster-level", "1", "--kafka-lab-kafka", "4.4", ini=ini).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "error"),
    [
        ('{"orders": 3}', 'kafka_lab takes names: @pytest.mark.kafka_lab(topics={"orders": 3}'),
        ("min_isr=2", "min_isr"),
        ("brokers=0", "kafka_lab: brokers is a number from 1 to 9, not 0; for example @pytest"),
        ("cluster_level=0", "kafka_lab: the cluster level (transaction.version) is 1 or 2, not 0"),
        ("kafka='4'", "kafka_lab: kafka is 4.3 or 4.4, not '4'"),
        ("topics=3", "kafka_lab: topics are a list of names or a dict with numbers of partitions, not 3"),
    ],
)
def test_a_wrong_marker_is_one_clear_error(marker: str, error: str, pytester: pytest.Pytester) -> None:
    result = run(pytester, f"@pytest.mark.kafka_lab({marker})\ndef test_wrong(kafka_lab):\n    pass\n")
    result.assert_outcomes(errors=1)
    assert error in (text := result.stdout.str())
    assert "During handling" not in text
    assert "plugin.py" not in text


@pytest.mark.parametrize(
    ("ini", "error"),
    [
        ("kafka_lab_cluster_level = 4.x/TV2", "ERROR: kafka_lab_cluster_level: 1 or 2, not '4.x/TV2'"),
        ("kafka_lab_cluster_level = 3", "ERROR: kafka_lab_cluster_level: 1 or 2, not '3'"),
        ("kafka_lab_kafka = 4.5", "ERROR: kafka_lab_kafka: 4.3 or 4.4, not '4.5'"),
        ("kafka_lab_brokers = many", "ERROR: kafka_lab_brokers: a number from 1 to 9, not 'many'"),
        ("kafka_lab_topics = orders:x", "ERROR: kafka_lab_topics: orders:3 payments:1, not 'orders:x'"),
    ],
)
def test_a_wrong_ini_file_is_one_line_and_no_test_runs(ini: str, error: str, pytester: pytest.Pytester) -> None:
    result = run(pytester, "def test_none():\n    pass\n", ini=ini)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert error in result.stderr.str()


def test_a_failed_test_keeps_frames_trace_and_picture(pytester: pytest.Pytester) -> None:
    result = run(pytester, """
@pytest.mark.kafka_lab(topics={"orders": 1})
@pytest.mark.parametrize("what", ["fails", "passes"])
def test_it(kafka_lab, what):
    commits(kafka_lab)
    commits(kafka_lab)
    kafka_lab.check("duplicate" if what == "fails" else "G0")
""", "--kafka-lab-keep", "kept")  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert text.count("the last 30 frames between clients and brokers, without") == 1
    assert "AnomalyError: duplicate: 'a' lies at the offsets 0, 2 of orders-0" in text
    assert "app → b" in text
    assert "EndTxnResponse#2 v5" in text
    files = sorted(path.name for path in (pytester.path / "kept").iterdir())
    assert files == ["test_a_failed_test_keeps_frames_trace_and_picture.py.test_it_fails.klab",
                    "test_a_failed_test_keeps_frames_trace_and_picture.py.test_it_fails.svg"]  # fmt: skip
    assert all(str(pytester.path / "kept" / name) in text for name in files)
    assert ran(Scenario.load(pytester.path / "kept" / files[0])).outcome().committed == {"orders-0": ("a", "a")}
    picture = (pytester.path / "kept" / files[1]).read_text()
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "duplicate (forbidden): 'a' lies at the offsets 0, 2 of orders-0" in picture


@pytest.mark.parametrize(
    ("marker", "frame", "passed"),
    [("", "EndTxn#2", 0), ("", "EndTxn#1", 1), ("allow_unused_faults=True, ", "EndTxn#2", 1)],
)
def test_a_fault_that_strikes_no_frame_fails_the_test_unless_it_is_allowed(
    marker: str, frame: str, passed: int, pytester: pytest.Pytester
) -> None:
    result = run(pytester, f"""
@pytest.mark.kafka_lab({marker}topics={{"orders": 1}})
def test_it(kafka_lab):
    kafka_lab.delay("{frame}", 1)
    commits(kafka_lab)
""")  # fmt: skip
    result.assert_outcomes(passed=passed, failed=1 - passed)
    said = (
        "kafka_lab: unknown: the fault Delay(frame='EndTxn#2', delay_ms=1) never struck: EndTxn#2 has not been sent. "
        "Sent were 1 EndTxn. If the test should pass all the same"
    )
    assert (said in result.stdout.str()) == (not passed)


def test_the_default_folder_is_in_pytests_cache(pytester: pytest.Pytester) -> None:
    test = "def test_it(kafka_lab):\n    kafka_lab.hold('EndTxn')\n    assert False\n"
    result = run(pytester, test)
    folder = pytester.path / ".pytest_cache" / "d" / "kafka_lab"
    assert [path.suffix for path in folder.iterdir()] == [".svg"]
    assert "no trace is kept: no client has asked anything yet" in result.stdout.str()
    without = run(pytester, test, "-p", "no:cacheprovider")
    assert "nothing is kept: name a folder with --kafka-lab-keep DIR" in without.stdout.str()


def test_what_cannot_be_kept_does_not_hide_the_failure(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "def test_it(kafka_lab):\n    commits(kafka_lab)\n    assert 'the reason' == ''\n"
    ini = "kafka_lab_topics = orders"
    texts = [run(pytester, test, "--kafka-lab-keep", "/dev/null/kept", ini=ini).stdout.str()]
    monkeypatch.setattr(failure_artifacts, "LONGEST", 10)
    texts.append(run(pytester, test, "--kafka-lab-keep", "kept", ini=ini).stdout.str())
    for text, why in zip(texts, ("not all is kept: NotADirectoryError", "events; at most 10 are"), strict=True):
        assert "1 failed" in text
        assert "the reason" in text
        assert "EndTxnResponse#1" in text
        assert why in text
    assert not (pytester.path / "kept").exists()


def test_brokers_stop_when_a_test_fails_in_any_way(pytester: pytest.Pytester) -> None:
    run(pytester, """
import socket

@pytest.fixture
def late(kafka_lab):
    yield socket.create_connection(kafka_lab.bootstrap_servers.split(",")[0].split(":"))
    raise RuntimeError

@pytest.fixture
def early(kafka_lab):
    raise RuntimeError

def test_fails(kafka_lab):
    kafka_lab.hold()
    assert False

def test_setup_fails(early):
    pass

def test_teardown_fails(late):
    late.close()
""").assert_outcomes(failed=1, passed=1, errors=2)  # fmt: skip
    assert not [thread for thread in threading.enumerate() if thread.name == "kafkalab live"]


def test_a_connection_that_stays_open_is_no_warning(pytester: pytest.Pytester) -> None:
    run(pytester, """
import gc
import socket

OPEN = []

@pytest.mark.parametrize("n", range(3))
def test_it(kafka_lab, n):
    gc.collect()
    for server in kafka_lab.bootstrap_servers.split(","):
        OPEN.append(socket.create_connection(server.split(":")))

def test_close():
    gc.collect()
    for connection in OPEN:
        connection.close()
""").assert_outcomes(passed=4)  # fmt: skip


def test_a_session_has_one_cluster_and_keeps_it_when_a_test_fails(pytester: pytest.Pytester) -> None:
    result = run(pytester, """
SEEN = []

@pytest.mark.parametrize("n", range(2))
def test_same(kafka_lab_session, n):
    SEEN.append(kafka_lab_session.bootstrap_servers)
    assert len(set(SEEN)) == 1

def test_fails(kafka_lab_session):
    commits(kafka_lab_session, "orders-0")
    assert False
""", "--kafka-lab-keep", "kept", ini="kafka_lab_topics = orders")  # fmt: skip
    result.assert_outcomes(passed=2, failed=1)
    assert len(list((pytester.path / "kept").iterdir())) == 2


def test_an_asyncio_client_runs_in_the_tests_own_loop(pytester: pytest.Pytester) -> None:
    run(pytester, """
import asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

pytestmark = pytest.mark.anyio

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.kafka_lab(topics=["orders"])
async def test_it(kafka_lab):
    servers = kafka_lab.bootstrap_servers
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id="shop") as producer:
        async with producer.transaction():
            await producer.send_and_wait("orders", b"9 EUR", key=b"o1")
    consumer = AIOKafkaConsumer("orders", bootstrap_servers=servers, auto_offset_reset="earliest")
    async with consumer:
        assert (await asyncio.wait_for(consumer.getone(), 20)).value == b"9 EUR"
    assert kafka_lab.values("orders") == ["9 EUR"]
    kafka_lab.check()
    assert [read.value for read in kafka_lab.history().reads] == ["9 EUR", "9 EUR"]
""", "-p", "anyio").assert_outcomes(passed=1)  # fmt: skip


def test_workers_of_xdist_keep_what_fails(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    pytester.makepyfile("def test_it(kafka_lab):\n    assert False\n\ndef test_other(kafka_lab):\n    pass")
    result = pytester.runpytest_subprocess(*ARGS, "-p", "no:anyio", "-n", "1", "--kafka-lab-keep", "kept")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*- kafka_lab -*", "picture: *kept*test_it.svg"])
    assert [path.suffix for path in (pytester.path / "kept").iterdir()] == [".svg"]


def test_nothing_else_of_kafkalab_is_loaded_before_a_test_asks(root: Path) -> None:
    code = "import sys, kafkalab.testing.plugin; print([m for m in sys.modules if m.startswith(('kafkalab', 'kio'))])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "['kafkalab', 'kafkalab.testing', 'kafkalab.testing.plugin']\n"
