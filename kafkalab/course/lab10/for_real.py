"""A late TxnOffsetCommit with real clients: it joins the next transaction, and an order is packed twice, or never.

`brokers` is a LiveCluster, or a Tap before an Apache Kafka: docs/offsets_for_real.py runs the same on both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafkalab.course.lab10.real_packers import CLIENT, PARCELS, TOPICS, WAITING, Aiokafka, Librdkafka, Packer, Start
from kafkalab.course.lab10.scenario import aiokafka_session, late_offset_session
from kafkalab.course.real_sessions import run_live_or_saved
from kafkalab.sim.scenario import Scenario

LATE, NEXT_END = f"{CLIENT}:TxnOffsetCommit#1", f"{CLIENT}:EndTxn#2"


def pack_twice(brokers: Any, start: Start) -> None:
    """Pack two orders, one in each transaction, while the first offset is late; start again, and pack what is left."""
    brokers.late(LATE, before=NEXT_END)
    packer = start()
    pack(packer, 0)  # its offset is given up after a second, and sent again
    pack(packer, 1)
    packer.close()
    pack_rest(start)


def lose_one(brokers: Any, start: Start) -> None:
    """Abort two orders, whose offset is late, and pack the first one alone; start again, and pack what is left."""
    brokers.late(LATE, before=NEXT_END)
    packer = start()
    packer.begin()
    for parcel in WAITING[:2]:
        packer.send(parcel)
    packer.send_offset(2)
    packer.abort()  # a parcel is damaged, say: rewind, and take one order at a time
    pack(packer, 0)
    packer.close()
    pack_rest(start)


def pack(packer: Packer, order: int) -> None:
    """Write the order's parcel and the group's next offset in one transaction."""
    packer.begin()
    packer.send(WAITING[order])
    packer.send_offset(order + 1)
    packer.commit()


def pack_rest(start: Start) -> None:
    """Start a packer, which reads on at the group's committed offset, and pack all that is left."""
    packer = start()
    for order in range(packer.find_offset(), len(WAITING)):
        pack(packer, order)
    packer.close()


def never_returns(brokers: Any, packer: Packer, timeout_s: float = 2.0, patience_s: float = 6.0) -> bool:
    """Lose the answer to a Produce in the second of three transactions; return True if the third one's call to send an
    offset does not return.

    The call has a timeout of `timeout_s`, and `patience_s` to return in; if it returns, the packer commits, and is
    closed. librdkafka 2.16 does this where all brokers that it knows are down together: with one broker, for example.
    """
    pack(packer, 0)
    brokers.drop(f"{CLIENT}:ProduceResponse#2")
    packer.begin()
    packer.send("a note without an order")
    packer.commit()  # the record was in flight; it is sent again, and acknowledged
    packer.begin()
    packer.send(WAITING[1])

    def call() -> None:
        with suppress(Exception):  # a timeout would be an answer, too
            packer.send_offset(2, timeout_s)

    waiting = threading.Thread(target=call, daemon=True)
    waiting.start()
    waiting.join(patience_s)
    if not waiting.is_alive():
        packer.commit()
        packer.close()
    return waiting.is_alive()


def aiokafka() -> tuple[str, ...]:
    """Return the parcels of aiokafka's packer on brokers in this process, whose cluster level is 2.

    Where that cannot be had (aiokafka is not installed, or no socket may be opened), say so, and return what the saved
    session gives.
    """
    return _run(pack_twice, Aiokafka, aiokafka_session, "aiokafka 0.14")


def librdkafka() -> tuple[str, ...]:
    """Return the parcels of librdkafka's packer, which aborts one transaction, as `aiokafka` does."""
    return _run(lose_one, Librdkafka, late_offset_session, "librdkafka 2.16")


def _run(
    program: Callable[[Any, Start], None], client: Callable[[str], Packer], saved: Callable[[], Scenario], name: str
) -> tuple[str, ...]:
    committed = run_live_or_saved(
        lambda live: program(live, lambda: client(live.bootstrap_servers)), 2, TOPICS, saved, name
    )
    return committed[f"{PARCELS}-0"]
