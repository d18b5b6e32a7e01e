"""The plugin of pytest with the fixture `kafka_lab`; nothing else of kafkalab is loaded before a test asks for it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkalab.testing.kafka_lab import KafkaLab

MARKER = "kafka_lab(topics, brokers, cluster_level, kafka, hold, **settings): the cluster that kafka_lab begins with"
EXAMPLE = '@pytest.mark.kafka_lab(topics={"orders": 3}, brokers=3, cluster_level=2, min_insync_replicas=2)'
SHARED = pytest.StashKey["KafkaLab"]()
OWN = pytest.StashKey["KafkaLab"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what all tests of a run have in common, on the command line and in the ini file."""
    group = parser.getgroup("kafka_lab", "kafka_lab: a small Kafka for tests of applications")
    group.addoption("--kafka-lab-cluster-level", metavar="N", help="transaction.version: 2 (default) or 1")
    group.addoption("--kafka-lab-kafka", metavar="RELEASE", help="the release of Kafka to be, such as 4.4")
    group.addoption("--kafka-lab-brokers", metavar="N", help="how many brokers (3)")
    group.addoption("--kafka-lab-keep", metavar="DIR", help="keep traces and pictures of failed tests in this folder")
    parser.addini("kafka_lab_cluster_level", "as --kafka-lab-cluster-level", default="")
    parser.addini("kafka_lab_kafka", "as --kafka-lab-kafka", default="")
    parser.addini("kafka_lab_brokers", "as --kafka-lab-brokers", default="")
    parser.addini("kafka_lab_keep", "as --kafka-lab-keep; the default is in pytest's cache", default="")
    parser.addini("kafka_lab_topics", "topics with their partitions: orders:3 payments:1", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker, and refuse options that no cluster has."""
    config.addinivalue_line("markers", MARKER)
    options = (choose_option(config, name) for name in ("cluster_level", "kafka", "brokers"))
    if any(options) or config.getini("kafka_lab_topics"):
        options_of(config)


def choose_option(config: pytest.Config, name: str) -> str:
    """Return the option of the command line, else that of the ini file, else ""."""
    return str(config.getoption(f"kafka_lab_{name}") or config.getini(f"kafka_lab_{name}") or "")


def options_of(config: pytest.Config) -> dict[str, Any]:
    """Return what the command line and the ini file choose. UsageError, one line, for what is wrong there."""
    from kafkalab.limits import quote, whole_number
    from kafkalab.protocol.api import REFERENCES, USUAL
    from kafkalab.protocol.profiles import SERVED

    options: dict[str, Any] = {}
    if level := choose_option(config, "cluster_level"):
        options["cluster_level"] = whole_number(level)
        if (USUAL, options["cluster_level"]) not in SERVED:
            raise pytest.UsageError(f"kafka_lab_cluster_level: 1 or 2, not {quote(level)}")
    if kafka := choose_option(config, "kafka"):
        options["kafka"] = kafka
        if kafka not in REFERENCES:
            raise pytest.UsageError(f"kafka_lab_kafka: {' or '.join(REFERENCES)}, not {quote(kafka)}")
    if brokers := choose_option(config, "brokers"):
        options["brokers"] = whole_number(brokers)
        if not 1 <= options["brokers"] <= 9:
            raise pytest.UsageError(f"kafka_lab_brokers: a number from 1 to 9, not {quote(brokers)}")
    topics: dict[str, int] = {}
    for word in config.getini("kafka_lab_topics"):
        topic, _, count = word.partition(":")
        topics[topic] = whole_number(count or "1")
        if not topic or topics[topic] < 1:
            raise pytest.UsageError(f"kafka_lab_topics: orders:3 payments:1, not {quote(word)}")
    return {**options, "topics": topics} if topics else options


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest) -> Iterator[KafkaLab]:
    """Brokers for this test alone, on free ports of this machine: `kafka_lab.bootstrap_servers` (docs/testing.md).

    The marker `kafka_lab` chooses topics, brokers, cluster level and broker settings.
    """
    options = options_of(request.config)
    for marker in reversed(list(request.node.iter_markers("kafka_lab"))):
        if marker.args:
            pytest.fail(f"kafka_lab takes names: {EXAMPLE}", pytrace=False)
        options |= marker.kwargs
    with _start(options, EXAMPLE) as lab:
        request.node.stash[OWN] = lab
        yield lab


@pytest.fixture(scope="session")
def kafka_lab_session(request: pytest.FixtureRequest) -> Iterator[KafkaLab]:
    """Brokers for all tests of this process that ask for them; command line and ini file choose the options."""
    with _start(options_of(request.config), "the ini file's kafka_lab_topics = orders:3") as lab:
        request.config.stash[SHARED] = lab
        yield lab


@contextmanager
def _start(options: dict[str, Any], example: str) -> Iterator[KafkaLab]:
    wrong = ""
    try:
        from kafkalab.testing.kafka_lab import KafkaLab

        lab = KafkaLab(**options)
    except (TypeError, ValueError, OSError) as error:
        wrong = f"{error}; for example {example}"
    if wrong:
        pytest.fail(f"kafka_lab: {wrong}", pytrace=False)
    with lab:
        yield lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test whose faults did not strike: it would pass without having tested what it says."""
    result = yield
    lab = item.stash.get(OWN, None)
    if lab is not None and (unused := lab.describe_unused_faults()):
        pytest.fail(f"kafka_lab: {unused}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add to the report of a failed test the last frames, and where trace and picture are kept."""
    report: Any = yield
    lab = item.stash.get(OWN, None)
    if lab is None and "kafka_lab_session" in getattr(item, "fixturenames", ()):
        lab = item.config.stash.get(SHARED, None)
    if report.failed and lab is not None and call.when != "teardown":
        from kafkalab.testing.failure_artifacts import keep

        error = call.excinfo.value if call.excinfo else None
        report.sections.append(("kafka_lab", keep(lab, folder_of(item.config), item.nodeid, error)))
    return report


def folder_of(config: pytest.Config) -> str:
    """Return the folder in which failed tests are kept; "" where there is none, as pytest's cache is off."""
    cache = getattr(config, "cache", None)
    return choose_option(config, "keep") or (str(cache.mkdir("kafka_lab")) if cache is not None else "")
