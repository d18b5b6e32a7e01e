"""What the tests of the payments service share: the service itself, which --service exchanges for a faulty one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --service, such as faults.TimeoutIsAnAbort."""
    parser.addoption("--service", default="payments.Payments")


@pytest.fixture
def start(request: pytest.FixtureRequest, kafka_lab: Any) -> Iterator[Callable[..., Any]]:
    """Start an instance of the service, or of another one; all are closed at the end, before the brokers."""
    module, _, name = request.config.getoption("--service").rpartition(".")
    instances: list[Any] = []

    def start(instance: str, service: Any = None) -> Any:
        service = service or getattr(import_module(module), name)
        instances.append(service(kafka_lab.bootstrap_servers, instance))
        return instances[-1]

    yield start
    for one in instances:
        with suppress(KafkaException, RuntimeError):  # it has closed itself
            one.close()


@pytest.fixture
def placed(kafka_lab: Any) -> list[str]:
    """Three orders, placed before the service starts."""
    keys = ["order-1", "order-2", "order-3"]
    shop = Producer({"bootstrap.servers": kafka_lab.bootstrap_servers, "client.id": "shop", "enable.idempotence": True})
    for key in keys:
        shop.produce("orders", key=key, value=key)
    shop.flush(10)
    return keys


@pytest.fixture
def orders(kafka_lab: Any, placed: list[str]) -> list[str]:
    """The same; of each the service makes one payment, with its order's key."""
    kafka_lab.pipeline("orders", "payments")
    return placed
