"""A late TxnOffsetCommit with a real client: aiokafka's first one waits at the gate, and joins the next transaction."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from contextlib import suppress
from typing import Any

from kafkalab.course.lab10.scenario import aiokafka_session
from kafkalab.sim.cluster import ran

GIVEN_UP_MS, WAIT_S = 1_000, 60
ORDERS, PARCELS, GROUP = "orders", "parcels", "packers"
TOPICS = {ORDERS: 1, PARCELS: 1}
WAITING = ("tea", "jam", "pot")
"""The records of the only partition of `orders`."""
SAVED = "{}: so this is the saved session of aiokafka 0.14, run again.\n"


async def pack(live: Any) -> None:
    """Pack two orders, one in each transaction; start again, and pack what is left. `live` is a LiveCluster."""
    packer = await start_packer(live)
    live.hold("TxnOffsetCommit#1")
    for offset in (0, 1):
        await packer.begin_transaction()
        await packer.send_and_wait(PARCELS, WAITING[offset].encode(), partition=0)
        await packer.send_offsets_to_transaction({partition(): offset + 1}, GROUP)
        if offset == 1:
            live.let_go("TxnOffsetCommit#1")  # given up after a second, and sent again
            await asyncio.sleep(0.2)
        await packer.commit_transaction()
    await packer.stop()
    await pack_rest(live)


async def pack_rest(live: Any) -> None:
    """Start a packer, which reads on at the group's committed offset, and pack all that is left."""
    from aiokafka.admin import AIOKafkaAdminClient

    admin = AIOKafkaAdminClient(bootstrap_servers=live.bootstrap_servers, client_id="again")
    await admin.start()
    found = await admin.list_consumer_group_offsets(GROUP, partitions=[partition()])
    await admin.close()
    packer = await start_packer(live)
    for offset in range(found[partition()].offset, len(WAITING)):
        await packer.begin_transaction()
        await packer.send_and_wait(PARCELS, WAITING[offset].encode(), partition=0)
        await packer.send_offsets_to_transaction({partition(): offset + 1}, GROUP)
        await packer.commit_transaction()
    await packer.stop()


async def start_packer(live: Any) -> Any:
    """Return aiokafka's transactional producer, which gives a request up after a second."""
    from aiokafka import AIOKafkaProducer

    made = AIOKafkaProducer(
        bootstrap_servers=live.bootstrap_servers, client_id="app", transactional_id="packer-1",
        enable_idempotence=True, request_timeout_ms=GIVEN_UP_MS,
    )  # fmt: skip
    await made.start()
    return made


def partition() -> Any:
    """Return the only partition of `orders`, as aiokafka names it."""
    from aiokafka import TopicPartition

    return TopicPartition(ORDERS, 0)


def aiokafka() -> tuple[str, ...]:
    """Return the parcels of aiokafka's packer on brokers in this process, whose cluster level is 2.

    Where that cannot be had (aiokafka is not installed, or no socket may be opened), say so, and return what the saved
    session gives.
    """
    try:
        if sys.platform == "emscripten":
            raise OSError("a browser opens no sockets")
        from kafkalab.live.cluster import LiveCluster

        with LiveCluster(cluster_level=2, topics=TOPICS) as live:
            _run_elsewhere(live)
            return live.outcome().committed["parcels-0"]
    except ImportError as missing:
        reason = f"{missing.name or missing} is not installed"
    except (OSError, TimeoutError) as error:
        reason = f"no brokers can listen here ({error})"
    with suppress(OSError):
        sys.stderr.write(SAVED.format(reason))
    return ran(aiokafka_session()).outcome().committed["parcels-0"]


def _run_elsewhere(live: Any) -> None:
    """Run the packer in a thread: a notebook's own has an event loop already."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    failed: list[Exception] = []

    def run() -> None:
        try:
            asyncio.run(asyncio.wait_for(pack(live), WAIT_S))
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
