"""Three faults against the service of docs/testing/payments.py, from outside the brokers' process."""

import pytest
from confluent_kafka import Producer
from kafkalab_control import KafkaLab
from payments import Payments

ORDERS = ["order-1", "order-2", "order-3"]


def place(bootstrap_servers: str) -> None:
    """Write the orders."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for order in ORDERS:
        producer.produce("orders", key=order, value=order)
    assert producer.flush(10) == 0


@pytest.mark.parametrize("fault", ["Drop:EndTxnResponse#1", "Drop:TxnOffsetCommit#1", "Duplicate:EndTxn#1"])
def test_every_order_is_paid_once(fault: str) -> None:
    with KafkaLab("orders:1,payments:1") as lab:
        place(lab.bootstrap_servers)
        lab.pipeline("orders", "payments")
        lab.fault(fault)
        Payments(lab.bootstrap_servers, "1").run(20, len(ORDERS))
        assert lab.values("payments") == [f"paid: {order}" for order in ORDERS]
        lab.check("exactly-once")
