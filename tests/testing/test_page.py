"""docs/testing.md: its example is right, each fault fails in the test that shows it, and the page quotes the files."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from pathlib import Path

import confluent_kafka
import pytest

from kafkalab.testing.kafka_lab import KafkaLab
from tests.testing.conftest import ARGS

pytestmark = pytest.mark.clients
pytest_plugins = ["pytester"]
FAULTS = {
    "TimeoutIsAnAbort": "test_the_answer_to_a_commit_is_late",
    "OffsetsOutside": "test_an_instance_stops_between_two_commits",
    "KeepsOrdersInHand": "test_an_instance_is_expelled_with_orders_in_hand",
}


def run(root: Path, pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    for path in (root / "docs" / "testing").glob("*.py"):
        shutil.copy(path, pytester.path)
    pytester.syspathinsert()
    return pytester.runpytest_inprocess(*ARGS, "-p", "no:cacheprovider", *args)


@pytest.mark.smoke
def test_the_example_pays_every_order_once(root: Path, pytester: pytest.Pytester) -> None:
    run(root, pytester).assert_outcomes(passed=9)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_shows_in_its_test(fault: str, root: Path, pytester: pytest.Pytester) -> None:
    result = run(root, pytester, "--service", f"faults.{fault}", "-k", FAULTS[fault])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *AnomalyError: exactly-once: 'order-1' at offset 0 of orders-0 is duplicated: 2 *"])


def test_a_service_is_one_process_though_it_has_two_clients(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(root / "docs" / "testing")
    payments = importlib.import_module("payments")
    monkeypatch.delitem(sys.modules, "payments")
    with KafkaLab(topics=["orders", "payments"]) as lab:
        shop = confluent_kafka.Producer({"bootstrap.servers": lab.bootstrap_servers})
        shop.produce("orders", key="1", value="9 EUR")
        assert shop.flush(10) == 0
        service = payments.Payments(lab.bootstrap_servers, "1")
        assert service.run(30, 1) == 1
        service.close()
        history = lab.history()
        writers = {o.process: o.client for o in history.operations if o.function == "commit"}
        assert writers == {"payments-1-in": "payments-1-out/payments-1"}
        assert {(p.process, p.group) for p in history.polls if p.key == "orders-0"} == {
            ("payments-1-in", "payments"), ("kafka_lab", None),
        }  # fmt: skip
        assert lab.check("offset/output split")["offset/output split"].examined == 1


@pytest.mark.smoke
def test_the_page_names_each_fault_and_its_test_and_quotes_the_files(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text(encoding="utf-8")
    assert [name for pair in FAULTS.items() for name in pair if name not in page] == []
    quoted = re.findall(r"<!-- from (\w+\.py) -->\n```python\n(.*?)```", page, re.DOTALL)
    assert len(quoted) >= 2 * len(FAULTS)
    for name, code in quoted:
        assert code.strip("\n") in (root / "docs" / "testing" / name).read_text(encoding="utf-8"), (name, code)
